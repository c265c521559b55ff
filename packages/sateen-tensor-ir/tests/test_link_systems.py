"""Libraries for macOS, iOS, Windows and Android: their structure, since nothing here runs them."""

from __future__ import annotations

import ctypes
import importlib.util
import mmap
import shutil
import struct
from dataclasses import dataclass

import llvmlite.binding as llvm
import pytest

from sateen.runtime import LinkError, Target
from sateen.tensor_ir import Machine, build, te
from sateen.tensor_ir.codegen.llvm.machine_code import target_machine
from sateen.tensor_ir.link import external
from sateen.tensor_ir.link.stack_check import stack_check

WINDOWS = {0x8664: "llvm -mtriple=x86_64-pc-windows-msvc", 0xAA64: "llvm -mtriple=aarch64-pc-windows-msvc"}
X86_64, ARM64 = 0x01000007, 0x0100000C
APPLE = {
    "llvm -mtriple=x86_64-apple-macosx": (X86_64, 1, 11, False),
    "apple-m1": (ARM64, 1, 11, True),
    "ios-arm64": (ARM64, 2, 14, False),
    "ios-simulator-arm64": (ARM64, 7, 14, True),
}
"""The processor, the platform and its least version that a library tells (mach/machine.h, mach-o/loader.h), and whether
it is signed: Apple's own processors load nothing else, and for iOS only Xcode can sign."""
ANDROID = {62: "android-x86-64", 183: "android-arm64"}
EXPORTS = {"f", "sateen_abi_version", "sateen_default_host", "sateen_metadata", "sateen_status_message"}


def library(target: str) -> bytes:
    """Exponentials, with more than a page of storage on the stack."""
    A = te.placeholder((64, 1536), name="A")
    B = te.compute((64, 1536), lambda i, j: te.exp(A[i, j]), name="B")
    C = te.compute((64, 1536), lambda i, j: B[i, j] + B[i, 1535 - j], name="C")
    s = te.create_schedule(C)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].set_scope("local")
    return build(s, [A, C], target, name="f").library("libf.so")


def need(*tools: str) -> None:
    if not any(map(shutil.which, tools)) and (tools[0] == "ld64.lld" or importlib.util.find_spec("ziglang") is None):
        pytest.skip(f"none of {', '.join(tools)} is installed")


# macOS and iOS.


@pytest.mark.parametrize("target", APPLE)
def test_a_library_for_apple_s_systems_is_an_image_that_needs_no_other(target: str) -> None:
    """The layout is that of Apple's header mach-o/loader.h."""
    need("ld64.lld", "lld")
    cpu, system, version, is_signed = APPLE[target]
    image = library(target)
    magic, found, _, kind, count, size, _, _ = struct.unpack_from("<8I", image)
    assert (magic, found, kind) == (0xFEEDFACF, cpu, 6)  # of 64 bits, MH_DYLIB
    commands: dict[int, bytes] = {}
    place = 32
    for _ in range(count):
        command, length = struct.unpack_from("<2I", image, place)
        commands[command & 0x7FFFFFFF] = image[place : place + length]
        place += length
    assert place == 32 + size
    assert commands[0xD][24:].rstrip(b"\0") == b"libf.so"  # LC_ID_DYLIB
    assert 0xC not in commands  # LC_LOAD_DYLIB
    platform, least = struct.unpack_from("<2I", commands[0x32], 8)  # LC_BUILD_VERSION
    assert (platform, least) == (system, version << 16)
    assert (0x1D in commands) == is_signed  # LC_CODE_SIGNATURE
    symbols, number, strings, _ = struct.unpack_from("<4I", commands[2], 8)  # LC_SYMTAB
    exported = set()
    for i in range(number):
        name, type_, section, _, _ = struct.unpack_from("<IBBHQ", image, symbols + 16 * i)
        if type_ & 0x11 == 1:  # N_EXT without N_PEXT
            assert section, "undefined"
            exported.add(image[strings + name :].partition(b"\0")[0].decode())
    assert exported == {f"_{name}" for name in EXPORTS}


# Windows.


@dataclass(frozen=True)
class Section:
    name: bytes
    address: int
    start: int
    flags: int


