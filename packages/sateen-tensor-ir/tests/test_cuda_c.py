"""CUDA C: its text, that nvcc compiles it without spills where that is installed, and what it refuses.

What it computes is in test_kernel_text.py.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from device_workloads import everything, product, softmax

from sateen.runtime import LoweringError, TargetError
from sateen.tensor_ir import build_functions
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import Function

REVERSED = """\
function f(A: float32[4, 8], B: out float32[4, 8])
  thread blockIdx.y b in [0, 4):
    allocate S: shared float32[8]
    thread threadIdx.x t in [0, 8):
      S[t] = exp(A[b, t])
    thread threadIdx.x u in [0, 8):
      B[b, u] = S[7 - u]"""


def test_a_kernel_is_a_function_with_the_threads_of_its_blocks() -> None:
    assert (
        build_functions([parse_function(REVERSED)], "cuda-c").source
        == """\
extern "C" __global__ void __launch_bounds__(8)
f_0(const float *__restrict__ A, float *__restrict__ B) {
  __shared__ float S[8];
  const int blockIdx_y = blockIdx.y;
  const int threadIdx_x = threadIdx.x;
  S[threadIdx_x] = expf(A[blockIdx_y * 8 + threadIdx_x]);
  __syncthreads();
  B[blockIdx_y * 8 + threadIdx_x] = S[7 - threadIdx_x];
}
"""
    )


def report(source: str, folder: Path) -> str:
    """What ptxas says of the code that nvcc makes of a text: registers, shared bytes and spills of each kernel."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed: apt package nvidia-cuda-toolkit, or the wheel nvidia-cuda-nvcc")
    (folder / "kernels.cu").write_text(source)
    options = ["-arch=sm_80", "-Werror", "all-warnings", "-Xptxas", "-v"]
    command = [nvcc, *options, "-cubin", "kernels.cu", "-o", "kernels.cubin"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    assert result.returncode == 0, result.stderr
    return result.stderr


@pytest.mark.parametrize(
    "function",
    [
        product(64, 64, 64), product(37, 50, 19), product(37, 50, 19, "shift"), softmax(), everything(),
        parse_function(REVERSED),
    ],
    ids=["tiles", "guarded tiles", "shifted tiles", "softmax", "every type", "shared"],
)  # fmt: skip
def test_nvcc_compiles_it_without_spills_and_stack(function: Function, tmp_path: Path) -> None:
    module = build_functions([function], "cuda-c")
    told = report(module.source, tmp_path)
    (kernel,) = module.program.kernels
    assert f"Compiling entry function '{kernel.name}'" in told
    assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in told
    taken = re.search(r"(\d+) bytes smem", told)
    assert kernel.shared_bytes <= (0 if taken is None else int(taken[1])) <= kernel.shared_bytes + 256  # with padding


def test_the_processor_is_one_for_schedules_and_known() -> None:
    text = build_functions([softmax()], "cuda-c -mcpu=sm_90").source
    assert text == build_functions([softmax()], "cuda-c").source
    with pytest.raises(TargetError, match=r"^LLVM knows no processor 'sm_98' for nvptx64; did you mean sm_90 or"):
        build_functions([softmax()], "cuda-c -mcpu=sm_98")


def test_a_block_has_limits() -> None:
    text = """\
function f(A: out float32[64, 64])
  thread threadIdx.y y in [0, 64):
    thread threadIdx.x x in [0, 64):
      A[y, x] = 1.0f"""
    message = "expected at most 1024 threads in a block of the device, found 4096 (threadIdx.x 64, threadIdx.y 64)"
    with pytest.raises(LoweringError, match=re.escape(message)):
        build_functions([parse_function(text)], "cuda-c")


def test_no_driver_takes_the_text() -> None:
    module = build_functions([parse_function(REVERSED)], "cuda-c")
    message = (
        "compiled for cuda-c, which gives CUDA C, text for nvcc and no driver: see source, export_source and host, or "
        "build for cuda"
    )
    with pytest.raises(TargetError, match=f"^{re.escape(message)}$"):
        module(np.zeros((4, 8), "float32"), np.zeros((4, 8), "float32"))


@pytest.mark.parametrize("name", ["threadIdx", "template", "device", "linux", "expf"])
def test_names_of_the_language_are_no_names_of_arrays(name: str, tmp_path: Path) -> None:
    function = parse_function(REVERSED.replace("A", name))
    assert f"*__restrict__ {name}_," in build_functions([function], "cuda-c").source
    report(build_functions([function], "cuda-c").source, tmp_path)
