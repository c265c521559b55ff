"""Element-wise operators of one input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from weft.graph_ir.op import LayoutChoice, Op
from weft.graph_ir.types import TensorType
from weft.topi import elementwise
from weft.topi.layout import View
from weft.topi.operator import Computation


class Unary(Op):
    """An element-wise operator: the output has the input's type, and runs in any layout."""

    __slots__ = ()

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        (data,) = inputs
        return (TensorType(data.dtype, data.shape),)

    def layouts(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], lanes: int) -> Iterable[LayoutChoice]:
        yield LayoutChoice((inputs[0].layout,), (inputs[0].layout,))


@dataclass(frozen=True, slots=True)
class Relu(Unary):
    """max(x, 0)."""

    def compute(self, *inputs: View | None, outputs: Sequence[TensorType]) -> Computation:
        (data,) = inputs
        assert data is not None
        return elementwise.relu(data, outputs[0].memory_layout)
