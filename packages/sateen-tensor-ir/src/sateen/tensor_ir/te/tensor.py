"""Tensors and the operations that define them: placeholders, constants, computations, extern bodies."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError, ExpressionError
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, shape_of
from sateen.tensor_ir.ir.expr import AxisKind, Expr, IterVar, Read, Reduce, Span, as_expr, caller_span
from sateen.tensor_ir.ir.stmt import EMPTY, Stmt
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.te.protocols import Array, NestBuilder, Oracle


class Tensor:
    """Output `index` of an operation. Indexing gives an expression that reads one element."""

    __slots__ = ("dtype", "index", "op", "shape")

    def __init__(self, op: Operation, index: int, shape: tuple[Expr, ...], dtype: DType) -> None:
        self.op = op
        self.index = index
        self.shape = shape
        self.dtype = dtype

    @property
    def name(self) -> str:
        """That of the operation, with the number of the output where there are several."""
        return self.op.name if len(self.op.outputs) == 1 else f"{self.op.name}.{self.index}"

    @property
    def type(self) -> str:
        """Element type and shape, such as float32[1, n]."""
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __getitem__(self, indices: Any) -> Expr:
        return self(*(indices if isinstance(indices, tuple) else (indices,)))

    def __call__(self, *indices: Any) -> Expr:
        """The element at `indices`, one integer expression per dimension. Raises ExpressionError on another number."""
        if any(isinstance(i, slice) or i is Ellipsis for i in indices):
            found = "found ..." if any(i is Ellipsis for i in indices) else "found a slice"
            raise ExpressionError(f"an index of tensor {self.name!r} expects an integer, {found}; {self._advice()}")
        if len(indices) != self.ndim:
            raise ExpressionError(f"tensor {self.name!r} has {self.ndim} dimensions, found {len(indices)} indices")
        exprs = tuple(as_expr(i, ex.INDEX) for i in indices)
        for e in exprs:
            if not e.dtype.is_int:
                raise ExpressionError(f"an index of tensor {self.name!r} expects an integer, found {e.dtype}")
        return Read(self, tuple(map(ex.subscript, exprs)), self.dtype, caller_span())

    def as_expr(self) -> Expr:
        """A tensor without dimensions stands for its element. Raises ExpressionError for one with dimensions."""
        if self.ndim:
            raise ExpressionError(f"expected an expression, found tensor {self.name!r}; {self._advice()}")
        return self()

    def _no_operator(self, *_: object) -> NoReturn:
        raise ExpressionError(f"operators take elements, found tensor {self.name!r}; {self._advice()}")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _no_operator
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = _no_operator
    __abs__ = __round__ = _no_operator
    __lt__ = __le__ = __gt__ = __ge__ = _no_operator

    def _advice(self) -> str:
        indices = ", ".join("ijklmnpq"[: self.ndim])
        return f"use its elements, such as {self.name}[{indices}] in te.compute(shape, lambda {indices}: ...)"

    def __repr__(self) -> str:
        return f"Tensor({self.name}: {self.type})"


class Operation(ABC):
    """What defines one or more tensors. Each kind is a class, which answers for itself what schedules, lowering and the
    oracle want to know.

    `axis` and `reduce_axis` are its loops. `body` has the definition of an element of each output over these; it is
    empty where outputs are not defined element by element. `data` is what is known of the only output while compiling.
    """

    __slots__ = ("axis", "body", "data", "name", "outputs", "reduce_axis", "span")

    is_given: ClassVar[bool] = False
    """Whether the outputs are there before anything is computed."""

    def __init__(self, name: str, shapes: Sequence[tuple[Expr, ...]], dtypes: Sequence[DType]) -> None:
        if not isinstance(name, str):
            raise ExpressionError(f"expected a text as the name of a tensor, found {type(name).__name__}: {name!r:.80}")
        self.name = name
        self.axis: tuple[IterVar, ...] = ()
        self.reduce_axis: tuple[IterVar, ...] = ()
        self.body: tuple[Expr, ...] = ()
        self.data: np.ndarray[Any, Any] | None = None
        self.span: Span | None = caller_span()
        self.outputs = tuple(Tensor(self, i, s, d) for i, (s, d) in enumerate(zip(shapes, dtypes, strict=True)))

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that it reads."""
        return ()

    @property
    def whole_inputs(self) -> tuple[Tensor, ...]:
        """Those of which it may read any element, so that they are computed as a whole before it."""
        return ()

    @property
    def region_axes(self) -> tuple[IterVar, ...] | None:
        """The axis of each dimension of the outputs, of which a region may be computed; None where all always is."""
        return None

    @abstractmethod
    def nest(self, builder: NestBuilder) -> Stmt:
        """The statement that computes the outputs."""

    @abstractmethod
    def evaluate(self, oracle: Oracle) -> list[Array]:
        """The outputs by definition."""

    def output(self, index: int) -> Tensor:
        return self.outputs[index]


