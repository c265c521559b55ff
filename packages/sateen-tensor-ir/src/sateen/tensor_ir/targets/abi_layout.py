"""The offsets of fields in the ABI's structures (docs/design/abi.md, DLPack 1.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class AbiLayout:
    """Byte offsets of `DLTensor` (data to byte_offset), of `sateen_host` (parallel_for to device_count) and of
    `sateen_device` (its context, which pointers to functions follow)."""

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
    devices: int
    device_count: int
    device_context: int


POINTERS_OF_64_BITS = AbiLayout(8, 0, 8, 16, 20, 24, 32, 40, 16, 24, 32, 48, 56, 8)
POINTERS_OF_32_BITS = AbiLayout(4, 0, 4, 12, 16, 20, 24, 32, 12, 16, 20, 28, 32, 8)
INTEGERS_OF_64_BITS_AT_4_BYTES = replace(POINTERS_OF_32_BITS, byte_offset=28)
"""The offsets on 32-bit machines that align a 64-bit integer to 4 bytes (System V ABI, i386 supplement, 2.1)."""
