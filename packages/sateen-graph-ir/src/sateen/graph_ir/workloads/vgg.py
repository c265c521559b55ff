"""VGG: Simonyan and Zisserman, Very Deep Convolutional Networks for Large-Scale Image Recognition (2014)."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph
from sateen.graph_ir.workloads.network import Network

_DEPTHS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


def vgg(layers: int = 16, batch: int = 1, image: int = 224, classes: int = 1000, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes], for 11, 13, 16 or 19 layers."""
    n = Network(f"vgg{layers}", seed)
    x = n.input("data", "float32", (batch, 3, image, image))
    for depth, channels in zip(_DEPTHS[layers], (64, 128, 256, 512, 512), strict=True):
        for _ in range(depth):
            x = n.conv_relu(x, channels, 3, pad=1)
        x = n.max_pool(x, 2, 2)
    x = n.flatten(x)
    for _ in range(2):
        x = n.relu(n.dense(x, 4096))
    return n.classify(x, classes)
