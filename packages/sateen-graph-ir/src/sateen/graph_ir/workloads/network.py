"""A graph builder with the layers of classic networks. Weights are drawn from a seed."""

from __future__ import annotations

import numpy as np

from sateen.graph_ir.ir import Graph, GraphBuilder, Value
from sateen.graph_ir.ops import (
    Add,
    AveragePool,
    BatchNormalization,
    Concat,
    Conv,
    ConvTranspose,
    GlobalAveragePool,
    MatMul,
    MaxPool,
    Relu,
    Reshape,
    Softmax,
)

Window = int | tuple[int, ...]


class Network(GraphBuilder):
    """Layers over float32 values [batch, channels, height, width] or [batch, features]."""

    def __init__(self, name: str, seed: int = 0) -> None:
        super().__init__(name)
        self._random = np.random.default_rng(seed)

    # Parameters.

    def weight(self, name: str, *shape: int, fan_in: int) -> Value:
        """Normal, of a variance that keeps activations behind a relu about as large as in front of the layer."""
        drawn = self._random.standard_normal(shape, np.float32)
        return self.parameter(name, drawn * np.float32(np.sqrt(1.6 / fan_in)))

    def uniform(self, name: str, size: int, low: float, high: float) -> Value:
        return self.parameter(name, self._random.uniform(low, high, size).astype(np.float32))

    # Layers.

    def conv(
        self, x: Value, channels: int, kernel: Window, stride: int = 1, pad: Window = 0, groups: int = 1,
        bias: bool = True, name: str = "conv",
    ) -> Value:  # fmt: skip
        height, width = _pair(kernel)
        inputs = _channels(x) // groups
        weight = self.weight(f"{name}_weight", channels, inputs, height, width, fan_in=inputs * height * width)
        shift = self.uniform(f"{name}_bias", channels, -0.1, 0.1) if bias else None
        op = Conv(strides=(stride, stride), pads=_pair(pad) * 2, dilations=(1, 1), groups=groups)
        return self.add(op, x, weight, shift, name=name)

    def conv_transpose(self, x: Value, channels: int, kernel: int, stride: int, pad: int) -> Value:
        weight = self.weight("deconv_weight", _channels(x), channels, kernel, kernel, fan_in=_channels(x) * kernel)
        op = ConvTranspose(strides=(stride, stride), pads=(pad,) * 4, dilations=(1, 1), groups=1, output_padding=(0, 0))
        return self.add(op, x, weight, name="deconv")

    def norm(self, x: Value) -> Value:
        """Batch normalization."""
        n = _channels(x)
        ranges = {"scale": (0.8, 1.2), "shift": (-0.1, 0.1), "mean": (-0.1, 0.1), "variance": (0.5, 1.5)}
        statistics = [self.uniform(f"norm_{name}", n, *limits) for name, limits in ranges.items()]
        return self.add(BatchNormalization(epsilon=1e-5), x, *statistics, name="norm")

    def relu(self, x: Value) -> Value:
        return self.add(Relu(), x)

    def conv_relu(self, x: Value, channels: int, kernel: Window, stride: int = 1, pad: Window = 0) -> Value:
        return self.relu(self.conv(x, channels, kernel, stride, pad))

    def conv_norm_relu(
        self, x: Value, channels: int, kernel: Window, stride: int = 1, pad: Window = 0, groups: int = 1
    ) -> Value:
        return self.relu(self.norm(self.conv(x, channels, kernel, stride, pad, groups, bias=False)))

    def dense(self, x: Value, units: int, bias: bool = True) -> Value:
        """x [..., features] to [..., units]."""
        features = _extent(x, -1)
        y = self.add(MatMul(), x, self.weight("dense_weight", features, units, fan_in=features), name="dense")
        return self.add(Add(), y, self.uniform("dense_bias", units, -0.1, 0.1)) if bias else y

    def max_pool(self, x: Value, kernel: int, stride: int, pad: int = 0, ceil_mode: bool = False) -> Value:
        op = MaxPool(
            kernel=(kernel, kernel), strides=(stride, stride), pads=(pad,) * 4, dilations=(1, 1), ceil_mode=ceil_mode
        )
        return self.add(op, x, name="max_pool")

    def average_pool(self, x: Value, kernel: int, stride: int, pad: int = 0) -> Value:
        """The padding does not count."""
        op = AveragePool(kernel=(kernel, kernel), strides=(stride, stride), pads=(pad,) * 4, dilations=(1, 1))
        return self.add(op, x, name="average_pool")

    def global_average(self, x: Value) -> Value:
        """[batch, channels]."""
        return self.flatten(self.add(GlobalAveragePool(), x))

    def concat(self, *parts: Value) -> Value:
        return self.add(Concat(axis=1), *parts)

    def reshape(self, x: Value, *shape: int) -> Value:
        return self.add(Reshape(shape=shape), x)

    def flatten(self, x: Value) -> Value:
        """[batch, all other elements]."""
        batch, *rest = x.type.static_shape
        return self.reshape(x, batch, int(np.prod(rest)))

    def classify(self, x: Value, classes: int) -> Graph:
        """The finished network, whose output are the probabilities that a dense layer and a softmax give."""
        return self.end(self.add(Softmax(axis=1), self.dense(x, classes), name="probabilities"))

    def end(self, *outputs: Value) -> Graph:
        self.output(*outputs)
        return self.finish()


def _pair(window: Window) -> tuple[int, ...]:
    return (window, window) if isinstance(window, int) else window


def _channels(x: Value) -> int:
    return _extent(x, 1)


def _extent(x: Value, axis: int) -> int:
    return x.type.static_shape[axis]
