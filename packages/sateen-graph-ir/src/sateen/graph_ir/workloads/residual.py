"""Networks whose blocks add their input to what they compute, and separable convolutions."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph, Value
from sateen.graph_ir.ops import Add, Clip
from sateen.graph_ir.workloads.network import Network

_RESNET_DEPTHS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
_MOBILENET = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))
"""Channels and stride of each separable convolution (table 1)."""
_MOBILENET_V2 = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip
"""Expansion, channels, blocks and first stride of each stage (table 2)."""


def resnet(layers: int = 18, batch: int = 1, image: int = 224, classes: int = 1000, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes], for 18, 34, 50, 101 or 152 layers.

    Residual networks: He et al., Deep Residual Learning for Image Recognition (2015).
    """
    n = Network(f"resnet{layers}", seed)
    x = n.input("data", "float32", (batch, 3, image, image))
    x = n.max_pool(n.conv_norm_relu(x, 64, 7, stride=2, pad=3), 3, 2, pad=1)
    bottleneck = layers >= 50
    for stage, depth in enumerate(_RESNET_DEPTHS[layers]):
        for block in range(depth):
            stride = 2 if stage > 0 and block == 0 else 1
            x = _residual(n, x, 64 << stage, stride, bottleneck)
    return n.classify(n.global_average(x), classes)


def _residual(n: Network, x: Value, channels: int, stride: int, bottleneck: bool) -> Value:
    """relu(branch(x) + shortcut(x))."""
    if bottleneck:
        outputs = 4 * channels
        y = n.conv_norm_relu(x, channels, 1)
        y = n.conv_norm_relu(y, channels, 3, stride, pad=1)
        y = n.norm(n.conv(y, outputs, 1, bias=False))
    else:
        outputs = channels
        y = n.conv_norm_relu(x, channels, 3, stride, pad=1)
        y = n.norm(n.conv(y, outputs, 3, pad=1, bias=False))
    if stride != 1 or x.type.static_shape[1] != outputs:
        x = n.norm(n.conv(x, outputs, 1, stride, bias=False))
    return n.relu(n.add(Add(), y, x))


def mobilenet(batch: int = 1, image: int = 224, classes: int = 1000, width: float = 1.0, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes]; `width` scales the channels.

    MobileNet: Howard et al. (2017).
    """
    n = Network("mobilenet", seed)
    x = n.input("data", "float32", (batch, 3, image, image))
    x = n.conv_norm_relu(x, int(32 * width), 3, stride=2, pad=1)
    for channels, stride in _MOBILENET:
        inputs = x.type.static_shape[1]
        x = n.conv_norm_relu(x, inputs, 3, stride, pad=1, groups=inputs)
        x = n.conv_norm_relu(x, int(channels * width), 1)
    return n.classify(n.global_average(x), classes)


def mobilenet_v2(batch: int = 1, image: int = 224, classes: int = 1000, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes].

    MobileNet 2: Sandler et al., Inverted Residuals and Linear Bottlenecks (2018).
    """
    n = Network("mobilenet_v2", seed)
    x = n.input("data", "float32", (batch, 3, image, image))
    x = _relu6(n, n.norm(n.conv(x, 32, 3, stride=2, pad=1, bias=False)))
    for expansion, channels, blocks, first in _MOBILENET_V2:
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
