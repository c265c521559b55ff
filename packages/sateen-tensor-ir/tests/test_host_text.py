"""The LLVM text of the default host is what clang makes of its C source; `python test_host_text.py` writes it anew.

It has to be clang of one version, since each writes other text; what LLVM later reads is the same.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.resources import as_file, files
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from sateen.tensor_ir.host import host_text
from sateen.tensor_ir.targets import ARCHITECTURES, Architecture
from sateen.tensor_ir.targets.wasm import WASM32

POOLS = [architecture for architecture in ARCHITECTURES.values() if architecture.host is not None]
HOSTED = [*POOLS, WASM32]
VERSION = 15
"""Of clang."""

_OPTIONS = (
    "-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-S", "-emit-llvm", "-fPIC", "-ffreestanding",
    "-nostdlibinc", "-fno-ident", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables", "-fno-stack-protector",
    "-fno-strict-aliasing", "-fno-finite-loops", "-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops",
    "-Xclang", "-disable-lifetime-markers",
)  # fmt: skip
_OF_THE_MACHINE = "target-cpu|target-features|tune-cpu|frame-pointer|min-legal-vector-width|stack-protector-buffer-size"


def clang() -> str | None:
    """The compiler of that version, or None."""
    found = filter(None, map(shutil.which, (f"clang-{VERSION}", "clang")))
    return next(filter(_is_it, found), None)


def _is_it(compiler: str) -> bool:
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    return f"clang version {VERSION}." in said


def host_text_of(compiler: str, architecture: Architecture) -> str:
    """What the compiler makes of host.c, for WebAssembly of wasm_pool.c, without what belongs to its machine: triple,
    processor and metadata."""
    host = architecture.host
    if host is None:
        name, facts = "wasm_pool.c", ["-matomics", "-mbulk-memory"]
    else:
        name, facts = "host.c", [f"-DPAGE={host.page}", f"-DFUTEX={host.futex}", f"-DPAUSE()={host.pause}"]
    with (
        as_file(files("sateen.tensor_ir.host").joinpath(name)) as source,
        as_file(files("sateen.runtime").joinpath("include")) as include,
    ):
        command = [compiler, f"--target={architecture.triple}", *_OPTIONS, *facts, "-isystem", str(include)]
        done = subprocess.run(
            [*command, source.name, "-o", "-"], cwd=source.parent, capture_output=True, text=True, check=True
        )
    text = re.sub(r"^(; ModuleID|source_filename|target ).*\n", "", done.stdout, flags=re.MULTILINE)
    text = re.sub(r"^!.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r", ![a-z.]+ !\d+", "", text)
    text = re.sub(rf' "({_OF_THE_MACHINE})"="[^"]*"', "", text)
    return text.strip("\n") + "\n"


def text_of(architecture: Architecture) -> str:
    triple = WASM32.triple if architecture is WASM32 else f"{architecture.name}-linux-gnu"
    return host_text(triple, frozenset({"atomics"}))


@pytest.mark.parametrize("architecture", HOSTED, ids=lambda a: a.name)
def test_the_text_is_that_of_the_source(architecture):
    compiler = clang()
    if compiler is None:
        pytest.skip(f"clang {VERSION} is not installed; other versions write other text")
    assert text_of(architecture) == host_text_of(compiler, architecture)


@pytest.mark.parametrize("architecture", HOSTED, ids=lambda a: a.name)
def test_nothing_is_visible_but_what_libraries_export(architecture):
    module = llvm.parse_assembly(text_of(architecture))
    module.verify()
    defined = [f for f in module.functions if not f.is_declaration and f.linkage == llvm.Linkage.external]
    of_the_pool = "sateen_pool_join" if architecture is WASM32 else "sateen_pool_stop"
    assert {f.name for f in defined} == {"sateen_abi_version", "sateen_default_host", of_the_pool}
    shown = [v for v in module.global_variables if v.linkage == llvm.Linkage.external]
    assert all(v.visibility == llvm.Visibility.hidden for v in shown)


@pytest.mark.parametrize("architecture", HOSTED, ids=lambda a: a.name)
def test_the_text_fits_any_processor_of_its_architecture(architecture):
    text = text_of(architecture)
    assert not any(word in text for word in ("target-cpu", "target-features", "target triple", "target datalayout"))


def main() -> None:
    """Write the texts anew."""
    compiler = clang()
    if compiler is None:
        raise SystemExit(f"expected clang {VERSION} to be installed")
    for architecture in HOSTED:
        place = Path(str(files("sateen.tensor_ir.host"))) / f"{architecture.name}.ll"
        place.write_text(host_text_of(compiler, architecture), encoding="utf-8")


if __name__ == "__main__":
    main()
