"""Linking through lld for what the ELF writer leaves out, and the choice between the two."""

import importlib.util
import shutil
import sys
from collections.abc import Sequence

import llvmlite.binding as llvm
import pytest

from sateen.runtime.errors import LinkError
from sateen.tensor_ir.link import external, link, link_shared, link_with_lld

THUMB, RISCV = "thumbv7-unknown-linux-gnueabihf", "riscv64-unknown-linux-gnu"
WASM, WINDOWS, MACOS = "wasm32-unknown-unknown", "x86_64-pc-windows-msvc", "arm64-apple-macos11"

PROGRAM = """
declare void @free(ptr)
define internal i32 @hidden(i32 %x) noinline nounwind { %y = add i32 %x, 1 ret i32 %y }
define i32 @f(i32 %x) nounwind { %y = call i32 @hidden(i32 %x) ret i32 %y }
define void @g(ptr %p) nounwind { call void @free(ptr %p) ret void }
"""
ALONE = PROGRAM.replace("call void @free(ptr %p)", "")


def compile_object(text: str, triple: str) -> bytes:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(opt=2, reloc="pic", codemodel="default")
    module = llvm.parse_assembly(text)
    module.triple = triple
    return bytes(machine.emit_object(module))


def need(tool: str) -> None:
    if shutil.which(tool) is None and importlib.util.find_spec("ziglang") is None:
        pytest.skip(f"neither {tool} nor ziglang is installed")


@pytest.mark.parametrize(("triple", "machine"), [(THUMB, 40), (RISCV, 243)])
def test_elf_of_other_machines_exports_and_imports_what_it_should(triple: str, machine: int) -> None:
    need("ld.lld")
    library = link_with_lld(compile_object(PROGRAM, triple), triple, ["f", "g"], "libprogram.so")
    assert library[:4] == b"\x7fELF"
    assert int.from_bytes(library[18:20], "little") == machine
    names = [b"f", b"g", b"free", b"libc.so.6", b"libprogram.so"]
    assert all(b"\0" + name + b"\0" in library for name in names)
    assert b"libm.so.6" not in library


def test_webassembly_is_linked() -> None:
    need("wasm-ld")
    library = link_with_lld(compile_object(PROGRAM, WASM), WASM, ["f", "g"])
    assert library[:8] == b"\0asm\x01\0\0\0"
    assert b"\x03env\x04free" in library


def test_a_windows_library_is_linked_from_an_object_without_imports() -> None:
    need("lld-link")
    library = link(compile_object(ALONE, WINDOWS), WINDOWS, ["f"])
    assert library[:2] == b"MZ"
    with pytest.raises(LinkError, match="undefined symbol: free"):
        link(compile_object(PROGRAM, WINDOWS), WINDOWS, ["f"])


@pytest.mark.parametrize(
    ("exports", "imports", "message"),
    [
        (["missing"], {"free": "libc.so.6"}, "missing.*symbol not defined"),
        (["f"], {"malloc": "libc.so.6"}, "undefined symbol: free"),
    ],
)
def test_a_refused_link_shows_the_command(exports: Sequence[str], imports: dict[str, str], message: str) -> None:
    need("ld.lld")
    with pytest.raises(LinkError, match=message) as caught:
        link_with_lld(compile_object(PROGRAM, RISCV), RISCV, exports, imports=imports)
    first = str(caught.value).splitlines()[0]
    assert first.startswith(f"ld.lld could not link for {RISCV} (exit status 1): ")
    assert "ld.lld -shared" in first
    assert first.endswith("input.o libc.so.6 -o output")


def test_a_missing_linker_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(LinkError) as caught:
        link(b"", THUMB, ["f"])
    assert str(caught.value) == (f"linking for {THUMB} needs ld.lld, which was not found: pip install ziglang")
    with pytest.raises(LinkError) as caught:
        link(b"", MACOS, ["f"])
    assert (
        str(caught.value)
        == f"linking for {MACOS} needs ld64.lld, which was not found: apt-get install lld, or brew install lld"
    )


def test_the_linker_of_the_extra_is_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "find_spec", lambda name: object())
    monkeypatch.setattr(sys, "executable", shutil.which("false"))  # stands in for the interpreter that runs ziglang
    with pytest.raises(LinkError, match=r"exit status 1\): ld\.lld -shared"):
        link(b"", THUMB, ["f"])


@pytest.mark.parametrize("triple", ["thumbv7em-none-eabi", "avr"])
def test_systems_without_shared_libraries_of_ours_are_refused(triple: str) -> None:
    with pytest.raises(LinkError) as caught:
        link(b"", triple, ["f"])
    assert str(caught.value) == (
        "expected a triple of Linux, Android, Windows, macOS, iOS or WebAssembly to link a library for, "
        f"found {triple!r}"
    )


@pytest.mark.parametrize("triple", ["x86_64-unknown-linux-gnu", "aarch64-linux-gnu", RISCV])
def test_our_own_linker_serves_where_it_can(triple: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    content = compile_object(ALONE, triple)
    assert link(content, triple, ["f"], "libf.so") == link_shared(content, ["f"], "libf.so")
