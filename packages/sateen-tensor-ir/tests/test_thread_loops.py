"""Parallel loops as threads of a device: text before and after."""

from __future__ import annotations

from textwrap import dedent

import pytest

from sateen.tensor_ir.ir.equal import why_different
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.lowering import spread_over_threads

LOOPS = """
function f[n](A: float32[n], B: out float32[n])
  parallel i in [0, n):
    B[i] = A[i]
"""
SPREAD = """
function f[n](A: float32[n], B: out float32[n])
  thread blockIdx.x b in [0, (n + 255) // 256):
    thread threadIdx.x t in [0, 256):
      if b * 256 + t < n:
        B[b * 256 + t] = A[b * 256 + t]
"""
SHORT = """
function f(A: float32[8, 4], B: out float32[8, 4])
  parallel i in [0, 8):
    allocate T: float32[4]
      parallel j in [0, 4):
        T[j] = A[i, j]
      for j in [0, 4):
        B[i, j] = T[j]
"""
SHORT_SPREAD = """
function f(A: float32[8, 4], B: out float32[8, 4])
  thread blockIdx.x b in [0, 1):
    thread threadIdx.x t in [0, 8):
      allocate T: local float32[4]
        for j in [0, 4):
          T[j] = A[b * 8 + t, j]
        for j in [0, 4):
          B[b * 8 + t, j] = T[j]
"""
MIXED = """
function f(A: float32[16], B: out float32[16], D: out float32[1])
  allocate T: local float32[16]
    for k in [0, 3):
      parallel i in [0, 16):
        T[i] = A[i]
      D[0] = T[k]
      D[0] = D[0] + 1.0f
    parallel i in [0, 16):
      B[i] = T[i]
"""
MIXED_SPREAD = """
function f(A: float32[16], B: out float32[16], D: out float32[1])
  allocate T: float32[16]
    for k in [0, 3):
      thread blockIdx.x b in [0, 1):
        thread threadIdx.x t in [0, 16):
          T[b * 16 + t] = A[b * 16 + t]
      thread threadIdx.x t in [0, 1):
        D[0] = T[k]
        D[0] = D[0] + 1.0f
    thread blockIdx.x b in [0, 1):
      thread threadIdx.x t in [0, 16):
        B[b * 16 + t] = T[b * 16 + t]
"""
READS = """
function f(A: float32[16], N: int64[1], B: out float32[16])
  for k in [0, index(N[0])):
    parallel i in [0, 16):
      B[i] = A[i]
"""
READS_SPREAD = """
function f(A: float32[16], N: int64[1], B: out float32[16])
  thread threadIdx.x t in [0, 1):
    for k in [0, index(N[0])):
      for i in [0, 16):
        B[i] = A[i]
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [(LOOPS, SPREAD), (SHORT, SHORT_SPREAD), (MIXED, MIXED_SPREAD), (READS, READS_SPREAD)],
    ids=["symbolic", "a thread's own", "the host's and one thread's", "a count from memory"],
)
def test_parallel_loops_are_threads(before: str, after: str) -> None:
    spread = spread_over_threads(parse_function(dedent(before)), 256)
    assert why_different(spread, parse_function(dedent(after))) is None, str(spread)


def test_what_is_bound_stays() -> None:
    function = parse_function(dedent(SPREAD))
    assert spread_over_threads(function, 64) is function
