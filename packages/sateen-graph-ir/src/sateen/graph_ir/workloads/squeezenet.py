"""SqueezeNet 1.1: Iandola et al., AlexNet-level accuracy with 50x fewer parameters (2016)."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph, Value
from sateen.graph_ir.ops import Softmax
from sateen.graph_ir.workloads.network import Network


def squeezenet(batch: int = 1, image: int = 224, classes: int = 1000, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes]."""
    n = Network("squeezenet", seed)
    x = n.input("data", "float32", (batch, 3, image, image))
    x = n.max_pool(n.conv_relu(x, 64, 3, stride=2), 3, 2)
    x = n.max_pool(_fire(n, _fire(n, x, 16, 64), 16, 64), 3, 2)
    x = n.max_pool(_fire(n, _fire(n, x, 32, 128), 32, 128), 3, 2)
    for squeeze, expand in ((48, 192), (48, 192), (64, 256), (64, 256)):
        x = _fire(n, x, squeeze, expand)
    x = n.global_average(n.conv_relu(x, classes, 1))
    return n.end(n.add(Softmax(axis=1), x, name="probabilities"))


def _fire(n: Network, x: Value, squeeze: int, expand: int) -> Value:
    x = n.conv_relu(x, squeeze, 1)
    return n.concat(n.conv_relu(x, expand, 1), n.conv_relu(x, expand, 3, pad=1))
