"""Building and rewriting graphs."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from sateen.graph_ir.compile import build, lower_network
from sateen.graph_ir.ir import GraphBuilder, GraphRewriter, Node, NodeSpan, Symbol, Value, verify_graph
from sateen.graph_ir.ops import OPS, Add, Cast, Clip, Conv, Exp, Fused, MatMul, Pad, ReduceSum, Relu
from sateen.graph_ir.tune import Records
from sateen.runtime import Target
from sateen.runtime.errors import ArgumentError, InferenceError
from sateen.topi.operators import Operator


def test_a_builder_infers_types_and_makes_names_unique():
    g = GraphBuilder("net")
    x = g.input("x", "float32", (2, Symbol("n")))
    y = g.add(Relu(), x)
    z = g.add(Relu(), y)
    g.output(z)
    graph = g.finish()
    assert [v.name for n in graph.nodes for v in n.outputs] == ["relu", "relu.1"]
    assert str(z.type) == "float32[2, ?n]"
    assert graph.producers()[z] is graph.nodes[1]
    assert graph.consumers() == {x: [graph.nodes[0]], y: [graph.nodes[1]]}


def test_a_part_has_what_values_depend_on_and_no_more():
    g = GraphBuilder("net")
    x, y = g.input("x", "float32", (2,)), g.input("y", "float32", (2,))
    w = g.parameter("w", np.float32([1, 2]))
    a = g.add(Relu(), x)
    b = g.add(Exp(), w)
    g.add(Add(), a, y)
    part = g.part((b, a))
    assert (part.inputs, list(part.parameters), part.outputs) == ((x,), [w], (b, a))
    assert [n.outputs for n in part.nodes] == [(a,), (b,)]
    assert g.part((w,)).nodes == ()


def test_a_part_begins_at_given_values():
    g = GraphBuilder("net")
    x = g.input("x", "float32", (2,))
    a = g.add(Relu(), x)
    b = g.add(Exp(), a)
    c = g.add(Add(), b, a)
    part = g.part((c,), {a, b})
    assert (part.inputs, [n.outputs for n in part.nodes]) == ((a, b), [(c,)])
    assert (g.part((a,), {a}).inputs, g.part((a,), {a}).nodes) == ((a,), ())


@pytest.fixture
def large():
    """Two hundred layers with weights of 1 MB each."""
    g = GraphBuilder("large")
    x = g.input("x", "float32", (1, 512))
    for i in range(200):
        x = g.add(MatMul(), x, g.parameter(f"w{i}", np.zeros((512, 512), np.float32)))
    g.output(x)
    return g.finish()


def test_a_graph_is_told_on_a_line_and_printed_in_full(large):
    assert repr(large) == (
        "Graph(large: x: float32[1, 512] -> mat_mul.199: float32[1, 512]; 200 nodes, parameters 210 MB)"
    )
    assert len(str(large).splitlines()) == 1 + 1 + 200 + 200 + 1
    assert f"{large}" == str(large)


def test_nodes_and_values_are_told_on_a_line(large):
    assert repr(large.inputs[0]) == "Value(%x: float32[1, 512])"
    assert repr(large.nodes[1]) == "Node(%mat_mul.1: float32[1, 512] = mat_mul(%mat_mul, %w1))"
    assert repr(large.inputs[0].type) == "TensorType(float32[1, 512])"
    assert len(repr(Node(Fused(large), large.inputs * 300, large.outputs))) < 200


def test_a_notebook_shows_a_table_of_the_first_nodes_with_names_escaped():
    g = GraphBuilder("<script>")
    x = g.input("<b>\n", "float32", (2,))
    for _ in range(100):
        x = g.add(Relu(), x)
    g.output(x)
    table = g.finish()._repr_html_()
    assert "<caption>graph &lt;script&gt;</caption>" in table
    assert "<td>relu</td><td>relu</td><td>float32[2]</td><td>&lt;b&gt;\\n</td>" in table
    assert '<td colspan="4">… 40 more</td>' in table


def test_what_holds_graphs_is_told_on_a_line(large):
    network = lower_network(large, Target.of("llvm"))
    assert repr(network).startswith("LoweredNetwork(Graph(large: x: float32[1, 512] -> ")
    assert repr(network).endswith("parameters 210 MB) of 1 kernels)")
    assert repr(network.plan) == "MemoryPlan(workspace 4.1 KB, parameters 210 MB)"
    assert repr(OPS).startswith("OpSet(identity, cast, relu, clip, … ")
    assert repr(Records()) == "Records(0 measurements)"


def test_an_inference_error_tells_the_node_and_its_inputs():
    g = GraphBuilder()
    x, y = g.input("x", "float32", (2, 3)), g.input("y", "float32", (2, 4))
    with pytest.raises(InferenceError) as caught:
        g.add(Add(), x, y, spans=(NodeSpan("net.onnx", "sum", "Add"),))
    assert caught.value.__notes__ == [
        "in node 'sum' (Add) of model 'net.onnx'", "  %x: float32[2, 3]", "  %y: float32[2, 4]"
    ]  # fmt: skip


def test_an_alias_needs_an_input_of_the_same_type():
    g = GraphBuilder()
    x, y = g.input("x", "float32", (2,)), g.input("y", "float32", (3,))
    with pytest.raises(InferenceError, match=r"alias: %relu is float32\[2\], but %y is float32\[3\]"):
        g.alias(g.add(Relu(), x), y)


@dataclass(frozen=True)
class Twice(Operator):
    """2x."""

    name = "acme.Twice"


def builder_of_x() -> tuple[GraphBuilder, Value]:
    g = GraphBuilder("net")
    return g, g.input("x", "float32", (2,))


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (Relu, "add: expected an operator such as Relu(), found the class Relu; call it with its attributes"),
        (Twice, "add: expected an operator such as Twice(), found the class Twice; call it with its attributes"),
        ("relu", "add: expected an operator such as Relu(), found str"),
    ],
)
def test_what_is_no_operator_is_refused(op, message):
    g, x = builder_of_x()
    with pytest.raises(ArgumentError, match=re.escape(message)):
        g.add(op, x)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (np.ones(2), "found ndarray; make a constant of it: parameter(name, array)"),
        (2.0, "found float; make a constant of it: parameter(name, array)"),
        ([1], "found list; give values one by one, as in add(op, *values)"),
        ("x", "found str"),
        (
            builder_of_x()[1],
            "of graph 'net', found %x of another builder; declare it as an input, or add its node",
        ),
    ],
)
def test_inputs_and_outputs_are_values_of_the_graph(value, found):
    g, x = builder_of_x()
    with pytest.raises(ArgumentError, match=f"input 1 of add: .*{re.escape(found)}"):
        g.add(Add(), x, value)
    with pytest.raises(ArgumentError, match=re.escape(found)):
        g.output(value)
    with pytest.raises(ArgumentError, match=re.escape(found)):
        g.alias(value, x)


def test_a_value_is_an_output_once(parse):
    g, x = builder_of_x()
    g.output(x)
    with pytest.raises(ArgumentError, match=r"output: expected each value once, found %x twice; add Identity"):
        g.output(x)
    graph = parse("input %x: float32[2]\n%y = relu(%x)\noutput %y")
    with pytest.raises(InferenceError, match="graph 'test': expected each output once, found %y twice"):
        verify_graph(replace(graph, outputs=graph.outputs * 2))


@pytest.mark.parametrize(
    ("op", "attributes", "message"),
    [
        (Conv, {"strides": 2}, "conv: strides expects a tuple of integers, found 2; give one for each, such as (2, 2)"),
        (Conv, {"pads": [1, 1]}, "conv: pads expects a tuple of integers, found [1, 1]; write (1, 1)"),
        (Conv, {"groups": np.int64(2)}, "conv: groups expects an integer, found np.int64(2); write 2"),
        (Conv, {"groups": True}, "conv: groups expects an integer, found True"),
        (Clip, {"low": "0"}, "clip: low expects a number or None, found '0'"),
        (ReduceSum, {"axes": (1.0,)}, "reduce_sum: axes expects a tuple of integers, found (1.0,)"),
        (ReduceSum, {"keepdims": 1}, "reduce_sum: keepdims expects True or False, found 1"),
        (Pad, {"mode": None}, "pad: mode expects text, found None"),
        (Cast, {"dtype": "int8"}, "cast: dtype expects a DType, found 'int8'; write DType.of('int8')"),
    ],
)  # fmt: skip
def test_attributes_are_of_the_kind_that_their_annotation_says(op, attributes, message):
    with pytest.raises(ArgumentError) as caught:
        op(**attributes)
    assert str(caught.value) == message


READ = "read it first: graph, params = sateen.frontends.load(path)"


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("net.onnx", f"build: expected a graph, found a path; {READ}"),
        (Path("net.onnx"), f"build: expected a graph, found a path; {READ}"),
        (
            (GraphBuilder().finish(), {}),
            "build: expected a graph, found a tuple with one; give its parameters by name: build(graph, params=params)",
        ),
        (GraphBuilder(), "build: expected a graph, found its builder; call finish()"),
        (GraphBuilder("g").finish(), "build: expected a graph with outputs, found none in 'g'; add output(value)"),
        (None, "build: expected a graph, found NoneType"),
    ],
    ids=["text", "path", "pair", "builder", "no outputs", "nothing"],
)
def test_only_a_graph_with_outputs_is_built(graph, message):
    with pytest.raises(ArgumentError) as caught:
        build(graph)
    assert str(caught.value) == message


def test_open_dimensions_are_given_before_a_graph_is_built(parse):
    graph = parse("input %x: float32[?n, 3, ?m]\n%y = relu(%x)\noutput %y")
    message = (
        'build: expected known sizes, found %x: float32[?n, 3, ?m]; give them: build(graph, dims={"n": 1, "m": 1})'
    )
    with pytest.raises(InferenceError) as caught:
        build(graph)
    assert str(caught.value) == message
    build(graph, dims={"n": 1, "m": 1})


def rewritten(graph, function):
    rewriter = GraphRewriter(graph)
    for node in graph.nodes:
        function(rewriter, node)
    return rewriter.finish()


def drop_relu(rewriter: GraphRewriter, node: Node) -> None:
    if isinstance(node.op, Relu):
        rewriter.replace(node, rewriter.value(node.inputs[0]))
    else:
        rewriter.keep(node)


def names(values):
    return [v.name for v in values]


def test_a_rewriter_that_changes_nothing_gives_the_same_graph(parse):
    graph = parse("input %x: float32[2]\n%y = exp(%x)\noutput %y")
    assert rewritten(graph, drop_relu) is graph


def test_an_output_keeps_its_name_when_another_value_stands_for_it(parse):
    graph = rewritten(parse("input %x: float32[2]\n%a = exp(%x)\n%y = relu(%a)\noutput %y"), drop_relu)
    assert [type(n.op) for n in graph.nodes] == [Exp]
    assert names(graph.outputs) == ["y"]
    assert graph.nodes[0].outputs == graph.outputs


def test_an_output_stays_a_value_of_its_own(parse):
    copies_an_input = parse("input %x: float32[2]\n%y = relu(%x)\noutput %y")
    assert rewritten(copies_an_input, drop_relu) is copies_an_input
    twice = rewritten(
        parse("input %x: float32[2]\n%a = exp(%x)\n%y = relu(%a)\n%z = relu(%a)\noutput %y\noutput %z"), drop_relu
    )
    assert names(twice.outputs) == ["y", "z"]
    assert [type(n.op) for n in twice.nodes] == [Exp, Relu]


def test_types_are_inferred_anew_behind_a_change_of_type(parse):
    def widen(rewriter: GraphRewriter, node: Node) -> None:
        if isinstance(node.op, Exp):
            rewriter.replace(node, rewriter.parameter("wide", np.zeros((4, 1), np.float32), node.outputs[0].device))
        else:
            rewriter.keep(node)

    graph = rewritten(parse("input %x: float32[1]\n%a = exp(%x)\n%b = relu(%a)\n%y = relu(%b)\noutput %y"), widen)
    assert str(graph.outputs[0].type) == "float32[4, 1]"


def test_attributes_that_differ_from_their_defaults_are_told():
    assert Relu().attributes() == {}
    assert isinstance(Relu(), Operator)
    assert Relu() == Relu()
