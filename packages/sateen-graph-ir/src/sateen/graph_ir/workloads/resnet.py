"""Residual networks: He et al., Deep Residual Learning for Image Recognition (2015)."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph, Value
from sateen.graph_ir.ops import Add
from sateen.graph_ir.workloads.network import Network

_DEPTHS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


def resnet(layers: int = 18, batch: int = 1, image: int = 224, classes: int = 1000, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes], for 18, 34, 50, 101 or 152 layers."""
    n = Network(f"resnet{layers}", seed)
    x = n.input("data", "float32", (batch, 3, image, image))
    x = n.max_pool(n.conv_norm_relu(x, 64, 7, stride=2, pad=3), 3, 2, pad=1)
    bottleneck = layers >= 50
    for stage, depth in enumerate(_DEPTHS[layers]):
        for block in range(depth):
            stride = 2 if stage > 0 and block == 0 else 1
            x = _block(n, x, 64 << stage, stride, bottleneck)
    return n.classify(n.global_average(x), classes)


def _block(n: Network, x: Value, channels: int, stride: int, bottleneck: bool) -> Value:
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
