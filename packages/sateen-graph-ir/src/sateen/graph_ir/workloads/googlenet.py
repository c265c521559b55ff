"""GoogLeNet: Szegedy et al., Going Deeper with Convolutions (2014), normalised in place of its response norms."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph, Value
from sateen.graph_ir.workloads.network import Network

_BLOCKS = (
    ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64)),
    (
        (192, 96, 208, 16, 48, 64), (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64),
        (112, 144, 288, 32, 64, 64), (256, 160, 320, 32, 128, 128),
    ),
    ((256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)),
)  # fmt: skip
"""Per stage and block the channels of 1x1, 3x3 reduced and full, 5x5 reduced and full, and the pool (table 1)."""


def googlenet(batch: int = 1, image: int = 224, classes: int = 1000, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes]."""
    n = Network("googlenet", seed)
    conv = n.conv_norm_relu
    x = n.input("data", "float32", (batch, 3, image, image))
    x = n.max_pool(conv(x, 64, 7, stride=2, pad=3), 3, 2, ceil_mode=True)
    x = conv(conv(x, 64, 1), 192, 3, pad=1)
    for blocks in _BLOCKS:
        x = n.max_pool(x, 3, 2, ceil_mode=True)
        for channels in blocks:
            x = _block(n, x, *channels)
    return n.classify(n.global_average(x), classes)


def _block(n: Network, x: Value, one: int, three_in: int, three: int, five_in: int, five: int, pool: int) -> Value:
    conv = n.conv_norm_relu
    return n.concat(
        conv(x, one, 1),
        conv(conv(x, three_in, 1), three, 3, pad=1),
        conv(conv(x, five_in, 1), five, 5, pad=2),
        conv(n.max_pool(x, 3, 1, pad=1), pool, 1),
    )