class _GivenOp(Operation):
    """What nothing computes."""

    __slots__ = ()

    is_given = True

    def nest(self, _: NestBuilder) -> Stmt:
        return EMPTY


class PlaceholderOp(_GivenOp):
    """An argument."""

    __slots__ = ()

    def evaluate(self, _: Oracle) -> list[Array]:
        raise ArgumentError(f"no array is given for placeholder {self.name!r}")


class ConstantOp(_GivenOp):
    """Literal data, known while compiling: a read at constant indices is a literal."""

    __slots__ = ()

    def __init__(self, name: str, data: np.ndarray[Any, Any]) -> None:
        super().__init__(name, [tuple(ex.const(n) for n in data.shape)], [DType.of(data.dtype)])
        self.data = data

    def evaluate(self, _: Oracle) -> list[Array]:
        assert self.data is not None
        return [self.data]


class ComputeOp(Operation):
    """Each element of the outputs from an expression over `axis`; `reduce_axis` where that is a reduction."""

    __slots__ = ()

    def __init__(self, name: str, axis: tuple[IterVar, ...], body: tuple[Expr, ...]) -> None:
        super().__init__(name, [tuple(a.extent for a in axis)] * len(body), [b.dtype for b in body])
        self.axis = axis
        self.body = body
        self.reduce_axis = body[0].axes if isinstance(body[0], Reduce) else ()

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(dict.fromkeys(r.tensor for body in self.body for r in reads(body)))

    @property
    def region_axes(self) -> tuple[IterVar, ...]:
        return self.axis

    def nest(self, builder: NestBuilder) -> Stmt:
        return builder.loops()

    def evaluate(self, oracle: Oracle) -> list[Array]:
        return oracle.elements(self)


class ExternOp(Operation):
    """Outputs written by a statement of loop IR over buffers that stand for the inputs and outputs."""

    __slots__ = ("_inputs", "input_buffers", "output_buffers", "program")

    def __init__(
        self,
        name: str,
        inputs: tuple[Tensor, ...],
        input_buffers: tuple[Buffer, ...],
        output_buffers: tuple[Buffer, ...],
        program: Stmt,
    ) -> None:
        super().__init__(name, [b.shape for b in output_buffers], [b.dtype for b in output_buffers])
        self._inputs = inputs
        self.input_buffers = input_buffers
        self.output_buffers = output_buffers
        self.program = program

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self._inputs

    @property
    def whole_inputs(self) -> tuple[Tensor, ...]:
        return self._inputs

    def nest(self, builder: NestBuilder) -> Stmt:
        given = zip((*self.input_buffers, *self.output_buffers), (*self._inputs, *self.outputs), strict=True)
        return builder.program(self.program, dict(given))

    def evaluate(self, oracle: Oracle) -> list[Array]:
        given = list(zip(self.input_buffers, self._inputs, strict=True))
        return oracle.program(self.name, self.program, given, self.output_buffers)


def reads(e: Expr) -> Iterator[Read]:
    """Every read of a tensor in `e`."""
    return (node for node in walk(e) if isinstance(node, Read))


def var(name: str = "n", dtype: str | DType = "index") -> ex.Var:
    """A symbolic extent: an index, which int64 stands for here, or of another type. Raises ExpressionError where the
    name is no text."""
    if not isinstance(name, str):
        raise ExpressionError(f"var expects a name, found {type(name).__name__}: {name!r:.80}")
    kind = ex.value_type(dtype)
    return ex.Var(name, ex.INDEX if kind == ex.INT64 else kind)


