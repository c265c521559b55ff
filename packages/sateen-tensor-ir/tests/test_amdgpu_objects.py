"""What a loader of AMD's finds in an object and in what lld links of it, by a reader that knows LLVM's AMDGPU usage
guide alone: flags of the processor, metadata, descriptors, and where each begins its code."""

from __future__ import annotations

import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sateen.tensor_ir import build_functions
from sateen.tensor_ir.ir.parser import parse_function

TEXT = """\
function f[n](A: float32[n], B: out float16[n])
  allocate T: float32[n]
    thread blockIdx.x b in [0, n):
      T[b] = A[b] * 2.0f
    thread blockIdx.x c in [0, n):
      allocate S: shared float32[96]
        thread threadIdx.x t in [0, 64):
          S[t] = T[c]
        thread threadIdx.x u in [0, 64):
          B[c] = float16(S[u] + S[63 - u])
"""
MACHINES = {"gfx900": 0x2C, "gfx90a": 0x3F, "gfx1030": 0x36, "gfx1100": 0x41}
"""`EF_AMDGPU_MACH` of processors, and their wavefronts below."""
WAVES = {"gfx900": 64, "gfx90a": 64, "gfx1030": 32, "gfx1100": 32}
METADATA = 32
"""`NT_AMDGPU_METADATA`."""
OBJECT, FUNCTION = 1, 2
CODE_ALIGNMENT = 256


@dataclass(frozen=True)
class Elf:
    """The sections of a file by their names, and its symbols: type, section, value and size."""

    data: bytes
    sections: dict[str, tuple[int, int, int]]
    """Address, offset and size."""
    symbols: dict[str, tuple[int, int, int, int]]

    @property
    def numbers(self) -> list[str]:
        return list(self.sections)

    def section(self, name: str) -> bytes:
        _, offset, size = self.sections[name]
        return self.data[offset : offset + size]

    def at(self, name: str) -> bytes:
        """The bytes of a symbol, of a linked file by its address, else by its place in its section."""
        _, number, value, size = self.symbols[name]
        address, offset, _ = self.sections[self.numbers[number]]
        start = offset + value - address
        return self.data[start : start + size]


def read(data: bytes) -> Elf:
    assert data[:6] == b"\x7fELF\x02\x01"  # 64 bits, least byte first
    (first,), (size, count, names) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQIIQQ", data, first + i * size) for i in range(count)]

    def text(table: int, at: int) -> str:
        start = rows[table][4] + at
        return data[start : data.index(b"\0", start)].decode()

    sections = {text(names, row[0]) or f"#{i}": (row[3], row[4], row[5]) for i, row in enumerate(rows)}
    symbols = {}
    for row in rows:
        if row[1] == 2:  # SHT_SYMTAB
            for start in range(row[4], row[4] + row[5], 24):
                name, kind, _, section, value, length = struct.unpack_from("<IBBHQQ", data, start)
                symbols[text(row[6], name)] = kind & 15, section, value, length
    return Elf(data, sections, symbols)


def unpacked(data: bytes) -> Any:
    """The value of a text in MessagePack."""
    return _value(data, 0)[0]


def _value(data: bytes, at: int) -> tuple[Any, int]:
    head, at = data[at], at + 1
    fixed = {0xC2: False, 0xC3: True, 0xC0: None}
    numbers = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q"}
    lengths = {0xD9: ">B", 0xDA: ">H", 0xDC: ">H", 0xDE: ">H"}
    if head < 0x80:
        return head, at
    if head in fixed:
        return fixed[head], at
    if head in numbers:
        return struct.unpack_from(numbers[head], data, at)[0], at + struct.calcsize(numbers[head])
    if head in lengths:
        (count,) = struct.unpack_from(lengths[head], data, at)
        at += struct.calcsize(lengths[head])
    else:
        count = head & (0x1F if 0xA0 <= head < 0xC0 else 0x0F)
    if 0xA0 <= head < 0xC0 or head in (0xD9, 0xDA):
        return data[at : at + count].decode(), at + count
    is_map = head < 0x90 or head == 0xDE
    assert is_map or head < 0xA0 or head == 0xDC, hex(head)
    values = []
    for _ in range(2 * count if is_map else count):
        value, at = _value(data, at)
        values.append(value)
    return dict(zip(values[::2], values[1::2], strict=True)) if is_map else values, at


