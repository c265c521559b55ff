"""What code for Windows calls and no library of ours imports: an object of COFF that defines it.

`__chkstk` reads each page of the frame that its caller is about to take, downwards from the stack pointer, since
Windows adds pages to a stack one after the other. The size is in rax in bytes, in x15 in units of 16; all registers but
x16 and x17 stay (Microsoft, "x64 prolog and epilog", "Overview of ARM64 ABI conventions"). `_fltused` says that code
has floats. The layout of the object is that of Microsoft's "PE Format".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _StackCheck:
    """The code of `__chkstk` for a machine by COFF's number."""

    machine: int
    code: bytes


_X86_64 = _StackCheck(
    0x8664,
    bytes.fromhex(
        "4152"  # push r10
        "4153"  # push r11
        "4c8d5c2418"  # lea r11, [rsp + 24]: the caller's stack pointer
        "4d89da"  # mov r10, r11
        "4929c2"  # sub r10, rax: the end of the frame
        "4981eb00100000"  # next: sub r11, 4096
        "4d39d3"  # cmp r11, r10
        "7605"  # jbe last
        "418503"  # test [r11], eax
        "ebef"  # jmp next
        "418502"  # last: test [r10], eax
        "415b"  # pop r11
        "415a"  # pop r10
        "c3"  # ret
    ),
)
_AARCH64 = _StackCheck(
    0xAA64,
    struct.pack(
        "<9I",
        0x910003F0,  # mov x16, sp
        0xCB0F1211,  # sub x17, x16, x15, lsl #4: the end of the frame
        0xD1400610,  # next: sub x16, x16, #4096
        0xEB11021F,  # cmp x16, x17
        0x54000069,  # b.ls last
        0xF940021F,  # ldr xzr, [x16]
        0x17FFFFFC,  # b next
        0xF940023F,  # last: ldr xzr, [x17]
        0xD65F03C0,  # ret
    ),
)
_STACK_CHECKS = {"x86_64": _X86_64, "aarch64": _AARCH64}

_HEADER = struct.Struct("<HHIIIHH")
_SECTION = struct.Struct("<8sIIIIIIHHI")
_SYMBOL = struct.Struct("<8sIhHBB")
_CODE = 0x60500020  # IMAGE_SCN_CNT_CODE, _ALIGN_16BYTES, _MEM_EXECUTE, _MEM_READ
_FUNCTION, _EXTERNAL = 0x20, 2


def stack_check(architecture: str) -> bytes | None:
    """The object for an architecture; None if there is none."""
    if architecture not in _STACK_CHECKS:
        return None
    check = _STACK_CHECKS[architecture]
    start = _HEADER.size + _SECTION.size
    end = start + len(check.code)
    return b"".join(
        [
            _HEADER.pack(check.machine, 1, 0, end, 2, 0, 0),
            _SECTION.pack(b".text", 0, 0, len(check.code), start, 0, 0, 0, 0, _CODE),
            check.code,
            _SYMBOL.pack(b"__chkstk", 0, 1, _FUNCTION, _EXTERNAL, 0),
            _SYMBOL.pack(b"_fltused", 0, 1, 0, _EXTERNAL, 0),
            struct.pack("<I", 4),  # no long names
        ]
    )
