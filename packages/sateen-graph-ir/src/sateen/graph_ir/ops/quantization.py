"""Linear quantisation, which stays in the graph as it was in the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sateen.graph_ir.ir import Dim, TensorType
from sateen.graph_ir.ops.element_kinds import FLOATS, INTEGERS
from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine
from sateen.topi.computations import quantization
from sateen.topi.operators import LayoutChoice, Operator, Transposed, require
from sateen.topi.schedules import Computation
from sateen.topi.types import View


def _require_factors(
    op: Operator, data: TensorType, factors: dict[str, TensorType | None], axis: int, block: int
) -> None:
    """Raise InferenceError unless each has one element, or one for each index of the axis or block of indices."""
    require(block >= 0, op, f"block expects 0 or more, found {block}")
    for name, found in factors.items():
        if found is None or found.shape in ((), (1,)):
            continue
        require(0 <= axis < data.rank, op, f"axis expects 0 to {data.rank - 1}, found {axis}")
        expected: tuple[Dim, ...] = (data.shape[axis],)
        if block:
            whole = data.shape[axis] % block == 0
            require(whole, op, f"expects blocks of {block} that divide axis {axis} of data {data}")
            expected = (*data.shape[:axis], data.shape[axis] // block, *data.shape[axis + 1 :])
        fits = found.shape == expected
        require(fits, op, f"{name} expects one element or [{', '.join(map(str, expected))}], found {found}")


class Quantisation(Operator):
    """Element by element, in any layout of data; scales and zero points stay row-major."""

    __slots__ = ()
    axis: int
    block: int

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        yield LayoutChoice((inputs[0].layout, *[None] * (len(inputs) - 1)), (inputs[0].layout,))

    def transposed(self, permutation: tuple[int, ...]) -> Transposed | None:
        """Scales and zero points stay as they are, unless they have the axes of data, as those of blocks."""
        if self.block or not self.axis < len(permutation):
            return None
        op: Quantisation = replace(self, axis=permutation[self.axis])  # type: ignore[type-var]  # subclasses are dataclasses
        return Transposed(op, permutation, moved=1)


@dataclass(frozen=True, slots=True)
class Dequantize(Quantisation):
    """(data - zero point) · scale, of the type of the scale (ONNX DequantizeLinear).

    Inputs: integers, scale, perhaps zero point: one for all, one per index of `axis`, or one per `block` of indices.
    """

    axis: int = 1
    block: int = 0

    def infer(
        self, data: TensorType, scale: TensorType, zero_point: TensorType | None = None
    ) -> tuple[TensorType, ...]:
        INTEGERS.check(self, "data", data)
        FLOATS.check(self, "scale", scale)
        same = zero_point is None or zero_point.dtype == data.dtype
        require(same, self, f"data and zero point expect one type, found {data} and {zero_point}")
        _require_factors(self, data, {"scale": scale, "zero point": zero_point}, self.axis, self.block)
        return (TensorType(scale.dtype, data.shape),)

    def compute(
        self, data: View, scale: View, zero_point: View | None = None, *, outputs: Sequence[TensorType]
    ) -> Computation:
        layout = outputs[0].memory_layout
        return quantization.dequantize(data, scale, zero_point, self.axis, self.block, layout)


@dataclass(frozen=True, slots=True)
class Quantize(Quantisation):
    """data / scale to the nearest integer, ties to even, + zero point, limited to `dtype` (ONNX QuantizeLinear).

    Inputs: data, scale, perhaps zero point, as those of Dequantize.
    """

    dtype: DType
    axis: int = 1
    block: int = 0

    def infer(
        self, data: TensorType, scale: TensorType, zero_point: TensorType | None = None
    ) -> tuple[TensorType, ...]:
        FLOATS.check(self, "data", data)
        require(data.dtype == scale.dtype, self, f"data and scale expect one type, found {data} and {scale}")
        narrow = self.dtype.is_int and self.dtype.bits <= 16
        require(narrow, self, f"dtype expects integers of at most 16 bits, found {self.dtype}")
        same = zero_point is None or zero_point.dtype == self.dtype
        require(same, self, f"expects a zero point of {self.dtype}, found {zero_point}")
        _require_factors(self, data, {"scale": scale, "zero point": zero_point}, self.axis, self.block)
        return (TensorType(self.dtype, data.shape),)

    def compute(
        self, data: View, scale: View, zero_point: View | None = None, *, outputs: Sequence[TensorType]
    ) -> Computation:
        layout = outputs[0].memory_layout
        return quantization.quantize(data, scale, zero_point, self.dtype, self.axis, self.block, layout)


OPS = (Dequantize, Quantize)
"""The operators of this file."""
