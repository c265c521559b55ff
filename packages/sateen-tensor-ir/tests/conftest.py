"""What tests of several files use: the machine's OpenCL as a device of the ABI, its C compiler, programs in C."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sateen import runtime
from sateen.runtime import DeviceFunctions, DevicePlace, KernelLaunch, Target
from sateen.runtime.abi import DLDataType, DLTensor, Failure, Status
from sateen.runtime.device import DeviceKind, opencl
from sateen.runtime.dtype import DType
from sateen.tensor_ir import CompiledModule, build_functions
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.lowering.expand_calls import DEFAULT_RULES, IntrinsicRules

Array = np.ndarray[Any, Any]
Launch = Callable[..., CompiledModule]
"""Compiles a function and runs it on arrays, into which what its kernels write is copied back."""


class OpenCL:
    """A device whose functions compiled host code calls to allocate, copy and launch.

    Called with a function of loop IR and arrays, it runs the function and returns what it compiled. `log` has what the
    host's code asked for, in order.
    """

    def __init__(self, cl: Any, device: Any) -> None:
        self.cl = cl
        self.context = cl.Context([device])
        self.queues: dict[int, Any] = {}
        self.memory: dict[int, Any] = {}
        self.kernels: Any = None
        self.log: list[str] = []
        self.fail_at = ""
        """The request that fails."""
        self.device = DeviceFunctions(
            opencl(), self._alloc, self._free, self._copy, self._launch, self._wait, self._sync
        )

    def __call__(self, function: Function, *arrays: Array) -> CompiledModule:
        """Run the function on copies of the arrays in the device's memory."""
        compiled = build_functions([function], "opencl")
        self.run(compiled, *arrays)
        return compiled

    def run(self, compiled: CompiledModule, *arrays: Array) -> None:
        """Call the function for the host: parameters of the device are given copies of the arrays there."""
        self.log.clear()
        self.kernels = self.cl.Program(self.context, compiled.source).build(cache_dir=False)
        parameters = compiled.program.host.parameters
        tensors, there, here = [], [], []
        for b, array in zip(parameters, arrays, strict=True):
            copy = runtime.array(array)
            data = copy.data
            on_device = b.device is not None and b.device.kind is DeviceKind.OPENCL
            if on_device:
                data = self._alloc(max(array.nbytes, 1))
                self._write(data, array)
                there.append((data, array))
            else:
                here.append((copy, array))
            tensors.append(_tensor(data, array, DeviceKind.OPENCL if on_device else DeviceKind.CPU))
        (loaded,) = compiled.host.module.with_devices([self.device]).functions.values()
        status = loaded.call_pointers(*map(ctypes.addressof, tensors))
        for data, array in there:
            self._read(data, array)
            self._free(data)
        for copy, array in here:
            array[...] = copy.numpy()
        if status:
            raise RuntimeError(Status(Failure.of(status).code).name)

    # The functions of the device.

    def _queue(self, number: int) -> Any:
        if number not in self.queues:
            self.queues[number] = self.cl.CommandQueue(self.context)
        return self.queues[number]

    def _write(self, data: int, array: Array) -> None:
        if array.nbytes:
            self.cl.enqueue_copy(self._queue(0), self.memory[data], array)

    def _read(self, data: int, array: Array) -> None:
        if array.nbytes:
            found = np.empty_like(array)
            self.cl.enqueue_copy(self._queue(0), found, self.memory[data])
            array[...] = found

    def _alloc(self, size: int) -> int:
        self.log.append(f"alloc {size}")
        if self.fail_at == "alloc":
            return 0
        memory = self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, size)
        self.memory[memory.int_ptr] = memory
        return int(memory.int_ptr)

    def _free(self, memory: int) -> None:
        self.log.append("free")
        self._queue(0).finish()
        del self.memory[memory]

    def _copy(self, queue: int, to: DevicePlace, start: DevicePlace, size: int) -> int:
        self.log.append(f"copy {size}")
        if self.fail_at == "copy":
            return Status.QUEUE
        places = (to, start)
        host = [p.device.kind is DeviceKind.CPU for p in places]
        target, source = (
            self._host_bytes(p, size) if h else self.memory[p.memory] for p, h in zip(places, host, strict=True)
        )
        names = ("dst_offset", "src_offset")
        offsets = {name: p.offset for name, p, is_host in zip(names, places, host, strict=True) if not is_host}
        if not any(host):
            offsets["byte_count"] = size
        self.cl.enqueue_copy(self._queue(queue), target, source, **offsets)
        return 0

    @staticmethod
    def _host_bytes(place: DevicePlace, size: int) -> Array:
        memory = (ctypes.c_uint8 * size).from_address(place.memory + place.offset)
        return np.frombuffer(memory, np.uint8)

    def _launch(self, launch: KernelLaunch) -> int:
        self.log.append(f"launch {launch.kernel} {list(launch.grid)} {list(launch.block)}")
        if self.fail_at == "launch":
            return Status.LAUNCH
        assert all(p.offset == 0 and p.device == opencl() for p in launch.places)
        if 0 not in launch.grid:
            sizes = [n * m for n, m in zip(launch.grid, launch.block, strict=True)]
            arguments = (*(self.memory[p.memory] for p in launch.places), *map(np.int64, launch.scalars))
            kernel = self.cl.Kernel(self.kernels, launch.kernel)
            kernel(self._queue(launch.queue), sizes, launch.block, *arguments)
        return 0

    def _wait(self, queue: int, other: int) -> None:
        self.log.append(f"wait {queue} for {other}")
        marker = self.cl.enqueue_marker(self._queue(other))
        self.cl.enqueue_barrier(self._queue(queue), wait_for=[marker])

    def _sync(self, queue: int) -> None:
        self.log.append(f"sync {queue}")
        self._queue(queue).finish()


