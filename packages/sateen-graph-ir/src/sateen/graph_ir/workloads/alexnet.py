"""AlexNet: Krizhevsky, ImageNet Classification with Deep Convolutional Neural Networks (2012), in one column (2014)."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph
from sateen.graph_ir.workloads.network import Network


def alexnet(batch: int = 1, image: int = 224, classes: int = 1000, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes]."""
    n = Network("alexnet", seed)
    x = n.input("data", "float32", (batch, 3, image, image))
    x = n.max_pool(n.conv_relu(x, 64, 11, stride=4, pad=2), 3, 2)
    x = n.max_pool(n.conv_relu(x, 192, 5, pad=2), 3, 2)
    for channels in (384, 256, 256):
        x = n.conv_relu(x, channels, 3, pad=1)
    x = n.flatten(n.max_pool(x, 3, 2))
    for _ in range(2):
        x = n.relu(n.dense(x, 4096))
    return n.classify(x, classes)
