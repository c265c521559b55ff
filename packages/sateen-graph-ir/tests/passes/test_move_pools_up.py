"""Pass move_pools_up."""

import numpy as np
import pytest

from sateen.graph_ir.ir import GraphBuilder, verify_graph
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import AveragePool, Conv, Relu
from sateen.graph_ir.passes.move_pools_up import move_pools_up
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes


def network(pool, *, kernel=1, between=False, read=False):
    random = np.random.default_rng(0)
    g = GraphBuilder("test")
    weight = g.parameter("w", random.standard_normal((3, 4, kernel, kernel)).astype("float32"))
    bias = g.parameter("b", random.standard_normal(3).astype("float32"))
    a = g.add(Conv(), g.input("x", "float32", (1, 4, 9, 9)), weight, bias, name="a")
    y = g.add(pool, g.add(Relu(), a) if between else a, name="y")
    g.output(*([y, g.add(Relu(), a)] if read else [y]))
    return g.finish()


@pytest.mark.parametrize(
    "pool",
    [
        AveragePool((2, 2), (2, 2)),
        AveragePool((3, 3), (2, 2), (1, 1, 1, 1)),
        AveragePool((2, 2), (2, 2), ceil_mode=True),
        AveragePool((9, 9)),
    ],
)
def test_pools_are_exchanged_with_pointwise_convolutions(pool):
    before = network(pool)
    after = remove_dead_nodes(move_pools_up(before))
    verify_graph(after)
    assert [n.op for n in after.nodes] == [pool, Conv()]
    x = {"x": np.random.default_rng(1).standard_normal((1, 4, 9, 9)).astype("float32")}
    assert np.allclose(interpret(after, x)["y"], interpret(before, x)["y"], atol=1e-5)


@pytest.mark.parametrize(
    "graph",
    [
        network(AveragePool((3, 3), (2, 2), (1, 1, 1, 1), count_include_pad=True)),
        network(AveragePool((3, 3), (1, 1), (1, 1, 1, 1))),
        network(AveragePool((2, 2), (2, 2)), kernel=3),
        network(AveragePool((2, 2), (2, 2)), between=True),
        network(AveragePool((2, 2), (2, 2)), read=True),
    ],
    ids=["padding counts", "no fewer elements", "a wider kernel", "a function between", "another reader"],
)
def test_others_stay(graph):
    assert move_pools_up(graph) is graph
