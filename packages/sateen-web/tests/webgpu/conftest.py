"""What the tests of WebGPU share: an artifact, and a browser's part that answers as tests say and computes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sateen.graph_ir import build, workloads
from sateen.runtime import Artifact

BROWSER = """
const limits = {
  maxBufferSize: 2 ** 28, maxStorageBufferBindingSize: 2 ** 27, maxStorageBuffersPerShaderStage: 8,
  maxUniformBufferBindingSize: 65536, minStorageBufferOffsetAlignment: 256, minUniformBufferOffsetAlignment: 256,
  maxComputeWorkgroupStorageSize: 16384, maxComputeInvocationsPerWorkgroup: 256, maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupSizeY: 256, maxComputeWorkgroupSizeZ: 64, maxComputeWorkgroupsPerDimension: 65535,
};
/** A browser's part for one device, whose `said` has what is made on it. `fault` gives the errors of a kind of call. */
const browser = ({ changed = {}, features = [], fault = () => undefined, info = { description: "fake" } } = {}) => {
  const said = [];
  const scopes = [];
  let lose;
  const call = (name, given = {}) => {
    said.push([name, given]);
    const error = fault(name, given);
    if (error !== undefined) scopes.find(({ scope }) => scope === error.scope).error ??= { message: error.message };
    return { label: name };
  };
  const device = {
    limits: { ...limits, ...changed },
    lost: new Promise((resolve) => (lose = (message) => resolve({ reason: "unknown", message }))),
    destroy: () => lose("destroyed"),
    pushErrorScope: (scope) => scopes.unshift({ scope }),
    popErrorScope: async () => scopes.shift().error ?? null,
    createBuffer: (given) => ({
      size: given.size,
      mapAsync: async () => call("map"),
      getMappedRange: (_, size) => new ArrayBuffer(size),
      unmap: () => {},
      ...call("buffer", given),
    }),
    createShaderModule: (given) => call("module", given),
    createBindGroupLayout: (given) => call("layout", given),
    createPipelineLayout: (given) => call("pipeline layout", given),
    createBindGroup: (given) => call("group", given),
    createComputePipelineAsync: async (given) => call("pipeline", given),
    createCommandEncoder: () => ({
      beginComputePass: () => ({
        dispatchWorkgroups: (...grid) => call("dispatch", grid),
        setPipeline: () => {}, setBindGroup: () => {}, end: () => {},
      }),
      copyBufferToBuffer: () => {},
      finish: () => ({}),
    }),
    queue: { writeBuffer: () => {}, submit: () => {}, onSubmittedWorkDone: async () => {} },
  };
  const adapter = {
    info, features: new Set(features), limits: device.limits,
    requestDevice: async (given) => (call("device", given), device),
  };
  return { said, device, lose: (message) => lose(message), requestAdapter: async () => adapter };
};
"""


@pytest.fixture
def browser_node(node: Callable[..., object]) -> Callable[..., object]:
    """Runs a program in Node as `node` does, with `browser` for the option `gpu` of `load`."""
    return lambda program, *arguments: node(BROWSER + program, *arguments)


@pytest.fixture(scope="session")
def mlp_webgpu() -> Artifact:
    """The small network of `mlp`, for WebGPU."""
    return build(workloads.mlp(), "webgpu")


@pytest.fixture
def saved(mlp_webgpu: Artifact, mlp: Artifact, tmp_path: Path) -> tuple[Path, Path]:
    """The files of the small network for WebGPU and for WebAssembly."""
    paths = tmp_path / "webgpu.sateen", tmp_path / "wasm.sateen"
    for path, artifact in zip(paths, (mlp_webgpu, mlp), strict=True):
        artifact.save(path)
    return paths
