"""Sorted tables of keys and values, the index of a checkpoint: blocks with checksums, and a footer that finds them.

The format is LevelDB's (doc/table_format.md there, tensorflow/core/lib/io/format.h). Blocks are plain or compressed by
Snappy.
"""

from __future__ import annotations

from collections.abc import Iterator

from sateen.frontends.core.wire_format import UnusualError, read_varint
from sateen.frontends.tensorflow.crc32c import masked_crc32c
from sateen.runtime.errors import FrontendError

_MAGIC = bytes.fromhex("57fb808b247547db")
_FOOTER, _TRAILER = 48, 5
"""The bytes of a footer, and of the kind and checksum behind a block."""
_MOST_BYTES = 1 << 28
"""The most bytes of an unpacked block."""
_VARINT_BYTES = 10


def is_table(data: bytes) -> bool:
    """Whether bytes end as a sorted table does."""
    return len(data) >= _FOOTER and data.endswith(_MAGIC)


def entries_of(data: bytes, what: str) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values in order. Raises FrontendError if the table is damaged; `what` names it."""
    try:
        position = len(data) - _FOOTER
        if not is_table(data):
            raise FrontendError(f"{what}: expected a table of a checkpoint, found other data")
        _, position = _handle(data, position, len(data))
        (offset, size), _ = _handle(data, position, len(data))
        for _, handle in _entries(_block(data, offset, size, what), what):
            (offset, size), _ = _handle(handle, 0, len(handle))
            yield from _entries(_block(data, offset, size, what), what)
    except (UnusualError, IndexError):
        raise FrontendError(f"{what}: the table is damaged; copy it again") from None


def _handle(data: bytes, position: int, end: int) -> tuple[tuple[int, int], int]:
    """Where a block lies: its offset and size; and the position after these."""
    offset, position = read_varint(data, position, end, _VARINT_BYTES)
    size, position = read_varint(data, position, end, _VARINT_BYTES)
    return (offset, size), position


def _block(data: bytes, offset: int, size: int, what: str) -> bytes:
    """The content of a block."""
    end = offset + size
    if end + _TRAILER > len(data):
        raise FrontendError(f"{what}: a block lies at {offset} to {end} of {len(data)} bytes")
    stored = int.from_bytes(data[end + 1 : end + _TRAILER], "little")
    if masked_crc32c(data[offset : end + 1]) != stored:
        raise FrontendError(f"{what}: the checksum of a block at {offset} differs; copy the file again")
    match data[end]:
        case 0:
            return data[offset:end]
        case 1:
            return unpacked(data[offset:end])
        case kind:
            raise FrontendError(f"{what}: expected a plain block or one of Snappy, found kind {kind}")


def _entries(block: bytes, what: str) -> Iterator[tuple[bytes, bytes]]:
    """The entries of a block. A key is stored as what differs from the one before; the block ends with a list of places
    to search from."""
    if len(block) < 4:
        raise UnusualError
    end = len(block) - 4 * (1 + int.from_bytes(block[-4:], "little"))
    if end < 0:
        raise UnusualError
    key, position = b"", 0
    while position < end:
        shared, position = read_varint(block, position, end, _VARINT_BYTES)
        added, position = read_varint(block, position, end, _VARINT_BYTES)
        length, position = read_varint(block, position, end, _VARINT_BYTES)
        if shared > len(key) or position + added + length > end:
            raise UnusualError
        following = key[:shared] + block[position : position + added]
        if position and following <= key and key:
            raise FrontendError(f"{what}: expected keys in order, each once, found {following!r} after {key!r}")
        key, position = following, position + added
        yield key, block[position : position + length]
        position += length


def unpacked(data: bytes) -> bytes:
    """Bytes that Snappy packed (google/snappy, format_description.txt). Raises UnusualError if they are damaged."""
    size, position = read_varint(data, 0, len(data), _VARINT_BYTES)
    if size > _MOST_BYTES:
        raise UnusualError
    result = bytearray()
    while position < len(data):
        tag = data[position]
        position += 1
        if tag & 3 == 0:
            length = (tag >> 2) + 1
            if length > 60:
                wide = length - 60
                length = int.from_bytes(data[position : position + wide], "little") + 1
                position += wide
            if position + length > len(data) or len(result) + length > size:
                raise UnusualError
            result += data[position : position + length]
            position += length
            continue
        if tag & 3 == 1:
            length, distance = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | data[position]
            position += 1
        else:
            wide = 2 if tag & 3 == 2 else 4
            length, distance = (tag >> 2) + 1, int.from_bytes(data[position : position + wide], "little")
            position += wide
        if not 0 < distance <= len(result) or len(result) + length > size:
            raise UnusualError
        start = len(result) - distance
        for i in range(length):  # a copy may read what it wrote
            result.append(result[start + i])
    if len(result) != size:
        raise UnusualError
    return bytes(result)
