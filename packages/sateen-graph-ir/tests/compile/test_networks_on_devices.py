"""Networks for devices: launches as data, artifacts, and runs on the machine's OpenCL and WebGPU."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from math import prod
from typing import Any

import numpy as np
import pytest

from sateen import runtime
from sateen.graph_ir import build, parse_graph, workloads
from sateen.graph_ir.compile import DeviceMeter
from sateen.graph_ir.ops import OPS
from sateen.runtime import Artifact, ArtifactError, CodeForm, Device, DeviceError, TargetError, read_artifact

CHAIN = """\
graph net
  input %x: float32[3, 100]
  input %w: float32[100, 7]
  %y: float32[3, 7] = mat_mul(%x, %w)
  %z: float32[3, 7] = softmax(%y) {axis=1}
  output %z"""


def chain(kind: str = "opencl") -> Artifact:
    return build(parse_graph(CHAIN, OPS), kind)


def arrays() -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    random = np.random.default_rng(0)
    return [random.standard_normal(shape).astype(np.float32) for shape in ((3, 100), (100, 7))]


def test_launches_are_numbers_on_places_of_blocks() -> None:
    artifact = chain()
    assert artifact.form is CodeForm.KERNELS
    assert artifact.library == b""
    assert [b.size for b in artifact.blocks] == [1200, 2800, 84, 64, artifact.workspace_bytes]
    assert {p.block for launch in artifact.launches for p in launch.places} >= {0, 1, 2}
    for launch in artifact.launches:
        assert f"void {launch.kernel}(".encode() in artifact.kernels
        for place in launch.places:
            assert place.offset % 256 == 0
            assert place.offset + place.size <= artifact.blocks[place.block].size


def test_an_artifact_is_read_as_it_was_written() -> None:
    artifact = chain()
    again = read_artifact(artifact.to_bytes())
    assert (again.kernels, again.actions, again.target) == (artifact.kernels, artifact.actions, "opencl")
    assert again.to_bytes() == artifact.to_bytes()


def test_kernels_for_cuda_are_ptx() -> None:
    artifact = build(parse_graph(CHAIN, OPS), "cuda -mcpu=sm_80")
    again = read_artifact(artifact.to_bytes())
    assert (again.kernels, again.actions, again.target) == (artifact.kernels, artifact.actions, "cuda -mcpu=sm_80")
    assert b".target sm_80" in artifact.kernels
    for launch in artifact.launches:
        assert f".visible .entry {launch.kernel}(".encode() in artifact.kernels


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ({"places": [[9, 0, 4]]}, "expected places within blocks of"),
        ({"places": [[0, 1024, 1200]]}, "found 1200 bytes from 1024 on in block 0"),
        ({"places": [[0, 0]]}, "expected a place as block, offset and size"),
        ({"block": [0, 1, 1]}, "the threads of a block"),
        ({"grid": [1, 1]}, "expected the grid along x, y and z, found 2 numbers"),
        ({"scalars": ["a"]}, "a scalar"),
        ({"step": 2}, "expected launches in the order of their 2 steps"),
        ({"shared": -1}, "the shared bytes of a block"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_launches_outside_of_their_blocks_are_refused(damage: dict[str, object], words: str) -> None:
    artifact = chain()

    class Damaged(runtime.Artifact):
        def fields(self) -> dict[str, object]:
            fields = json.loads(json.dumps(super().fields()))
            fields["launches"][0].update(damage)
            return dict(fields)

    damaged = Damaged(**{f.name: getattr(artifact, f.name) for f in fields(Artifact) if f.init})
    with pytest.raises(ArtifactError, match=words):
        read_artifact(damaged.to_bytes())


def test_a_network_runs_on_a_device(device: Device) -> None:
    x, w = arrays()
    power = np.exp(x @ w - (x @ w).max(1, keepdims=True))
    model = runtime.load(chain(str(device.kind)))
    assert model.device == device
    found = model.run({"x": x, "w": w})["z"].numpy()
    np.testing.assert_allclose(found, power / power.sum(1, keepdims=True), rtol=1e-5)


def test_a_convolutional_network_is_that_of_the_processor(device: Device) -> None:
    graph = workloads.squeezenet(image=64)
    data = {"data": np.random.default_rng(1).standard_normal((1, 3, 64, 64)).astype(np.float32)}
    there, here = (runtime.load(build(graph, target)).run(data)[0].numpy() for target in (str(device.kind), "llvm"))
    np.testing.assert_allclose(there, here, rtol=1e-4, atol=1e-6)


IMAGES = """\
graph net
  input %x: float32[1, 3, 224, 224]
  input %s: float32[3]
  input %b: float32[3]
  %n: float32[1, 3, 224, 224] = instance_normalization(%x, %s, %b)
  %r: float32[1, 3, 224, 224] = relu(%n)
  %q: float32[1, 3, 224, 224] = multiply(%r, %r)
  %m: float32[1, 3, 1, 1] = reduce_mean(%q) {axes=(2, 3), keepdims=true}
  %l: float32[1, 3, 1, 1] = sqrt(%m)
  %f: float32[150528] = reshape(%r) {shape=(150528,)}
  %c: float32[150528] = cum_sum(%f)
  %a: int64[1] = arg_max(%f) {axis=0}
  output %l
  output %c
  output %a"""


def test_images_are_summed_by_many_threads(device: Device) -> None:
    """The parts of a sum, a norm and a running sum; loops of a thread end after 65535 iterations on some devices."""
    random = np.random.default_rng(3)
    x = random.standard_normal((1, 3, 224, 224)).astype(np.float32) + 2
    scale, bias = (random.standard_normal(3).astype(np.float32) for _ in "sb")
    artifact = build(parse_graph(IMAGES, OPS), str(device.kind))
    results = runtime.load(artifact).run({"x": x, "s": scale, "b": bias})
    wide, shape = x.astype(np.float64), (1, 3, 1, 1)
    normal = (wide - wide.mean((2, 3), keepdims=True)) / np.sqrt(wide.var((2, 3), keepdims=True) + 1e-5)
    r = np.maximum(normal * scale.reshape(shape) + bias.reshape(shape), 0)
    np.testing.assert_allclose(results["l"].numpy(), np.sqrt((r * r).mean((2, 3), keepdims=True)), rtol=1e-5)
    np.testing.assert_allclose(results["c"].numpy(), r.ravel().cumsum(), rtol=1e-4, atol=1e-3)
    assert results["a"].numpy()[0] == r.argmax()
    assert ("reduce_mean", "sqrt") in [step.operators for step in artifact.steps]
    assert all(prod(launch.grid) > 1 or max(p.size for p in launch.places) < 4096 for launch in artifact.launches)


OPERATORS = """\
graph net
  input %x: float32[2, 3, 9, 40]
  input %w: float32[5, 3, 3, 3]
  input %d: float32[5, 1, 3, 3]
  input %m: float32[40, 33]
  %c: float32[2, 5, 5, 40] = conv(%x, %w) {pads=(1, 1, 1, 1), strides=(2, 1)}
  %g: float32[2, 5, 5, 40] = conv(%c, %d) {groups=5, pads=(1, 1, 1, 1)}
  %r: float32[2, 5, 5, 40] = relu(%g)
  %p: float32[2, 5, 5, 33] = mat_mul(%r, %m)
  output %p"""


@pytest.mark.usefixtures("opencl")
def test_a_processor_as_a_device_has_tiles_for_each_thread() -> None:
    random = np.random.default_rng(2)
    graph = parse_graph(OPERATORS, OPS)
    data = {v.name: random.standard_normal(v.type.physical_shape).astype(np.float32) for v in graph.inputs}
    artifact = build(graph, "opencl -mcpu=processor")
    assert all(launch.shared_bytes == 0 for launch in artifact.launches)
    there, here = (runtime.load(a).run(data)[0].numpy() for a in (artifact, build(graph)))
    np.testing.assert_allclose(there, here, rtol=1e-4, atol=1e-5)


def test_a_device_of_opencl_is_any_or_a_processor() -> None:
    with pytest.raises(
        TargetError, match="expected a value of -mcpu of target opencl, one of processor; found 'procesor'"
    ):
        build(parse_graph(CHAIN, OPS), "opencl -mcpu=procesor")


def test_arrays_may_lie_on_the_device(device: Device) -> None:
    model = runtime.load(chain(str(device.kind)))
    x, w = arrays()
    there, out = runtime.array(x, device=device), runtime.empty((3, 7), device=device)
    results = model.run({"x": there, "w": w}, out={"z": out})
    assert results["z"] is out
    np.testing.assert_array_equal(out.numpy(), model.run({"x": x, "w": w})["z"].numpy())


@pytest.mark.usefixtures("opencl")
def test_launches_belong_to_steps_which_are_timed() -> None:
    artifact = chain()
    assert [s.operators for s in artifact.steps] == [("mat_mul",), ("softmax",)]
    assert sorted({launch.step for launch in artifact.launches}) == [0, 1]
    assert max(launch.shared_bytes for launch in artifact.launches) > 0
    x, w = arrays()
    times = runtime.time_steps(runtime.load(artifact), {"x": x, "w": w}, 3)
    assert len(times) == 2
    assert all(t.median > 0 for t in times)


@pytest.mark.usefixtures("opencl")
def test_a_block_with_too_much_shared_memory_is_refused_by_its_node() -> None:
    artifact = chain()
    first = replace(artifact.launches[0], shared_bytes=1 << 40)
    words = (
        r"kernel k0_mat_mul\w* of y \(mat_mul\) expects blocks with \d+ bytes of shared memory, the device has at most"
    )
    with pytest.raises(DeviceError, match=words):
        runtime.load(replace(artifact, actions=(first, *artifact.actions[1:])))


@pytest.mark.usefixtures("opencl")
def test_limits_of_a_device_are_measured_in_a_session() -> None:
    with runtime.LocalSession(seconds=60) as session:
        meter = DeviceMeter(session, runtime.Target("opencl"))
        assert meter.sample() > 0
        assert meter.bandwidth() > 0


def test_indices_of_data_have_64_bits(device: Device) -> None:
    text = """\
