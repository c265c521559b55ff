"""Pass move_strides_up."""

import numpy as np
import pytest

from sateen.graph_ir.ir import GraphBuilder, verify_graph
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import Add, Conv, Relu
from sateen.graph_ir.passes.move_strides_up import move_strides_up

PADDED = (1, 1, 1, 1)


@pytest.fixture
def g():
    return GraphBuilder("test")


def conv(g, x, kernel=1, stride=1, pads=(), name=""):
    random = np.random.default_rng(kernel)
    weight = g.parameter("w", random.standard_normal((4, 4, kernel, kernel)).astype("float32"))
    return g.add(Conv((stride, stride), pads), x, weight, name=name)


def moved(graph):
    """The graph after the pass, whose values have been compared."""
    after = move_strides_up(graph)
    verify_graph(after)
    data = {"x": np.random.default_rng(0).standard_normal((1, 4, 9, 8)).astype("float32")}
    before_values, after_values = interpret(graph, data), interpret(after, data)
    for name, value in before_values.items():
        assert np.allclose(after_values[name], value, rtol=1e-5, atol=1e-5)
    return after


def strides(graph):
    return [n.op.strides for n in graph.nodes if isinstance(n.op, Conv)]


def test_through_element_wise_nodes_and_pointwise_convolutions(g):
    x = g.input("x", "float32", (1, 4, 9, 8))
    a = conv(g, conv(g, x, 3, 1, PADDED))
    s = g.add(Relu(), g.add(Add(), a, g.add(Relu(), x)))
    g.output(conv(g, s, stride=2, name="y"), conv(g, s, stride=2, name="z"))
    after = moved(g.finish())
    assert strides(after) == [(2, 2), (), (), ()]
    assert [n.op.op_name() for n in after.nodes] == ["conv", "conv", "relu", "slice", "add", "relu", "conv", "conv"]


def test_nothing_is_looked_at_without_strides_to_move(g, monkeypatch):
    monkeypatch.setattr("sateen.graph_ir.passes.move_strides_up.compute_node", None)
    x = g.input("x", "float32", (1, 4, 9, 8))
    g.output(conv(g, g.add(Relu(), conv(g, x, 3, 2, PADDED))))
    graph = g.finish()
    assert move_strides_up(graph) is graph


def test_strides_multiply(g):
    x = g.input("x", "float32", (1, 4, 9, 8))
    g.output(conv(g, conv(g, x, 3, 2, PADDED), stride=2))
    assert strides(moved(g.finish())) == [(4, 4), ()]


@pytest.mark.parametrize(("kernel", "stride", "pads"), [(3, 2, PADDED), (1, 1, ()), (1, 2, PADDED)])
def test_other_readers_read_all(g, kernel, stride, pads):
    x = g.input("x", "float32", (1, 4, 9, 8))
    a = conv(g, x, 3, 1, PADDED)
    g.output(conv(g, a, stride=2), conv(g, a, kernel, stride, pads))
    graph = g.finish()
    assert move_strides_up(graph) is graph


def test_an_output_stays_whole(g):
    x = g.input("x", "float32", (1, 4, 9, 8))
    a = conv(g, x, 3, 1, PADDED)
    g.output(a, conv(g, a, stride=2))
    graph = g.finish()
    assert move_strides_up(graph) is graph


def test_what_no_convolution_computes_stays(g):
    x = g.input("x", "float32", (1, 4, 9, 8))
    g.output(conv(g, g.add(Relu(), x), stride=2))
    graph = g.finish()
    assert move_strides_up(graph) is graph
