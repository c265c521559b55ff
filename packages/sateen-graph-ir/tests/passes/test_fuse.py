"""Pass fuse."""

import numpy as np
import pytest

from sateen.graph_ir.ir import GraphBuilder, verify_graph
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import Add, Concat, Conv, CumSum, Exp, Multiply, Relu, Sigmoid, Transpose
from sateen.graph_ir.passes import separations
from sateen.graph_ir.passes.fuse import fuse

SHAPE = (1, 4, 6, 6)


def groups(graph):
    """The operators of each group."""
    fused = fuse(graph)
    verify_graph(fused)
    return [" ".join(n.op.op_name() for n in node.op.body.nodes) for node in fused.nodes]


@pytest.fixture
def g():
    return GraphBuilder("test")


def conv(g, x):
    weight = np.random.default_rng(0).standard_normal((4, 4, 3, 3)).astype("float32")
    return g.add(Conv((1, 1), (1, 1, 1, 1)), x, g.parameter("w", weight), name="c")


def test_a_chain_behind_a_master_is_one_group(g):
    x = g.input("x", "float32", SHAPE)
    g.output(g.add(Relu(), g.add(Add(), conv(g, x), x)))
    assert groups(g.finish()) == ["conv add relu"]


def test_a_result_that_the_group_reads_twice_is_part_of_it(g):
    x = g.input("x", "float32", SHAPE)
    c = conv(g, x)
    g.output(g.add(Multiply(), c, g.add(Sigmoid(), c), name="y"))
    graph = g.finish()
    assert groups(graph) == ["conv sigmoid multiply"]
    data = {"x": np.random.default_rng(1).standard_normal(SHAPE).astype("float32")}
    assert np.array_equal(interpret(graph, data)["y"], interpret(fuse(graph), data)["y"])


def test_a_result_with_a_reader_elsewhere_stays_in_memory(g):
    x = g.input("x", "float32", SHAPE)
    c = conv(g, x)
    g.output(g.add(Multiply(), c, g.add(Sigmoid(), c)), g.add(Transpose((0, 2, 3, 1)), c))
    graph = g.finish()
    assert groups(graph) == ["conv", "sigmoid multiply", "transpose"]
    assert separations(graph)[c] == "read 3 times"


def test_an_output_of_the_network_stays_in_memory(g):
    x = g.input("x", "float32", SHAPE)
    c = conv(g, x)
    g.output(c, g.add(Relu(), c))
    graph = g.finish()
    assert groups(graph) == ["conv", "relu"]
    assert separations(graph)[c] == "output of the network"


def test_no_reader_behind_a_master_moves_its_elements(g):
    x = g.input("x", "float32", SHAPE)
    c = conv(g, x)
    g.output(g.add(Add(), c, g.add(Transpose((0, 1, 3, 2)), c)))
    assert groups(g.finish()) == ["conv", "transpose add"]


def test_what_is_inlined_again_and_again_is_cut(g):
    v = g.input("x", "float32", SHAPE)
    for _ in range(12):
        v = g.add(Multiply(), v, g.add(Exp(), v))
    g.output(v)
    found = groups(g.finish())
    assert 1 < len(found) < 6
    assert " ".join(found).split() == ["exp", "multiply"] * 12


def test_a_concatenation_of_what_is_computed_in_place_stays_alone(g):
    x = g.input("x", "float32", SHAPE)
    both = g.add(Concat(1), g.add(Relu(), x), g.add(Exp(), x), name="both")
    g.output(g.add(Sigmoid(), both))
    graph = g.finish()
    assert groups(graph) == ["relu", "exp", "concat", "sigmoid"]
    reasons = separations(graph)
    assert reasons[both] == "concat only puts values side by side"
    assert {reasons[v] for v in graph.nodes[2].inputs} == {"computed where concat needs it"}


def test_a_concatenation_is_no_epilogue(g):
    x = g.input("x", "float32", SHAPE)
    g.output(g.add(Concat(1), conv(g, x), x))
    assert groups(g.finish()) == ["conv", "concat"]


def test_a_kernel_without_a_schedule_takes_nothing_behind_it(g):
    x = g.input("x", "float32", SHAPE)
    g.output(g.add(Add(), g.add(CumSum(1, False, False), x), x))
    assert groups(g.finish()) == ["cum_sum", "add"]


def test_what_is_fused_stays():
    g = GraphBuilder("test")
    x = g.input("x", "float32", (4,))
    g.output(g.add(Exp(), g.add(Relu(), x)))
    fused = fuse(g.finish())
    again = fuse(fused)
    assert again.nodes == fused.nodes