graph net
  input %i: int64[5]
  parameter %t: float32[4, 3] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
  %y: float32[5, 3] = gather(%t, %i) {axis=0}
  %m: int64[5, 1] = arg_max(%y) {axis=1}
  output %y
  output %m"""
    places = np.array([0, -1, 3, 2, 1])
    artifact = build(parse_graph(text, OPS), str(device.kind))
    results = runtime.load(artifact).run({"i": places})
    np.testing.assert_array_equal(results["y"].numpy(), np.arange(12, dtype=np.float32).reshape(4, 3)[places])
    np.testing.assert_array_equal(results["m"].numpy(), np.full((5, 1), 2))
    if device.kind is runtime.DeviceKind.WEBGPU:
        assert b"// kernel " in artifact.kernels
        assert b"vec2<u32>" in artifact.kernels


def test_a_device_of_another_kind_is_refused() -> None:
    with pytest.raises(ArtifactError, match=r"compiled for opencl, which runs on opencl\(0\); found device cpu\(0\)"):
        runtime.load(chain(), "cpu")


@pytest.mark.usefixtures("opencl")
def test_wrong_arguments_are_named() -> None:
    model = runtime.load(chain())
    for given, words in (
        (np.ones((3, 100)), r"argument 0 \(x\): expected float32, found float64"),
        (np.ones((3, 99), np.float32), r"argument 0 \(x\): expected 100 in dimension 1 of shape"),
        (np.ones(300, np.float32), r"argument 0 \(x\): expected 2 dimensions"),
    ):
        with pytest.raises(runtime.ArgumentError, match=words):
            model.run({"x": given, "w": arrays()[1]})


TYPES = """\
graph types
  input %a: int8[30, 40]
  input %b: float16[1500]
  input %c: int64[2000]
  input %i: int64[50]
  %d = add(%a, %a)
  %e = add(%b, %b)
  %f = gather(%c, %i) {axis=0}
  output %d
  output %e
  output %f"""


@pytest.mark.usefixtures("webgpu")
@pytest.mark.parametrize(("text", "most"), [(CHAIN, 512), (TYPES, 1024)])
def test_networks_whose_memory_no_binding_of_webgpu_holds(
    text: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection: Any = runtime.open_device("webgpu")._connection
    monkeypatch.setitem(connection._limits, "max-storage-buffer-binding-size", most)
    graph, random = parse_graph(text, OPS), np.random.default_rng(0)
    inputs = {
        p.name: (random.standard_normal(p.shape) * 9 + (p.name == "i") * 1000).astype(p.dtype.numpy)
        for p in build(graph).inputs
    }
    with runtime.load(build(graph)) as here, runtime.load(build(graph, "webgpu")) as there:
        expected, found = here.run(inputs).numpy(), there.run(inputs).numpy()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-5)


LOOPS = """\
graph loops
  input %x: float32[5, 2, 6]
  input %w: float32[1, 12, 6]
  input %r: float32[1, 12, 3]
  input %i: int64[5, 1]
  %h: float32[5, 1, 2, 3], %l: float32[1, 2, 3], %c: float32[1, 2, 3] = lstm(%x, %w, %r) {hidden_size=3}
  %v: float32[5, 1, 2, 2], %p: int64[5, 1, 2, 2] = top_k(%h) {k=2, axis=3}
  %u: float32[5, 1, 2, 2] = scatter_nd(%v, %i, %v) {reduction="add"}
  output %h
  output %p
  output %u"""


def test_what_loops_write_is_written_by_many_threads(device: Device) -> None:
    random = np.random.default_rng(0)
    shapes = {"x": (5, 2, 6), "w": (1, 12, 6), "r": (1, 12, 3)}
    given: dict[str, Any] = {name: random.standard_normal(s).astype(np.float32) for name, s in shapes.items()}
    given["i"] = np.array([[0], [3], [0], [-1], [7]])
    graph = parse_graph(LOOPS, OPS)
    artifact = build(graph, str(device.kind))
    assert all(launch.grid != (1, 1, 1) or launch.block != (1, 1, 1) for launch in artifact.launches)
    found, expected = (runtime.load(a).run(given).numpy() for a in (artifact, build(graph)))
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-6)
