"""DenseNet: Huang et al., Densely Connected Convolutional Networks (2016)."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph, Value
from sateen.graph_ir.workloads.network import Network

_DEPTHS = {121: (6, 12, 24, 16), 169: (6, 12, 32, 32), 201: (6, 12, 48, 32)}


def densenet(
    layers: int = 121, batch: int = 1, image: int = 224, classes: int = 1000, growth: int = 32, seed: int = 0
) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes], for 121, 169 or 201 layers."""
    n = Network(f"densenet{layers}", seed)
    x = n.input("data", "float32", (batch, 3, image, image))
    x = n.max_pool(n.conv_norm_relu(x, 2 * growth, 7, stride=2, pad=3), 3, 2, pad=1)
    depths = _DEPTHS[layers]
    for stage, depth in enumerate(depths):
        for _ in range(depth):
            y = _norm_relu_conv(n, x, 4 * growth, 1)
            x = n.concat(x, _norm_relu_conv(n, y, growth, 3))
        if stage + 1 < len(depths):
            x = n.average_pool(_norm_relu_conv(n, x, x.type.static_shape[1] // 2, 1), 2, 2)
    return n.classify(n.global_average(n.relu(n.norm(x))), classes)


def _norm_relu_conv(n: Network, x: Value, channels: int, kernel: int) -> Value:
    return n.conv(n.relu(n.norm(x)), channels, kernel, pad=kernel // 2, bias=False)
