"""The devices that tests make of this process notice what is wrong with kernels: barriers that are missing, or that not
all threads reach, as shuffles, and code that does not compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sateen.runtime import DeviceError
from sateen.tensor_ir import build_functions
from sateen.tensor_ir.ir.parser import parse_function

REVERSED = """\
function f(A: float32[2, 64], B: out float32[2, 64])
  thread blockIdx.x b in [0, 2):
    allocate S: shared float32[64]
    thread threadIdx.x t in [0, 64):
      S[t] = A[b, t]
    thread threadIdx.x u in [0, 64):
      B[b, u] = S[63 - u]"""
BARRIERS = {"cuda-c": "__syncthreads();", "metal": "threadgroup_barrier(mem_flags::mem_threadgroup);"}

targets = pytest.mark.parametrize("target", BARRIERS)


def run_text(tested: Any, change: Callable[[str], str]) -> np.ndarray:
    """What the kernel gives for 128 numbers in order, its text changed."""
    device = tested.opened
    (kernel,) = (compiled := build_functions([parse_function(REVERSED)], tested.target)).program.kernels
    kernels = device.load(change(compiled.source).encode())
    given, found = np.arange(128, dtype="float32"), np.zeros(128, "float32")
    memory = [device.allocate(array.nbytes) for array in (given, found)]
    device.write(memory[0].part(), given.ctypes.data)
    parts = [m.part() for m in memory]
    device.launch(device.prepare(kernels, kernel.name, (2, 1, 1), kernel.block, parts, ()))
    device.read(found.ctypes.data, memory[1].part())
    return found.reshape(2, 64)


@targets
def test_all_threads_of_a_block_store_before_any_of_them_reads(launch_on: Callable[[str], Any], target: str) -> None:
    found = run_text(launch_on(target), lambda text: text)
    np.testing.assert_array_equal(found, np.arange(128, dtype="float32").reshape(2, 64)[:, ::-1])


@targets
def test_a_barrier_that_is_missing_gives_other_numbers(launch_on: Callable[[str], Any], target: str) -> None:
    found = run_text(launch_on(target), lambda text: text.replace(BARRIERS[target], ""))
    assert (found != np.arange(128, dtype="float32").reshape(2, 64)[:, ::-1]).any()


@targets
def test_a_barrier_that_some_threads_miss_is_an_error(launch_on: Callable[[str], Any], target: str) -> None:
    def only_for_some(text: str) -> str:
        return text.replace(BARRIERS[target], f"if (threadIdx_x < 32) {BARRIERS[target]}")

    with pytest.raises(DeviceError, match="f_0: not all threads of a block reach a barrier"):
        run_text(launch_on(target), only_for_some)


SHUFFLES = {
    "cuda-c": "__shfl_sync(0xffffffffu, S[threadIdx_x], 31 - threadIdx_x % 32)",
    "metal": "simd_shuffle(S[threadIdx_x], ushort(31 - threadIdx_x % 32))",
}


@targets
def test_a_shuffle_takes_the_values_of_its_warp(launch_on: Callable[[str], Any], target: str) -> None:
    found = run_text(launch_on(target), lambda text: text.replace("S[63 - threadIdx_x]", SHUFFLES[target]))
    np.testing.assert_array_equal(found, np.arange(128, dtype="float32").reshape(2, 2, 32)[:, :, ::-1].reshape(2, 64))


@targets
@pytest.mark.parametrize(
    ("shuffle", "change"),
    [
        ("threadIdx_x < 32 ? {} : 0.0f", "31 - threadIdx_x % 32"),
        ("threadIdx_x % 2 ? {} : 0.0f", "31 - threadIdx_x % 32"),
        ("{}", "threadIdx_x"),
    ],
    ids=["one warp", "a part of a warp", "lanes of no thread"],
)
def test_a_shuffle_of_some_threads_is_an_error(
    launch_on: Callable[[str], Any], target: str, shuffle: str, change: str
) -> None:
    wrong = shuffle.format(SHUFFLES[target].replace("31 - threadIdx_x % 32", change))
    with pytest.raises(DeviceError, match="f_0: not all threads of a block reach a barrier or a shuffle"):
        run_text(launch_on(target), lambda text: text.replace("S[63 - threadIdx_x]", wrong))


@targets
def test_text_that_does_not_compile_is_refused_with_what_the_compiler_says(
    launch_on: Callable[[str], Any], target: str
) -> None:
    with pytest.raises(DeviceError, match=r"the code is refused: (.|\n)*error: .*unknown"):
        run_text(launch_on(target), lambda text: text.replace("S[threadIdx_x]", "unknown[threadIdx_x]"))