def placeholder(shape: Any, dtype: str | DType = "float32", name: str = "placeholder") -> Tensor:
    """An argument of `shape` (ints or symbolic extents). Raises ExpressionError for what is no shape or name."""
    return PlaceholderOp(name, [shape_of(shape)], [ex.element_type(dtype)]).outputs[0]


def constant(data: Any, name: str = "constant") -> Tensor:
    """A tensor of literal data, a copy of anything that NumPy makes an array of. Raises ExpressionError on the rest."""
    try:
        array = np.array(data, order="C")
    except ValueError as error:
        raise ExpressionError(f"constant {name!r} expects the data of an array: {error}") from None
    array.setflags(write=False)
    return ConstantOp(name, array).outputs[0]


def compute(shape: Any, function: Callable[..., Any], name: str = "compute") -> Any:
    """A tensor of `shape` with element [i, j, …] = function(i, j, …).

    `function` takes one index per dimension (or `*indices`) and returns an expression, or a tuple of them for as many
    output tensors. A reduction stands alone at the top. Raises ExpressionError where it does not, or on an axis that no
    reduction declares.
    """
    extents = shape_of(shape)
    names = _axis_names(function, len(extents), name)
    span = caller_span()
    axis = tuple(IterVar(name=n, extent=e, span=span) for n, e in zip(names, extents, strict=True))
    body = function(*axis)
    many = isinstance(body, tuple)
    bodies = tuple(ex.as_data(as_expr(b)) for b in (body if many else (body,)))
    if not bodies:
        raise ExpressionError(f"compute {name!r} expects an expression from its function, found an empty tuple")
    _check_body(name, bodies)
    op = ComputeOp(name, axis, bodies)
    return op.outputs if many else op.outputs[0]


def piecewise(bodies: Sequence[Any], axis: Expr) -> Expr:
    """bodies[axis]: one body per value of an axis of constant extent. Raises ExpressionError on another number."""
    if not isinstance(bodies, (list, tuple)):
        raise ExpressionError(f"piecewise expects a list of expressions, found {type(bodies).__name__}")
    if isinstance(axis, IterVar) and isinstance(axis.extent, ex.Const) and axis.extent.value != len(bodies):
        raise ExpressionError(
            f"piecewise over axis {axis.name!r} of extent {axis.extent} expects as many bodies, found {len(bodies)}"
        )
    return ex.piecewise(bodies, axis)


def _axis_names(function: Callable[..., Any], rank: int, name: str) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # no callable, and a builtin that does not tell
        raise ExpressionError(f"compute {name!r} expects a function of its indices, found {function!r:.80}") from None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return [f"i{d}" for d in range(rank)]
    names = [p.name for p in parameters if p.default is p.empty]
    if len(names) != rank:
        raise ExpressionError(f"compute {name!r} has {rank} dimensions, but its function takes {len(names)} indices")
    return names


def _check_body(name: str, bodies: tuple[Expr, ...]) -> None:
    first = bodies[0]
    reductions = [isinstance(b, Reduce) for b in bodies]
    if any(reductions) and not (
        all(reductions)
        and all(b.combiner is first.combiner and b.output == i for i, b in enumerate(bodies))  # type: ignore[attr-defined]
        and len(bodies) == len(first.sources)  # type: ignore[attr-defined]
    ):
        raise ExpressionError(f"compute {name!r}: a tuple reduction gives all its outputs, in order, from one reducer")
    declared = set(first.axes) if isinstance(first, Reduce) else set()
    for body in bodies:
        for node in walk(body):
            if isinstance(node, Reduce) and node is not body:
                raise ExpressionError(
                    f"compute {name!r}: a reduction must stand alone at the top; compute it as a tensor of its own"
                )
            if isinstance(node, IterVar) and node.kind is AxisKind.REDUCE and node not in declared:
                raise ExpressionError(
                    f"compute {name!r}: axis {node.name!r} is used, but no reduction over it declares it"
                )
