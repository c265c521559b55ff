"""The number of threads changes no bit of a result."""

import numpy as np
import pytest

from sateen.graph_ir import build
from sateen.graph_ir.ir import GraphBuilder
from sateen.graph_ir.ops import GRU, LSTM, Attention, Conv, LayerNormalization, MatMul, MaxPool, Relu, Softmax
from sateen.runtime import load

RANDOM = np.random.default_rng(0)


def weight(*shape):
    return (RANDOM.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)


def convolutions(g):
    x = g.input("x", "float32", (1, 32, 30, 30))
    for groups, size in ((1, 3), (64, 3), (1, 1)):
        taken = 32 if groups == 1 and size == 3 else 64
        conv = Conv(pads=(size // 2,) * 4, groups=groups)
        x = g.add(Relu(), g.add(conv, x, g.parameter(f"w{groups}{size}", weight(64, taken // groups, size, size))))
    return g.add(MaxPool((3, 3), (2, 2)), x)


def products(g):
    x = g.input("x", "float32", (1, 50, 128))
    x = g.add(MatMul(), x, g.parameter("wide", weight(128, 500)))
    return g.add(Softmax(2), g.add(LayerNormalization(2), x, g.parameter("scale", weight(500))))


def one_row(g):
    return g.add(MatMul(), g.input("x", "float32", (1, 1000)), g.parameter("w", weight(1000, 3000)))


def attention(g):
    return g.add(Attention(0.2), *(g.input(n, "float32", (1, 6, 70, 32)) for n in "qkv"))


def lstm(g):
    x = g.input("x", "float32", (12, 3, 64))
    return g.add_all(LSTM(256), x, g.parameter("w", weight(1, 1024, 64)), g.parameter("r", weight(1, 1024, 256)))


def gru(g):
    x = g.input("x", "float32", (12, 3, 64))
    return g.add_all(GRU(256), x, g.parameter("w", weight(1, 768, 64)), g.parameter("r", weight(1, 768, 256)))


@pytest.mark.parametrize("network", [convolutions, products, one_row, attention, lstm, gru])
@pytest.mark.parametrize("numerics", ["default", "fast"])
def test_bits(network, numerics):
    g = GraphBuilder(network.__name__)
    made = network(g)
    g.output(*(made if isinstance(made, tuple) else (made,)))
    graph = g.finish()
    artifact = build(graph, numerics=numerics)
    given = {v.name: RANDOM.standard_normal(v.type.static_shape).astype(np.float32) for v in graph.inputs}
    alone, *others = (
        {name: array.numpy() for name, array in load(artifact, threads=n).run(given).items()} for n in (1, 2, 3)
    )
    for found in others:
        for name, array in alone.items():
            np.testing.assert_array_equal(found[name], array)
