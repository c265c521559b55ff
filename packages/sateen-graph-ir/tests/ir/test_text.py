"""Text form of graphs: printing, parsing, equality."""

import re
from dataclasses import dataclass

import numpy as np
import pytest

from sateen.graph_ir.ir import (
    GraphBuilder,
    NodeSpan,
    Symbol,
    TensorType,
    format_attribute,
    large_parameters,
    parse_graph,
    structural_equal,
    structural_key,
    why_different,
)
from sateen.graph_ir.ops import OPS, Add, Cast, Clip, ConvertLayout, Gelu, Relu
from sateen.graph_ir.passes.fuse import fuse
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError, InferenceError
from sateen.tensor_ir.ir.tokens import ParseError
from sateen.topi.operators import Operator
from sateen.topi.types import Layout


@dataclass(frozen=True, slots=True)
class Scaled(Operator):
    """An operator with an attribute that has no default."""

    name = "acme.Scaled"
    factor: float


@dataclass(frozen=True, slots=True)
class Anything(Operator):
    """An operator with an attribute of any kind."""

    name = "acme.Anything"
    value: object = ...


NET = """\
graph net
  input %x: float32[1, ?n, 8]
  parameter %w: float32[2] = [0.1, -inf]
  parameter %flags: bool[2, 1] = [true, false]
  %a: float32[1, ?n, 8]@aBc16b = convert_layout(%x) {layout=@aBc16b}
  %y: float32[1, ?n, 8]@aBc16b = clip(%a) {low=0.0, high=6.0}  # relu6 (Clip) of net.onnx, "a b"
  %z: float32[2] = relu(%w)
  output %y
  output %z"""


def round_trip(graph):
    return parse_graph(str(graph), OPS, large_parameters(graph))


def test_text_is_parsed_and_printed_again():
    assert str(parse_graph(NET, OPS)) == NET


def test_types_may_be_left_out_and_lines_be_comments():
    short = NET.replace("%y: float32[1, ?n, 8]@aBc16b =", "# limits\n\n  %y =").replace("@aBc16b = clip", " = clip")
    assert str(parse_graph(short, OPS)) == NET.replace("%y: float32[1, ?n, 8]@aBc16b", "%y: float32[1, ?n, 8]")


