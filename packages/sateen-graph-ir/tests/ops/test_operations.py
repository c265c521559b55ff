"""Floating-point operations by definition: what rates are told in."""

from __future__ import annotations

import numpy as np
import pytest

from sateen.graph_ir.ir import GraphBuilder
from sateen.graph_ir.ops import LSTM, Attention, Conv, ConvTranspose, MatMul, Relu, WinogradConv
from sateen.graph_ir.passes.choose_methods import choose_methods
from sateen.graph_ir.passes.fuse import fuse
from sateen.tensor_ir import Machine


@pytest.mark.parametrize(
    ("op", "shapes", "expected"),
    [
        (Conv(groups=2), [(2, 8, 10, 10), (16, 4, 3, 3)], 2 * (2 * 16 * 8 * 8) * (4 * 3 * 3)),
        (Conv(pads=(2, 2, 2, 2)), [(1, 8, 14, 14), (16, 8, 5, 5)], 2 * (16 * 14 * 14) * (8 * 5 * 5)),  # padding too
        (ConvTranspose(strides=(2, 2)), [(1, 8, 5, 5), (8, 4, 2, 2)], 2 * (8 * 5 * 5) * (4 * 2 * 2)),
        (Attention(), [(2, 6, 3, 8), (2, 2, 5, 8), (2, 2, 5, 4)], 2 * (2 * 6 * 3) * 5 * (8 + 4)),
        (MatMul(), [(5, 2, 3), (3, 7)], 2 * 5 * 2 * 7 * 3),
        (LSTM(5), [(7, 2, 3), (1, 20, 3), (1, 20, 5)], 2 * 7 * 2 * 20 * (3 + 5)),
        (Relu(), [(5, 2, 3)], 0),
    ],
)
def test_each_multiply_add_of_the_definition_counts_as_two(op, shapes, expected):
    g = GraphBuilder("net")
    result, *_ = g.add_all(op, *(g.input(f"x{i}", "float32", shape) for i, shape in enumerate(shapes)))
    g.output(result)
    assert g.finish().operations() == expected


def test_neither_fusion_nor_winograd_changes_the_count():
    g = GraphBuilder("net")
    x = g.input("x", "float32", (1, 32, 56, 56))
    w = g.parameter("w", np.ones((32, 32, 3, 3), np.float32))
    g.output(g.add(Relu(), g.add(Conv(pads=(1, 1, 1, 1)), x, w)))
    graph = g.finish()
    fast = choose_methods(graph, Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4"))
    assert any(isinstance(node.op, WinogradConv) for node in fast.nodes)
    assert graph.operations() == fast.operations() == fuse(fast).operations() == 2 * (32 * 56 * 56) * (32 * 9)
