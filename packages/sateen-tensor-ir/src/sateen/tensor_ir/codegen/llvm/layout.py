"""Where the fields of the ABI's structures are, on machines of 32 and of 64 bits (docs/design/abi.md, DLPack 1.1)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AbiLayout:
    """Byte offsets of `DLTensor` (data to byte_offset) and of `sateen_host` (parallel_for to free)."""

    pointer_bytes: int
    data: int
    device: int
    rank: int
    dtype: int
    shape: int
    strides: int
    byte_offset: int
    parallel_for: int
    alloc: int
    free: int


_WIDE = AbiLayout(8, 0, 8, 16, 20, 24, 32, 40, 16, 24, 32)
_NARROW = AbiLayout(4, 0, 4, 12, 16, 20, 24, 32, 12, 16, 20)


def abi_layout(triple: str) -> AbiLayout:
    """The layout for a target triple, by the pointer width of its architecture."""
    architecture = triple.partition("-")[0]
    narrow = architecture.startswith(("arm", "thumb", "i386", "i486", "i586", "i686", "riscv32", "wasm32", "mips"))
    return _NARROW if narrow and not architecture.startswith("arm64") else _WIDE
