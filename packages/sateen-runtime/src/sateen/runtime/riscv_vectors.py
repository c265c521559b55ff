"""The vectors of RISC-V under Linux: whether this process may use them, and how wide their registers are.

/proc/cpuinfo names the extension, not the width, which only an instruction reads. Kernels that know vectors 1.0 answer
whether a process may use them (Linux, "Vector Extension Support for RISC-V Linux"); other kernels may name vectors of
a draft, whose instructions differ.
"""

from __future__ import annotations

import ctypes
import mmap

READ_VECTOR_BYTES = bytes.fromhex("732520c2 67800000")
"""csrr a0, vlenb; ret (RISC-V "V" Vector Extension 1.0, section 3.4)"""

_VECTOR_CONTROL = 70  # PR_RISCV_V_GET_CONTROL
_ON, _CURRENT = 2, 3
_FLUSH_ICACHE = 259  # the number of the system call riscv_flush_icache
_NAMED_BITS = (128, 256, 512, 1024)


def features_with_vectors(features: frozenset[str], control: int, vector_bytes: int) -> frozenset[str]:
    """The features that /proc/cpuinfo names, with the widths that registers of `vector_bytes` have, or without vectors.

    `control` is the system's answer about the process, negative if it knows of no vectors; 0 bytes are of unknown
    width.
    """
    if not allows_vectors(control):
        return frozenset(f for f in features if f != "v" and not f.startswith("zv"))
    return features | {f"zvl{bits}b" for bits in _NAMED_BITS if bits <= 8 * vector_bytes}


def allows_vectors(control: int) -> bool:
    """Whether the system's answer allows vectors."""
    return control >= 0 and control & _CURRENT == _ON


def vector_control() -> int:
    """The system's answer whether this process may use vectors; negative if it knows of none."""
    return int(ctypes.CDLL(None).prctl(_VECTOR_CONTROL, 0, 0, 0, 0))


def vector_bytes() -> int:
    """The bytes of a vector register of this processor, which must have vectors; 0 if the system runs no code that a
    process writes."""
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return 0
    page.write(READ_VECTOR_BYTES)
    # The view keeps the page, and is released before it, since a page that is exported can't be closed.
    view = ctypes.c_char.from_buffer(page)
    place = ctypes.addressof(view)
    ctypes.CDLL(None).syscall(_FLUSH_ICACHE, ctypes.c_void_p(place), ctypes.c_void_p(place + mmap.PAGESIZE), 0)
    found = int(ctypes.CFUNCTYPE(ctypes.c_size_t)(place)())
    del view
    page.close()
    return found
