"""What tests of several files use: devices of OpenCL, Metal and CUDA C, the machine's C compiler, programs in C."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from text_devices import open_text_device, placed

from sateen import runtime
from sateen.runtime import DeviceError, DeviceFunctions, DevicePlace, KernelLaunch, Target
from sateen.runtime.abi import Failure, Status
from sateen.runtime.devices import OpenDevice, as_functions
from sateen.tensor_ir import CompiledModule, build_functions
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.lowering.expand_calls import DEFAULT_RULES, IntrinsicRules

Array = np.ndarray[Any, Any]
Launch = Callable[..., CompiledModule]
"""Compiles a function and runs it on arrays, into which what its kernels write is copied back."""


class TestedDevice:
    """An open device whose functions compiled host code calls to allocate, copy and launch.

    Called with a function of loop IR and arrays, it runs the function and returns what it compiled. `log` has what the
    host's code asked for, in order, `memory` what it was given and did not give back.
    """

    __test__ = False

    def __init__(self, opened: OpenDevice, target: str) -> None:
        self.opened = opened
        self.target = target
        self.memory: set[int] = set()
        self.log: list[str] = []
        self.fail_at = ""
        """The request that fails."""
        self.place = opened.description.device
        self.device = DeviceFunctions(
            self.place, self._alloc, self._free, self._copy, self._launch, self._wait, self._sync
        )
        self._serve(None)

    def _serve(self, kernels: Any) -> None:
        self.served = as_functions(self.opened, kernels)

    def __call__(self, function: Function, *arrays: Array) -> CompiledModule:
        """Run the function on copies of the arrays in the device's memory."""
        compiled = build_functions([function], self.target)
        self.run(compiled, *arrays)
        return compiled

    def run(self, compiled: CompiledModule, *arrays: Array) -> None:
        """Call the function for the host: parameters of the device are given copies of the arrays there."""
        self.log.clear()
        self._serve(self.opened.load(compiled.source.encode()))
        there = [b.device == self.place for b in compiled.program.host.parameters]
        copies = [placed(self.opened, a) if t else runtime.array(a) for a, t in zip(arrays, there, strict=True)]
        (loaded,) = compiled.host.module.with_devices([self.device]).functions.values()
        status = loaded.call_pointers(*(copy.handle for copy in copies))
        for copy, array in zip(copies, arrays, strict=True):
            array[...] = copy.numpy()
        if status:
            raise RuntimeError(Status(Failure.of(status).code).name)

    # The functions of the device.

    def _alloc(self, size: int) -> int:
        self.log.append(f"alloc {size}")
        if self.fail_at == "alloc":
            return 0
        memory = self.served.alloc(size)
        self.memory.add(memory)
        return memory

    def _free(self, memory: int) -> None:
        self.log.append("free")
        self.memory.remove(memory)
        self.served.free(memory)

    def _copy(self, queue: int, to: DevicePlace, start: DevicePlace, size: int) -> int | None:
        self.log.append(f"copy {size}")
        return Status.QUEUE if self.fail_at == "copy" else self.served.copy(queue, to, start, size)

    def _launch(self, launch: KernelLaunch) -> int | None:
        self.log.append(f"launch {launch.kernel} {list(launch.grid)} {list(launch.block)}")
        assert all(p.offset == 0 and p.device == self.place for p in launch.places)
        return Status.LAUNCH if self.fail_at == "launch" else self.served.launch(launch)

    def _wait(self, queue: int, other: int) -> int | None:
        self.log.append(f"wait {queue} for {other}")
        return self.served.wait(queue, other)

    def _sync(self, queue: int) -> int | None:
        self.log.append(f"sync {queue}")
        return self.served.sync(queue)


@pytest.fixture(scope="session")
def launch_on() -> Callable[[str], TestedDevice]:
    """Execution for a target: on the first OpenCL device, or for text that another compiler takes by threads of this
    process. Skipped where there is no device or no C++ compiler."""

    @cache
    def opened(target: str) -> TestedDevice:
        try:
            device = runtime.open_device(target) if target == "opencl" else open_text_device(target)
        except DeviceError as error:
            pytest.skip(str(error))
        return TestedDevice(device, target)

    return opened


@pytest.fixture(scope="session")
def launch(launch_on: Callable[[str], TestedDevice]) -> TestedDevice:
    """Execution on the first OpenCL device."""
    return launch_on("opencl")


@pytest.fixture(scope="session", params=["opencl", "cuda-c", "metal"])
def launch_any(request: pytest.FixtureRequest, launch_on: Callable[[str], TestedDevice]) -> TestedDevice:
    """Execution in each language of kernels."""
    return launch_on(request.param)


@pytest.fixture(scope="session")
def launch_webgpu() -> Callable[..., None]:
    """Runs a function on copies of arrays on the first device of WebGPU, and copies them back; skipped without one."""
    try:
        runtime.open_device("webgpu")
    except runtime.DeviceError as error:
        pytest.skip(str(error))

    def run(function: Function, *arrays: Array) -> None:
        there = [runtime.array(a, device="webgpu") for a in arrays]
        build_functions([function], "webgpu")(*there)
        for array, copy in zip(arrays, there, strict=True):
            array[...] = copy.numpy()

    return run


@pytest.fixture(scope="session")
def gcc() -> str:
    """The C compiler; skipped where it is missing."""
    path = shutil.which("gcc")
    if path is None:
        pytest.skip("gcc is not installed")
    return path


@pytest.fixture
def compiled_c(gcc: str, tmp_path: Path) -> Callable[..., runtime.Module]:
    """Compiles functions by way of C99, without a warning, and loads them. Short indices get the narrowest type that C
    allows for them."""

    def build(*functions: Function, rules: IntrinsicRules = DEFAULT_RULES) -> runtime.Module:
        source = build_functions(functions, str(Target("c", triple=Target.host().triple)), rules=rules).source
        (tmp_path / "f.c").write_text(source.replace("int_fast32_t", "int32_t"))
        strict = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic"]
        subprocess.run([gcc, *strict, "-shared", "-fPIC", "f.c", "-o", "f.so", "-lm"], cwd=tmp_path, check=True)
        return runtime.load_module(tmp_path / "f.so")

    return build


@pytest.fixture
def sanitized(gcc: str, tmp_path: Path) -> Callable[[str, str], subprocess.CompletedProcess[str]]:
    """Runs a program under one of gcc's sanitizers; skipped where that is not installed."""

    def run(sanitizer: str, program: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "main.c").write_text(program)
        options = ["-std=c99", "-O1", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"]
        command = [gcc, *options, "main.c", "-o", "main", "-lm"]
        built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        if "cannot find" in built.stderr:
            pytest.skip(f"gcc has no {sanitizer} sanitizer")
        assert built.returncode == 0, built.stderr
        return subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=False)

    return run
