"""Values on devices: their text, where operators put them, what memory they have, and what is refused."""

import re

import numpy as np
import pytest

from sateen.graph_ir import GraphBuilder, build
from sateen.graph_ir.evaluate import run_graph
from sateen.graph_ir.ir import parse_graph, structural_equal, verify_graph
from sateen.graph_ir.memory import plan_memory
from sateen.graph_ir.ops import OPS, Add, CopyTo, Exp, Relu
from sateen.graph_ir.passes.fuse import fuse
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
  %back: float32[4, 8] = copy_to(%z) {device="cpu"}
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
    assert plan.workspaces == {OPENCL: 256, cpu(): 128}
    assert plan.workspace[back] == 0
    assert {plan.workspace[there], plan.workspace[y]} == {0, 128}
    assert plan.workspace[z] != plan.workspace[y]
    assert (dict(plan.parameter_blocks), plan.parameter_bytes, plan.workspace_bytes) == ({OPENCL: 64}, 0, 128)


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
    assert Operator.output_device(Relu(), []) == cpu()
    assert CopyTo("opencl(1)").output_device([cpu()]) == Device.of("opencl(1)")
