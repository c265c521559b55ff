"""Networks of all kinds of convolution on devices of all languages: in groups, by Winograd's method, in parts of the
input channels, transposed."""

from __future__ import annotations

import numpy as np
import pytest
from text_devices import open_text_device

from sateen import runtime
from sateen.graph_ir import build, parse_graph
from sateen.graph_ir.ops import OPS
from sateen.runtime import Artifact, Device, DeviceError, Model, read_artifact
from sateen.runtime.launched_network import LaunchedNetwork

KINDS = """\
graph net
  input %x: float32[1, 16, 11, 10]
  input %d: float32[16, 1, 3, 3]
  input %g: float32[24, 4, 3, 3]
  input %u: float32[6, 24, 4, 4]
  input %b: float32[6]
  input %t: float32[6, 5, 4, 4]
  input %z: float32[1, 256, 3, 3]
  input %w: float32[5, 256, 3, 3]
  %d.1: float32[1, 16, 11, 10] = conv(%x, %d) {groups=16, pads=(1, 1, 1, 1)}
  %d.2: float32[1, 16, 11, 10] = relu(%d.1)
  %g.1: float32[1, 24, 11, 10] = conv(%d.2, %g) {groups=4, pads=(1, 1, 1, 1)}
  %u.1: float32[1, 6, 11, 10] = winograd_conv(%g.1, %u, %b) {tile=2, pads=(1, 1, 1, 1)}
  %t.1: float32[1, 5, 22, 20] = conv_transpose(%u.1, %t) {strides=(2, 2), pads=(1, 1, 1, 1)}
  %w.1: float32[1, 5, 1, 1] = conv(%z, %w)
  %o: float32[1, 5, 22, 20] = add(%t.1, %w.1)
  output %o"""


def loaded(artifact: Artifact, target: str) -> Model:
    """A model on a device of a target; skipped without one."""
    try:
        if target in ("cuda-c", "metal"):
            device = open_text_device(target)
            return Model(artifact, LaunchedNetwork(artifact, lambda _: device), device.description.device)
        runtime.open_device(Device.of(target))
    except DeviceError as error:
        pytest.skip(str(error))
    return runtime.load(artifact)


@pytest.mark.parametrize("target", ["opencl", "webgpu", "cuda-c", "metal"])
def test_all_kinds_are_those_of_the_processor(target: str) -> None:
    graph, random = parse_graph(KINDS, OPS), np.random.default_rng(0)
    data = {v.name: random.standard_normal(v.type.static_shape).astype(np.float32) for v in graph.inputs}
    model = loaded(read_artifact(build(graph, target).to_bytes()), target)
    found, here = model.run(data)[0].numpy(), runtime.load(build(graph)).run(data)[0].numpy()
    assert np.abs(found - here).max() < 1e-5 * np.abs(here).max()


def test_winograd_is_three_launches_and_parts_are_two() -> None:
    steps = [launch.step for launch in build(parse_graph(KINDS, OPS), "cuda -mcpu=sm_90").launches]
    assert sorted(steps.count(step) for step in set(steps)) == [1, 1, 1, 1, 2, 3]
