"""Networks in Chromium by WebGPU, on the processor: what they give is what they give here."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sateen.graph_ir import OPS, Graph, build, parse_graph, workloads
from sateen.runtime import load

RUN = """
(async () => {
  const { load } = await import("/src/index.js");
  const small = { // a device that binds few bytes, so that memory is in windows
    async requestAdapter() {
      const adapter = await navigator.gpu.requestAdapter();
      const device = await adapter.requestDevice();
      const limits = {};
      for (const name in device.limits) limits[name] = device.limits[name];
      Object.defineProperty(device, "limits", { value: { ...limits, maxStorageBufferBindingSize: MOST } });
      return { info: adapter.info, features: adapter.features, limits, requestDevice: async () => device };
    },
  };
  const model = await load("/network.sateen", MOST ? { gpu: small } : {});
  const arrays = {
    float32: Float32Array, int64: BigInt64Array, int8: Int8Array, bool: Uint8Array, float16: Uint16Array,
  };
  const inputs = {};
  for (const { name, dtype } of model.inputs) {
    inputs[name] = new arrays[dtype](await (await fetch(`/${name}`)).arrayBuffer());
  }
  const [first, second] = await Promise.all([model.run(inputs), model.run(inputs)]);
  const told = (tensors) => Object.values(tensors).map(({ data }) => {
    const bytes = new Uint8Array(data.buffer);
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  });
  return [model.device, told(first), told(second), String(await model.time(inputs, { repeat: 2 }))];
})()
"""

TYPES = """
graph types
  input %a: float16[200, 5]
  input %b: int64[70]
  input %c: int8[30, 30]
  input %d: bool[70]
  %e = add(%a, %a)
  %f = where(%d, %b, %b)
  %g = add(%f, %b)
  %h = add(%c, %c)
  output %e
  output %g
  output %h
"""

DECIDING = """
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
        else_branch = graph shrink
          input %v: float32[3, 5]
          %f: float32[3, 5] = tanh(%v)
          output %f
      %e: float32[5] = reduce_max(%w) {axes=(0,), keepdims=false}
      %o: bool[] = equal(%i, %two)
      output %w
      output %e
      output %o
  %z: float32[3, 5] = while(%most, %start, %y)
    body = graph more
      input %j: int64[]
      input %v: float32[3, 5]
      %twice: float32[3, 5] = add(%v, %v)
      %sum: float32[] = reduce_sum(%twice) {axes=(0, 1), keepdims=false}
      parameter %limit: float32[] = [900.0]
      %go: bool[] = less(%sum, %limit)
      output %go
      output %twice
  output %z
  output %rows
  output %odd
"""

NETWORKS: dict[str, Callable[[], Graph]] = {
    "types": lambda: parse_graph(TYPES, OPS),
    "mlp": workloads.mlp,
    "deciding": lambda: parse_graph(DECIDING, OPS),
}


@pytest.mark.parametrize(("name", "most"), [("types", 0), ("types", 512), ("mlp", 1 << 17), ("deciding", 0)])
def test_a_network_gives_in_a_browser_what_it_gives_here(
    name: str, most: int, site: tuple[Path, str], open_webgpu_page: Callable[[str], Any]
) -> None:
    graph, random, (folder, address) = NETWORKS[name](), np.random.default_rng(1), site
    page = open_webgpu_page(f"{address}/demo/index.html")
    here = build(graph)
    inputs = {p.name: np.asarray(random.normal(size=p.shape) * 2).astype(p.dtype.numpy) for p in here.inputs}
    inputs |= {"most": np.array(9)} if name == "deciding" else {}
    with load(here) as model:
        expected = model.run(inputs).numpy()
    if name == "deciding":
        assert inputs["start"]
    build(graph, "webgpu").save(folder / "network.sateen")
    for key, array in inputs.items():
        (folder / key).write_bytes(array.tobytes())
    device, first, second, time = page.value(RUN.replace("MOST", str(most)))
    assert (device, first) == ("webgpu", second)
    assert " us (median of 2, " in time
    for told, array in zip(first, expected.values(), strict=True):
        found = np.frombuffer(base64.b64decode(told), array.dtype).reshape(array.shape).astype(np.float64)
        wanted = array.astype(np.float64)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4 * float(np.abs(wanted).max()))
