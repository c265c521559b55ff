"""Tensors, their arithmetic, the operations that define them, and the interfaces of lowering and the oracle, with which
an operation defines its loops and its values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn, Protocol

import numpy as np

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.choices import subscript
from sateen.tensor_ir.ir.expr import Expr, IterVar, as_expr
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.operator_table import OPERATORS
from sateen.tensor_ir.ir.operators import COMPARISONS, Operators, numpy_operator
from sateen.tensor_ir.ir.span import Span, caller_span
from sateen.tensor_ir.ir.stmt import Stmt
from sateen.tensor_ir.ir.tensor_expr import Read, Reduce
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.te.broadcasting import common_shape, own_indices

Array = np.ndarray[Any, Any]
Attribute = str | int | float | tuple[str | int | float, ...]


class Tensor(Operators[Any]):
    """Output `index` of an operation. Indexing gives an expression that reads one element.

    Arithmetic (the operators of expressions, `abs`, `astype`) with tensors and single values computes a tensor, element
    by element of the common shape. `==` tells whether two are the same tensor.
    """

    __slots__ = ("dtype", "index", "op", "shape")

    takes_operators: ClassVar[bool] = True
    """Whether the operators of an expression on the left leave the operation to this operand."""

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **options: Any) -> Any:
        """A number of NumPy as the left operand of an operator. Raises ExpressionError for other functions of NumPy."""
        name = numpy_operator(function, method, options, f"tensor {self.name!r}")
        return self._no_operator() if name in COMPARISONS else self.apply(name, *operands)

    def __init__(self, op: Operation, index: int, shape: tuple[Expr, ...], dtype: DType) -> None:
        self.op = op
        self.index = index
        self.shape = shape
        self.dtype = dtype

    @property
    def name(self) -> str:
        """The name of the operation, with the number of the output if there are several."""
        return self.op.name if len(self.op.outputs) == 1 else f"{self.op.name}.{self.index}"

    @property
    def type(self) -> str:
        """Element type and shape, such as float32[1, n]."""
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __getitem__(self, indices: Any) -> Any:
        """The element at `indices`; a `TensorSlice`, which takes the others, if they are fewer than dimensions."""
        return TensorSlice(self, ())[indices]

    def __iter__(self) -> NoReturn:
        raise ExpressionError(f"the elements of tensor {self.name!r} can't be iterated over; {self._advice()}")

    def __call__(self, *indices: Any) -> Expr:
        """The element at `indices`, one integer expression per dimension. Raises ExpressionError for another number of
        indices."""
        self._refuse_ranges(indices)
        if len(indices) != self.ndim:
            raise ExpressionError(f"tensor {self.name!r} has {self.ndim} dimensions, found {len(indices)} indices")
        exprs = tuple(as_expr(i, INDEX) for i in indices)
        for e in exprs:
            if not e.dtype.is_int:
                raise ExpressionError(f"an index of tensor {self.name!r} expects an integer, found {e.dtype}")
        return Read(self, tuple(map(subscript, exprs)), self.dtype, caller_span())

    def as_expr(self) -> Expr:
        """A tensor without dimensions stands for its element. Raises ExpressionError for one with dimensions."""
        if self.ndim:
            raise ExpressionError(f"expected an expression, found tensor {self.name!r}; {self._advice()}")
        return self()

    def _refuse_ranges(self, indices: tuple[Any, ...]) -> None:
        if any(isinstance(i, slice) or i is Ellipsis for i in indices):
            found = "found ..." if any(i is Ellipsis for i in indices) else "found a slice"
            raise ExpressionError(f"an index of tensor {self.name!r} expects an integer, {found}; {self._advice()}")

    def apply(self, name: str, *operands: Any) -> Any:
        return _elementwise(name, OPERATORS[name], *operands)

    def astype(self, dtype: DType | str) -> Any:
        """Each element converted to `dtype`, as `Expr.astype` does."""
        return _elementwise("cast", lambda x: ex.cast(dtype, x), self)

    def __matmul__(self, other: object) -> NoReturn:
        raise ExpressionError(
            f"a product of matrices is a sum, found {self.name!r} @ …; write te.compute((m, n), lambda i, j: te.sum("
            f"{self.name}[i, k] * B[k, j], axis=k)) with k = te.reduce_axis(extent)"
        )

    def _no_operator(self, *_: object) -> NoReturn:
        raise ExpressionError(f"this operator takes elements, found tensor {self.name!r}; {self._advice()}")

    __round__ = __lt__ = __le__ = __gt__ = __ge__ = _no_operator

    def _advice(self) -> str:
        indices = ", ".join("ijklmnpq"[: self.ndim])
        return f"use its elements, such as {self.name}[{indices}] in te.compute(shape, lambda {indices}: ...)"

    def __repr__(self) -> str:
        return f"Tensor({self.name}: {self.type})"


class TensorSlice(Operators[NoReturn]):
    """A tensor with its first indices: `A[i]` of `A[i][j]`. The last one makes it an expression, without ranges among
    them: `A[i, 0:16]` is a block, for instructions."""

    __slots__ = ("indices", "tensor")

    takes_operators: ClassVar[bool] = False

    def __init__(self, tensor: Tensor, indices: tuple[Any, ...]) -> None:
        self.tensor = tensor
        self.indices = indices

    def __getitem__(self, indices: Any) -> Any:
        found = (*self.indices, *(indices if isinstance(indices, tuple) else (indices,)))
        has_ranges = any(isinstance(i, slice) for i in found)
        if any(i is Ellipsis for i in found) or (len(found) >= self.tensor.ndim and not has_ranges):
            return self.tensor(*found)
        return TensorSlice(self.tensor, found)

    def __iter__(self) -> NoReturn:
        self.as_expr()

    def as_expr(self, *_: object) -> NoReturn:
        """Raises ExpressionError: it lacks indices, or has ranges."""
        self.tensor(*self.indices)
        raise AssertionError("a slice lacks indices")

    def apply(self, name: str, *operands: Any) -> NoReturn:
        self.as_expr(name, *operands)

    __round__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = astype = as_expr
    __hash__ = object.__hash__


class Operation(ABC):
    """The definition of one or more tensors. Each kind is a class, whose methods answer the questions of schedules,
    lowering and the oracle.

    `tag` and `attrs` are the user's words about it, for functions that schedule it. `axis` and `reduce_axis` are its
    loops. `body` has the definition of an element of each output over these; it is empty if outputs are not defined
    element by element. `data` is the compile-time value of the only output, if known. `instruction` has the axes over
    which an instruction computes everything, and the instruction, if the definition says so.
    """

    __slots__ = ("attrs", "axis", "body", "data", "instruction", "name", "outputs", "reduce_axis", "span", "tag")

    is_given: ClassVar[bool] = False
    """Whether the outputs exist before anything is computed."""

    def __init__(self, name: str, shapes: Sequence[tuple[Expr, ...]], dtypes: Sequence[DType]) -> None:
        if not isinstance(name, str):
            raise ExpressionError(f"expected a text as the name of a tensor, found {type(name).__name__}: {name!r:.80}")
        self.name = name
        self.tag = ""
        self.attrs: Mapping[str, Attribute] = {}
        self.axis: tuple[IterVar, ...] = ()
        self.reduce_axis: tuple[IterVar, ...] = ()
        self.body: tuple[Expr, ...] = ()
        self.data: np.ndarray[Any, Any] | None = None
        self.instruction: tuple[tuple[IterVar, ...], Instruction] | None = None
        self.span: Span | None = caller_span()
        self.outputs = tuple(Tensor(self, i, s, d) for i, (s, d) in enumerate(zip(shapes, dtypes, strict=True)))

    is_statement: ClassVar[bool] = False
    """Whether a statement computes all outputs, so that its loops run each iteration once."""

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that it reads."""
        return ()

    @property
    def needed(self) -> tuple[Tensor, ...]:
        """The tensors whose values its definition starts from."""
        return self.inputs

    @property
    def accesses(self) -> tuple[Expr, ...]:
        """The expressions that one iteration of its loops evaluates."""
        return self.body

    @property
    def whole_inputs(self) -> tuple[Tensor, ...]:
        """The tensors of which it may read any element, so that they are computed as a whole before it."""
        return ()

    @property
    def region_axes(self) -> tuple[IterVar, ...] | None:
        """The axis of each dimension of the outputs, of which a region may be computed; None if always all is
        computed."""
        return None

    @abstractmethod
    def nest(self, builder: NestBuilder) -> Stmt:
        """The statement that computes the outputs."""

    @abstractmethod
    def evaluate(self, oracle: Oracle) -> list[Array]:
        """The outputs by definition."""

    def output(self, index: int) -> Tensor:
        """One of the outputs."""
        return self.outputs[index]

    def describe(self, tag: str, attrs: Mapping[str, Any] | None) -> None:
        """Set `tag` and `attrs`, in which lists become tuples. Raises ExpressionError for a tag that is no text, and
        for attributes other than texts, numbers and lists of these, by name."""
        if not isinstance(tag, str):
            raise ExpressionError(f"{self.name!r} expects a text as its tag, found {type(tag).__name__}: {tag!r:.80}")
        given = {} if attrs is None else attrs
        fits = isinstance(given, Mapping) and all(
            isinstance(key, str) and all(isinstance(one, (str, int, float)) for one in _listed(value))
            for key, value in given.items()
        )
        if not fits:
            raise ExpressionError(
                f"{self.name!r} expects attrs= of texts, numbers and lists of them by name, found {attrs!r:.80}"
            )
        values = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
        self.tag, self.attrs = tag, MappingProxyType(values)


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else (value,)


