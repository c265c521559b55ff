"""Networks as CUDA C and Metal: threads of this process run their launch list, and nvcc compiles the kernels."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from text_devices import open_text_device

from sateen import runtime
from sateen.graph_ir import Graph, build, parse_graph, workloads
from sateen.graph_ir.ops import OPS
from sateen.graph_ir.passes import Pipeline
from sateen.runtime import ArtifactError, DeviceError, Model, read_artifact
from sateen.runtime.launched_network import LaunchedNetwork

MIXED = """\
graph net
  input %x: float32[2, 3, 9, 9]
  input %w: float32[4, 3, 3, 3]
  input %h: float16[2, 4]
  %y: float32[2, 4, 9, 9] = conv(%x, %w) {pads=(1, 1, 1, 1)}
  %a: float32[2, 4, 1, 1] = global_average_pool(%y)
  %b: float32[2, 4] = reshape(%a) {shape=(2, 4)}
  %c: float32[2, 4] = cast(%h) {dtype=float32}
  %s: float32[2, 4] = add(%b, %c)
  %p: float32[2, 4] = softmax(%s) {axis=1}
  %o: float16[2, 4] = cast(%p) {dtype=float16}
  output %o"""


def run_as_text(graph: Graph, target: str, data: dict[str, np.ndarray], pipeline: Pipeline | None = None) -> np.ndarray:
    """The first output by kernels in the language of a target, after the passes of a pipeline, or the usual ones."""
    try:
        device = open_text_device(target)
    except DeviceError as error:
        pytest.skip(str(error))
    artifact = read_artifact(build(graph, target, pipeline=pipeline).to_bytes())
    network = LaunchedNetwork(artifact, lambda _: device)
    return Model(artifact, network, device.description.device).run(data)[0].numpy()


@pytest.mark.parametrize("target", ["cuda-c", "metal"])
def test_float16_and_float32_are_those_of_the_processor(target: str) -> None:
    graph = parse_graph(MIXED, OPS)
    random = np.random.default_rng(0)
    data = {p.name: random.standard_normal(p.type.physical_shape).astype(p.type.dtype.numpy) for p in graph.inputs}
    found, here = run_as_text(graph, target, data), runtime.load(build(graph)).run(data)[0].numpy()
    assert found.dtype == np.float16
    np.testing.assert_allclose(np.float64(found), np.float64(here), rtol=2e-3)


def test_a_convolutional_network_of_metal_is_that_of_the_processor() -> None:
    graph = workloads.squeezenet(image=32)
    data = {"data": np.random.default_rng(1).standard_normal((1, 3, 32, 32)).astype(np.float32)}
    found, here = run_as_text(graph, "metal", data), runtime.load(build(graph)).run(data)[0].numpy()
    np.testing.assert_allclose(found, here, rtol=1e-4, atol=1e-6)


ROWS = """\
graph net
  input %x: float32[3, 4, 300]
  input %s: float32[4]
  input %b: float32[4]
  %n: float32[3, 4, 300] = instance_normalization(%x, %s, %b)
  %p: float32[3, 4, 300] = softmax(%n) {axis=2}
  %a: int64[3, 4, 1] = arg_max(%p) {axis=2}
  %g: float32[3, 4, 1] = cast(%a) {dtype=float32}
  %l: float32[3, 4, 1] = reduce_log_sum_exp(%p) {axes=(2,), keepdims=true}
  %o: float32[3, 4, 1] = add(%g, %l)
  output %o"""


@pytest.mark.parametrize("target", ["cuda-c", "metal"])
def test_rows_that_warps_combine_are_those_of_the_processor(target: str) -> None:
    graph = parse_graph(ROWS, OPS)
    random = np.random.default_rng(0)
    data = {p.name: random.standard_normal(p.type.physical_shape).astype(np.float32) for p in graph.inputs}
    found, here = run_as_text(graph, target, data), runtime.load(build(graph)).run(data)[0].numpy()
    np.testing.assert_allclose(found, here, rtol=1e-5)


def test_warps_combine_rows_without_spills(tmp_path: Path) -> None:
    artifact = build(parse_graph(ROWS, OPS), "cuda -mcpu=sm_80")
    assert artifact.kernels.count(b"shfl.sync") >= 5 * 6  # halves of 32 threads: six sums or extrema, one of them pairs
    assert "0 bytes spill stores" in assembled(artifact.kernels, 80, tmp_path)


def test_nvcc_compiles_a_network_whose_sums_stay_in_registers(tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed: apt package nvidia-cuda-toolkit, or the wheel nvidia-cuda-nvcc")
    artifact = build(workloads.squeezenet(), "cuda-c -mcpu=sm_80")
    (tmp_path / "kernels.cu").write_bytes(artifact.kernels)
    options = ["-arch=sm_80", "-Werror", "all-warnings", "-Xptxas", "-v", "-cubin"]
    command = [nvcc, *options, "kernels.cu", "-o", "kernels.cubin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"entry function '(\w+)'", done.stderr)) == {launch.kernel for launch in artifact.launches}
    assert max(map(int, re.findall(r"(\d+) bytes spill stores", done.stderr))) <= 8  # two values of a thread


def test_an_artifact_of_metal_is_loaded_where_there_is_a_driver() -> None:
    artifact = build(parse_graph(MIXED, OPS), "metal")
    assert b"\nkernel void " in artifact.kernels
    with pytest.raises(
        DeviceError,
        match=r"^metal\(0\): expected a device of kind .*, for which there are drivers; for others sateen export",
    ):
        runtime.load(artifact)


def test_an_artifact_of_cuda_c_is_for_its_compiler() -> None:
    message = "artifact: compiled for cuda-c, whose kernels are text for nvcc and no driver; compile the model for cuda"
    with pytest.raises(ArtifactError, match=f"^{message}$"):
        runtime.load(build(parse_graph(MIXED, OPS), "cuda-c"))


HALVES = """\
graph net
  input %x: {dtype}[3, 100, 72]
  input %w: {dtype}[72, 200]
  input %b: {dtype}[200]
  %p: {dtype}[3, 100, 200] = mat_mul(%x, %w)
  %s: {dtype}[3, 100, 200] = add(%p, %b)
  %o: {dtype}[3, 100, 200] = relu(%s)
  output %o"""


@pytest.mark.parametrize(("dtype", "arch"), [("float16", 75), ("float16", 90), ("bfloat16", 80)])
def test_products_of_short_floats_are_on_tensor_cores_without_spills(dtype: str, arch: int, tmp_path: Path) -> None:
    artifact = build(parse_graph(HALVES.format(dtype=dtype), OPS), f"cuda -mcpu=sm_{arch}")
    (launch,) = artifact.launches
    assert launch.block[0] == 32
    assert b"wmma.mma.sync" in artifact.kernels
    assert "0 bytes spill stores" in assembled(artifact.kernels, arch, tmp_path)


def assembled(ptx: bytes, arch: int, folder: Path) -> str:
    """What ptxas says of a module."""
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        pytest.skip("ptxas is not installed: apt package nvidia-cuda-toolkit, or the wheel nvidia-cuda-nvcc")
    (folder / "kernels.ptx").write_bytes(ptx)
    command = [ptxas, "-v", f"-arch=sm_{arch}", "kernels.ptx", "-o", "kernels.cubin"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=True).stderr


SHORT_CONVOLUTION = """\
graph net
  input %x: float16[2, 40, 15, 15]
  input %w: float16[72, 40, 3, 3]
  input %b: float16[72]
  %c: float16[2, 72, 15, 15] = conv(%x, %w, %b) {pads=(1, 1, 1, 1)}
  %o: float16[2, 72, 15, 15] = relu(%c)
  output %o"""


@pytest.mark.parametrize("arch", [75, 90])
def test_convolutions_of_short_floats_are_on_tensor_cores_without_spills(arch: int, tmp_path: Path) -> None:
    artifact = build(parse_graph(SHORT_CONVOLUTION, OPS), f"cuda -mcpu=sm_{arch}")
    (launch,) = artifact.launches
    assert launch.block[0] == 32
    assert b"wmma.mma.sync" in artifact.kernels
    assert "0 bytes spill stores" in assembled(artifact.kernels, arch, tmp_path)


ON_WARPS = """\
graph net
  input %x: float16[2, 20, 8, 8]
  input %w: float16[24, 20, 3, 3]
  input %m: float16[8, 17]
  %c: float16[2, 24, 8, 8] = conv(%x, %w) {pads=(1, 1, 1, 1)} by ONE
  %r: float16[2, 24, 8, 8] = relu(%c)
  %o: float16[2, 24, 8, 17] = mat_mul(%r, %m) by OTHER
  output %o"""
WARPS = {
    "ONE": "warped(warps_y=1, tiles_y=1, warps_x=2, tiles_x=1, terms=16)",
    "OTHER": "warped(warps_y=2, tiles_y=1, warps_x=1, tiles_x=1, terms=16)",
}


@pytest.mark.parametrize("target", ["cuda-c", "metal"])
def test_tiles_of_warps_are_loops_in_languages_without_their_instructions(target: str) -> None:
    text = re.sub("|".join(WARPS), lambda name: WARPS[name[0]], ON_WARPS)
    graph, random = parse_graph(text, OPS), np.random.default_rng(0)
    data = {v.name: random.integers(-1, 2, v.type.static_shape).astype(np.float16) for v in graph.inputs}
    found, artifact = run_as_text(graph, target, data, pipeline=()), build(graph, target, pipeline=())
    assert {launch.block[0] for launch in artifact.launches} == {32}
    np.testing.assert_array_equal(found, runtime.load(build(graph)).run(data)[0].numpy())