def test_names_of_any_kind_survive():
    g = GraphBuilder("a graph")
    x = g.input("in put", "int64", (Symbol("floor(h/2)"), 0))
    y = g.add(
        Relu(), x, name='"\\\n%x\x85\u2028', spans=(NodeSpan("a, b", "", ""), NodeSpan("", "/f::g:0", "(Operator)"))
    )
    g.output(y)
    graph = g.finish()
    again = round_trip(graph)
    assert str(again) == str(graph)
    assert again.nodes[0].spans == graph.nodes[0].spans
    assert (again.name, again.inputs[0].type, again.outputs[0].name) == (graph.name, x.type, y.name)


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, -3, 0.5, -0.0, 1e-30, float("inf"), float("-inf"), 'a"b', (), (1,), (1, (2.0, "x")),
        DType.of("int8"), Layout.parse("aBcd16b"), TensorType.of("float32", (Symbol("n"), 3)), Symbol("n m"),
        Symbol("n") * 2 + 1, -Symbol("n"), ((Symbol("n") + 1) // 2, 3), (3, (Symbol("n") // 2) * Symbol("m")), ((1,),),
        ((-Symbol("n") + 3) * Symbol("m"),), (Symbol("n"),), TensorType.of("int8", ((Symbol("n") + 1) // 2,)),
    ],
)  # fmt: skip
def test_values_of_attributes_survive(value):
    text = format_attribute(value)
    line = f"  %y: float32[2] = acme.Anything(%x) {{value={text}}}"
    graph = parse_graph(f"graph g\n  input %x: float32[2]\n{line}", OPS.with_ops(Anything))
    assert repr(graph.nodes[0].op.value) == repr(value)
    assert line in str(graph)


def test_an_attribute_without_text_form_is_refused():
    with pytest.raises(ArgumentError, match="expected an attribute with a text form, found list"):
        format_attribute([1])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16", "int8", "uint64", "bool"])
def test_small_parameters_survive_in_the_text(dtype):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed").bfloat16
    data = np.array([0, 1, 1.1, 3, 1e-7, 77]).astype(dtype).reshape(2, 3)
    g = GraphBuilder()
    g.parameter("w", data)
    graph = g.finish()
    (again,) = parse_graph(str(graph), OPS).parameters.values()
    assert again.dtype == data.dtype
    assert again.tobytes() == data.tobytes()


def test_large_parameters_are_told_by_their_digest():
    g = GraphBuilder()
    data = np.arange(100, dtype=np.float32)
    g.output(g.add(Relu(), g.parameter("w", data)))
    graph = g.finish()
    assert re.search(r"parameter %w: float32\[100\] = sha256:[0-9a-f]{64}\n", str(graph))
    (again,) = round_trip(graph).parameters.values()
    assert again is data
    with pytest.raises(ParseError, match=r"line 2, column 32: expected the digest of given data of float32\[100\]"):
        parse_graph(str(graph), OPS)


def test_a_graph_inside_a_node_is_a_block():
    graph = fuse(parse_graph("graph g\n  input %x: float32[2]\n  %a = relu(%x)\n  %y = exp(%a)\n  output %y", OPS))
    assert (
        str(graph)
        == """\
graph g
  input %x: float32[2]
  %y: float32[2] = fused(%x)
    body = graph exp
      input %x: float32[2]
      %a: float32[2] = relu(%x)
      %y: float32[2] = exp(%a)
      output %y
  output %y"""
    )
    assert str(round_trip(graph)) == str(graph)


def test_aliases_survive():
    g = GraphBuilder("g")
    x = g.input("x", "float32", (2,))
    y = g.add(Relu(), x, name="y")
    g.output(y)
    g.alias(y, x)
    graph = g.finish()
    assert str(graph).endswith("alias %y = %x")
    assert str(round_trip(graph)) == str(graph)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: expected a graph, found the end of the text"),
        ("net", "line 1, column 1: expected 'graph', found 'net'"),
        ("graph g h", "line 1, column 9: expected the end of the line, found 'h'"),
        ("graph g\nrest", "line 2, column 1: expected the end of the text, found 'rest'"),
    ],
)
def test_faults_between_lines_are_told_with_their_place(text, message):
    with pytest.raises(ParseError) as caught:
        parse_graph(text, OPS)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("  node", "column 3: expected input, parameter, output, alias, labels or a node, found 'node'"),
        ("    output %x", "column 5: expected a construct at column 3, found 'output'"),
        ("  input %y: float31[2]", "column 13: expected an element type, found 'float31'"),
        ("  input %y: float32[-2]", "column 21: expected a dimension, found '-2'"),
        ("  input %y: float32[?n*2 - ]", "column 28: expected a dimension, found ']'"),
        ("  input %y: float32[(?n + 1//2]", "column 31: expected ')', found ']'"),
        ("  input %y: float32[2.5]", "column 21: expected a dimension, found '2.5'"),
        ("  input %y: float32[?n - ?n - 2]", "column 21: expected a dimension, found '?'"),
        ("  input %y: float32[2]@ab2", "column 24: expected a layout such as aBcd16b, found 'ab2'"),
        ("  input %x: float32[2]", "column 10: expected a name that is not taken, found 'x'"),
        ("  parameter %y: float32[2] = [1.0]", "column 30: expected 2 elements, found '['"),
        ("  %y = relu(%z)", "column 14: expected a value that is defined above, found 'z'"),
        ("  %y = rolu(%x)", "column 8: expected the name of an operator, found 'rolu'"),
        ("  %y = relu(%x", "column 15: expected ',', found the end of the line"),
        ("  %y, %z = relu(%x)", "column 3: expected 1 outputs of relu, found '%'"),
        ("  %y = relu(%x) {a=1}", "column 18: expected an attribute of relu (none), found 'a'"),
        ("  %y = clip(%x) {low=1.0, low=2.0}", "column 27: expected an attribute of clip (high), found 'low'"),
        ("  %y = clip(%x) {low=true}", "column 22: expected a number or None as 'low' of clip, found 'true'"),
        ("  %y = split(%x) {sizes=2}", "column 25: expected a tuple of dimensions as 'sizes' of split, found '2'"),
        ("  %y = acme.Scaled(%x)", "column 8: expected attribute 'factor' of acme.Scaled, found 'acme.Scaled'"),
        ("  %y = pad(%x) {pads=((?n + 1//2, 3)}", "column 37: expected ')', found '}'"),
        ("  %y = cast(%x) {dtype=*}", "column 24: expected the value of an attribute, found '*'"),
    ],
)
def test_faults_in_a_line_are_told_with_their_place(line, message):
    with pytest.raises(ParseError) as caught:
        parse_graph(f"graph g\n  input %x: float32[2]\n{line}", OPS.with_ops(Scaled))
    assert str(caught.value) == f"line 3, {message}"


def test_an_inference_error_tells_the_line():
    text = "graph g\n  input %x: float32[2]\n  input %y: float32[3]\n  %z = add(%x, %y)"
    with pytest.raises(InferenceError) as caught:
        parse_graph(text, OPS)
    assert "in line 4: %z = add(%x, %y)" in caught.value.__notes__


def build(name="x", op=None, data=1.0):
    g = GraphBuilder()
    x = g.input(name, "float32", (2,))
    y = g.add(op or Relu(), x, spans=(NodeSpan("", name, ""),))
    g.output(g.add(Add(), y, g.parameter(f"{name}_w", np.full(2, data, np.float32))))
    return g.finish()


def test_names_and_spans_do_not_matter_unless_asked():
    assert structural_equal(build("x"), build("z"))
    assert structural_key(build("x")) == structural_key(build("z"))
    assert not structural_equal(build("x"), build("z"), names=True)


def test_the_first_difference_is_told():
    assert why_different(build(), build(data=2.0)) == (
        "line 3: parameter %x_w: float32[2] = [1.0, 1.0] against parameter %x_w: float32[2] = [2.0, 2.0]"
    )
    assert structural_key(build()) != structural_key(build(data=2.0))
    assert why_different(build(op=Clip(0.0, 1.0)), build(op=Clip(0.0, 2.0))).startswith("line 4: %clip")
    one, two = build(op=Gelu()), build(op=Cast(DType.of("float32")))
    assert not structural_equal(one, two)
    assert structural_equal(build(op=ConvertLayout()), build(op=ConvertLayout()))