class ComputeOp(Operation):
    """Computes each element of the outputs by an expression over `axis`, and over `reduce_axis` if it is a
    reduction."""

    __slots__ = ("_inputs",)

    def __init__(self, name: str, axis: tuple[IterVar, ...], body: tuple[Expr, ...]) -> None:
        super().__init__(name, [tuple(a.extent for a in axis)] * len(body), [b.dtype for b in body])
        self.axis = axis
        self.body = body
        self.reduce_axis = body[0].axes if isinstance(body[0], Reduce) else ()
        self._inputs = tuple(dict.fromkeys(r.tensor for b in body for r in reads(b)))

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self._inputs

    @property
    def region_axes(self) -> tuple[IterVar, ...]:
        return self.axis

    def nest(self, builder: NestBuilder) -> Stmt:
        return builder.loops()

    def evaluate(self, oracle: Oracle) -> list[Array]:
        return oracle.elements(self)


def _elementwise(name: str, function: Callable[..., Expr], *operands: Any) -> Any:
    """function(x, …) of tensors and single values, element by element of the common shape.

    An expression over axes is an element of a compute. Beside it a tensor without dimensions stands for its element;
    others are refused, as are shapes that don't broadcast (ExpressionError).
    """
    tensors = [x for x in operands if isinstance(x, Tensor)]
    if any(isinstance(x, (bool, np.bool_)) for x in operands):
        raise ExpressionError(
            f"'{name}' of tensor {tensors[0].name!r} expects a tensor or a number, found a bool, which Python has "
            "decided already: == and != of tensors ask whether they are one; compare elements"
        )
    values = [x if isinstance(x, Tensor) else as_expr(x, tensors[0].dtype) for x in operands]
    axes = [v for x in values if isinstance(x, Expr) for v in walk(x) if isinstance(v, IterVar)]
    if axes:
        return function(*map(as_expr, values))
    extents = common_shape(name, [t.shape for t in tensors])
    span = caller_span()
    axis = tuple(IterVar(name=f"i{d}", extent=extent, span=span) for d, extent in enumerate(extents))
    elements = [x(*own_indices(x.shape, axis)) if isinstance(x, Tensor) else x for x in values]
    return ComputeOp(name, axis, (function(*elements),)).outputs[0]


