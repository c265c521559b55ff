"""Devices of Metal and CUDA C for tests: a C++ compiler of this machine compiles the text of kernels with small headers
in place of the language's own, and their threads are fibers of this process, which wait at barriers."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sateen.runtime import Device, DeviceError, DeviceKind, DType, NDArray
from sateen.runtime.devices import DeviceDescription, MemoryPart, OpenDevice
from sateen.runtime.devices.driver import DriverError, Fault

FOLDER = Path(__file__).parent
SECONDS = 300
OPTIONS = (
    "-std=c++14", "-O1", "-fPIC", "-shared", "-U_FORTIFY_SOURCE", "-fno-exceptions",
    "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-attributes", "-Wno-unused-function",
    "-Wno-unused-parameter", "-Wno-tautological-compare", "-Wno-maybe-uninitialized",
)  # fmt: skip


@dataclass(frozen=True)
class Language:
    """A language by the folder of its headers, the one that each text gets, and the heads of its kernels."""

    kind: DeviceKind
    folder: str
    header: str
    heads: re.Pattern[str]
    waits: tuple[str, ...]

    def has_waits(self, body: str) -> str:
        """Whether threads wait for each other in the text of a kernel, as C++ spells it."""
        return str(any(word in body for word in self.waits)).lower()


LANGUAGES = {
    "metal": Language(
        DeviceKind.METAL,
        "metal",
        "metal_stdlib",
        re.compile(r"^kernel void (\w+)", re.MULTILINE),
        ("threadgroup_barrier(", "simd_shuffle("),
    ),
    "cuda-c": Language(
        DeviceKind.CUDA,
        "cuda",
        "cuda_runtime.h",
        re.compile(r"^(\w+)\(.*\) \{$", re.MULTILINE),
        ("__syncthreads(", "__shfl_sync("),
    ),
}


TRAPS = ("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
"""Options with which what C++ leaves undefined, such as an overflow, ends the process."""


def open_text_device(target: str, options: tuple[str, ...] = ()) -> OpenDevice:
    """A device for the kernels of a target, `metal` or `cuda-c`, compiled with these options, too. Raises DeviceError
    without a C++ compiler."""
    if shutil.which("g++") is None:
        raise DeviceError("g++ is not installed: apt package g++")
    return OpenDevice(TextConnection(LANGUAGES[target], options))


def placed(device: OpenDevice, array: np.ndarray[Any, Any]) -> NDArray:
    """A copy of an array in the memory of a device."""
    memory = device.allocate(array.nbytes)
    device.write(memory.part(0, array.nbytes), array.ctypes.data)
    strides = tuple(n // array.itemsize for n in array.strides)
    dtype, place = DType.of(array.dtype), device.description.device
    return NDArray(memory.handle, array.shape, strides, dtype, place, owner=memory, read_only=False)


class TextConnection:
    """The calls of a driver on memory of this process; everything is done at once."""

    def __init__(self, language: Language, options: tuple[str, ...]) -> None:
        self.language = language
        self.options = options
        self.memory: dict[int, Any] = {}
        self.description = DeviceDescription(
            Device(language.kind), "threads in turns", "g++", 1, 1, 1024, (1024, 1024, 64), (1 << 31,) * 3, 1 << 16,
            1 << 34, 1 << 34, 4, True, True, True,
        )  # fmt: skip

    def allocate(self, size: int) -> int:
        memory = (ctypes.c_uint8 * (size + 256))()
        ctypes.memset(memory, 0x5A, size + 256)
        handle = (ctypes.addressof(memory) + 255) // 256 * 256
        self.memory[handle] = memory
        return handle

    def free(self, handle: int) -> None:
        del self.memory[handle]

    def write(self, _queue: int, to: MemoryPart, address: int) -> None:
        ctypes.memmove(to.handle + to.offset, address, to.size)

    def read(self, _queue: int, address: int, start: MemoryPart) -> None:
        ctypes.memmove(address, start.handle + start.offset, start.size)

    def copy(self, _queue: int, to: MemoryPart, start: MemoryPart) -> None:
        ctypes.memmove(to.handle + to.offset, start.handle + start.offset, start.size)

    def load(self, code: bytes) -> ctypes.CDLL:
        """A library with a function `run_K` for each kernel K of a text."""
        language = self.language
        text = code.decode().replace("*(threadgroup ", "*(")  # the word is `static`, which pointers can't be
        bodies = language.heads.split(text)[1:]
        runs = [
            f'extern "C" int run_{name}(const int64_t *grid, const int64_t *size, void *const *places, '
            f"const int64_t *numbers) {{\n  return blocks::run_kernel({name}, {language.has_waits(body)}, "
            "grid, size, places, numbers);\n}\n"
            for name, body in zip(bodies[::2], bodies[1::2], strict=True)
        ]
        with TemporaryDirectory() as folder:
            place = Path(folder, "kernels.cpp")
            place.write_text("\n".join([f"#include <{language.header}>", text, *runs]))
            include = [f"-I{FOLDER}", f"-I{FOLDER / language.folder}"]
            command = ["g++", *OPTIONS, *self.options, *include, str(place), "-o", f"{folder}/kernels.so"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
            if done.returncode:
                raise DriverError(Fault.CODE, done.stderr)
            return ctypes.CDLL(f"{folder}/kernels.so")

    def unload(self, kernels: object) -> None:
        pass

    def prepare(
        self,
        kernels: Any,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        parts: Sequence[MemoryPart],
        scalars: Sequence[int],
    ) -> object:
        places = (ctypes.c_void_p * (len(parts) + 1))(*(p.handle + p.offset for p in parts))
        numbers = (ctypes.c_int64 * (len(scalars) + 1))(*scalars)
        three = ctypes.c_int64 * 3
        return name, kernels[f"run_{name}"], three(*grid), three(*block), places, numbers

    def launch(self, _queue: int, prepared: Any) -> None:
        name, run, *arguments = prepared
        if run(*arguments):
            raise DriverError(
                Fault.OTHER, f"{name}: not all threads of a block reach a barrier or a shuffle, or one takes no value"
            )

    def discard(self, prepared: object) -> None:
        pass

    def wait(self, queue: int, other: int) -> None:
        pass

    def record(self, _queue: int) -> object:
        return time.perf_counter()

    def is_reached(self, _event: object) -> bool:
        return True

    def seconds(self, first: Any, second: Any) -> float:
        return float(second - first)

    def forget(self, event: object) -> None:
        pass

    def close(self) -> None:
        self.memory.clear()
