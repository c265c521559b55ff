"""Pass reorder_parameters."""

import numpy as np

from sateen.graph_ir.ir import GraphBuilder
from sateen.graph_ir.ops import Add, ConvertLayout, Relu, WinogradConv, WinogradWeight
from sateen.graph_ir.passes.reorder_parameters import GROWTH_PART, reorder_parameters
from sateen.topi.types import Layout


def test_another_order_is_stored(check):
    check(
        reorder_parameters,
        """
        input %x: float32[2, 2]@Ba2b
        parameter %w: float32[2, 2] = [1.0, 2.0, 3.0, 4.0]
        %p = convert_layout(%w) {layout=@Ba2b}
        %y: float32[2, 2]@Ba2b = add(%x, %p)
        output %y
        """,
        """
        input %x: float32[2, 2]@Ba2b
        parameter %w: float32[2, 2] = [1.0, 2.0, 3.0, 4.0]
        parameter %p: float32[2, 2]@Ba2b = [1.0, 2.0, 3.0, 4.0]
        %y: float32[2, 2]@Ba2b = add(%x, %p)
        output %y
        """,
    )


def test_what_is_read_twice_is_not_stored_twice():
    g = GraphBuilder("twice")
    w = g.parameter("w", np.ones((64, 128), "float32"))
    x, y = (g.input(name, "float32", (64, 128)) for name in "xy")
    layout = Layout.parse("Ba16b")
    panels = g.add(Add(), g.add(ConvertLayout(layout), x), g.add(ConvertLayout(layout), w))
    g.output(g.add(ConvertLayout(), panels), g.add(Add(), y, w))
    graph = g.finish()
    assert reorder_parameters(graph) is graph


def test_small_growth_is_stored_up_to_a_part_of_all():
    g = GraphBuilder("growth")
    large = np.ones((GROWTH_PART, 160), "float32")
    big = g.input("big", "float32", large.shape)
    g.output(g.add(Add(), big, g.parameter("large", large)))
    for name, extent in (("little", 150), ("much", 70)):
        x = g.input(name, "float32", (2, extent))
        w = g.add(ConvertLayout(Layout.parse("aB16b")), g.parameter(f"{name}_w", np.ones((2, extent), "float32")))
        g.output(g.add(Add(), x, g.add(ConvertLayout(), g.add(Relu(), w)), name=f"{name}_y"))
    before = g.finish()
    room = before.parameter_bytes // GROWTH_PART
    after = reorder_parameters(before)
    held = sum(d.nbytes for v, d in after.parameters.items() if v in {u for n in after.nodes for u in n.inputs})
    assert held <= before.parameter_bytes + room


def test_a_transformed_weight_stays_a_node():
    g = GraphBuilder("winograd")
    x = g.input("x", "float32", (1, 16, 8, 8))
    w = g.add(WinogradWeight(4), g.parameter("w", np.ones((16, 16, 3, 3), "float32")))
    g.output(g.add(WinogradConv(4), x, w))
    graph = g.finish()
    assert reorder_parameters(graph) is graph
