"""Values on devices: their text, where operators put them, what memory they have, and what is refused."""

import re
from dataclasses import dataclass

import numpy as np
import pytest

from sateen.graph_ir import GraphBuilder, build
from sateen.graph_ir.evaluate import run_graph
from sateen.graph_ir.ir import GraphRewriter, TensorType, parse_graph, structural_equal, verify_graph
from sateen.graph_ir.memory import copy_early_outputs, plan_memory
from sateen.graph_ir.ops import OPS, Add, CopyTo, Exp, Loop, Relu
from sateen.graph_ir.passes.fuse import fuse
from sateen.graph_ir.passes.lift_parameters import lift_parameters
from sateen.graph_ir.passes.share_equal_nodes import share_equal_nodes
from sateen.graph_ir.passes.simplify import simplify
from sateen.runtime import Device, TargetError, cpu
from sateen.runtime.errors import InferenceError
from sateen.topi.operators import Operator

OPENCL = Device.of("opencl(0)")
TEXT = """\
graph net
  input %x: float32[4, 8]
  parameter %p: float32[1] on opencl(0) = [2.0]
  %there: float32[4, 8] on opencl(0) = copy_to(%x) {device="opencl(0)"}
  %y: float32[4, 8] on opencl(0) = add(%there, %p)
  %z: float32[4, 8] on opencl(0) = exp(%y)
  %back: float32[4, 8] = copy_to(%z) {device="cpu(0)"}
  %r: float32[4, 8] = relu(%back)
  output %r"""


def net():
    g = GraphBuilder("net")
    x = g.input("x", "float32", (4, 8))
    p = g.parameter("p", np.array([2.0], np.float32), "opencl(0)")
    y = g.add(Add(), g.add(CopyTo("opencl(0)"), x, name="there"), p, name="y")
    back = g.add(CopyTo("cpu"), g.add(Exp(), y, name="z"), name="back")
    g.output(g.add(Relu(), back, name="r"))
    return g.finish()


def test_values_follow_their_inputs_and_copies_move_them():
    graph = net()
    verify_graph(graph)
    assert str(graph) == TEXT
    assert [str(node.outputs[0].device) for node in graph.nodes] == [*["opencl(0)"] * 3, "cpu(0)", "cpu(0)"]


def test_text_with_devices_is_read_back():
    again = parse_graph(TEXT, OPS)
    assert structural_equal(net(), again, names=True)
    untyped = re.sub(r"(%(?:there|y|z|back|r)): .*? =", r"\1 =", TEXT)
    assert str(parse_graph(untyped, OPS)) == TEXT


def test_a_device_counts_in_structure():
    g = GraphBuilder("net")
    g.output(g.add(Relu(), g.input("x", "float32", (4,), "opencl(0)")))
    h = GraphBuilder("net")
    h.output(h.add(Relu(), h.input("x", "float32", (4,))))
    assert not structural_equal(g.finish(), h.finish())


def test_it_is_interpreted():
    x = np.arange(32, dtype=np.float32).reshape(4, 8) / 32
    (found,) = run_graph(net(), [x]).values()
    np.testing.assert_allclose(found, np.exp(x + 2), rtol=1e-6)


def test_kernels_stay_on_their_device():
    fused = fuse(net())
    verify_graph(fused)
    assert [[n.op.op_name() for n in node.op.body.nodes] for node in fused.nodes] == [
        ["copy_to"], ["add", "exp"], ["copy_to"], ["relu"],
    ]  # fmt: skip


def test_each_device_has_its_own_memory():
    graph = net()
    plan = plan_memory(graph)
    there, y, z, back, _ = (node.outputs[0] for node in graph.nodes)
    assert plan.workspaces == {OPENCL: 512, cpu(): 128}
    assert plan.workspace[back] == 0
    assert {plan.workspace[there], plan.workspace[y]} == {0, 256}
    assert plan.workspace[z] != plan.workspace[y]
    assert (dict(plan.parameter_blocks), plan.parameter_bytes, plan.workspace_bytes) == ({OPENCL: 256}, 0, 128)


