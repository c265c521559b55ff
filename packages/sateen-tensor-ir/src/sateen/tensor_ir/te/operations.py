"""The kinds of operations beside computations: placeholders, constants, extern bodies; and the functions that make
operations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError, ExpressionError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import choices
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, shape_of
from sateen.tensor_ir.ir.expr import Expr, IterVar, as_expr
from sateen.tensor_ir.ir.span import caller_span
from sateen.tensor_ir.ir.stmt import EMPTY, Stmt
from sateen.tensor_ir.ir.types import INDEX, INT64, element_type, value_type
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.te.blocks import BlockBody
from sateen.tensor_ir.te.reduction import check_body
from sateen.tensor_ir.te.tensor import Array, ComputeOp, NestBuilder, Operation, Oracle, Tensor


class _GivenOp(Operation):
    """An operation whose output is given, not computed."""

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
    """Literal data, known at compile time: a read at constant indices is a literal."""

    __slots__ = ()

    def __init__(self, name: str, data: np.ndarray[Any, Any]) -> None:
        super().__init__(name, [tuple(ex.const(n) for n in data.shape)], [DType.of(data.dtype)])
        self.data = data

    def evaluate(self, _: Oracle) -> list[Array]:
        assert self.data is not None
        return [self.data]


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

    @property
    def tensors(self) -> Mapping[Buffer, Tensor]:
        """The input or output that each buffer stands for."""
        return dict(zip((*self.input_buffers, *self.output_buffers), (*self._inputs, *self.outputs), strict=True))

    def nest(self, builder: NestBuilder) -> Stmt:
        return builder.program(self.program, self.tensors)

    def evaluate(self, oracle: Oracle) -> list[Array]:
        given = list(zip(self.input_buffers, self._inputs, strict=True))
        return oracle.program(self.name, self.program, given, self.output_buffers)


class LoopNestOp(ExternOp):
    """An extern whose outermost loops are its axes, and `inner` is their body."""

    __slots__ = ("inner",)

    is_statement = True

    def __init__(self, extern: ExternOp, axis: tuple[IterVar, ...], inner: Stmt) -> None:
        super().__init__(extern.name, extern.inputs, extern.input_buffers, extern.output_buffers, extern.program)
        self.axis = axis
        self.inner = inner

    def nest(self, builder: NestBuilder) -> Stmt:
        return builder.within(self.inner, self.tensors)


def var(name: str = "n", dtype: str | DType = "index") -> ex.Var:
    """A symbolic extent: an index (here int64 means an index), or of another type. Raises ExpressionError if the name
    is no text."""
    if not isinstance(name, str):
        raise ExpressionError(f"var expects a name, found {type(name).__name__}: {name!r:.80}")
    kind = value_type(dtype)
    return ex.Var(name, INDEX if kind == INT64 else kind)


def placeholder(shape: Any, dtype: str | DType = "float32", name: str = "placeholder") -> Tensor:
    """An argument of `shape` (ints or symbolic extents). Raises ExpressionError for an invalid shape or name."""
    return PlaceholderOp(name, [_extents(shape)], [element_type(dtype)]).outputs[0]


def constant(data: Any, name: str = "constant") -> Tensor:
    """A tensor of literal data, a copy of anything that NumPy can make an array of. Raises ExpressionError for other
    values."""
    try:
        array = np.array(data, order="C")
    except ValueError as error:
        raise ExpressionError(f"constant {name!r} expects the data of an array: {error}") from None
    array.setflags(write=False)
    return ConstantOp(name, array).outputs[0]


def compute(
    shape: Any,
    function: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """A tensor of `shape` with element [i, j, …] = function(i, j, …).

    `function` takes one index per dimension (or `*indices`) and returns an expression, or a tuple of them for as many
    output tensors. A reduction stands alone at the top. `tag` and `attrs` are words of your own for functions that
    schedule it: `.op.tag`, `.op.attrs`. A function that calls an instruction (`te.decl_tensor_intrin`) takes the
    indices of a block. Raises ExpressionError if it does not, or for an axis that no reduction declares.
    """
    extents = _extents(shape)
    names = _axis_names(function, len(extents), name)
    span = caller_span()
    axis = tuple(IterVar(name=n, extent=e, span=span) for n, e in zip(names, extents, strict=False))
    body = function(*axis)
    if isinstance(body, BlockBody):
        op = _by_blocks(name, axis, extents[len(axis) :], body)
        op.describe(tag, attrs)
        return op.outputs if len(op.outputs) > 1 else op.outputs[0]
    if len(axis) != len(extents):
        raise _wrong_rank(name, extents, axis)
    many = isinstance(body, tuple)
    found = body if many else (body,)
    if any(isinstance(b, (bool, np.bool_)) for b in found):
        raise ExpressionError(
            f"compute {name!r} expects an expression from its function, found a bool, which Python has decided "
            "already; compare elements, or write te.const(True)"
        )
    bodies = tuple(ex.as_data(as_expr(b)) for b in found)
    if not bodies:
        raise ExpressionError(f"compute {name!r} expects an expression from its function, found an empty tuple")
    check_body(name, bodies)
    op = ComputeOp(name, axis, bodies)
    op.describe(tag, attrs)
    return op.outputs if many else op.outputs[0]


def _by_blocks(name: str, axis: tuple[IterVar, ...], shape: tuple[Expr, ...], body: BlockBody) -> ComputeOp:
    """A computation of blocks of `shape`, each by an instruction."""
    analyzer = Analyzer()
    sizes = [[analyzer.constant(e) for e in extents] for extents in (shape, [a.extent for a in body.axes])]
    if sizes[0] != sizes[1]:
        found = f"{len(axis)} indices and blocks of [{', '.join(map(str, shape))}]"
        raise ExpressionError(
            f"compute {name!r} expects the last dimensions of its shape to be those of a block of "
            f"{body.instruction.name!r}, {sizes[1]}, found {found}"
        )
    inner = tuple(IterVar(a.name, extent=e) for a, e in zip(body.axes, shape, strict=True))
    bodies = body.elements(inner)
    check_body(name, bodies)
    op = ComputeOp(name, (*axis, *inner), bodies)
    op.instruction = (*inner, *op.reduce_axis[len(op.reduce_axis) - body.reduced :]), body.instruction
    return op


def _wrong_rank(name: str, shape: Sequence[Expr], indices: Sequence[object]) -> ExpressionError:
    return ExpressionError(
        f"compute {name!r} has {len(shape)} dimensions, but its function takes {len(indices)} indices"
    )


def piecewise(bodies: Sequence[Any], axis: Expr) -> Expr:
    """bodies[axis]: one body per value of an axis of constant extent. Raises ExpressionError for another number of
    bodies."""
    if not isinstance(bodies, (list, tuple)):
        raise ExpressionError(f"piecewise expects a list of expressions, found {type(bodies).__name__}")
    if isinstance(axis, IterVar) and isinstance(axis.extent, ex.Const) and axis.extent.value != len(bodies):
        raise ExpressionError(
            f"piecewise over axis {axis.name!r} of extent {axis.extent} expects as many bodies, found {len(bodies)}"
        )
    return choices.piecewise(bodies, axis)


def _extents(shape: Any) -> tuple[Expr, ...]:
    """A shape of indices: a symbol that is data has no value before the arrays are there."""
    extents = shape_of(shape)
    data = next((v for e in extents for v in walk(e) if isinstance(v, ex.Var) and v.dtype != INDEX), None)
    if data is not None:
        raise ExpressionError(
            f"a shape expects indices, found {data.name} ({data.dtype}); te.var({data.name!r}) is an index"
        )
    return extents


def _axis_names(function: Callable[..., Any], rank: int, name: str) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # no callable, and a builtin that does not tell
        raise ExpressionError(f"compute {name!r} expects a function of its indices, found {function!r:.80}") from None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return [f"i{d}" for d in range(rank)]
    names = [p.name for p in parameters if p.default is p.empty]
    if len(names) > rank:
        raise ExpressionError(f"compute {name!r} has {rank} dimensions, but its function takes {len(names)} indices")
    return names
