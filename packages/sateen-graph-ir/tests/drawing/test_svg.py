"""Graphs drawn as SVG."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from sateen.graph_ir import workloads
from sateen.graph_ir.drawing import draw
from sateen.graph_ir.drawing.svg import LONGEST_EDGE
from sateen.graph_ir.ir import Graph, GraphBuilder, Symbol, parse_graph
from sateen.graph_ir.ops import OPS, Add, MatMul, Relu, Split
from sateen.graph_ir.passes.fuse import fuse

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text")]


def classes(svg: str) -> list[str]:
    return [rect.get("class", "") for rect in ET.fromstring(svg).iter(f"{SVG}rect")]


def arrows(svg: str) -> int:
    return svg.count("marker-end")


@pytest.fixture
def product() -> Graph:
    g = GraphBuilder("net")
    x = g.input("x", "float32", (1, 4))
    y = g.add(MatMul(), x, g.parameter("w", np.zeros((4, 8), np.float32)), name="product")
    g.output(g.add(Relu(), y, name="out"))
    return g.finish()


def chain(length: int, *, shortcut: bool) -> Graph:
    """out = relu(… relu(x)), and with a shortcut plus x."""
    g = GraphBuilder("chain")
    x = y = g.input("x", "float32", (2,))
    for _ in range(length):
        y = g.add(Relu(), y)
    g.output(g.add(Add(), y, x) if shortcut else y)
    return g.finish()


def test_operators_are_boxes_and_edges_tell_types(product: Graph) -> None:
    svg = draw(product)
    assert texts(svg) == [
        "net", "2 operators", "x", "float32[1, 4]", "mat_mul", "4×8", "float32[1, 8]", "relu", "float32[1, 8]", "out"
    ]  # fmt: skip
    assert classes(svg) == ["card", "end", "product", "plain", "end"]
    assert arrows(svg) == 3


def test_what_is_fused_has_a_frame_with_the_name_of_its_kernel(product: Graph) -> None:
    fused = fuse(product)
    (node,) = fused.nodes
    svg = draw(fused, {node: "k0_product"})
    assert texts(svg)[:6] == ["net", "2 operators in 1 kernel", "x", "float32[1, 4]", "k0_product", "mat_mul"]
    assert classes(svg) == ["card", "end", "frame", "product", "plain", "end"]
    assert "in place" in texts(draw(fused, {}))
    assert classes(draw(fused, {})).count("idle") == 2


def test_attributes_are_told_in_short() -> None:
    graph = workloads.squeezenet()
    told = texts(draw(graph))
    assert "kernel=3 strides=2" in " ".join(told)
    assert max(map(len, told)) <= 61


def test_several_values_of_a_node_leave_it_side_by_side() -> None:
    g = GraphBuilder("split")
    x = g.input("x", "float32", (2, 6))
    parts = g.add_all(Split(axis=1, sizes=(1, 2, 3)), x)
    g.output(*[g.add(Relu(), part) for part in parts])
    svg = draw(g.finish())
    captions = re.findall(r'<text class="small" x="(\d+)" y="(\d+)">float32\[2, [123]\]</text>', svg)
    assert len({y for _, y in captions[:3]}) == 1
    assert len({x for x, _ in captions[:3]}) == 3
    assert arrows(svg) == 1 + 3 + 3


def test_names_of_a_model_are_no_markup() -> None:
    g = GraphBuilder("</style><script>&\x1b")
    x = g.input("<b>\"'&\n", "float32", (Symbol("<n>"),))
    g.output(g.add(Relu(), x, name="]]>"))
    svg = draw(g.finish())
    assert "</style><script>&\\x1b" in texts(svg)
    assert "<b>\"'&\\n" in texts(svg)
    assert 'float32[?"<n>"]' in texts(svg)


def test_an_edge_across_layers_is_one_line_and_one_across_many_is_a_name() -> None:
    near, far = chain(LONGEST_EDGE - 2, shortcut=True), chain(LONGEST_EDGE + 2, shortcut=True)
    assert arrows(draw(near)) == len(near.nodes) + 2
    assert arrows(draw(far)) == len(far.nodes) + 1
    assert "from %x" in texts(draw(far))
    assert "from %x" not in texts(draw(near))


def test_an_output_tells_the_input_whose_memory_it_may_reuse() -> None:
    g = GraphBuilder("state")
    x = g.input("before", "float32", (4,))
    y = g.add(Relu(), x, name="after")
    g.output(y)
    g.alias(y, x)
    assert "may reuse %before" in texts(draw(g.finish()))


def test_outputs_that_are_inputs_and_parameters_are_drawn() -> None:
    g = GraphBuilder("through")
    x = g.input("x", "float32", (4,))
    g.output(x, g.parameter("w", np.zeros(3, np.float32)))
    svg = draw(g.finish())
    assert arrows(svg) == 2
    assert "0 operators" in texts(svg)


def test_a_graph_of_nothing_is_a_card() -> None:
    assert texts(draw(GraphBuilder("nothing").finish())) == ["nothing", "0 operators"]


@pytest.mark.parametrize("shape", ["deep", "wide", "shortcuts"])
def test_a_large_graph_takes_text_in_proportion(shape: str) -> None:
    def made(count: int) -> Graph:
        if shape == "deep":
            return chain(count, shortcut=True)
        g = GraphBuilder(shape)
        x = g.input("x", "float32", (2,))
        values = [x]
        for _ in range(count):
            values.append(g.add(Relu(), x) if shape == "wide" else g.add(Add(), values[-1], values[len(values) // 2]))
        g.output(*(values[1:] if shape == "wide" else values[-1:]))
        return g.finish()

    small, large = (len(draw(made(count))) for count in (500, 2000))
    assert large < 5 * small


CHOICE = """
graph choice
  input %c: bool[]
  input %x: float32[2]
  %y = if(%c, %x)
    then_branch = graph then
      input %a: float32[2]
      %b = relu(%a)
      output %b
    else_branch = graph else
      input %d: float32[2]
      %e = negative(%d)
      %f = relu(%e)
      output %f
  output %y
"""


def test_bodies_of_control_flow_are_counted() -> None:
    svg = draw(parse_graph(CHOICE, OPS))
    assert classes(svg) == ["card", "end", "end", "control", "end"]
    assert "then_branch: 1 node else_branch: 2 nodes" in [" ".join(text.split()) for text in texts(svg)]


def test_equal_graphs_give_equal_drawings() -> None:
    assert draw(workloads.transformer()) == draw(workloads.transformer())
