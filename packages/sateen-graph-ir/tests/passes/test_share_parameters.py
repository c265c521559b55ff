"""Pass share_parameters."""

import numpy as np

from sateen.graph_ir.ir import Graph, GraphBuilder, TensorType, Value
from sateen.graph_ir.ops import Add, MatMul, Transpose
from sateen.graph_ir.passes.fold_constants import fold_constants
from sateen.graph_ir.passes.share_parameters import share_parameters

TABLE = np.arange(24, dtype="float32").reshape(2, 3, 4)


def network(first: np.ndarray, second: np.ndarray) -> Graph:
    g = GraphBuilder("shared")
    for name, data in (("w", first), ("t", second)):
        x, value = g.input(f"x_{name}", "float32", data.shape), Value(name, TensorType.of("float32", data.shape))
        g.keep_parameter(value, data)  # as it is, where `parameter` copies
        g.output(g.add(Add(), x, value))
    return g.finish()


def test_a_transpose_of_a_parameter_is_computed():
    before = network(TABLE, TABLE.transpose(2, 0, 1))
    after = share_parameters(before)
    assert [v.name for v in after.parameters if v in {u for n in after.nodes for u in n.inputs}] == ["w"]
    (turned,) = [n for n in after.nodes if isinstance(n.op, Transpose)]
    assert turned.op.permutation == (2, 0, 1)
    assert turned.outputs[0].type.static_shape == (4, 2, 3)


def test_the_same_array_under_two_names_is_one():
    after = share_parameters(network(TABLE, TABLE[:]))
    assert [n.op.permutation for n in after.nodes if isinstance(n.op, Transpose)] == [(0, 1, 2)]


def test_what_folding_transposed_is_found():
    g = GraphBuilder("tied")
    w = g.parameter("w", TABLE[0])
    x, y = g.input("x", "float32", (2, 3)), g.input("y", "float32", (2, 4))
    g.output(g.add(MatMul(), x, w), g.add(MatMul(), y, g.add(Transpose((1, 0)), w)))
    after = share_parameters(fold_constants(g.finish()))
    assert [n.op.permutation for n in after.nodes if isinstance(n.op, Transpose)] == [(1, 0)]


def test_other_data_stays():
    for other in (TABLE.transpose(2, 0, 1).copy(), TABLE[:, :, :2], TABLE[::-1], TABLE.reshape(6, 4)):
        graph = network(TABLE, other)
        assert share_parameters(graph) is graph
