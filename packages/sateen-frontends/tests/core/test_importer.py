"""What every reader gets from the core, by a reader of a small format of its own."""

import numpy as np
import pytest

from sateen.frontends import check, load
from sateen.frontends.core import emitter, node
from sateen.graph_ir.ops import Add, Reshape
from sateen.runtime.errors import FrontendError


def test_names_spans_and_constants_are_the_models(plain):
    graph, parameters = load(plain("input x float32 2\ndata w 1.0 2.0\nnode sum add x w -> y\noutput y"))
    assert [v.name for v in (*graph.inputs, *graph.outputs)] == ["x", "y"]
    assert [str(node.spans[0]) for node in graph.nodes] == ["node 'sum' (add) of model 'net'"]
    assert {name: data.tolist() for name, data in parameters.items()} == {"w": [1, 2]}


def test_nodes_are_put_in_order(plain):
    graph, _ = load(plain("input x float32 2\nnode b add a x -> y\nnode a relu x -> a\noutput y"))
    assert [node.outputs[0].name for node in graph.nodes] == ["a", "y"]
    with pytest.raises(FrontendError, match="node 'b' depends on itself, through a cycle of nodes"):
        load(plain("input x float32 2\nnode b add a x -> y\nnode a relu y -> a\noutput y"))


def test_an_output_that_is_an_input_gets_a_name_of_its_own(plain):
    graph, _ = load(plain("input x float32 2\nnode s shape x -> s\noutput s"))
    assert [(node.op.op_name(), node.outputs[0].name) for node in graph.nodes] == [("identity", "s")]


RESHAPED = """\
input x float32 n 4
data first 0
data rest 2 2
node a shape x -> s
node b take s first -> n
node c concat n rest -> t
node d reshape x t -> y
output y
"""


def test_shape_arithmetic_is_evaluated_by_the_definitions_of_operators(plain):
    graph, parameters = load(plain(RESHAPED), dims={"n": 3})
    assert [node.op for node in graph.nodes] == [Reshape((3, 2, 2))]
    assert not parameters


def test_dimensions_without_a_number_are_moved_until_one_is_asked_for(plain):
    report = check(plain(RESHAPED))
    (gap,) = report.gaps
    assert (gap.node, gap.operator, gap.inputs) == ("d", "reshape", ("float32[?n, 4]", "int64[3]"))
    assert gap.reason == "input 1 (t) depends on dimensions without a number: n"
    assert gap.help == "bind them: dims={'n': ...}, or --dim n=..."


def test_dimensions_without_a_number_are_computed_with(plain):
    text = RESHAPED.replace("take s first -> n", "add s s -> n")
    (gap,) = check(plain(text)).gaps
    assert (gap.node, gap.inputs) == ("d", ("float32[?n, 4]", "int64[4]"))


def test_what_must_know_a_dimension_without_a_number_says_which(plain):
    text = RESHAPED.replace("take s first -> n", "take first s -> n")
    (gap,) = check(plain(text)).gaps
    assert (gap.operator, gap.reason) == ("take", "input 1 (s) depends on dimensions without a number: n")


def test_all_gaps_are_told_at_once_and_what_lies_behind_is_looked_up(plain):
    lines = "input x float32 2\nnode a sing x -> a\nnode b relu a -> b\nnode c dance x -> c\noutput b\noutput c"
    report = check(plain(lines))
    assert [(gap.node, gap.operator, gap.help) for gap in report.gaps] == [
        ("a", "sing", "write another"), ("c", "dance", "write another"),
    ]  # fmt: skip
    assert report.unchecked == 1
    assert str(report).splitlines()[:2] == [
        "model 'net', 3 nodes: 2 nodes can't be compiled", "  1 x sing: plain networks have no such operator",
    ]  # fmt: skip
    with pytest.raises(FrontendError, match="2 nodes can't be compiled"):
        load(plain(lines))


def test_a_node_behind_a_gap_is_checked_by_what_the_model_declares(plain):
    lines = "input x float32 2\nnode a sing x -> pair\nnode b add pair x -> b\nnode c concat pair b -> c\noutput c"
    report = check(plain(lines))
    assert ([gap.node for gap in report.gaps], report.unchecked) == (["a"], 0)
    wrong = check(plain(lines.replace("x float32 2", "x float32 3")))
    assert [(gap.node, gap.reason) for gap in wrong.gaps[1:]] == [
        ("b", "add: shapes [2] and [3] differ in dimension 0 of the common shape"),
    ]  # fmt: skip


def test_what_a_node_behind_a_gap_must_know_is_no_gap_of_its_own(plain):
    report = check(plain("input x float32 2\nnode a sing x -> pair\nnode b reshape x pair -> b\noutput b"))
    assert ([gap.node for gap in report.gaps], report.unchecked) == (["a"], 1)


def test_shapes_dims_and_constants_bind_inputs(plain):
    lines = "input x float32 n 2\ninput w float32 2\nnode a add x w -> y\noutput y"
    graph, parameters = load(plain(lines), shapes={"x": (3, 2)}, constants={"w": np.ones(2, np.float32)})
    assert [str(v.type) for v in graph.inputs] == ["float32[3, 2]"]
    assert [node.op for node in graph.nodes] == [Add()]
    assert [data.tolist() for data in parameters.values()] == [[1, 1]]
    with pytest.raises(FrontendError, match=r"dims \(--dim\) names 'm'; the model's open dimensions are 'n'"):
        load(plain(lines), dims={"m": 3})
    with pytest.raises(FrontendError, match=r"constant 'w': expected float32\[2\], found float32\[3\]"):
        load(plain(lines), constants={"w": np.ones(3, np.float32)})


def test_equal_shape_arithmetic_of_many_layers_is_evaluated_once(plain, monkeypatch):
    calls = []
    evaluate = emitter.interpret
    monkeypatch.setattr(emitter, "interpret", lambda *given: calls.append(given) or evaluate(*given))
    lines = [f"node c{i} concat p q -> c{i}" for i in range(5)]
    graph, _ = load(plain("\n".join(["data p 1 2", "data q 3", *lines, *(f"output c{i}" for i in range(5))])))
    assert len(calls) == 1
    assert [data.tolist() for data in graph.parameters.values()] == [[1, 2, 3]] * 5


def test_a_constant_at_which_a_network_begins_tells_its_type(plain):
    lines = "input x float32 2\nnode a relu x -> y\nnode b add y y -> z\noutput z"
    with pytest.raises(
        FrontendError, match="the network can't begin at 'y': the model does not say of what type it is"
    ):
        load(plain(lines), inputs=["y"])
    graph, _ = load(plain(lines), inputs=["y"], constants={"y": np.array([1, 2], np.float32)})
    assert [v.name for v in graph.inputs] == []


def test_a_result_that_an_operator_does_not_give_is_an_error_where_it_is_read(plain):
    start, told = (
        "input x float32 2\nnode a relu x -> y more\n",
        r"node 'a' \(relu\) gives 1 results, the model reads more",
    )
    load(plain(f"{start}output y"))
    for end in ("output more", "node b relu more -> z\noutput z"):
        with pytest.raises(FrontendError, match=told):
            load(plain(start + end))


def test_what_a_converter_does_not_foresee_is_a_gap(plain, monkeypatch):
    monkeypatch.setattr(node.ModelNode, "value", lambda *_: "".index("x"))
    (gap,) = check(plain("input x float32 2\nnode a relu x -> y\noutput y")).gaps
    assert gap.reason == "its inputs and attributes don't fit relu: ValueError: substring not found"
