"""float16 on x86-64 without F16C, RISC-V without Zfh and ARM without VFPv4: converted on integers, as NumPy does."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from sateen.runtime import Target, load_module
from sateen.tensor_ir import build, te

pytestmark = pytest.mark.skipif(Target.host().architecture != "x86_64", reason="other processors convert float16")


def converted(values: np.ndarray, dtype: str, lanes: int) -> np.ndarray:
    """The values in another type, by code for x86-64-v2, `lanes` at a time."""
    target = Target("llvm", Target.host().triple, "x86-64-v2")
    x = te.placeholder(values.shape, dtype=str(values.dtype), name="x")
    y = te.compute(values.shape, lambda i: x[i].astype(dtype), name="y")
    schedule, result = te.create_schedule(y), np.empty(values.shape, dtype)
    if lanes > 1:
        schedule[y].vectorize(schedule[y].split(y.op.axis[0], lanes)[1])
    load_module(build(schedule, [x, y], target, keep_loops=True).library())["run"](values, result)
    return result


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_every_float16_widens_to_its_value(lanes: int) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    np.testing.assert_array_equal(converted(every, "float32", lanes), every.astype(np.float32))


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_narrowing_rounds_to_nearest_even(lanes: int) -> None:
    every = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    above = np.nextafter(every, np.float32(np.inf))
    halves = (every[:-1] + every[1:]) / 2
    edges = [0.0, 65504, 65519.99, 65520, 65536, 1e30, np.inf, np.nan, 1e-30, 2.0**-25, 2.0**-24]
    values = np.concatenate([every, above, halves, np.nextafter(halves, np.float32(0)), np.array(edges, np.float32)])
    values = np.concatenate([values, -values])
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16)
    np.testing.assert_array_equal(converted(values, "float16", lanes), expected)
    assert np.signbit(converted(np.array([-0.0], np.float32), "float16", 1))[0]


MAIN = """
#include <stdio.h>
#include "libf.h"
static uint16_t x[65536], z[65536];
static float y[65536];
int main(void) {
  int64_t shape[] = {65536};
  DLTensor half = {x, {kDLCPU, 0}, 1, {kDLFloat, 16, 1}, shape, 0, 0}, wide = half, narrow = half;
  DLTensor *args[] = {&half, &wide, &narrow};
  wide.data = y, wide.dtype.bits = 32, narrow.data = z;
  for (int i = 0; i < 65536; ++i) x[i] = i;
  int32_t status = f(0, args, 3);
  FILE *file = fopen("results", "wb");
  return status || fwrite(y, 4, 65536, file) != 65536 || fwrite(z, 2, 65536, file) != 65536 || fclose(file);
}
"""


@pytest.mark.parametrize(
    ("target", "run_on"),
    [
        ("riscv64-linux-gnu", "run_on_riscv64"),
        ("armv7-linux-gnueabihf -mcpu=cortex-a8", "run_on_arm"),
        ("armv7-linux-gnueabihf -mcpu=cortex-a7", "run_on_arm"),
    ],
)
def test_other_machines_convert_as_numpy_does(
    target: str, run_on: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    run: Callable[..., str] = request.getfixturevalue(run_on)
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    x = te.placeholder(every.shape, dtype="float16", name="x")
    y = te.compute(every.shape, lambda i: x[i].astype("float32"), name="y")
    z = te.compute(every.shape, lambda i: (y[i] * te.const(0.7, "float32")).astype("float16"), name="z")
    module = build(te.create_schedule([y, z]), [x, y, z], f"llvm -mtriple={target}", name="f")
    module.export_library(tmp_path / "libf.so")
    (tmp_path / "main.c").write_text(MAIN)
    include = files("sateen.runtime") / "include"
    assert run(tmp_path, ["-std=gnu11", f"-I{include}", "./libf.so", "-Wl,-rpath,."], []) == ""
    found = (tmp_path / "results").read_bytes()
    np.testing.assert_array_equal(np.frombuffer(found, "float32", 1 << 16), every.astype(np.float32))
    with np.errstate(invalid="ignore"):  # signaling NaNs
        expected = (every.astype(np.float32) * np.float32(0.7)).astype(np.float16)
    np.testing.assert_array_equal(np.frombuffer(found, "float16", 1 << 16, 4 << 16), expected)
