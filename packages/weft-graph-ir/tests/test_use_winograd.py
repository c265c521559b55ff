"""Pass use_winograd."""

from functools import partial

import numpy as np

from weft.graph_ir.graph import GraphBuilder
from weft.graph_ir.interpreter import interpret
from weft.graph_ir.ops.conv import Conv, WinogradConv
from weft.graph_ir.passes.remove_dead_nodes import remove_dead_nodes
from weft.graph_ir.passes.use_winograd import use_winograd
from weft.graph_ir.pipeline import verify_graph

transform = partial(use_winograd, lanes=16)


def network(*, size=16, channels=32, strides=(1, 1), constant=True):
    random = np.random.default_rng(0)
    g = GraphBuilder("test")
    x = g.input("x", "float32", (1, channels, size, size))
    weight = random.standard_normal((32, channels, 3, 3)).astype("float32")
    w = g.parameter("w", weight) if constant else g.input("w", "float32", weight.shape)
    b = g.parameter("b", random.standard_normal(32).astype("float32"))
    g.output(g.add(Conv(strides, (1, 1, 1, 1)), x, w, b, name="y"))
    return g.finish()


def test_a_large_convolution_is_transformed_and_keeps_its_values():
    before = network()
    after = remove_dead_nodes(transform(before))
    verify_graph(after)
    assert [n.op for n in after.nodes] == [WinogradConv(4, 1, (1, 1, 1, 1))]
    assert [v.name for v in after.outputs] == ["y"]
    x = np.random.default_rng(1).standard_normal((1, 32, 16, 16)).astype("float32")
    expected, found = interpret(before, {"x": x})["y"], interpret(after, {"x": x})["y"]
    assert np.abs(found - expected).max() < 2e-5 * np.abs(expected).max()


def test_others_stay():
    for graph in (network(channels=8), network(strides=(2, 1)), network(size=1), network(constant=False)):
        assert transform(graph) is graph
