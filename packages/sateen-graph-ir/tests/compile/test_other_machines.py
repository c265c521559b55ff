"""Whole networks for other machines: compiled here, called by a C program there, equal to the same networks here.

Each machine runs some; `nox -s elsewhere` runs real ones on all.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from sateen import runtime
from sateen.graph_ir import Graph, build, workloads
from sateen.graph_ir.compile import network_code

MAIN = """
#include <stdio.h>
#include "network.h"

static _Alignas(64) unsigned char workspace[NETWORK_WORKSPACE_BYTES];
static float input[ELEMENTS_IN];
static float alone[ELEMENTS_OUT], shared[ELEMENTS_OUT];

static int save(const char *name, const float *values) {
  FILE *file = fopen(name, "wb");
  return file && fwrite(values, sizeof *values, ELEMENTS_OUT, file) == ELEMENTS_OUT && fclose(file) == 0;
}

int main(void) {
  FILE *file = fopen("input", "rb");
  if (!file || fread(input, sizeof *input, ELEMENTS_IN, file) != ELEMENTS_IN) return 1;
  sateen_host one = *network_sateen_default_host();
  one.threads = 1;
#ifdef NETWORK_PACKED_BYTES
  static _Alignas(64) unsigned char packed[NETWORK_PACKED_BYTES];
  int32_t status = network_pack(&one, packed, workspace);
  if (status == 0) status = network_run(&one, input, alone, packed, workspace);
  if (status == 0) status = network_run(NULL, input, shared, packed, workspace);
#else
  int32_t status = network_run(&one, input, alone, workspace);
  if (status == 0) status = network_run(NULL, input, shared, workspace);
#endif
  if (status != 0) fputs(network_sateen_status_message(status), stderr);
  return status != 0 || !save("alone", alone) || !save("shared", shared);
}
"""
"""Runs a network of one input and one output on one thread, and on all."""

NETWORKS: dict[str, Callable[[], Graph]] = {
    "squeezenet": lambda: workloads.squeezenet(image=96),
    "mobilenet": lambda: workloads.mobilenet(image=96),
    "resnet": lambda: workloads.resnet(image=64),
    "lstm": workloads.lstm,
    "transformer": workloads.transformer,
}
MACHINES = {
    "armv7": ("llvm -mtriple=armv7-linux-gnueabihf -mattr=+neon", "run_on_arm"),
    "cortex-a7": ("llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a7", "run_on_arm"),
    "riscv64": ("llvm -mtriple=riscv64-linux-gnu", "run_on_riscv64"),
    "riscv64 with vectors": ("llvm -mtriple=riscv64-linux-gnu -mattr=+v,+zvl256b", "run_on_riscv64_with_vectors"),
}
"""The targets, and the fixtures that run programs there."""


@pytest.mark.parametrize(
    ("machine", "name"),
    [
        ("armv7", "squeezenet"),
        ("armv7", "lstm"),
        ("armv7", "transformer"),
        ("cortex-a7", "mobilenet"),
        ("riscv64", "mobilenet"),
        ("riscv64", "transformer"),
        ("riscv64 with vectors", "resnet"),
        ("riscv64 with vectors", "lstm"),
        ("riscv64 with vectors", "transformer"),
    ],
)
def test_a_network_gives_there_what_it_gives_here(
    machine: str, name: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entry of LSTM is as that of a network of many steps, which LLVM doesn't optimise."""
    if name == "lstm":
        monkeypatch.setattr(network_code, "MOST_OPTIMISED_STEPS", 0)
    target, run_on = MACHINES[machine]
    run = request.getfixturevalue(run_on)
    graph = NETWORKS[name]()
    here = build(graph)
    (source,), (result,) = here.inputs, here.outputs
    data = np.random.default_rng(1).normal(size=source.shape).astype(str(source.dtype))
    with runtime.load(here) as model:
        expected = np.array(model.run({source.name: data})[result.name])

    build(graph, target).export_library(tmp_path / "network.so")
    data.tofile(tmp_path / "input")
    (tmp_path / "main.c").write_text(
        MAIN.replace("ELEMENTS_IN", str(data.size)).replace("ELEMENTS_OUT", str(expected.size))
    )
    assert (str(source.dtype), str(result.dtype)) == ("float32", "float32")  # as main.c has them
    assert (
        run(tmp_path, ["-std=c11", f"-I{files('sateen.runtime') / 'include'}", "./network.so", "-Wl,-rpath,."], [])
        == ""
    )

    alone, shared = (np.fromfile(tmp_path / file, "float32").reshape(expected.shape) for file in ("alone", "shared"))
    assert alone.tobytes() == shared.tobytes()
    np.testing.assert_allclose(alone, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
