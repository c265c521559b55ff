"""The packing of a network: what is parted from it, and the places of parameters."""

import numpy as np

from sateen.graph_ir.compile.packing import PAGE, place_parameters, separate_packing
from sateen.graph_ir.ir import Graph, GraphBuilder
from sateen.graph_ir.memory import plan_memory
from sateen.graph_ir.ops import BroadcastTo, ConvertLayout, MatMul, Multiply, Relu, WinogradConv, WinogradWeight
from sateen.topi.types import Layout

PANELS = Layout.parse("Acdb16a")


def convolutions() -> Graph:
    """Two Winograd convolutions with one weight, which is stored once and packed once, and a product."""
    g = GraphBuilder("convolutions")
    x, w = g.input("x", "float32", (1, 16, 8, 8)), g.parameter("w", np.ones((16, 16, 3, 3), "float32"))
    prepared = g.add(ConvertLayout(PANELS), g.add(WinogradWeight(4), w, name="u"), name="p")
    y = g.add(WinogradConv(4, pads=(1, 1, 1, 1)), x, g.add(ConvertLayout(), prepared, name="q"))
    g.output(g.add(MatMul(), g.add(Relu(), y), g.parameter("m", np.ones((8, 8), "float32")), name="z"))
    return g.finish()


def test_nodes_on_parameters_are_parted_from_the_network():
    network, packing = separate_packing(convolutions())
    assert [v.name for v in network.inputs] == ["x", "q"]
    assert [v.name for v in network.parameters] == ["m"]
    assert [n.op.op_name() for n in network.nodes] == ["winograd_conv", "relu", "mat_mul"]
    assert packing is not None
    assert [v.name for v in packing.parameters] == ["w"]
    assert packing.outputs == network.inputs[1:]


def test_a_transform_writes_the_layout_that_is_read():
    _, packing = separate_packing(convolutions())
    assert packing is not None
    first, second = packing.nodes
    assert (first.op, first.outputs[0].type.layout) == (WinogradWeight(4), PANELS)
    assert second.op == ConvertLayout()


def test_what_is_much_larger_than_its_parameters_stays():
    g = GraphBuilder("large")
    x = g.input("x", "float32", (64, 64))
    g.output(g.add(Multiply(), x, g.add(BroadcastTo((64, 64)), g.parameter("s", np.ones((1, 1), "float32")))))
    graph = g.finish()
    assert separate_packing(graph) == (graph, None)


def test_an_output_that_depends_on_parameters_only_stays():
    g = GraphBuilder("constant")
    g.output(g.add(Relu(), g.parameter("w", np.ones(8, "float32"))))
    graph = g.finish()
    assert separate_packing(graph) == (graph, None)


def test_what_only_the_packing_reads_lies_on_pages_of_its_own():
    network, packing = separate_packing(convolutions())
    assert packing is not None
    blocks = place_parameters(plan_memory(network), packing)
    places = {v.name: place for v, place in blocks.stored.items()}
    assert places == {"m": 0, "w": PAGE}
    assert (blocks.kept, blocks.stored_bytes) == (PAGE, PAGE + 16 * 16 * 9 * 4)
    assert [(v.name, place) for v, place in blocks.packed.items()] == [("q", 0)]
    assert blocks.packed_bytes == 16 * 16 * 36 * 4
