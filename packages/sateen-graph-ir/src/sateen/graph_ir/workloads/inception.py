"""Inception 3: Szegedy et al., Rethinking the Inception Architecture for Computer Vision (2015)."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph, Value
from sateen.graph_ir.workloads.network import Network


def inception_v3(batch: int = 1, image: int = 299, classes: int = 1000, seed: int = 0) -> Graph:
    """data [batch, 3, image, image] to probabilities [batch, classes]."""
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
    """A 5x5 window as two of 3x3, but for the second."""
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
