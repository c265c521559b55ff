"""Normalizations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sateen.graph_ir.ir import TensorType
from sateen.graph_ir.ops.softmaxes import infer_along_axis
from sateen.tensor_ir import Machine
from sateen.topi.computations import normalization
from sateen.topi.operators import LayoutChoice, Operator, require
from sateen.topi.schedules import Computation
from sateen.topi.types import Block, Layout, View


def _require_channels(op: Operator, data: TensorType, named: dict[str, TensorType]) -> None:
    """Raise InferenceError unless each named input is a vector over the channels of data."""
    require(data.rank >= 2, op, f"expects data [N, C, …], found {data}")
    require(data.dtype.is_float, op, f"expects floating-point data, found {data.dtype}")
    for name, found in named.items():
        require(
            found.shape == data.shape[1:2] and found.dtype.is_float, op,
            f"data has {data.shape[1]} channels, but {name} is {found}",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class BatchNormalization(Operator):
    """(x - mean) / sqrt(variance + epsilon) · scale + bias by channel, with given statistics (ONNX, inference).

    Inputs: x, scale, bias, mean, variance.
    """

    epsilon: float = 1e-5

    def infer(
        self, data: TensorType, scale: TensorType, bias: TensorType, mean: TensorType, variance: TensorType
    ) -> tuple[TensorType, ...]:
        _require_channels(self, data, {"scale": scale, "bias": bias, "mean": mean, "variance": variance})
        return (TensorType(data.dtype, data.shape),)

    def compute(
        self, data: View, scale: View, bias: View, mean: View, variance: View, *, outputs: Sequence[TensorType]
    ) -> Computation:
        return normalization.batch_normalization(
            data, scale, bias, mean, variance, self.epsilon, outputs[0].memory_layout
        )

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        layout = inputs[0].layout
        vector = _channel_layout(layout)
        yield LayoutChoice((layout, vector, vector, vector, vector), (layout,))


def _channel_layout(data: Layout | None) -> Layout | None:
    """The layout of a vector over channels that goes with the data's: blocked alike, so that a last block is whole."""
    return None if data is None or data.block_of(1) == 1 else Layout.blocked(1, 0, data.block_of(1))


@dataclass(frozen=True, slots=True)
class InstanceNormalization(Operator):
    """(x - mean) / sqrt(variance + epsilon) · scale + bias, statistics of each channel of each image (ONNX)."""

    epsilon: float = 1e-5

    def infer(self, data: TensorType, scale: TensorType, bias: TensorType) -> tuple[TensorType, ...]:
        _require_channels(self, data, {"scale": scale, "bias": bias})
        require(data.rank >= 3, self, f"expects data [N, C, …] of rank 3 or more, found rank {data.rank}")
        return (TensorType(data.dtype, data.shape),)

    def compute(self, data: View, scale: View, bias: View, *, outputs: Sequence[TensorType]) -> Computation:
        if data.layout.is_row_major:
            return normalization.group_normalization(data, scale, bias, data.shape[1], self.epsilon)
        return normalization.blocked_instance_normalization(data, scale, bias, self.epsilon)

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        layout = inputs[0].layout
        if layout is not None and layout == Layout.blocked(layout.rank, 1, layout.block_of(1)):
            vector = _channel_layout(layout)
            yield LayoutChoice((layout, vector, vector), (layout,))
        yield LayoutChoice((None, None, None), (None,))


@dataclass(frozen=True, slots=True)
class GroupNormalization(Operator):
    """(x - mean) / sqrt(variance + epsilon) · scale + bias, statistics of each group of channels (ONNX, opset 21)."""

    groups: int
    epsilon: float = 1e-5

    def infer(self, data: TensorType, scale: TensorType, bias: TensorType) -> tuple[TensorType, ...]:
        _require_channels(self, data, {"scale": scale, "bias": bias})
        channels = data.shape[1]
        require(
            self.groups >= 1 and channels % self.groups == 0, self,
            f"{channels} channels can't be divided into {self.groups} groups",
        )  # fmt: skip
        return (TensorType(data.dtype, data.shape),)

    def compute(self, data: View, scale: View, bias: View, *, outputs: Sequence[TensorType]) -> Computation:
        return normalization.group_normalization(data, scale, bias, self.groups, self.epsilon)


