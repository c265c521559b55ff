"""The entry of a network and its kernels, run by the interpreter of loop IR, give what the compiled network gives."""

import numpy as np
import pytest

from sateen.graph_ir.compile import build, lowered, network_code, network_target
from sateen.graph_ir.compile.network_code import MOST_OPTIMISED_STEPS
from sateen.graph_ir.compile.parameter_block import pack_parameters, stored_parameters
from sateen.graph_ir.ir import Array, Graph, GraphBuilder, parse_graph
from sateen.graph_ir.ops import OPS, Abs, Concat, Conv, MatMul, MaxPool, Relu, Reshape, Tanh, Transpose
from sateen.runtime import load
from sateen.runtime.errors import ExecutionError
from sateen.tensor_ir.interpret import run

RANDOM = np.random.default_rng(0)
CONTROL = """
graph control
  input %x: float32[2]
  input %most: int64[]
  input %start: bool[]
  %y: float32[2], %parts: float32[4, 2] = loop(%x) {count=4, carried=1}
    body = graph step
      input %i: int64[]
      input %v: float32[2]
      parameter %two: int64[] = [2]
      %early: bool[] = less(%i, %two)
      %w: float32[2] = if(%early, %v)
        then_branch = graph grow
          input %v: float32[2]
          %a: float32[2] = add(%v, %v)
          output %a
        else_branch = graph shrink
          input %v: float32[2]
          parameter %half: float32[] = [0.5]
          %m: float32[2] = multiply(%v, %half)
          output %m
      %e: float32[2] = exp(%w)
      output %w
      output %e
  %z: float32[2] = while(%most, %start, %y)
    body = graph again
      input %i: int64[]
      input %v: float32[2]
      %twice: float32[2] = add(%v, %v)
      %sum: float32[] = reduce_sum(%twice) {axes=(0,), keepdims=false}
      parameter %limit: float32[] = [90.0]
      %more: bool[] = less(%sum, %limit)
      output %more
      output %twice
  output %z
  output %parts
"""


def array(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype("float32")


def convolutions() -> Graph:
    """Two branches that share what they read, joined; views, memory that is used again, and a product."""
    g = GraphBuilder("convolutions")
    x = g.input("x", "float32", (1, 3, 7, 6))
    wide = g.add(Relu(), g.add(Conv(pads=(1, 1, 1, 1)), x, g.parameter("w", array(8, 3, 3, 3))))
    pooled = g.add(MaxPool((3, 3), (2, 2), (1, 1, 1, 1)), wide)
    narrow = g.add(Conv(strides=(2, 2)), wide, g.parameter("v", array(5, 8, 1, 1)), g.parameter("b", array(5)))
    joined = g.add(Concat(axis=1), pooled, g.add(Relu(), narrow), pooled)
    rows = g.add(Transpose((1, 0)), g.add(Reshape((21, 12)), joined))
    sums = g.add(Concat(axis=0), g.add(Tanh(), rows), g.add(Abs(), rows))
    g.output(g.add(MatMul(), sums, g.parameter("m", array(21, 4)), name="y"), narrow)
    return g.finish()


def interpreted(
    graph: Graph, inputs: dict[str, Array], *, timed: bool = False, parameters: str = "packed"
) -> dict[str, Array]:
    """The outputs of the entry by the interpreter, which traps what it must not do, after `pack` if there is one."""
    network = lowered(graph, network_target("llvm"), timed=timed, parameters=parameters)
    outputs = {v.name: np.zeros(v.type.physical_shape, v.type.dtype.numpy) for v in network.graph.outputs}
    blocks = [np.frombuffer(bytes(pack_parameters(stored_parameters(network))), "uint8")]
    workspace = np.zeros(max(network.plan.workspace_bytes, 64), "uint8")
    if network.packing is not None:
        blocks.append(np.zeros(network.blocks.packed_bytes, "uint8"))
        scratch = np.zeros(max(network.packing.plan.workspace_bytes, 64), "uint8")
        run(network.packing.entry, [*blocks, scratch], kernels=network.kernels)
    clock = [np.zeros(b.shape[0].value, "int64") for b in network.entry.parameters if b.name == "clock"]
    given = [inputs[v.name] for v in network.graph.inputs if v not in network.blocks.packed]
    run(network.entry, [*given, *outputs.values(), *clock, *blocks, workspace], kernels=network.kernels)
    for stamps in clock:
        assert len(stamps) == len(network.calls) + 1
        assert np.all(np.diff(stamps) > 0)
    return outputs


@pytest.mark.parametrize("timed", [False, True])
def test_convolutions_and_views(timed):
    graph, x = convolutions(), array(1, 3, 7, 6)
    found = interpreted(graph, {"x": x}, timed=timed)
    for name, expected in load(build(graph)).run({"x": x}).items():
        np.testing.assert_allclose(found[name], expected.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("timed", [False, True])
def test_parameters_are_packed_by_a_function_of_their_own(timed):
    g = GraphBuilder("packed")
    x, w = g.input("x", "float32", (1, 32, 16, 16)), g.parameter("w", array(32, 32, 3, 3))
    wide = g.add(Relu(), g.add(Conv(pads=(1, 1, 1, 1)), x, w))
    g.output(g.add(Conv(), wide, g.parameter("v", array(3, 32, 1, 1)), name="y"))
    graph, data = g.finish(), array(1, 32, 16, 16)
    assert lowered(graph, network_target("llvm"), parameters="trained").packing is not None
    trained, packed = (interpreted(graph, {"x": data}, timed=timed, parameters=form) for form in ("trained", "packed"))
    np.testing.assert_array_equal(trained["y"], packed["y"])


@pytest.mark.parametrize(("most", "start"), [(9, True), (1, True), (0, True), (9, False)])
@pytest.mark.parametrize("optimised_steps", [0, MOST_OPTIMISED_STEPS])
def test_branches_and_loops(most, start, optimised_steps, monkeypatch):
    monkeypatch.setattr(network_code, "MOST_OPTIMISED_STEPS", optimised_steps)
    graph = parse_graph(CONTROL.strip(), OPS)
    inputs = {"x": np.float32([1, -0.5]), "most": np.array(most), "start": np.array(start)}
    found = interpreted(graph, inputs)
    for name, expected in load(build(graph)).run(inputs).items():
        np.testing.assert_allclose(found[name], expected.numpy(), rtol=1e-6)


def test_a_kernel_that_is_not_given_is_missed():
    network = lowered(convolutions(), network_target("llvm"))
    arrays = [np.zeros([e.value for e in b.shape], b.dtype.numpy) for b in network.entry.parameters]
    message = r"run: kernel 'k\d+_\w+' is not among those that are given\n  in invoke k"
    with pytest.raises(ExecutionError, match=message):
        run(network.entry, arrays, kernels=network.kernels[1:])
