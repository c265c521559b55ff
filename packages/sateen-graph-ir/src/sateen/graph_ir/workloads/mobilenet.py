"""MobileNet: Howard et al. (2017); version 2: Sandler et al., Inverted Residuals and Linear Bottlenecks (2018)."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph, Value
from sateen.graph_ir.ops import Add, Clip
from sateen.graph_ir.workloads.network import Network

_V1 = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))
"""Channels and stride of each separable convolution (table 1)."""
_V2 = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip
"""Expansion, channels, blocks and first stride of each stage (table 2)."""


def mobilenet(batch: int = 1, image: int = 224, classes: int = 1000, width: float = 1.0, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes]; `width` scales the channels."""
    n = Network("mobilenet", seed)
    x = n.input("data", "float32", (batch, 3, image, image))
    x = n.conv_norm_relu(x, int(32 * width), 3, stride=2, pad=1)
    for channels, stride in _V1:
        inputs = x.type.static_shape[1]
        x = n.conv_norm_relu(x, inputs, 3, stride, pad=1, groups=inputs)
        x = n.conv_norm_relu(x, int(channels * width), 1)
    return n.classify(n.global_average(x), classes)


def mobilenet_v2(batch: int = 1, image: int = 224, classes: int = 1000, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes]."""
    n = Network("mobilenet_v2", seed)
    x = n.input("data", "float32", (batch, 3, image, image))
    x = _relu6(n, n.norm(n.conv(x, 32, 3, stride=2, pad=1, bias=False)))
    for expansion, channels, blocks, first in _V2:
        for block in range(blocks):
            x = _inverted_residual(n, x, expansion, channels, first if block == 0 else 1)
    x = _relu6(n, n.norm(n.conv(x, 1280, 1, bias=False)))
    return n.classify(n.global_average(x), classes)


def _inverted_residual(n: Network, x: Value, expansion: int, channels: int, stride: int) -> Value:
    inputs = x.type.static_shape[1]
    inner = inputs * expansion
    y = _relu6(n, n.norm(n.conv(x, inner, 1, bias=False))) if expansion > 1 else x
    y = _relu6(n, n.norm(n.conv(y, inner, 3, stride, pad=1, groups=inner, bias=False)))
    y = n.norm(n.conv(y, channels, 1, bias=False))
    return n.add(Add(), x, y) if stride == 1 and inputs == channels else y


def _relu6(n: Network, x: Value) -> Value:
    return n.add(Clip(low=0.0, high=6.0), x)
