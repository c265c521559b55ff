"""Pass pool_in_convolutions."""

import numpy as np
import pytest

from sateen import graph_ir, runtime
from sateen.graph_ir.ir import GraphBuilder, verify_graph
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import AveragePool, Clip, LeakyRelu, MaxPool, Relu, Sigmoid, WinogradConv
from sateen.graph_ir.passes.pool_in_convolutions import pool_in_convolutions
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes
from sateen.topi.computations import convolution
from sateen.topi.computations.convolution import Blocks

SQUARES = MaxPool((2, 2), (2, 2))


def network(*functions, pool=SQUARES, tile=4, size=(14, 19), read=False, channels=32, block=()):
    random = np.random.default_rng(0)
    g = GraphBuilder("test")
    weight = random.standard_normal((32, channels, 3, 3)).astype("float32") * 0.1
    w = g.parameter("w", convolution.winograd_weight(weight, convolution.TRANSFORMS[tile, 1]))
    b = g.parameter("b", random.standard_normal(32).astype("float32"))
    op, method = WinogradConv(tile, 1, (1, 1, 1, 1)), Blocks(*(block or [-(-n // tile) for n in size]), 2)
    a = value = g.add(op, g.input("x", "float32", (1, channels, *size)), w, b, name="a", method=method)
    for function in functions:
        value = g.add(function, value)
    y = g.add(pool, value, name="y")
    g.output(*([y, g.add(Relu(), a)] if read else [y]))
    return g.finish()


@pytest.mark.parametrize(
    ("functions", "tile", "pool"),
    [
        ((), 2, SQUARES),
        ((Relu(),), 4, SQUARES),
        ((LeakyRelu(0.1), Clip(-1.0, 1.0)), 6, SQUARES),
        ((Relu(),), 6, MaxPool((3, 3), (3, 3), (0, 0, 0, 0), (1, 1))),
        ((Relu(),), 4, MaxPool((4, 4), (4, 4))),
    ],
)
def test_convolutions_give_the_maxima_of_squares(functions, tile, pool):
    before = network(*functions, tile=tile, pool=pool)
    after = remove_dead_nodes(pool_in_convolutions(before))
    verify_graph(after)
    expected = WinogradConv(tile, 1, (1, 1, 1, 1), pool.kernel[0])
    assert after.nodes[0].method == before.nodes[0].method
    assert [n.op for n in after.nodes] == [expected, *functions]
    x = {"x": np.random.default_rng(1).standard_normal((1, 32, 14, 19)).astype("float32")}
    assert np.allclose(interpret(after, x)["y"], interpret(before, x)["y"], atol=1e-5)


@pytest.mark.parametrize(("size", "tile", "block"), [((14, 19), 4, ()), ((24, 40), 4, (1, 10)), ((24, 40), 6, (2, 7))])
def test_kernels_give_the_same(size, tile, block):
    before = network(Relu(), size=size, tile=tile, block=block)
    x = {"x": np.random.default_rng(1).standard_normal((1, 32, *size)).astype("float32")}
    (found,) = runtime.load(graph_ir.build(pool_in_convolutions(before)).to_bytes()).run(x).values()
    expected = interpret(before, x)["y"]
    assert np.abs(found.numpy() - expected).max() < 5e-5 * np.abs(expected).max()


def test_operations_are_those_of_the_whole_convolution():
    (pooled,) = remove_dead_nodes(pool_in_convolutions(network())).nodes
    types = [v.type for v in pooled.inputs]
    assert pooled.op.operations(types, [v.type for v in pooled.outputs]) == 2 * 14 * 19 * 32 * 32 * 9


@pytest.mark.parametrize(
    "graph",
    [
        network(Sigmoid()),
        network(LeakyRelu(-0.1)),
        network(Clip(1.0, -1.0)),
        network(read=True),
        network(pool=AveragePool((2, 2), (2, 2))),
        network(pool=MaxPool((3, 3), (2, 2))),
        network(pool=MaxPool((3, 3), (3, 3))),
        network(pool=MaxPool((2, 1), (2, 1))),
        network(pool=MaxPool((2, 2), (2, 2), (1, 1, 1, 1))),
        network(pool=MaxPool((2, 2), (2, 2), (0, 0, 0, 0), (2, 2))),
        network(pool=MaxPool((2, 2), (2, 2), ceil_mode=True)),
    ],
    ids=[
        "a function that rounds",
        "a decreasing function",
        "no limits",
        "another reader",
        "an average",
        "overlapping squares",
        "squares that cross tiles",
        "no squares",
        "padding",
        "dilations",
        "squares cut off",
    ],
)
def test_others_stay(graph):
    assert pool_in_convolutions(graph) is graph