def metadata(elf: Elf) -> Any:
    note = elf.section(".note")
    name_size, size, kind = struct.unpack_from("<III", note)
    assert (note[12 : 12 + name_size], kind) == (b"AMDGPU\0", METADATA)
    start = 12 + -(-name_size // 4) * 4
    return unpacked(note[start : start + size])


@pytest.fixture(params=MACHINES)
def processor(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_an_object_says_what_a_loader_needs(processor: str) -> None:
    module = build_functions([parse_function(TEXT)], f"rocm -mcpu={processor}")
    elf = read(module.object_code)
    system, version = elf.data[7:9]
    (flags,) = struct.unpack_from("<I", elf.data, 48)
    assert (system, flags & 0xFF) == (64, MACHINES[processor])
    found = metadata(elf)
    assert (found["amdhsa.version"], version) == ([1, 1], 2)  # of code object 4
    assert found["amdhsa.target"].startswith(f"amdgcn-amd-amdhsa--{processor}")
    told = {kernel[".name"]: kernel for kernel in found["amdhsa.kernels"]}
    assert told.keys() == {kernel.name for kernel in module.program.kernels}
    for kernel in module.program.kernels:
        x, y, z = kernel.block
        one, descriptor = told[kernel.name], elf.at(f"{kernel.name}.kd")
        count = len(kernel.buffers) + len(kernel.scalars)
        assert one[".symbol"] == f"{kernel.name}.kd"
        assert [(a[".offset"], a[".size"]) for a in one[".args"]] == [(8 * i, 8) for i in range(count)]
        kinds = ["global_buffer"] * len(kernel.buffers) + ["by_value"] * len(kernel.scalars)
        assert [a[".value_kind"] for a in one[".args"]] == kinds
        assert (one[".kernarg_segment_size"], one[".kernarg_segment_align"]) == (8 * count, 8)
        assert one[".group_segment_fixed_size"] == kernel.shared_bytes
        assert (one[".private_segment_fixed_size"], one[".wavefront_size"]) == (0, WAVES[processor])
        assert one[".max_flat_workgroup_size"] == x * y * z
        assert len(descriptor) == 64
        assert struct.unpack_from("<III", descriptor) == (kernel.shared_bytes, 0, 8 * count)
        assert [elf.symbols[name][0] for name in (one[".symbol"], kernel.name)] == [OBJECT, FUNCTION]


@pytest.mark.skipif(shutil.which("ld.lld") is None, reason="ld.lld is not installed: apt package lld")
def test_lld_links_descriptors_to_their_code(processor: str, tmp_path: Path) -> None:
    module = build_functions([parse_function(TEXT)], f"rocm -mcpu={processor}")
    given, linked = tmp_path / "kernels.o", tmp_path / "kernels.so"
    given.write_bytes(module.object_code)
    subprocess.run(["ld.lld", "-shared", str(given), "-o", str(linked)], check=True)
    elf = read(linked.read_bytes())
    for kernel in module.program.kernels:
        _, _, descriptor, size = elf.symbols[f"{kernel.name}.kd"]
        kind, section, code, length = elf.symbols[kernel.name]
        (entry,) = struct.unpack_from("<q", elf.at(f"{kernel.name}.kd"), 16)
        assert (descriptor + entry, descriptor % 64, size) == (code, 0, 64)
        assert (kind, elf.numbers[section], code % CODE_ALIGNMENT) == (FUNCTION, ".text", 0)
        assert length > 0
