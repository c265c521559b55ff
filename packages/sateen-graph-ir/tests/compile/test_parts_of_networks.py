"""Networks for devices with nodes that decide, and with parts on the host and on other devices."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from sateen import runtime
from sateen.graph_ir import Graph, build, parse_graph
from sateen.graph_ir.compile import network_target
from sateen.graph_ir.ir import Node
from sateen.graph_ir.ops import OPS, Softmax
from sateen.runtime import (
    ArgumentError,
    Artifact,
    ArtifactError,
    CodegenError,
    Device,
    DeviceError,
    TargetError,
    read_artifact,
)
from sateen.runtime.actions import MOST_NESTED, BlockCopy, HostCall, Repeat
from sateen.runtime.launches import NetworkLaunch

DECIDING = """\
graph deciding
  input %x: float32[3, 5]
  input %most: int64[]
  input %start: bool[]
  %y: float32[3, 5], %rows: float32[4, 5], %odd: bool[4] = loop(%x) {count=4, carried=1}
    body = graph step
      input %i: int64[]
      input %v: float32[3, 5]
      parameter %two: int64[] = [2]
      %early: bool[] = less(%i, %two)
      %w: float32[3, 5] = if(%early, %v)
        then_branch = graph grow
          input %v: float32[3, 5]
          %a: float32[3, 5] = add(%v, %v)
          output %a
        else_branch = graph again
          input %v: float32[3, 5]
          %n: float32[3, 5], %sums: float32[3, 5] = loop(%v) {count=3, carried=1}
            body = graph inner
              input %j: int64[]
              input %u: float32[3, 5]
              %f: float32[] = cast(%j) {dtype=float32}
              %m: float32[3, 5] = subtract(%u, %f)
              %s: float32[5] = reduce_sum(%m) {axes=(0,), keepdims=false}
              output %m
              output %s
          %b: float32[3, 5] = add(%n, %sums)
          output %b
      %e: float32[5] = reduce_max(%w) {axes=(0,), keepdims=false}
      %o: bool[] = equal(%i, %two)
      output %w
      output %e
      output %o
  %z: float32[3, 5] = while(%most, %start, %y)
    body = graph more
      input %i: int64[]
      input %v: float32[3, 5]
      %twice: float32[3, 5] = add(%v, %v)
      %sum: float32[] = reduce_sum(%twice) {axes=(0, 1), keepdims=false}
      parameter %limit: float32[] = [900.0]
      %go: bool[] = less(%sum, %limit)
      output %go
      output %twice
  output %z
  output %rows
  output %odd"""
CHAIN = """\
graph net
  input %x: float32[3, 100]
  input %w: float32[100, 7]
  %y: float32[3, 7] = mat_mul(%x, %w)
  %z: float32[3, 7] = softmax(%y) {axis=1}
  %u: float32[3, 7] = exp(%z)
  output %z
  output %u"""


def written(artifact: Artifact) -> Artifact:
    """The artifact as a reader of its file gets it, which is the same."""
    again = read_artifact(artifact.to_bytes())
    assert again.actions == artifact.actions
    assert again.to_bytes() == artifact.to_bytes()
    return again


def chain() -> Graph:
    return parse_graph(CHAIN, OPS)


def chain_data() -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    random = np.random.default_rng(0)
    return {
        name: random.standard_normal(shape).astype(np.float32) for name, shape in (("x", (3, 100)), ("w", (100, 7)))
    }


@pytest.mark.parametrize(
    "marks", ["", "twice n w", "early w s o z go", "y", "rows a"], ids=lambda marks: marks or "none"
)
def test_nodes_that_decide_choose_and_repeat_on_a_device(device: Device, marks: str) -> None:
    graph = parse_graph(DECIDING, OPS)
    here = runtime.load(build(graph))
    there = runtime.load(written(build(graph, str(device.kind), placed=dict.fromkeys(marks.split(), "cpu"))))
    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    for most, start in ((9, True), (0, True), (3, True), (9, False)):
        data = {"x": x, "most": np.array(most), "start": np.array(start)}
        found, expected = there.run(data), here.run(data)
        for name in ("z", "rows", "odd"):
            np.testing.assert_allclose(found[name].numpy(), expected[name].numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("opencl")
def test_a_body_that_reads_its_number_is_launches_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """\
graph sums
  input %x: float32[4]
  %y: float32[4], %rows: float32[9, 4] = loop(%x) {count=9, carried=1}
    body = graph step
      input %i: int64[]
      input %v: float32[4]
      %f: float32[] = cast(%i) {dtype=float32}
      %s: float32[4] = add(%v, %f)
      %e: float32[4] = identity(%s)
      output %s
      output %e
  output %y
  output %rows"""
    artifact = build(parse_graph(text, OPS), "opencl")
    (loop,) = (action for action in artifact.actions if isinstance(action, Repeat))
    assert all(isinstance(action, NetworkLaunch) for action in loop.body)
    monkeypatch.setattr("sateen.runtime.prepared_actions.NUMBERS", 4)
    found = runtime.load(artifact).run({"x": np.zeros(4, np.float32)})
    np.testing.assert_array_equal(found["rows"].numpy()[:, 0], np.cumsum(np.arange(9)))
    np.testing.assert_array_equal(found["y"].numpy(), np.full(4, 36))


@pytest.mark.usefixtures("opencl")
def test_a_step_that_decides_is_measured_as_one() -> None:
    artifact = build(parse_graph(DECIDING, OPS), "opencl")
    assert [step.kernel for step in artifact.steps] == ["loop", "while"]
    (loop,) = (action for action in artifact.actions if isinstance(action, Repeat))
    assert (loop.count, len(loop.rows), loop.step) == (4, 2, 0)
    data = {"x": np.ones((3, 5), np.float32), "most": np.array(2), "start": np.array(True)}
    times = runtime.time_steps(runtime.load(artifact), data, 2)
    assert all(t.median > 0 for t in times)


def test_nodes_with_marks_are_computed_by_the_host(device: Device) -> None:
    artifact = written(build(chain(), str(device.kind), placed={"z": "cpu"}))
    assert [step.kernel for step in artifact.steps] == ["k0_mat_mul", "copy_to", "k1_softmax", "copy_to", "k2_exp"]
    called = [type(action) for action in artifact.actions if not hasattr(action, "kernel")]
    assert called == [BlockCopy, HostCall, BlockCopy]
    assert [str(memory.device) for memory in artifact.memory] == [str(device), "cpu(0)"]
    assert artifact.options["target_host"].startswith("llvm ")
    found, expected = (runtime.load(a).run(chain_data()) for a in (artifact, build(chain())))
    for name in ("z", "u"):
        np.testing.assert_allclose(found[name].numpy(), expected[name].numpy(), rtol=1e-5)
    times = runtime.time_steps(runtime.load(artifact), chain_data(), 2)
    assert len(times) == 5


def test_all_parts_may_be_on_the_host(device: Device) -> None:
    artifact = build(chain(), str(device.kind), placed=dict.fromkeys("yzu", "cpu"))
    assert {type(action) for action in artifact.actions} == {HostCall}
    found, expected = (runtime.load(a).run(chain_data())["u"].numpy() for a in (artifact, build(chain())))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.usefixtures("opencl")
def test_marks_may_be_a_function_of_nodes() -> None:
    def place(node: Node) -> str | None:
        return "cpu" if isinstance(node.op, Softmax) else None

    by_function, by_name = (build(chain(), "opencl", placed=marks) for marks in (place, {"z": "cpu"}))
    assert by_function.actions == by_name.actions


NORMALIZED = """\
graph net
  input %x: float32[1, 16, 12, 12]
  input %w: float32[32, 16, 3, 3]
  parameter %p: float32[32, 32, 1, 1] = [PARAMETERS]
  parameter %scale: float32[32] = [SCALES]
  parameter %mean: float32[32] = [SCALES]
  %c: float32[1, 32, 12, 12] = conv(%x, %w) {pads=(1, 1, 1, 1)}
  %n: float32[1, 32, 12, 12] = batch_normalization(%c, %scale, %mean, %mean, %scale)
  %d: float32[1, 32, 12, 12] = conv(%n, %p)
  %m: float32[1, 32, 12, 12] = batch_normalization(%d, %scale, %mean, %mean, %scale)
  %t: float32[1, 12, 12, 32] = transpose(%m) {permutation=(0, 2, 3, 1)}
  %r: float32[1, 12, 12, 32] = relu(%t)
  output %r"""


@pytest.mark.parametrize("marks", [["c"], ["n", "d"], ["d", "t"], ["m", "r"]], ids="-".join)
def test_passes_keep_the_devices_of_values(opencl: Device, marks: list[str]) -> None:
    random = np.random.default_rng(3)
    numbers = ", ".join(f"{n:.3f}" for n in random.standard_normal(32 * 32))
    scales = ", ".join(f"{n:.3f}" for n in random.uniform(0.5, 1.5, 32))
    graph = parse_graph(NORMALIZED.replace("PARAMETERS", numbers).replace("SCALES", scales), OPS)
    data = {v.name: random.standard_normal(v.type.physical_shape).astype(np.float32) for v in graph.inputs}
    artifact = build(graph, str(opencl.kind), placed=dict.fromkeys(marks, "cpu"))
    assert any(isinstance(action, HostCall) for action in artifact.actions)
    there, here = (runtime.load(a).run(data)[0].numpy() for a in (artifact, build(graph)))
    np.testing.assert_allclose(there, here, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("opencl")
def test_arrays_may_lie_where_their_block_does_and_nowhere_else() -> None:
    model = runtime.load(build(chain(), "opencl", placed={"y": "cpu"}))
    data = chain_data()
    out = {"z": runtime.empty((3, 7), device="opencl")}
    assert model.run(data, out=out)["z"] is out["z"]
    np.testing.assert_array_equal(out["z"].numpy(), model.run(data)["z"].numpy())
    assert {str(array.device) for array in model.run(data, keep=True).values()} == {"opencl(0)"}
    split = runtime.load(build(chain(), "opencl", placed={"u": "cpu"})).run(data, keep=True)
    assert {name: str(array.device) for name, array in split.items()} == {"z": "opencl(0)", "u": "cpu(0)"}
    with pytest.raises(
        ArgumentError,
        match=r"argument 0 \(x\): expected memory of the host, found opencl\(0\); to\('cpu'\) copies it",
    ):
        model.run({**data, "x": runtime.array(data["x"], device="opencl")})


def test_what_a_device_lacks_names_the_node_and_the_remedy() -> None:
    text = "graph net\n  input %x: float64[4]\n  %y: float64[4] = exp(%x)\n  output %y"
    with pytest.raises(CodegenError, match="WGSL has no type float64") as caught:
        build(parse_graph(text, OPS), "webgpu")
    assert "  %x: float64[4] on webgpu(0)" in caught.value.__notes__
    assert caught.value.__notes__[-1] == "on the host it may run: --place 'y=cpu', or placed={'y': 'cpu'}"


def test_all_that_a_device_lacks_is_named_at_once() -> None:
    text = (
        "graph net\n  input %x: float64[4]\n  input %z: float32[4]\n  %y: float64[4] = softmax(%x) {axis=0}\n"
        "  %f: float32[4] = softmax(%z) {axis=0}\n  %w: float64[4] = softmax(%y) {axis=0}\n  output %w\n  output %f"
    )
    with pytest.raises(CodegenError, match="WGSL has no type float64") as caught:
        build(parse_graph(text, OPS), "webgpu")
    told = "on the host it may run: --place 'y=cpu' --place 'w=cpu', or placed={'y': 'cpu', 'w': 'cpu'}"
    assert caught.value.__notes__[-1] == told


@pytest.mark.parametrize("kind", ["cuda", "cuda-c"])
def test_a_generation_of_cuda_that_nobody_knows_is_refused_first(kind: str) -> None:
    with pytest.raises(TargetError, match="LLVM knows no processor 'sm_10' for nvptx64"):
        network_target(f"{kind} -mcpu=sm_10")


def test_a_part_that_a_device_lacks_runs_on_the_host(webgpu: Device) -> None:
    text = """\
