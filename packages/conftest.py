"""What tests of several packages use.

`library` is a library as sateen would compile it, written in C, so that tests of loading need no compiler of sateen's.
Programs for other processors run by emulators: qemu, and `amx_emulator.c` for the tile registers of x86-64.
`--first-cases` runs each test with the first of its parameters: what a wheel lacks, they all lack.
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sateen.runtime import DType, Metadata, Parameter, Signature, Target
from sateen.runtime.abi import ABI_VERSION

if TYPE_CHECKING:
    from sateen.tensor_ir import CompiledModule

FLOAT, INT = DType.of("float32"), DType.of("int64")
SIGNATURES = (
    Signature(
        "add",
        (
            Parameter("A", FLOAT, ("n", 4)),
            Parameter("B", FLOAT, ("n", 4)),
            Parameter("C", FLOAT, ("n", 4), is_output=True),
        ),
    ),
    Signature("fail", (Parameter("status", INT, (1,)),)),
    Signature("host", (Parameter("facts", INT, (2,), is_output=True),)),
    Signature("crash", ()),
    Signature("spin", ()),
    Signature("exhaust", ()),
)
SOURCE = r"""
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
typedef struct { void *data; int32_t device, index, ndim; uint8_t code, bits; uint16_t lanes;
                 int64_t *shape, *strides; uint64_t offset; } tensor;
typedef struct host { uint32_t abi; int32_t threads; void *context; void *functions[6]; } host;
static host table = {VERSION, 0, &table, {0}};
const char sateen_metadata[] = METADATA;
uint32_t sateen_abi_version(void) { return VERSION; }
const host *sateen_default_host(void) { return &table; }

static int32_t check(tensor *t, int32_t i, int64_t n) {
  if (!t) return 2 | i << 8;
  if (t->device != 1) return 3 | i << 8;
  if (t->code != 2 || t->bits != 32 || t->lanes != 1) return 4 | i << 8;
  if (t->ndim != 2) return 5 | i << 8;
  if (t->shape[0] != n) return 6 | i << 8;
  if (t->shape[1] != 4) return 6 | i << 8 | 1 << (VERSION == 1 ? 16 : 24);
  if (t->strides) return 7 | i << 8;
  if ((uintptr_t)t->data & 63) return 8 | i << 8;
  return 0;
}
int32_t add(const host *h, tensor *const *args, int32_t n) {
  (void)h;
  if (n != 3) return 1;
  for (int32_t i = 0; i < 3; ++i) {
    int32_t status = check(args[i], i, args[0]->shape[0]);
    if (status) return status;
  }
  if (args[2]->data == args[0]->data) return 11 | 2 << 8;
  for (int64_t i = 0; i < args[0]->shape[0] * 4; ++i)
    ((float *)args[2]->data)[i] = ((float *)args[0]->data)[i] + ((float *)args[1]->data)[i];
  return 0;
}
int32_t fail(const host *h, tensor *const *args, int32_t n) { (void)h; (void)n; return *(int64_t *)args[0]->data; }
int32_t host_facts(const host *h, tensor *const *args, int32_t n) __asm__("host");
int32_t host_facts(const host *h, tensor *const *args, int32_t n) {
  (void)n;
  ((int64_t *)args[0]->data)[0] = h ? h->threads : -1;
  ((int64_t *)args[0]->data)[1] = h ? (int64_t)h->context : -1;
  return 0;
}
int32_t crash(const host *h, tensor *const *args, int32_t n) {
  (void)h; (void)args; (void)n; *(volatile int *)8 = 1; return 0;
}
int32_t spin(const host *h, tensor *const *args, int32_t n) {
  (void)h; (void)args; (void)n; for (volatile int i = 0;; ++i) {} return 0;
}
int32_t exhaust(const host *h, tensor *const *args, int32_t n) {
  (void)h; (void)args; (void)n;
  for (int i = 0; i < 64; ++i) { char *p = malloc(1 << 24); if (!p) return 9; memset(p, 1, 1 << 24); }
  return 0;
}
"""
Array = np.ndarray[Any, Any]
RunElsewhere = Callable[[Path, list[str], list[str]], str]
"""Compiles main.c of a folder with options, runs it there with arguments, and gives what it prints."""
RunWithLibrary = Callable[[str, Callable[[Sequence[str]], Mapping[str, str]], Sequence[Array], RunElsewhere], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--first-cases", action="store_true", help="run each test with the first of its parameters only")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--first-cases"):
        first = set({item.nodeid.partition("[")[0]: item for item in reversed(items)}.values())
        config.hook.pytest_deselected(items=[item for item in items if item not in first])
        items[:] = [item for item in items if item in first]


@pytest.fixture
def run_on_aarch64() -> RunElsewhere:
    """A C program for AArch64 and what it loads, on this machine under qemu; skipped where that can't be."""
    return _runner("aarch64", "aarch64-linux-gnu")


@pytest.fixture
def run_on_arm() -> RunElsewhere:
    """The same for ARM of 32 bits, with floating point in registers."""
    return _runner("arm", "arm-linux-gnueabihf")


