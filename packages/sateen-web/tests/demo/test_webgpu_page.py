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

NETWORKS: dict[str, Callable[[], Graph]] = {
    "types": lambda: parse_graph(TYPES, OPS),
    "mlp": workloads.mlp,
}


@pytest.mark.parametrize(("name", "most"), [("types", 0), ("types", 512), ("mlp", 1 << 17)])
def test_a_network_gives_in_a_browser_what_it_gives_here(
    name: str, most: int, site: tuple[Path, str], open_webgpu_page: Callable[[str], Any]
) -> None:
    graph, random, (folder, address) = NETWORKS[name](), np.random.default_rng(1), site
    page = open_webgpu_page(f"{address}/demo/index.html")
    here = build(graph)
    inputs = {p.name: (random.normal(size=p.shape) * 2).astype(p.dtype.numpy) for p in here.inputs}
    with load(here) as model:
        expected = model.run(inputs).numpy()
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