def test_a_copy_to_where_a_value_is_goes_away():
    g = GraphBuilder("net")
    x = g.input("x", "float32", (4,))
    g.output(g.add(Relu(), g.add(CopyTo("cpu(0)"), x)))
    (relu,) = (node for node in simplify(g.finish()).nodes if isinstance(node.op, Relu))
    assert relu.inputs == (x,)


def test_equal_parameters_on_two_devices_stay_two():
    g = GraphBuilder("net")
    data = np.ones(4, np.float32)
    x, y = (g.parameter("p", data, device) for device in ("cpu", "opencl(0)"))
    g.output(g.add(Relu(), x), g.add(Relu(), y))
    shared = share_equal_nodes(g.finish())
    assert [node.inputs for node in shared.nodes] == [(x,), (y,)]


def test_networks_on_devices_are_refused():
    expected = "%p: expected a value on cpu(0), where networks run, found one on opencl(0)"
    with pytest.raises(TargetError, match=re.escape(expected)):
        build(net())


def test_inputs_on_two_devices_are_refused():
    g = GraphBuilder("net")
    x, y = g.input("x", "float32", (4,)), g.input("y", "float32", (4,), "opencl(0)")
    expected = "add: expected inputs on one device, found cpu(0), opencl(0); copy_to moves them"
    with pytest.raises(InferenceError, match=re.escape(expected)) as raised:
        g.add(Add(), x, y)
    assert raised.value.__notes__ == ["  %x: float32[4]", "  %y: float32[4] on opencl(0)"]


def test_a_value_on_another_device_than_inferred_is_malformed():
    with pytest.raises(InferenceError, match=re.escape("relu: %r is on opencl(0), inferred cpu(0)")):
        verify_graph(parse_graph(TEXT.replace("%r: float32[4, 8] =", "%r: float32[4, 8] on opencl(0) ="), OPS))


@pytest.mark.parametrize("device", ["npu(0)", "", "opencl(x)"])
def test_a_device_that_does_not_exist_is_refused(device):
    g = GraphBuilder("net")
    with pytest.raises(InferenceError, match=r"copy_to: expected a (kind of device|device such as)"):
        g.add(CopyTo(device), g.input("x", "float32", (4,)))


def test_a_device_in_text_is_told():
    with pytest.raises(Exception, match=r"expected a device such as opencl\(0\)"):
        parse_graph(TEXT.replace("on opencl(0) = [2.0]", "on npu(0) = [2.0]"), OPS)


def test_an_operator_may_say_where_its_outputs_are():
    assert Operator.output_devices(Relu(), [], 2) == (cpu(), cpu())
    assert CopyTo("opencl(1)").output_devices([cpu()], 1) == (Device.of("opencl(1)"),)


# Bodies.

CHOICE = """\
graph choice
  input %c: bool[]
  input %x: float32[4] on opencl(0)
  %y: float32[4] on opencl(0) = if(%c, %x)
    then_branch = graph then
      input %a: float32[4] on opencl(0)
      %grown: float32[4] on opencl(0) = exp(%a)
      output %grown
    else_branch = graph else
      input %b: float32[4] on opencl(0)
      %cut: float32[4] on opencl(0) = relu(%b)
      output %cut
  output %y"""
LOOP = """\
graph repeated
  input %x: float32[4]
  input %w: float32[4] on opencl(0)
  %y: float32[4], %all: float32[3, 4] on opencl(0) = loop(%x, %w) {count=3, carried=1}
    body = graph step
      input %i: int64[]
      input %s: float32[4]
      input %v: float32[4] on opencl(0)
      %there: float32[4] on opencl(0) = copy_to(%s) {device="opencl(0)"}
      %sum: float32[4] on opencl(0) = add(%there, %v)
      %back: float32[4] = copy_to(%sum) {device="cpu(0)"}
      output %back
      output %sum
  output %y
  output %all"""
WHILE = """\
graph repeated
  input %most: int64[]
  input %c: bool[]
  input %x: float32[4] on opencl(0)
  %y: float32[4] on opencl(0) = while(%most, %c, %x)
    body = graph step
      input %i: int64[]
      input %s: float32[4] on opencl(0)
      %next: float32[4] on opencl(0) = exp(%s)
      %first: bool[] = equal(%i, %i)
      output %first
      output %next
  output %y"""
