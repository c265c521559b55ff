"""Where values are: copies between devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

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

    def output_devices(self, inputs: Sequence[Device], count: int) -> tuple[Device, ...]:
        return (Device.of(self.device),) * count

    def canonical(self) -> Self:
        """The device has its index: copy_to(%x) {device="opencl"}  =>  copy_to(%x) {device="opencl(0)"}."""
        device = str(Device.of(self.device))
        return self if device == self.device else replace(self, device=device)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return layout_conversion.convert_layout(data, outputs[0].memory_layout)
