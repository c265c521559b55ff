"""Conversion between layouts, which the layout pass inserts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sateen.graph_ir.ir import TensorType
from sateen.tensor_ir import Machine
from sateen.topi.computations import layout_conversion
from sateen.topi.operators import LayoutChoice, Operator, require
from sateen.topi.schedules import Computation
from sateen.topi.types import Layout, View


@dataclass(frozen=True, slots=True)
class ConvertLayout(Operator):
    """The same tensor in another layout. None: row-major."""

    minds_layouts: ClassVar[bool] = True
    layout: Layout | None = None

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        if self.layout is not None:
            require(self.layout.rank == data.rank, self, f"layout {self.layout} does not fit data, {data}")
        return (TensorType.of(data.dtype, data.shape, self.layout),)

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        yield LayoutChoice((inputs[0].layout,), (self.layout,))

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return layout_conversion.convert_layout(data, outputs[0].memory_layout)
