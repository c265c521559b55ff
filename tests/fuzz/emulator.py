"""Runs libraries of other machines under qemu: a program in C reads arrays from a file, calls, and writes them back."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from sateen.runtime.dtype import DType

Array = np.ndarray[Any, Any]

SECONDS = 120
HOST = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "sateen.h"

typedef int32_t function(const sateen_host *, DLTensor *const *, int32_t);

/* Memory that ends directly before a page without access. */
static void *guarded(size_t size) {
  size_t page = 4096, whole = (size + page - 1) / page * page + page;
  char *start = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED || mprotect(start + whole - page, page, PROT_NONE)) exit(3);
  return start + whole - page - size;
}

int main(int argc, char **argv) {
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library) { fputs(dlerror(), stderr); return 2; }
  function *called = (function *)dlsym(library, argv[2]);
  FILE *file = fopen(argv[3], "r+b");
  int32_t count;
  if (!called || !file || fread(&count, 4, 1, file) != 1) return 2;
  DLTensor tensors[16], *arguments[16];
  int64_t shapes[16][8], sizes[16];
  long places[16];
  for (int32_t i = 0; i < count; ++i) {
    int32_t head[3];
    if (fread(head, 4, 3, file) != 3 || fread(&sizes[i], 8, 1, file) != 1) return 2;
    if (fread(shapes[i], 8, head[2], file) != (size_t)head[2]) return 2;
    DLTensor tensor = {guarded(sizes[i]), {kDLCPU, 0}, head[2], {head[0], head[1], 1}, shapes[i], NULL, 0};
    tensors[i] = tensor;
    arguments[i] = &tensors[i];
    places[i] = ftell(file);
    if (fread(tensor.data, 1, sizes[i], file) != (size_t)sizes[i]) return 2;
  }
  int32_t status = called(NULL, arguments, count);
  for (int32_t i = 0; i < count; ++i) {
    fseek(file, places[i], SEEK_SET);
    fwrite(tensors[i].data, 1, sizes[i], file);
  }
  fclose(file);
  if (status) fprintf(stderr, "status %d\n", status);
  return status ? 4 : 0;
}
"""


class EmulationError(Exception):
    """A library that does not run under the emulator."""


@dataclass(frozen=True)
class EmulatedMachine:
    """A machine with Linux: its architecture as qemu names it, its system as compilers do, and options of qemu."""

    architecture: str
    system: str
    options: tuple[str, ...] = ()

    def why_not(self) -> str:
        """Why nothing can be run, '' where it can."""
        if self.program() is None:
            return f"{self.name} is not installed"
        return "" if shutil.which(self.compiler) else f"{self.compiler} is not installed"

    def program(self) -> str | None:
        return shutil.which(self.name) or shutil.which(f"{self.name}-static")

    @property
    def name(self) -> str:
        """The emulator's name."""
        return f"qemu-{self.architecture}"

    @property
    def compiler(self) -> str:
        return f"{self.system}-gcc"


AARCH64 = EmulatedMachine("aarch64", "aarch64-linux-gnu", ("-cpu", "cortex-a53"))
"""A processor with no more than all have, so that code that takes more is found."""


class EmulatorError(EmulationError):
    """An emulator that ends by a fault of its own, which says nothing of what it runs."""


_ASSERTION = re.compile(r"^qemu-\S+: .*(?P<assertion>Assertion `.*') failed", re.MULTILINE)


class Emulator:
    """Calls functions of libraries of a machine, with what it needs in a folder."""

    def __init__(self, folder: Path, machine: EmulatedMachine) -> None:
        self._folder, self._machine = folder, machine

    @cached_property
    def _host(self) -> Path:
        source, program = self._folder / "host.c", self._folder / "host"
        source.write_text(HOST)
        headers = str(files("sateen.runtime") / "include")
        command = [self._machine.compiler, str(source), "-I", headers, "-o", str(program), "-ldl"]
        subprocess.run(command, check=True, timeout=SECONDS)
        return program

    def call(self, library: bytes, name: str, arrays: Sequence[Array]) -> None:
        """Run a function, which may write to each array. Raises EmulationError where it ends in any other way."""
        emulator = self._machine.program()
        assert emulator is not None
        place, data = self._folder / "library.so", self._folder / "arrays"
        place.write_bytes(library)
        data.write_bytes(pack_arrays(arrays))
        command = [emulator, *self._machine.options, "-L", f"/usr/{self._machine.system}"]
        command += [str(self._host), str(place), name, str(data)]
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
        if fault := _ASSERTION.search(result.stderr):
            raise EmulatorError(f"a fault of {self._machine.name}, {fault['assertion']}")
        if result.returncode:
            raise EmulationError(f"{name} ended with {result.returncode}: {result.stderr}")
        unpack_arrays(data.read_bytes(), arrays)


def pack_arrays(arrays: Sequence[Array]) -> bytes:
    """Arrays as programs for other machines read them: their number, then of each its type, shape and bytes."""
    return struct.pack("<i", len(arrays)) + b"".join(_head(array) + array.tobytes() for array in arrays)


def unpack_arrays(content: bytes, arrays: Sequence[Array]) -> None:
    """Fill arrays with what `pack_arrays` of them has become."""
    start = 4
    for array in arrays:
        start += len(_head(array))
        array[...] = np.frombuffer(content, array.dtype, array.size, start).reshape(array.shape)
        start += array.nbytes


def _head(array: Array) -> bytes:
    dtype = DType.of(array.dtype)
    return struct.pack(f"<iiiq{array.ndim}q", int(dtype.code), dtype.bits, array.ndim, array.nbytes, *array.shape)