FUSED = """\
graph grouped
  input %x: float32[4] on opencl(0)
  %y: float32[4] = fused(%x)
    body = graph exp
      input %a: float32[4] on opencl(0)
      %e: float32[4] on opencl(0) = exp(%a)
      %back: float32[4] = copy_to(%e) {device="cpu(0)"}
      output %back
  output %y"""


@pytest.mark.parametrize("text", [CHOICE, LOOP, WHILE, FUSED])
def test_values_of_bodies_are_on_devices(text):
    graph = parse_graph(text, OPS)
    verify_graph(graph)
    assert str(graph) == text
    untyped = re.sub(r"^  %y: .* = (\w+\()", r"  %y = \1", text, flags=re.MULTILINE)
    untyped = untyped.replace("%y = loop", "%y, %all = loop")
    assert untyped != text
    assert str(parse_graph(untyped, OPS)) == text


ON_HOST = "float32[4]"
ON_OPENCL = "float32[4] on opencl(0)"


@pytest.mark.parametrize(
    ("text", "changes", "message"),
    [
        (
            CHOICE,
            {"%cut: float32[4] on opencl(0) = relu(%b)": '%cut: float32[4] = copy_to(%b) {device="cpu(0)"}'},
            "if: expected outputs of else_branch, like those of then_branch, on opencl(0), found cpu(0)",
        ),
        (
            CHOICE,
            {f"input %x: {ON_OPENCL}": f"input %x: {ON_HOST}"},
            "if: expected inputs of then_branch on opencl(0), found cpu(0)",
        ),
        (
            CHOICE,
            {"input %c: bool[]": "input %c: bool[] on opencl(0)"},
            "if: expected inputs that decide on cpu(0), found opencl(0)",
        ),
        (
            CHOICE,
            {f"%y: {ON_OPENCL}": f"%y: {ON_HOST}"},
            "if: %y is on cpu(0), inferred opencl(0)",
        ),
        (
            LOOP,
            {"output %back": "output %grown", '%back: float32[4] = copy_to(%sum) {device="cpu(0)"}':
                "%grown: float32[4] on opencl(0) = exp(%sum)"},
            "loop: expected outputs of body that the next iteration takes on cpu(0), found opencl(0)",
        ),
        (
            WHILE,
            {"%first: bool[] = equal(%i, %i)": "%same: bool[] = equal(%i, %i)\n      "
                '%first: bool[] on opencl(0) = copy_to(%same) {device="opencl(0)"}'},
            "while: expected outputs of body that decide on cpu(0), found opencl(0)",
        ),
        (
            WHILE,
            {"input %most: int64[]": "input %most: int64[] on opencl(0)"},
            "while: expected inputs that decide on cpu(0), cpu(0), found opencl(0), cpu(0)",
        ),
        (
            FUSED,
            {f"input %x: {ON_OPENCL}": f"input %x: {ON_HOST}"},
            "fused: expected inputs of body on opencl(0), found cpu(0)",
        ),
        (
            FUSED,
            {f"%y: {ON_HOST}": f"%y: {ON_OPENCL}"},
            "fused: %y is on opencl(0), inferred cpu(0)",
        ),
    ],
)  # fmt: skip
def test_bodies_on_other_devices_are_malformed(text, changes, message):
    for before, after in changes.items():
        assert text.count(before) == 1
        text = text.replace(before, after)
    with pytest.raises(InferenceError) as raised:
        verify_graph(parse_graph(text, OPS))
    assert str(raised.value) == message


def test_lifted_parameters_stay_on_their_device():
    own = "parameter %p: float32[1] on opencl(0) = [2.0]\n      %grown: float32[4] on opencl(0) = add(%a, %p)"
    graph = parse_graph(CHOICE.replace("%grown: float32[4] on opencl(0) = exp(%a)", own), OPS)
    verify_graph(graph)
    lifted = lift_parameters(graph)
    verify_graph(lifted)
    assert [f"{v}: {v.declared}" for v in lifted.parameters] == ["%p: float32[1] on opencl(0)"]
    assert lifted.nodes[0].inputs[1:] == (graph.inputs[1], *lifted.parameters)