@dataclass(frozen=True, slots=True, eq=False)
class Recurrence:
    """A state over time, the first dimension: `initial` has its first rows, `update` the others, and `state` stands for
    it where updates read earlier rows."""

    initial: Tensor
    update: Tensor
    state: Tensor


class NestBuilder(Protocol):
    """Lowering of one stage."""

    def loops(self) -> Stmt:
        """The stage's loops around its `body`, with the stages that are computed in them."""

    def steps(self, recurrences: Sequence[Recurrence]) -> Stmt:
        """The first rows of each output, then `loops`, in which the updates are computed."""

    def program(self, statement: Stmt, buffers: Mapping[Buffer, Tensor]) -> Stmt:
        """A statement that runs once, with the storage of tensors for its buffers."""

    def within(self, statement: Stmt, buffers: Mapping[Buffer, Tensor]) -> Stmt:
        """The stage's loops around such a statement."""


class Oracle(Protocol):
    """Evaluation of one operation, whose inputs have values."""

    def elements(self, op: Operation) -> list[Array]:
        """The outputs by `body`, for every point of `axis`."""

    def steps(self, name: str, recurrences: Sequence[Recurrence], inner: Sequence[Operation]) -> list[Array]:
        """The states at all times; `inner` are the operations that a step computes."""

    def program(
        self, name: str, statement: Stmt, inputs: Sequence[tuple[Buffer, Tensor]], outputs: Sequence[Buffer]
    ) -> list[Array]:
        """The values that a statement writes to the buffers of outputs; errors contain its name."""


def reads(e: Expr) -> Iterator[Read[Tensor]]:
    """Every read of a tensor in `e`."""
    return (node for node in walk(e) if isinstance(node, Read))
