"""Attention as an operator: types, layouts, errors."""

import numpy as np
import pytest

from sateen.graph_ir.ir import GraphBuilder, TensorType
from sateen.graph_ir.ops import Attention, MatMul, Transpose
from sateen.graph_ir.passes.choose_layouts import choose_layouts
from sateen.runtime import InferenceError
from sateen.tensor_ir import Machine
from sateen.topi.computations.attention import KeyTiles


def f(*shape, dtype="float32"):
    return TensorType.of(dtype, shape)


Q, K, V = f(2, 4, 5, 8), f(2, 2, 7, 8), f(1, 4, 7, 3)


def test_the_result_has_a_row_for_each_query_and_the_columns_of_the_values():
    assert Attention().infer(Q, K, V) == (f(2, 4, 5, 3),)
    assert Attention().infer(Q, K, V, f(5, 7, dtype="bool")) == (f(2, 4, 5, 3),)


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ((Q, K, f(1, 4, 6, 3)), "attention: expects q and k of one depth and as many v as k"),
        ((Q, f(2, 4, 7, 9), V), "attention: expects q and k of one depth and as many v as k"),
        ((f(5, 8), f(7, 8), f(7, 3)), "attention: expects stacks of matrices of one rank"),
        ((Q, f(2, 3, 7, 8), V), "attention: expects stacks whose extents divide those of q"),
        ((Q, f(2, 4, 0, 8), f(2, 4, 0, 3)), "attention: expects keys, found none in"),
        ((Q, f(2, 4, 7, 8, dtype="float64"), V), "attention: expects floating-point operands of one type"),
        ((Q, K, V, f(6, 7)), r"attention: expects a mask that broadcasts to \[\.\.\., 5, 7\], found float32\[6, 7\]"),
        ((Q, K, V, f(1, 1, 1, 5, 7)), r"attention: expects a mask that broadcasts to"),
        ((Q, K, V, f(5, 7, dtype="int64")), r"attention: expects a mask of bool or float32, found int64\[5, 7\]"),
    ],
)
def test_other_operands_are_refused(types, message):
    with pytest.raises(InferenceError, match=message):
        Attention().infer(*types)


def test_transposes_of_heads_cost_no_copies():
    """Operands are read through their orders of axes, and the result has that of the queries."""
    g = GraphBuilder("net")
    x = [g.input(n, "float32", (1, 33, 4, 16)) for n in "qkv"]
    heads = [g.add(Transpose((0, 2, 1, 3)), v) for v in x]
    y = g.add(Transpose((0, 2, 1, 3)), g.add(Attention(), *heads), name="y")
    g.output(g.add(MatMul(), y, g.parameter("w", np.ones((16, 16), np.float32))))
    after = choose_layouts(g.finish(), Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3"))
    names = [n.op.op_name() for n in after.nodes]
    assert names.count("convert_layout") == 1, after  # of the weight, which is a parameter
    (attention,) = [n for n in after.nodes if isinstance(n.op, Attention)]
    assert [str(v.type.layout) for v in (*attention.inputs, *attention.outputs)] == ["acbd"] * 4


def test_a_mask_with_a_row_for_each_query_is_read_along_its_lanes():
    g = GraphBuilder("net")
    q = g.input("q", "float32", (1, 2, 33, 16))
    row, rows = g.parameter("row", np.ones((1, 33), np.float32)), g.parameter("rows", np.ones((33, 33), np.float32))
    one = g.add(Attention(), q, q, q, rows, method=KeyTiles(8, 2))
    g.output(g.add(Attention(), q, q, q, row), g.add(Attention(), q, q, q, rows), one)
    after = choose_layouts(g.finish(), Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3"))
    nodes = sorted((n for n in after.nodes if isinstance(n.op, Attention)), key=lambda n: n.method is not None)
    masks = [n.inputs[3] for n in nodes]
    assert [v.type.layout and str(v.type.layout) for v in masks] == [None, "ba", None]
