"""Where values are: copies between devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sateen.graph_ir.ir import TensorType
from sateen.runtime import ArgumentError, Device
from sateen.topi.computations import layout_conversion
from sateen.topi.operators import Operator, require
from sateen.topi.schedules import Computation
from sateen.topi.types import View


@dataclass(frozen=True, slots=True)
class CopyTo(Operator):
    """The same tensor in memory of a device, such as "opencl(0)" or "cpu"."""

    device: str

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        try:
            Device.of(self.device)
        except ArgumentError as error:
            require(False, self, str(error))
        return (data,)

    def output_device(self, inputs: Sequence[Device]) -> Device:
        return Device.of(self.device)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return layout_conversion.convert_layout(data, outputs[0].memory_layout)
