"""Where the kept artifact can run, and a driver of CUDA for tests."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sateen.runtime import Target
from sateen.runtime.devices import cuda
from sateen.runtime.devices.cuda import CudaDriver
from sateen.runtime.devices.cuda_library import CudaLibrary


@pytest.fixture(scope="session")
def runs_kept() -> None:
    """For tests that run the code of running_sum.sateen; skipped where this machine can't."""
    host, needed = Target.host(), Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v2")
    if "linux" not in host.triple or host.missing_features(needed):
        pytest.skip("running_sum.sateen is for x86-64-v2 on Linux")


@pytest.fixture(scope="session")
def cuda_stub(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """`cuda_driver.c`, a driver of CUDA on memory of this process."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed: apt package gcc")
    path = tmp_path_factory.mktemp("cuda") / "libcuda.so"
    source = Path(__file__).with_name("cuda_driver.c")
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-shared", "-fPIC", str(source), "-o", str(path)], check=True)
    return ctypes.CDLL(str(path))


@pytest.fixture
def cuda_driver(cuda_stub: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> Iterator[CudaDriver]:
    """The driver in place of NVIDIA's, with no failure asked for, before and after a test."""
    library = CudaLibrary(cuda_stub)
    library.call("cuInit", 0)
    monkeypatch.setattr(cuda, "cuda_library", lambda: library)
    cuda_stub.stub_reset()
    yield CudaDriver()
    cuda_stub.stub_reset()
