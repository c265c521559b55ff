"""Pass split_products."""

import numpy as np
import pytest

from sateen.graph_ir.ir import GraphBuilder, verify_graph
from sateen.graph_ir.judge import interpret
from sateen.graph_ir.ops import Add, MatMul, Relu, Split
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes
from sateen.graph_ir.passes.split_products import split_products


def network(*, axis=2, constant=True, bias=None, read=False):
    random = np.random.default_rng(0)
    g = GraphBuilder("test")
    x = g.input("x", "float32", (2, 5, 4))
    data = random.standard_normal((4, 9)).astype(np.float32)
    w = g.parameter("w", data) if constant else g.input("w", "float32", (4, 9))
    a = g.add(MatMul(), x, w)
    if bias is not None:
        a = g.add(Add(), a, g.parameter("b", random.standard_normal(bias).astype(np.float32)))
    sizes = (2, 3, 4) if axis == 2 else (2, 3)
    parts = g.add_all(Split(axis, sizes), a)
    g.output(*(g.add(Relu(), v) for v in parts), *([g.add(Relu(), a)] if read else []))
    return g.finish()


@pytest.mark.parametrize("bias", [None, (9,)])
def test_columns_of_a_product_are_products_with_columns(bias):
    before = network(bias=bias)
    after = remove_dead_nodes(split_products(before))
    verify_graph(after)
    kinds = [type(n.op) for n in after.nodes]
    assert kinds.count(MatMul) == 3
    assert Split not in kinds
    random = np.random.default_rng(1)
    given = {"x": random.standard_normal((2, 5, 4)).astype(np.float32)}
    expected, found = interpret(before, given), interpret(after, given)
    assert [*found] == [*expected]
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-6)


@pytest.mark.parametrize(
    "graph",
    [network(axis=1), network(constant=False), network(bias=(5, 9)), network(bias=(1,)), network(read=True)],
    ids=["rows", "a matrix that is computed", "a bias of rows", "a number", "another reader"],
)
def test_others_stay(graph):
    assert split_products(graph) is graph
