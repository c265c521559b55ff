"""Metal: its text, and what it refuses. What it computes is in test_kernel_text.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from device_workloads import everything

from sateen.runtime import CodegenError, DeviceError, LoweringError
from sateen.tensor_ir import build_functions
from sateen.tensor_ir.ir.parser import parse_function

SCALED = """\
function f[n](A: float32[n, 8], B: out float32[n, 8])
  thread blockIdx.x b in [0, n):
    allocate S: shared float32[8]
    thread threadIdx.x t in [0, 8):
      S[t] = exp(A[b, t])
    thread threadIdx.x u in [0, 8):
      B[n - 1 - b, u] = S[7 - u]"""


def test_a_kernel_takes_buffers_by_number_and_its_position() -> None:
    assert (
        build_functions([parse_function(SCALED)], "metal").source
        == """\
#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#endif
using namespace metal;

[[max_total_threads_per_threadgroup(8)]]
kernel void f_0(device const float *A [[buffer(0)]], device float *B [[buffer(1)]], constant long &n [[buffer(2)]], \
uint3 sateen_block [[threadgroup_position_in_grid]], uint3 sateen_thread [[thread_position_in_threadgroup]]) {
  threadgroup float S[8];
  const long blockIdx_x = sateen_block.x;
  const long threadIdx_x = sateen_thread.x;
  S[threadIdx_x] = precise::exp(A[blockIdx_x * 8 + threadIdx_x]);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  B[(n - 1 - blockIdx_x) * 8 + threadIdx_x] = S[7 - threadIdx_x];
}
"""
    )


def test_there_is_no_float64() -> None:
    message = "everything_0: Metal has no type float64; it has int8, int16, int32, int64, uint8, uint16, uint32, uint64"
    with pytest.raises(CodegenError, match=message):
        build_functions([everything()], "metal")


def test_powers_are_computed_without_float64(launch_on: Callable[[str], Any]) -> None:
    text = """\
function f(A: float32[64], B: float32[64], C: out float32[64])
  thread threadIdx.x t in [0, 64):
    C[t] = pow(A[t], B[t])"""
    random = np.random.default_rng(0)
    a, b = random.uniform(0.1, 10, 64).astype("float32"), random.uniform(-8, 8, 64).astype("float32")
    found = np.zeros(64, "float32")
    compiled = launch_on("metal")(parse_function(text), a, b, found)
    np.testing.assert_allclose(found, np.float64(a) ** np.float64(b), rtol=2e-7)
    assert "double" not in compiled.source


def test_a_kernel_has_31_buffers_at_most() -> None:
    names = [f"A{i}" for i in range(31)]
    parameters = ", ".join(f"{name}: float32[4]" for name in names)
    text = f"""\
function f({parameters}, B: out float32[4])
  thread threadIdx.x t in [0, 4):
    B[t] = {" + ".join(f"{name}[t]" for name in names)}"""
    message = "f_0: expected at most 31 buffers and numbers of a kernel in Metal, found 32"
    with pytest.raises(CodegenError, match=message):
        build_functions([parse_function(text)], "metal")


def test_a_block_has_limits() -> None:
    text = """\
function f(A: out float32[32])
  thread blockIdx.x b in [0, 1):
    allocate T: shared float32[16384]
    thread threadIdx.x t in [0, 32):
      T[t] = 1.0f
      A[t] = T[t]"""
    message = "expected at most 32768 bytes of shared memory in a block of the device, found 65536 ('T' 65536)"
    with pytest.raises(LoweringError, match=re.escape(message)):
        build_functions([parse_function(text)], "metal")


def test_there_is_no_driver() -> None:
    with pytest.raises(
        DeviceError,
        match=r"^metal\(0\): expected a device of kind .*, for which there are drivers; for others sateen export",
    ):
        build_functions([parse_function(SCALED)], "metal").module  # noqa: B018
