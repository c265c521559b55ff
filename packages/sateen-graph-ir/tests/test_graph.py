"""Building and rewriting graphs."""

import numpy as np
import pytest

from sateen.graph_ir.graph import GraphBuilder, GraphRewriter, Node, NodeSpan
from sateen.graph_ir.op import Op
from sateen.graph_ir.ops.broadcast import Add
from sateen.graph_ir.ops.element_wise import Exp, Relu
from sateen.graph_ir.types import Symbol
from sateen.runtime.errors import InferenceError


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
            rewriter.replace(node, rewriter.parameter("wide", np.zeros((4, 1), np.float32)))
        else:
            rewriter.keep(node)

    graph = rewritten(parse("input %x: float32[1]\n%a = exp(%x)\n%b = relu(%a)\n%y = relu(%b)\noutput %y"), widen)
    assert str(graph.outputs[0].type) == "float32[4, 1]"


def test_attributes_that_differ_from_their_defaults_are_told():
    assert Relu().attributes() == {}
    assert isinstance(Relu(), Op)
    assert Relu() == Relu()
