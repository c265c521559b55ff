"""What an operator hands to the compiler: its types, its computation, and how to schedule it.

`Operator` is the contract for operators of any package; the operators of graphs keep to the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.expr import IterVar, Read, Reduce, is_among, is_const
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.te.tensor import ComputeOp, ConstantOp, PlaceholderOp, reads
from sateen.topi.layout import Layout, View
from sateen.topi.types import TensorType

ScheduleFunction = Callable[[te.Schedule, te.Tensor, Machine], None]
"""Schedules an operator's own stages in a schedule whose output is the given tensor: the operator's last stage itself,
or an element-wise function of it that was fused behind it."""


@dataclass(frozen=True, slots=True, eq=False)
class Computation:
    """The outputs of an operator and the schedule of its stages.

    Without `schedule` the computation is injective: single stages without reductions, which may be inlined anywhere.
    An operator with one takes element-wise consumers behind it, unless `takes_epilogue` is false. Raises
    ExpressionError for outputs that are no tuple of views.
    """

    outputs: tuple[View, ...]
    schedule: ScheduleFunction | None = None
    takes_epilogue: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.outputs, tuple) or not all(isinstance(v, View) for v in self.outputs):
            raise ExpressionError(
                f"Computation: expected a tuple of a view for each output, as (view,), found {_kinds(self.outputs)}"
            )

    @property
    def view(self) -> View:
        """The only output."""
        (view,) = self.outputs
        return view


def _kinds(value: object) -> str:
    """The type of a value, of a tuple the types of its elements."""
    if isinstance(value, tuple):
        return f"({', '.join(type(item).__name__ for item in value)})"
    return type(value).__name__


@dataclass(frozen=True, slots=True)
class LayoutChoice:
    """A way to run an operator: the layouts it takes and gives. None: row-major.

    `slowdown` is how much longer the operator takes than in its best layouts, conversions aside.
    """

    inputs: tuple[Layout | None, ...]
    outputs: tuple[Layout | None, ...]
    slowdown: float = 1.0


class Operator:
    """Base of operators that any package defines: frozen dataclasses, whose fields are their attributes.

    A subclass gives `name`, `infer` and `compute`. Both methods take one argument per input, under names of its own:
    one with default None is an optional input, `*inputs` are any number. Attributes are bool, int, float, str, DType,
    Layout, None, or tuples of these.
    """

    __slots__ = ()
    name: ClassVar[str]
    """Whose operator it is and what it is called, such as "acme.Swish": in text form, and in ONNX domain and type."""

    def infer(self, *inputs: Any, **_: Any) -> tuple[TensorType, ...]:
        """The types of the outputs, for row-major types of the inputs. Raises InferenceError where those don't fit."""
        raise AssertionError(f"{type(self).__name__} gives no inference")

    def compute(self, *inputs: Any, **_: Any) -> Computation:
        """The computation over views of the inputs; keyword `outputs` is the types of the outputs, whose layouts it
        keeps to."""
        raise AssertionError(f"{type(self).__name__} gives no computation")

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], lanes: int
    ) -> Iterable[LayoutChoice]:
        """The layouts in which this operator can run, best first; by default row-major only.

        `inputs` are those that are present, in the layouts that they have; `lanes` are the float32 of a vector.
        """
        yield LayoutChoice((None,) * len(inputs), (None,) * len(outputs))

    def operations(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> int:
        """Floating-point operations by definition, for rates that are shown and to choose layouts; 0 where memory is
        the limit."""
        return 0


class Kind(IntEnum):
    """What a computation's access pattern makes of it, from most to least fusible."""

    ELEMENTWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    REDUCTION = 3
    OPAQUE = 4


def kind_of(computation: Computation) -> Kind:
    """Derived from what each output reads: the same element of every input, a broadcast one, any one, or many."""
    kinds = [Kind.OPAQUE if len(computation.outputs) > 1 else Kind.ELEMENTWISE]
    for view in computation.outputs:
        op = view.tensor.op
        if not isinstance(op, ComputeOp):
            kinds.append(Kind.OPAQUE)
            continue
        kinds.append(_kind_of_stage(op))
        if any(not isinstance(t.op, (PlaceholderOp, ConstantOp)) for t in op.inputs):
            kinds.append(Kind.OPAQUE)
    if computation.schedule is not None:
        kinds.append(Kind.REDUCTION)
    return max(kinds)


def _kind_of_stage(op: ComputeOp) -> Kind:
    if isinstance(op.body[0], Reduce):
        return Kind.REDUCTION
    analyzer = Analyzer()
    for axis in op.axis:
        analyzer.bind(axis, 0, axis.extent)
    return max((_kind_of_read(r, op.axis, analyzer) for b in op.body for r in reads(b)), default=Kind.BROADCAST)


def _kind_of_read(read: Read, axes: tuple[IterVar, ...], analyzer: Analyzer) -> Kind:
    indices = [analyzer.simplify(i) for i in read.indices]
    own = [a for a in axes if not is_const(a.extent, 1)]
    moving = [i for i, extent in zip(indices, read.tensor.shape, strict=True) if not is_const(extent, 1)]
    if len(moving) == len(own) and all(a is b for a, b in zip(moving, own, strict=True)):
        return Kind.ELEMENTWISE
    plain = all(is_among(i, axes) or set(axes).isdisjoint(walk(i)) for i in indices)
    return Kind.BROADCAST if plain else Kind.INJECTIVE


__all__ = ["Computation", "Kind", "LayoutChoice", "Operator", "ScheduleFunction", "kind_of"]