@pytest.mark.parametrize("machine", WINDOWS)
def test_a_library_for_windows_exports_its_functions_and_imports_nothing(machine: int) -> None:
    """The layout is that of Microsoft's "PE Format"."""
    need("lld-link", "lld")
    image = library(WINDOWS[machine])
    (header,) = struct.unpack_from("<I", image, 0x3C)
    assert image[header : header + 4] == b"PE\0\0"
    found, count, _, _, _, optional, flags = struct.unpack_from("<HHIIIHH", image, header + 4)
    assert (found, flags & 0x2000) == (machine, 0x2000)  # IMAGE_FILE_DLL
    start = header + 24
    assert struct.unpack_from("<H", image, start) == (0x20B,)  # of 64 bits
    assert struct.unpack_from("<I", image, start + 16) == (0,)  # no code runs when it is loaded
    exports, imports = (struct.unpack_from("<2I", image, start + 112 + 8 * i) for i in (0, 1))
    assert imports == (0, 0)
    sections = []
    for i in range(count):
        name, _, address, _, place, _, _, _, _, of_section = struct.unpack_from(
            "<8sIIIIIIHHI", image, start + optional + 40 * i
        )
        sections.append(Section(name.rstrip(b"\0"), address, place, of_section))
    assert not any(s.flags & 0x20000000 and s.flags & 0x80000000 for s in sections)  # executable and writable

    def at(address: int) -> int:
        section = max((s for s in sections if s.address <= address), key=lambda s: s.address)
        return section.start + address - section.address

    number, names = struct.unpack_from("<I", image, at(exports[0]) + 24)[0], at(exports[0]) + 32
    places = struct.unpack_from(f"<{number}I", image, at(struct.unpack_from("<I", image, names)[0]))
    assert {image[at(p) :].partition(b"\0")[0].decode() for p in places} == EXPORTS


def test_windows_on_other_processors_lacks_the_check_of_stacks() -> None:
    assert stack_check("riscv64") is None


@pytest.mark.skipif(Target.host().architecture != "x86_64", reason="the code is that of x86-64")
@pytest.mark.parametrize("size", [0, 16, 4095, 4096, 4097, 100_000])
def test_the_check_of_a_stack_reads_its_pages_and_changes_no_register(size: int) -> None:
    check = stack_check("x86_64")
    assert check is not None
    machine = target_machine(Target.host().triple, "", "")
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    section = struct.unpack_from("<8sIIII", check, 20)
    memory.write(check[section[4] : section[4] + section[3]])
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    text = """
        define void @probe(i64 %code, i64 %size, ptr %found) {
          %all = call {i64, i64, i64} asm sideeffect "callq *$3",
            "={rax},={r10},={r11},r,{rax},{r10},{r11},~{memory},~{flags},~{dirflag},~{fpsr}"(
            i64 %code, i64 %size, i64 77, i64 99)
          store {i64, i64, i64} %all, ptr %found
          ret void
        }
    """
    compiled = llvm.parse_assembly(text)
    compiled.triple = Target.host().triple
    with llvm.create_mcjit_compiler(compiled, machine) as engine:
        engine.finalize_object()
        probe = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(
            engine.get_function_address("probe")
        )
        found = (ctypes.c_int64 * 3)()
        probe(address, size, ctypes.addressof(found))
    assert list(found) == [size, 77, 99]


# Android.


@pytest.mark.parametrize("machine", ANDROID)
def test_a_library_for_android_needs_no_linker_and_no_library(machine: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    image = library(ANDROID[machine])
    assert image[:4] == b"\x7fELF"
    assert int.from_bytes(image[18:20], "little") == machine
    assert b".so" not in image.replace(b"libf.so", b"")
    start, size, count = (*struct.unpack_from("<Q", image, 32), *struct.unpack_from("<2H", image, 54))
    loaded = [struct.unpack_from("<I4xQQ24xQ", image, start + size * i) for i in range(count)]
    pages = {alignment for kind, _, _, alignment in loaded if kind == 1}
    assert pages == {0x10000 if machine == 183 else 0x1000}


# All of them.


@pytest.mark.parametrize("target", ["apple-m1", "ios-arm64", WINDOWS[0x8664], ANDROID[183]])
def test_their_networks_run_on_the_thread_of_their_caller(target: str) -> None:
    assert Machine.of(target).cores == 1


def test_a_missing_linker_is_told_before_anything_is_written(
    tmp_path: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    for target, tool in (("apple-m1", "ld64.lld"), (WINDOWS[0x8664], "lld-link")):
        module = build(te.create_schedule(B), [A, B], target, name="f")
        with pytest.raises(LinkError, match=f"needs {tool}, which was not found: "):
            module.export_library(tmp_path / "libf.so")
    assert list(tmp_path.iterdir()) == []