@pytest.fixture
def run_on_riscv64() -> RunElsewhere:
    """The same for RISC-V of 64 bits, without vectors."""
    return _runner("riscv64", "riscv64-linux-gnu", "-cpu", "rv64")


@pytest.fixture
def run_on_riscv64_with_vectors() -> RunElsewhere:
    """The same with vectors of 256 bits."""
    return _runner("riscv64", "riscv64-linux-gnu", "-cpu", "rv64,v=true,vext_spec=v1.0,vlen=256")


@pytest.fixture
def run_with_tiles() -> RunElsewhere:
    """The same for x86-64 with AMX: here, by an emulator of its instructions where the processor has none."""
    compiler = shutil.which("gcc")
    if compiler is None or (platform.machine(), sys.platform) != ("x86_64", "linux"):
        pytest.skip("the emulator of AMX is for x86-64 and Linux, and needs gcc")

    def run(folder: Path, options: list[str], arguments: list[str]) -> str:
        emulator = Path(__file__).with_name("amx_emulator.c")
        command = [compiler, "-std=gnu11", "-O1", "main.c", emulator, "-o", "main", *options, "-lm"]
        subprocess.run(command, cwd=folder, check=True, timeout=60)
        command = ["./main", *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=True)
        if "no seccomp" in done.stdout:
            pytest.skip("Linux lets the emulator not answer requests for tile registers: it has no seccomp")
        return done.stdout

    return run


def _runner(architecture: str, system: str, *processor: str) -> RunElsewhere:
    compiler = shutil.which(f"{system}-gcc")
    emulator = shutil.which(f"qemu-{architecture}") or shutil.which(f"qemu-{architecture}-static")
    if compiler is None or emulator is None:
        pytest.skip(f"qemu-{architecture} and {system}-gcc are not both installed")

    def run(folder: Path, options: list[str], arguments: list[str]) -> str:
        subprocess.run([compiler, "main.c", "-o", "main", *options], cwd=folder, check=True, timeout=300)
        command = [emulator, *processor, "-L", f"/usr/{system}", "./main", *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


@pytest.fixture
def run_with_library(tmp_path: Path) -> RunWithLibrary:
    """Calls functions of `libcalled.so` in the test's folder, whose symbols of sateen begin with a prefix, in a program
    in C, which `run` compiles and runs. `calls` gets where arrays lie in its memory, and gives each call by its name.
    Arrays are those of a file, which the program changes."""

    def run_calls(
        prefix: str, calls: Callable[[Sequence[str]], Mapping[str, str]], arrays: Sequence[Array], run: RunElsewhere
    ) -> None:
        places = np.cumsum([0, *(-(-array.nbytes // 64) * 64 for array in arrays)])
        text = "\n".join(
            f'if ((status = {called})) {{ printf("{name}: %s", {prefix}_status_message(status)); return 0; }}'
            for name, called in calls([f"memory + {place}" for place in places[:-1]]).items()
        )
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

    return run_calls


@pytest.fixture
def call_in_c(tmp_path: Path, run_with_library: RunWithLibrary) -> Callable[..., None]:
    """Calls functions of a module elsewhere: the arguments of each by its name, which it may change."""

    def tensor(array: Array, place: str) -> str:
        shape, dtype = ", ".join(map(str, array.shape)), DType.of(array.dtype)
        element = f"{{{int(dtype.code)}, {dtype.bits}, 1}}"
        return f"&(DLTensor){{{place}, {{kDLCPU, 0}}, {array.ndim}, {element}, (int64_t[]){{{shape}}}, NULL, 0}}"

    def call(module: CompiledModule, calls: Mapping[str, Sequence[Array]], run: RunElsewhere) -> None:
        module.export_library(tmp_path / "libcalled.so")
        arrays = [array for arguments in calls.values() for array in arguments]

        def texts(places: Sequence[str]) -> dict[str, str]:
            tensors = map(tensor, arrays, places)
            return {
                name: f"{name}(NULL, (DLTensor *const[]){{{', '.join(islice(tensors, len(a)))}}}, {len(a)})"
                for name, a in calls.items()
            }

        run_with_library("sateen", texts, arrays, run)

    return call


@pytest.fixture(scope="session")
def compile_library(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., bytes]:
    """Compiles SOURCE to the bytes of a shared library, with other metadata or another ABI version where given."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here: expected cc, to build the library that these tests load")

    def build(metadata: str | None = None, version: int = ABI_VERSION, more: str = "") -> bytes:
        if metadata is None:
            metadata = Metadata("tests", str(Target.of("c")), SIGNATURES).to_json()
        folder: Path = tmp_path_factory.mktemp("library")
        source, library = folder / "library.c", folder / "library.so"
        defines = f"#define METADATA {json.dumps(metadata)}\n#define VERSION {version}\n"
        source.write_text(defines + SOURCE + more, encoding="utf-8")
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source], check=True, timeout=60)
        return library.read_bytes()

    return build


@pytest.fixture(scope="session")
def signatures() -> tuple[Signature, ...]:
    """Those of the functions of SOURCE."""
    return SIGNATURES


@pytest.fixture(scope="session")
def library(compile_library: Callable[..., bytes]) -> bytes:
    """The bytes of the library of SOURCE."""
    return compile_library()