graph net
  input %x: float64[4]
  %y: float64[4] = exp(%x)
  %f: float32[4] = cast(%y) {dtype=float32}
  %z: float32[4] = relu(%f)
  output %z"""
    x = np.linspace(-1, 1, 4)
    artifact = build(parse_graph(text, OPS), str(webgpu.kind), placed={"y": "cpu", "f": "cpu"})
    found = runtime.load(artifact).run({"x": x})["z"].numpy()
    np.testing.assert_allclose(found, np.exp(x).astype(np.float32), rtol=1e-6)


@pytest.mark.parametrize(
    ("target", "marks", "host", "words"),
    [
        ("llvm", {"y": "cpu"}, "llvm", "placed: expected a target of a device, whose network may have parts elsewhere"),
        ("opencl", {"y": "cpu"}, "c", "target_host: expected a target of kind llvm, found c"),
    ],
)
def test_parts_that_can_not_be_are_refused(target: str, marks: dict[str, str], host: str, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        build(chain(), target, placed=marks, target_host=host)


def test_more_bodies_within_each_other_than_readers_take_are_refused() -> None:
    def within(depth: int) -> list[str]:
        body = within(depth - 1) if depth else ["%y: float32[4] = exp(%x)"]
        inner = [f"  {line}" for line in ("input %i: int64[]", "input %x: float32[4]", *body, "output %y")]
        return ["%y: float32[4] = loop(%x) {count=2, carried=1}", "  body = graph b", *(f"  {line}" for line in inner)]

    def text(depth: int) -> str:
        lines = ["input %x: float32[4]", *within(depth), "output %y"]
        return "\n".join(["graph deep", *(f"  {line}" for line in lines)])

    read_artifact(build(parse_graph(text(MOST_NESTED - 1), OPS), "opencl").to_bytes())
    with pytest.raises(TargetError, match="expected at most 32 nodes that decide within each other, found more"):
        build(parse_graph(text(MOST_NESTED), OPS), "opencl")


@pytest.mark.usefixtures("opencl")
def test_a_library_of_another_network_is_refused() -> None:
    artifact = build(chain(), "opencl", placed={"z": "cpu"})
    other = build(chain(), "opencl", placed={"y": "cpu"})
    with pytest.raises(ArtifactError, match="expected a library with function 'k1_softmax', found none of that name"):
        runtime.load(replace(artifact, library=other.library))


def test_a_device_that_is_not_there_is_named(opencl: Device) -> None:
    artifact = build(chain(), "opencl", placed={"z": "opencl(63)"})
    with pytest.raises(DeviceError, match=r"^opencl\(63\): expected opencl\(63\), found \d+ devices? of OpenCL; name "):
        runtime.load(artifact, opencl)


TWO_DEVICES = """\
import numpy as np
from sateen import runtime
from sateen.graph_ir import build, workloads

try:
    runtime.open_device("opencl(1)")
except runtime.DeviceError:
    print("one device")
else:
    graph = workloads.mlp()
    names = [v.name for node in graph.nodes for v in node.outputs]
    artifact = build(graph, "opencl", placed={names[2]: "opencl(1)", names[3]: "cpu"})
    data = {"data": np.random.default_rng(0).standard_normal((1, 784)).astype(np.float32)}
    there, here = (runtime.load(a).run(data)[0].numpy() for a in (artifact, build(graph)))
    np.testing.assert_allclose(there, here, rtol=1e-5, atol=1e-6)
    print([str(memory.device) for memory in artifact.memory])
"""


@pytest.mark.usefixtures("opencl")
def test_parts_may_be_on_two_devices_of_a_kind() -> None:
    run = subprocess.run(
        [sys.executable, "-c", TWO_DEVICES],
        env={**os.environ, "POCL_DEVICES": "pthread basic"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if run.stdout == "one device\n":
        pytest.skip("PoCL has no second kind of device here")
    assert (run.stdout, run.returncode) == ("['opencl(0)', 'cpu(0)', 'opencl(1)']\n", 0), run.stderr
