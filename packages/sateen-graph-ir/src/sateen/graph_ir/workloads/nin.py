"""Network in network: Lin, Chen and Yan (2013), as for ImageNet."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph
from sateen.graph_ir.ops import Softmax
from sateen.graph_ir.workloads.network import Network


def nin(batch: int = 1, image: int = 224, classes: int = 1000, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes]."""
    n = Network("nin", seed)
    x = n.input("data", "float32", (batch, 3, image, image))
    for channels, kernel, stride, pad in ((96, 11, 4, 0), (256, 5, 1, 2), (384, 3, 1, 1)):
        x = n.conv_relu(x, channels, kernel, stride, pad)
        x = n.conv_relu(n.conv_relu(x, channels, 1), channels, 1)
        x = n.max_pool(x, 3, 2)
    x = n.conv_relu(n.conv_relu(n.conv_relu(x, 1024, 3, pad=1), 1024, 1), classes, 1)
    return n.end(n.add(Softmax(axis=1), n.global_average(x), name="probabilities"))
