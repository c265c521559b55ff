"""Tensors, the operations that define them, and the interfaces of lowering and the oracle, with which an operation
defines its loops and its values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Protocol

import numpy as np

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.choices import subscript
from sateen.tensor_ir.ir.expr import Expr, IterVar, as_expr
from sateen.tensor_ir.ir.span import Span, caller_span
from sateen.tensor_ir.ir.stmt import Stmt
from sateen.tensor_ir.ir.tensor_expr import Read
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.ir.visit import walk

Array = np.ndarray[Any, Any]


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

    def __getitem__(self, indices: Any) -> Expr:
        return self(*(indices if isinstance(indices, tuple) else (indices,)))

    def __call__(self, *indices: Any) -> Expr:
        """The element at `indices`, one integer expression per dimension. Raises ExpressionError for another number of
        indices."""
        if any(isinstance(i, slice) or i is Ellipsis for i in indices):
            found = "found ..." if any(i is Ellipsis for i in indices) else "found a slice"
            raise ExpressionError(f"an index of tensor {self.name!r} expects an integer, {found}; {self._advice()}")
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
    """The definition of one or more tensors. Each kind is a class, whose methods answer the questions of schedules,
    lowering and the oracle.

    `axis` and `reduce_axis` are its loops. `body` has the definition of an element of each output over these; it is
    empty if outputs are not defined element by element. `data` is the compile-time value of the only output, if known.
    """

    __slots__ = ("axis", "body", "data", "name", "outputs", "reduce_axis", "span")

    is_given: ClassVar[bool] = False
    """Whether the outputs exist before anything is computed."""

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
