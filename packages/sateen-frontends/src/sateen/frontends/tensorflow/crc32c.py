"""CRC-32C, the checksum of TensorFlow's files (tensorflow/core/lib/hash/crc32c.h), of many bytes at once.

Data is cut into lanes of equal length, whose remainders are computed side by side. The remainder of two pieces one
after the other is that of the first, moved over the length of the second, plus that of the second: arithmetic of
polynomials over two elements, where plus is xor.
"""

from __future__ import annotations

import numpy as np

from sateen.graph_ir.ir import Array

_POLYNOMIAL = 0x82F63B78
"""The polynomial of Castagnoli, its lowest power at the highest bit."""
_LANES = 2048
_MASK_DELTA = 0xA282EAD8


def _table() -> Array:
    """The remainder of each byte."""
    remainders = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        remainders = np.where(remainders & 1, remainders >> 1 ^ _POLYNOMIAL, remainders >> 1).astype(np.uint32)
    return remainders


_TABLE = _table()


def masked_crc32c(data: bytes | memoryview) -> int:
    """The checksum, as files store it: rotated by 15 bits, plus a constant."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def crc32c(data: bytes | memoryview) -> int:
    """The checksum of bytes."""
    octets = np.frombuffer(data, np.uint8)
    length = len(octets) // _LANES
    state = 0xFFFFFFFF
    if length:
        lanes = octets[: length * _LANES].reshape(_LANES, length).T
        remainders = np.zeros(_LANES, np.uint32)
        for column in lanes:
            remainders = _TABLE[(remainders ^ column) & 0xFF] ^ remainders >> 8
        low, second, third, high = _moved_over(length)
        for remainder in remainders.tolist():
            moved = low[state & 0xFF] ^ second[state >> 8 & 0xFF] ^ third[state >> 16 & 0xFF] ^ high[state >> 24]
            state = moved ^ remainder
    table = _TABLE.tolist()
    for octet in octets[length * _LANES :].tolist():
        state = table[(state ^ octet) & 0xFF] ^ state >> 8
    return state ^ 0xFFFFFFFF


def _moved_over(length: int) -> list[list[int]]:
    """What each value of each byte of a remainder becomes after `length` further bytes of zero."""
    step = [int(_TABLE[1 << bit]) if bit < 8 else 1 << bit - 8 for bit in range(32)]
    power = [1 << bit for bit in range(32)]
    while length:
        if length & 1:
            power = [_applied(step, column) for column in power]
        step = [_applied(step, column) for column in step]
        length >>= 1
    return [[_applied(power, octet << shift) for octet in range(256)] for shift in (0, 8, 16, 24)]


def _applied(matrix: list[int], vector: int) -> int:
    """The sum of the columns of a matrix that the bits of a vector choose."""
    result = 0
    for column in matrix:
        if vector & 1:
            result ^= column
        vector >>= 1
    return result
