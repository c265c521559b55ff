"""Conversion between layouts, which the layout pass inserts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sateen.graph_ir.op import Op, require
from sateen.graph_ir.types import TensorType
from sateen.topi import layout_conversion
from sateen.topi.layout import Layout, View
from sateen.topi.operator import Computation


@dataclass(frozen=True, slots=True)
class ConvertLayout(Op):
    """The same tensor in another layout. None: row-major."""

    layout: Layout | None = None

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        (data,) = inputs
        if self.layout is not None:
            require(self.layout.rank == data.rank, self, f"layout {self.layout} does not fit data, {data}")
        return (TensorType.of(data.dtype, data.shape, self.layout),)

    def compute(self, *inputs: View | None, outputs: Sequence[TensorType]) -> Computation:
        (data,) = inputs
        assert data is not None
        return layout_conversion.convert_layout(data, outputs[0].memory_layout)
