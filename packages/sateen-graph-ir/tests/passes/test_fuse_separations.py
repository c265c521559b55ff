"""Why values stay in memory, for those who want to know what fusion left apart."""

from __future__ import annotations

import numpy as np
import pytest

from sateen.graph_ir.ir import GraphBuilder
from sateen.graph_ir.ops import MatMul, Relu, Sigmoid, Transpose
from sateen.graph_ir.passes import separations
from sateen.graph_ir.passes.fuse import MOST_NODES, fuse


def _product(g: GraphBuilder):
    """%product = x w, both [4, 4]."""
    w = g.parameter("w", np.ones((4, 4), np.float32))
    return g.add(MatMul(), g.input("x", "float32", (4, 4)), w, name="product")


def _many_readers(g):
    product = _product(g)
    g.output(g.add(Relu(), product), g.add(Sigmoid(), product))


def _contraction(g):
    product = _product(g)
    g.output(g.add(MatMul(), product, g.parameter("v", np.ones((4, 2), np.float32))))


def _moved(g):
    g.output(g.add(Transpose((1, 0)), _product(g)))


def _wanted(g):
    product = _product(g)
    g.output(product, g.add(Relu(), product))


@pytest.mark.parametrize(
    ("network", "reason"),
    [
        (_many_readers, "read 2 times"),
        (_contraction, "mat_mul begins a kernel"),
        (_moved, "transpose moves the elements of mat_mul"),
        (_wanted, "output of the network"),
    ],
)
def test_a_value_that_stays_in_memory_has_a_reason(network, reason):
    g = GraphBuilder("net")
    network(g)
    graph = g.finish()
    reasons = {v.name: why for v, why in separations(graph).items()}
    assert reasons["product"] == reason
    assert {v.name for node in fuse(graph).nodes for v in node.outputs} == set(reasons)


def test_what_joins_its_reader_is_not_in_memory():
    g = GraphBuilder("net")
    g.output(g.add(Relu(), _product(g), name="out"))
    assert {v.name: why for v, why in separations(g.finish()).items()} == {"out": "output of the network"}


def test_a_group_has_an_end():
    g = GraphBuilder("net")
    x = g.input("x", "float32", (4,))
    for _ in range(MOST_NODES + 1):
        x = g.add(Relu(), x)
    g.output(x)
    assert f"a group has {MOST_NODES} nodes at most" in separations(g.finish()).values()
