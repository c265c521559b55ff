"""Pass precompute_parameters."""

import numpy as np

from sateen.graph_ir.compile.parameter_block import StoredParameters, pack_parameters
from sateen.graph_ir.ir import GraphBuilder, Node, TensorType, Value
from sateen.graph_ir.memory import plan_memory
from sateen.graph_ir.ops import ConvertLayout, Relu, Transpose
from sateen.graph_ir.passes.precompute_parameters import precompute_parameters
from sateen.topi.types import Layout, pack


def test_parameters_are_converted_while_compiling(check):
    check(
        precompute_parameters,
        """
        input %x: float32[1, 3]
        parameter %w: float32[1, 3] = [1.0, 2.0, 3.0]
        %p = convert_layout(%w) {layout=@aB2b}
        %q = convert_layout(%p)
        %y = add(%x, %q)
        output %y
        """,
        """
        input %x: float32[1, 3]
        parameter %w: float32[1, 3] = [1.0, 2.0, 3.0]
        parameter %q: float32[1, 3] = [1.0, 2.0, 3.0]
        %y = add(%x, %q)
        output %y
        """,
    )


def test_a_node_in_a_blocked_layout_runs_in_it(check):
    check(
        precompute_parameters,
        """
        input %x: float32[1, 3]
        parameter %w: float32[1, 3]@aB2b = [1.0, -2.0, 3.0, 0.0]
        %p: float32[1, 3]@aB2b = relu(%w)
        %q = convert_layout(%p)
        %y = add(%x, %q)
        output %y
        """,
        """
        input %x: float32[1, 3]
        parameter %w: float32[1, 3]@aB2b = [1.0, -2.0, 3.0, 0.0]
        parameter %q: float32[1, 3] = [1.0, 0.0, 3.0]
        %y = add(%x, %q)
        output %y
        """,
    )


def test_values_of_the_network_stay(check_unchanged):
    check_unchanged(
        precompute_parameters,
        "input %x: float32[1, 3]\n%p = convert_layout(%x) {layout=@aB2b}\n%y = convert_layout(%p)\noutput %y",
    )


def test_what_only_moves_elements_is_a_view_of_them():
    builder = GraphBuilder("moved")
    weight = np.arange(32, dtype="float32").reshape(4, 8)
    turned = builder.add(Transpose((1, 0)), builder.parameter("w", weight))
    packed = Value("packed", TensorType.of("float32", (8, 4), Layout.parse("Ba2b")))
    builder.append(Node(ConvertLayout(packed.type.layout), (turned,), (packed,)))
    builder.output(builder.add(Relu(), packed))
    graph = precompute_parameters(builder.finish())
    found = graph.parameters[packed]
    assert np.shares_memory(found, weight)
    assert np.array_equal(found, pack(weight.T, Layout.parse("Ba2b")))
    plan = plan_memory(graph)
    places = [(plan.parameters[v], data) for v, data in graph.parameters.items()]
    block = pack_parameters(StoredParameters(plan.parameter_bytes, places)).whole()
    assert np.frombuffer(block, "float32", 32, plan.parameters[packed]).tolist() == found.ravel().tolist()
