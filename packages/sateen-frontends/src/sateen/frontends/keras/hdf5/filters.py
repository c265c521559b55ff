"""Filters of chunks: deflate, shuffle and fletcher32, undone with zlib and NumPy (section IV.A.2.l)."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sateen.frontends.keras.hdf5.bytes_in_file import Fields
from sateen.runtime.errors import FrontendError

_DEFLATE, _SHUFFLE, _FLETCHER32 = 1, 2, 3
_FIRST_NAMED = 256
"""From this number on filters are others' than the library's; version 2 of the message names only these."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter by its number, with its settings."""

    number: int
    settings: tuple[int, ...]


def filters_of(fields: Fields) -> tuple[Filter, ...]:
    """Filters in the order in which they were applied. Raises FrontendError for those that are not read."""
    version, count = fields.number(1), fields.number(1)
    if version not in {1, 2}:
        raise fields.file.unusual(f"filters of version {version}")
    fields.take(6 if version == 1 else 0)
    found = []
    for _ in range(count):
        number = fields.number(2)
        named = fields.number(2) if version == 1 or number >= _FIRST_NAMED else 0
        _, settings = fields.number(2), fields.number(2)
        fields.take(named + (-named % 8 if version == 1 else 0))
        found.append(Filter(number, tuple(fields.number(4) for _ in range(settings))))
        fields.take(4 if version == 1 and settings % 2 else 0)
        if number not in {_DEFLATE, _SHUFFLE, _FLETCHER32}:
            raise fields.file.unusual(f"data that filter {number} compressed")
    return tuple(found)


def unfiltered(data: memoryview, filters: Sequence[Filter], skipped: int, size: int, what: str) -> memoryview:
    """The `size` bytes of a chunk before filters were applied; the bits of `skipped` are those that were not.

    Raises FrontendError for damaged data.
    """
    for index in reversed(range(len(filters))):
        if skipped >> index & 1:
            continue
        match filters[index].number:
            case 1:
                data = _inflated(data, size + 4, what)  # a checksum may be inside
            case 2:
                data = _unshuffled(data, filters[index].settings, what)
            case _:
                data = _checked(data, what)
    if len(data) != size:
        raise FrontendError(f"{what}: expected chunks of {size} bytes, found one of {len(data)}")
    return data


def _inflated(data: memoryview, most: int, what: str) -> memoryview:
    try:
        return memoryview(zlib.decompressobj().decompress(data, most))
    except zlib.error as error:
        raise FrontendError(f"{what}: expected compressed data, which is damaged: {error}") from None


def _unshuffled(data: memoryview, settings: Sequence[int], what: str) -> memoryview:
    """Bytes in the order of elements; shuffled, the first bytes of all elements come first. What is left of no whole
    element stays at the end."""
    if not settings or not settings[0]:
        raise FrontendError(f"{what}: expected the bytes of an element of shuffled data, found none")
    (width, *_) = settings
    whole = len(data) // width * width
    turned = np.frombuffer(data[:whole], np.uint8).reshape(width, -1).T.tobytes()
    return memoryview(turned + bytes(data[whole:]))


def _checked(data: memoryview, what: str) -> memoryview:
    """Data without its checksum: that of Fletcher over big-endian words of 16 bits, modulo 2¹⁶ - 1."""
    content, stored = data[:-4], int.from_bytes(data[-4:], "little")
    padded = bytes(content) + b"\0" * (len(content) % 2)
    words = np.frombuffer(padded, ">u2").astype(np.uint64)
    weights = np.arange(len(words), 0, -1, dtype=np.uint64) % np.uint64(65535)
    first, second = int(words.sum()) % 65535, int((words * weights).sum()) % 65535
    if (first, second) != ((stored & 0xFFFF) % 65535, (stored >> 16) % 65535):
        raise FrontendError(f"{what}: expected data with its checksum, which differs: the file is damaged")
    return content