def _tensor(data: int, array: Array, device: DeviceKind) -> DLTensor:
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    dtype = DType.of(array.dtype)
    assert array.flags.c_contiguous
    return DLTensor(data, (device, 0), array.ndim, DLDataType(dtype.code, dtype.bits, dtype.lanes), shape)


@pytest.fixture(scope="session")
def launch() -> OpenCL:
    """Execution on the first OpenCL device; skipped where there is none."""
    cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")
    try:
        devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except cl.Error as error:
        pytest.skip(f"OpenCL has no platform: {error}")
    if not devices:
        pytest.skip("OpenCL has no device")
    return OpenCL(cl, devices[0])


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


@pytest.fixture
def call_in_c(tmp_path: Path) -> Callable[..., None]:
    """Calls functions of a module in a program in C, which `run` compiles with options and runs: the module as a
    library, arguments of each function by its name. Arrays are those of a file, which the program changes."""

    def call(module: CompiledModule, calls: Mapping[str, Sequence[Array]], run: Callable[..., str]) -> None:
        module.export_library(tmp_path / "libcalled.so")
        arrays = [array for arguments in calls.values() for array in arguments]
        places = np.cumsum([0, *(-(-array.nbytes // 64) * 64 for array in arrays)])
        lines, at = [], iter(places)
        for number, (name, arguments) in enumerate(calls.items(), start=1):
            for i, array in enumerate(arguments):
                shape, dtype = ", ".join(map(str, array.shape)), DType.of(array.dtype)
                element = f"{{{int(dtype.code)}, {dtype.bits}, 1}}"
                lines.append(f"int64_t shape_{number}_{i}[] = {{{shape}}};")
                where = f"memory + {next(at)}, {{kDLCPU, 0}}, {array.ndim}, {element}, shape_{number}_{i}, NULL, 0"
                lines.append(f"DLTensor tensor_{number}_{i} = {{{where}}};")
            listed = ", ".join(f"&tensor_{number}_{i}" for i in range(len(arguments)))
            lines.append(f"DLTensor *const all_{number}[] = {{{listed}}};")
            lines.append(f"status = {name}(NULL, all_{number}, {len(arguments)});")
            lines.append(f'if (status) {{ printf("{name}: %s", sateen_status_message(status)); return 0; }}')
        text = "\n".join(lines)
        (tmp_path / "main.c").write_text(f"""
            #include <stdio.h>
            #include "libcalled.h"
            static _Alignas(64) unsigned char memory[{places[-1]}];
            int main(void)
            {{
                FILE *file = fopen("memory", "r+b");
                int32_t status;
                if (!file || fread(memory, sizeof memory, 1, file) != 1) return 1;
                {text}
                rewind(file);
                return fwrite(memory, sizeof memory, 1, file) != 1 || fclose(file);
            }}
        """)
        padded = [array.tobytes() + bytes(-array.nbytes % 64) for array in arrays]
        (tmp_path / "memory").write_bytes(b"".join(padded))
        header = files("sateen.runtime") / "include"
        assert run(tmp_path, [f"-I{header}", "libcalled.so", "-Wl,-rpath,."], []) == ""
        after = (tmp_path / "memory").read_bytes()
        for array, place in zip(arrays, places, strict=False):
            array[...] = np.frombuffer(after, array.dtype, array.size, place).reshape(array.shape)

    return call