@dataclass(frozen=True, slots=True)
class LayerNormalization(Operator):
    """(x - mean) / sqrt(variance + epsilon) · scale + bias over the axes from `axis` on (ONNX, first output)."""

    axis: int
    epsilon: float = 1e-5

    def infer(self, data: TensorType, scale: TensorType, bias: TensorType | None = None) -> tuple[TensorType, ...]:
        return _infer_rows(self, data, self.axis, scale=scale, bias=bias)

    def compute(
        self, data: View, scale: View | None = None, bias: View | None = None, *, outputs: Sequence[TensorType]
    ) -> Computation:
        return normalization.layer_normalization(data, scale, bias, self.axis, self.epsilon)

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        return _layouts_of_rows(self.axis, inputs, machine)


@dataclass(frozen=True, slots=True)
class RmsNormalization(Operator):
    """x / sqrt(mean of x² + epsilon) · scale over the axes from `axis` on (ONNX, opset 23); scale may be absent."""

    axis: int
    epsilon: float = 1e-5

    def infer(self, data: TensorType, scale: TensorType | None = None) -> tuple[TensorType, ...]:
        return _infer_rows(self, data, self.axis, scale=scale)

    def compute(self, data: View, scale: View | None = None, *, outputs: Sequence[TensorType]) -> Computation:
        return normalization.rms_normalization(data, scale, self.axis, self.epsilon)

    def layouts(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], machine: Machine
    ) -> Iterable[LayoutChoice]:
        return _layouts_of_rows(self.axis, inputs, machine)


def _infer_rows(op: Operator, data: TensorType, axis: int, **operands: TensorType | None) -> tuple[TensorType, ...]:
    """The data's type. Raises InferenceError if an operand does not broadcast to it."""
    for name, found in operands.items():
        if found is None:
            continue
        offset = data.rank - found.rank
        fits = offset >= 0 and all(n in (1, data.shape[offset + d]) for d, n in enumerate(found.shape))
        require(fits, op, f"{name} {found} does not broadcast to data {data}")
    return infer_along_axis(op, data, axis)


def _layouts_of_rows(axis: int, inputs: Sequence[TensorType], machine: Machine) -> Iterable[LayoutChoice]:
    """Rows of a last axis in blocks of whole vectors are read where they are, such as the channels of a convolution."""
    data, *others = inputs
    last, rest = data.rank - 1, (None,) * len(others)
    layout = data.memory_layout
    block = layout.block_of(last)
    is_read = axis == last and layout.order[-1] == Block(last, block) and not layout.pads(data.static_shape)
    if is_read and block % machine.lanes(data.dtype) == 0:
        yield LayoutChoice((data.layout, *rest), (None,))
    yield LayoutChoice((None, *rest), (None,))


@dataclass(frozen=True, slots=True)
class LRN(Operator):
    """x / (bias + alpha / size · Σ x²)^beta, the sum over `size` neighbouring channels (ONNX)."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    bias: float = 1.0

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        require(self.size >= 1, self, f"expects a size of at least 1, found {self.size}")
        require(data.rank >= 3, self, f"expects data [N, C, …] of rank 3 or more, found rank {data.rank}")
        return infer_along_axis(self, data, 1)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return normalization.local_response_normalization(data, self.size, self.alpha, self.beta, self.bias)


@dataclass(frozen=True, slots=True)
class LpNormalization(Operator):
    """x divided by its 1-norm or 2-norm along an axis; 0 where that is 0 (ONNX)."""

    axis: int
    p: int = 2

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        require(self.p in (1, 2), self, f"expects p of 1 or 2, found {self.p}")
        return infer_along_axis(self, data, self.axis)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return normalization.lp_normalization(data, self.axis, self.p)


OPS = (
    BatchNormalization, GroupNormalization, InstanceNormalization, LRN, LayerNormalization, LpNormalization,
    RmsNormalization,
)  # fmt: skip
"""The operators of this file."""
