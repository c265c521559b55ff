"""Networks whose blocks concatenate what their branches compute."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph, Value
from sateen.graph_ir.ops import Softmax
from sateen.graph_ir.workloads.network import Network

_GOOGLENET_BLOCKS = (
    ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64)),
    (
        (192, 96, 208, 16, 48, 64), (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64),
        (112, 144, 288, 32, 64, 64), (256, 160, 320, 32, 128, 128),
    ),
    ((256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)),
)  # fmt: skip
"""Per stage and block the channels of 1x1, 3x3 reduced and full, 5x5 reduced and full, and the pool (table 1)."""
_DENSENET_DEPTHS = {121: (6, 12, 24, 16), 169: (6, 12, 32, 32), 201: (6, 12, 48, 32)}


def squeezenet(batch: int = 1, image: int = 224, classes: int = 1000, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes].

    SqueezeNet 1.1: Iandola et al., AlexNet-level accuracy with 50x fewer parameters (2016).
    """
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


def googlenet(batch: int = 1, image: int = 224, classes: int = 1000, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes].

    GoogLeNet: Szegedy et al., Going Deeper with Convolutions (2014), normalised in place of its response norms.
    """
    n = Network("googlenet", seed)
    conv = n.conv_norm_relu
    x = n.input("data", "float32", (batch, 3, image, image))
    x = n.max_pool(conv(x, 64, 7, stride=2, pad=3), 3, 2, ceil_mode=True)
    x = conv(conv(x, 64, 1), 192, 3, pad=1)
    for blocks in _GOOGLENET_BLOCKS:
        x = n.max_pool(x, 3, 2, ceil_mode=True)
        for channels in blocks:
            x = _inception(n, x, *channels)
    return n.classify(n.global_average(x), classes)


def _inception(n: Network, x: Value, one: int, three_in: int, three: int, five_in: int, five: int, pool: int) -> Value:
    conv = n.conv_norm_relu
    return n.concat(
        conv(x, one, 1),
        conv(conv(x, three_in, 1), three, 3, pad=1),
        conv(conv(x, five_in, 1), five, 5, pad=2),
        conv(n.max_pool(x, 3, 1, pad=1), pool, 1),
    )


def inception_v3(batch: int = 1, image: int = 299, classes: int = 1000, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes].

    Inception 3: Szegedy et al., Rethinking the Inception Architecture for Computer Vision (2015).
    """
    n = Network("inception_v3", seed)
    conv = n.conv_norm_relu
    x = n.input("data", "float32", (batch, 3, image, image))
    x = conv(conv(conv(x, 32, 3, stride=2), 32, 3), 64, 3, pad=1)
    x = conv(conv(n.max_pool(x, 3, 2), 80, 1), 192, 3)
    x = n.max_pool(x, 3, 2)
    for pooled in (32, 64, 64):
        x = _block_a(n, x, pooled)
    x = n.concat(conv(x, 384, 3, stride=2), conv(_double(n, x), 96, 3, stride=2), n.max_pool(x, 3, 2))
    for inner in (128, 160, 160, 192):
        x = _block_b(n, x, inner)
    long = conv(_row_column(n, conv(x, 192, 1), 192, 192), 192, 3, stride=2)
    x = n.concat(conv(conv(x, 192, 1), 320, 3, stride=2), long, n.max_pool(x, 3, 2))
    for _ in range(2):
        x = _block_c(n, x)
    return n.classify(n.global_average(x), classes)


def _double(n: Network, x: Value) -> Value:
    """A 5x5 window as two windows of 3x3, without the second convolution."""
    return n.conv_norm_relu(n.conv_norm_relu(x, 64, 1), 96, 3, pad=1)


def _pooled(n: Network, x: Value, channels: int) -> Value:
    return n.conv_norm_relu(n.average_pool(x, 3, 1, pad=1), channels, 1)


def _row_column(n: Network, x: Value, inner: int, outputs: int) -> Value:
    """A window of 7x7 as a row and a column."""
    return n.conv_norm_relu(n.conv_norm_relu(x, inner, (1, 7), pad=(0, 3)), outputs, (7, 1), pad=(3, 0))


def _block_a(n: Network, x: Value, pooled: int) -> Value:
    conv = n.conv_norm_relu
    five = conv(conv(x, 48, 1), 64, 5, pad=2)
    return n.concat(conv(x, 64, 1), five, conv(_double(n, x), 96, 3, pad=1), _pooled(n, x, pooled))


def _block_b(n: Network, x: Value, inner: int) -> Value:
    conv = n.conv_norm_relu
    short = _row_column(n, conv(x, inner, 1), inner, 192)
    long = conv(conv(conv(x, inner, 1), inner, (7, 1), pad=(3, 0)), inner, (1, 7), pad=(0, 3))
    long = conv(conv(long, inner, (7, 1), pad=(3, 0)), 192, (1, 7), pad=(0, 3))
    return n.concat(conv(x, 192, 1), short, long, _pooled(n, x, 192))


def _block_c(n: Network, x: Value) -> Value:
    conv = n.conv_norm_relu

    def cross(y: Value) -> tuple[Value, Value]:
        return conv(y, 384, (1, 3), pad=(0, 1)), conv(y, 384, (3, 1), pad=(1, 0))

    three = cross(conv(x, 384, 1))
    double = cross(conv(conv(x, 448, 1), 384, 3, pad=1))
    return n.concat(conv(x, 320, 1), *three, *double, _pooled(n, x, 192))


def densenet(
    layers: int = 121, batch: int = 1, image: int = 224, classes: int = 1000, growth: int = 32, seed: int = 0
) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes], for 121, 169 or 201 layers.

    DenseNet: Huang et al., Densely Connected Convolutional Networks (2016).
    """
    n = Network(f"densenet{layers}", seed)
    x = n.input("data", "float32", (batch, 3, image, image))
    x = n.max_pool(n.conv_norm_relu(x, 2 * growth, 7, stride=2, pad=3), 3, 2, pad=1)
    depths = _DENSENET_DEPTHS[layers]
    for stage, depth in enumerate(depths):
        for _ in range(depth):
            y = _norm_relu_conv(n, x, 4 * growth, 1)
            x = n.concat(x, _norm_relu_conv(n, y, growth, 3))
        if stage + 1 < len(depths):
            x = n.average_pool(_norm_relu_conv(n, x, x.type.static_shape[1] // 2, 1), 2, 2)
    return n.classify(n.global_average(n.relu(n.norm(x))), classes)


def _norm_relu_conv(n: Network, x: Value, channels: int, kernel: int) -> Value:
    return n.conv(n.relu(n.norm(x)), channels, kernel, pad=kernel // 2, bias=False)