INSIDE = """\
graph net
  input %x: float32[4, 8]
  input %c: bool[]
  %before: float32[4, 8] = relu(%x)
  %y: float32[4, 8] = if(%c, %before)
    then_branch = graph then
      input %x: float32[4, 8]
      %a: float32[4, 8] on opencl(0) = copy_to(%x) {device="opencl(0)"}
      %b: float32[4, 8] on opencl(0) = exp(%a)
      %c: float32[4, 8] on opencl(0) = exp(%b)
      %d: float32[4, 8] = copy_to(%c) {device="cpu(0)"}
      %e: float32[4, 8] = exp(%d)
      output %e
    else_branch = graph else
      input %x: float32[4, 8]
      %f: float32[4, 8] = exp(%x)
      %g: float32[4, 8] = relu(%f)
      %e: float32[4, 8] = add(%f, %g)
      output %e
  output %y"""


def test_bodies_have_a_workspace_on_each_device():
    graph = parse_graph(INSIDE, OPS)
    verify_graph(graph)
    plan = plan_memory(graph)
    relu, choice = graph.nodes
    assert plan.bodies[choice.op.then_branch].workspaces == {OPENCL: 512, cpu(): 128}
    assert plan.bodies[choice.op.else_branch].workspaces == {cpu(): 256}
    assert plan.workspaces == {cpu(): 384, OPENCL: 512}
    assert plan.body_workspaces == {choice: {OPENCL: 0, cpu(): 0}}
    assert plan.workspace == {relu.outputs[0]: 256}
    assert (dict(plan.scratch), plan.least_bytes) == ({}, 896)


def test_networks_on_devices_inside_bodies_are_refused():
    expected = "%a: expected a value on cpu(0), where networks run, found one on opencl(0)"
    with pytest.raises(TargetError, match=re.escape(expected)):
        build(parse_graph(INSIDE, OPS))


def test_what_iterations_hand_on_lies_on_its_device():
    graph = parse_graph(
        """\
graph repeated
  input %x: float32[4]
  input %w: float32[400] on opencl(0)
  %y: float32[4], %z: float32[400] on opencl(0) = loop(%x, %w) {count=3, carried=2}
    body = graph step
      input %i: int64[]
      input %s: float32[4]
      input %v: float32[400] on opencl(0)
      %t: float32[4] = exp(%s)
      %u: float32[400] on opencl(0) = exp(%v)
      output %t
      output %u
  output %y
  output %z""",
        OPS,
    )
    verify_graph(graph)
    plan = plan_memory(graph)
    assert plan.workspaces == {cpu(): 64, OPENCL: 1792}
    assert plan.scratch == {graph.nodes[0]: (0, 0)}
    assert plan.body_workspaces == {graph.nodes[0]: {}}


def test_a_control_node_without_outputs_has_a_plan():
    text = """\
graph step
  input %i: int64[]
  input %s: float32[4]
  %t: float32[4] = exp(%s)
  %u: float32[4] = exp(%t)"""
    body = parse_graph(text, OPS)
    g = GraphBuilder("net")
    assert g.add_all(Loop(body, 3), g.input("x", "float32", (4,))) == ()
    graph = g.finish()
    verify_graph(graph)
    plan = plan_memory(graph)
    assert (plan.workspaces, plan.scratch) == ({cpu(): 128}, {})


# Passes and memory.


def test_an_early_output_is_copied_on_its_device():
    graph = parse_graph(
        """\
graph net
  input %x: float32[4] on opencl(0)
  %y: float32[4] on opencl(0) = exp(%x)
  %z: float32[4] on opencl(0) = relu(%x)
  output %y
  output %z
  alias %y = %x""",
        OPS,
    )
    copied = copy_early_outputs(fuse(graph), {})
    verify_graph(copied)
    assert [f"{node.outputs[0]}: {node.outputs[0].declared}" for node in copied.nodes] == [
        "%y.1: float32[4] on opencl(0)", "%z: float32[4] on opencl(0)", "%y: float32[4] on opencl(0)",
    ]  # fmt: skip


def test_values_follow_an_input_that_moves():
    graph = net()
    rewriter = GraphRewriter(graph)
    for node in graph.nodes:
        if isinstance(node.op, CopyTo):
            rewriter.replace(node, rewriter.value(node.inputs[0]))
        elif isinstance(node.op, Add):
            rewriter.replace(node, rewriter.insert(Relu(), rewriter.value(node.inputs[0])))
        else:
            rewriter.keep(node)
    moved = rewriter.finish()
    verify_graph(moved)
    assert {v.device for node in moved.nodes for v in node.outputs} == {cpu()}


def test_a_layout_stays_where_a_value_moves():
    text = """\
graph net
  input %x: float32[1, 16, 4, 4]@aBcd16b
  %there: float32[1, 16, 4, 4]@aBcd16b on opencl(0) = copy_to(%x) {device="opencl(0)"}
  %y: float32[1, 16, 4, 4]@aBcd16b on opencl(0) = exp(%there)
  output %y"""
    graph = parse_graph(text, OPS)
    verify_graph(graph)
    rewriter = GraphRewriter(graph)
    copy, exp = graph.nodes
    rewriter.replace(copy, rewriter.value(graph.inputs[0]))
    rewriter.keep(exp)
    (node,) = rewriter.finish().nodes
    assert node.outputs[0].declared == "float32[1, 16, 4, 4]@aBcd16b"


def test_a_value_that_moves_away_from_others_is_refused():
    graph = net()
    rewriter = GraphRewriter(graph)
    copy, add, *_ = graph.nodes
    rewriter.replace(copy, rewriter.value(graph.inputs[0]))
    with pytest.raises(InferenceError) as raised:
        rewriter.keep(add)
    assert str(raised.value) == "add: expected inputs on one device, found cpu(0), opencl(0); copy_to moves them"
    assert raised.value.__notes__ == ["  %x: float32[4, 8]", "  %p: float32[1] on opencl(0)"]


def test_the_text_of_an_untyped_node_on_two_devices_is_told():
    text = """\
graph net
  input %x: float32[4]
  input %w: float32[4] on opencl(0)
  %y = add(%x, %w)
  output %y"""
    with pytest.raises(InferenceError) as raised:
        parse_graph(text, OPS)
    assert str(raised.value) == "add: expected inputs on one device, found cpu(0), opencl(0); copy_to moves them"
    assert raised.value.__notes__ == ["in line 4: %y = add(%x, %w)"]


def test_a_device_without_its_index_is_the_same_structure():
    graphs = []
    for device in ("opencl", "opencl(0)"):
        g = GraphBuilder("net")
        g.output(g.add(CopyTo(device), g.input("x", "float32", (4,))))
        graphs.append(g.finish())
    assert structural_equal(*graphs)
    assert CopyTo("opencl").canonical() == CopyTo("opencl(0)")
    assert (op := CopyTo("opencl(1)")).canonical() is op


@dataclass(frozen=True)
class Spread(Operator):
    name = "acme.Spread"

    def infer(self, data):
        return (data, data)

    def output_devices(self, inputs, count):
        return (*inputs, *[OPENCL] * (count - 1))


@dataclass(frozen=True)
class Misplaced(Operator):
    name = "acme.Misplaced"

    def infer(self):
        return (TensorType.of("float32", (4,)),) * 2

    def output_devices(self, inputs, count):
        return inputs[:count]


def test_outputs_may_be_on_several_devices():
    g = GraphBuilder("net")
    here, there = g.add_all(Spread(), g.input("x", "float32", (4,)))
    assert (here.declared, there.declared) == ("float32[4]", "float32[4] on opencl(0)")
    g.output(here, there)
    verify_graph(g.finish())


def test_an_operator_must_give_a_device_for_each_output():
    g = GraphBuilder("net")
    with pytest.raises(InferenceError) as raised:
        g.add_all(Misplaced())
    expected = "acme.Misplaced: expected output_devices to give a tuple of 2 devices, found []"
    assert str(raised.value) == expected
