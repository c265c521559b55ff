"""Sorted tables of keys and values, the index of a checkpoint: blocks with checksums, and a footer that finds them.

The format is LevelDB's (doc/table_format.md there, tensorflow/core/lib/io/format.h). Blocks are plain or compressed by
Snappy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sateen.frontends.core.wire_format import UnusualError, read_varint
from sateen.frontends.tensorflow.crc32c import masked_crc32c
from sateen.runtime.errors import FrontendError

_MAGIC = bytes.fromhex("57fb808b247547db")
_FOOTER, _TRAILER = 48, 5
"""The bytes of a footer, and of the kind and checksum behind a block."""
_MOST_BYTES = 1 << 28
"""The most bytes of all unpacked blocks and all keys."""
_VARINT_BYTES = 10


def is_table(data: bytes) -> bool:
    """Whether bytes end as a sorted table does."""
    return len(data) >= _FOOTER and data.endswith(_MAGIC)


def entries_of(data: bytes, what: str) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values in order. Raises FrontendError if the table is damaged; `what` names it."""
    try:
        yield from _Table(data, what).entries()
    except (UnusualError, IndexError):
        raise FrontendError(f"{what}: the table is damaged; copy it again") from None


def _handle(data: bytes, position: int, end: int) -> tuple[tuple[int, int], int]:
    """Where a block lies: its offset and size; and the position after these."""
    offset, position = read_varint(data, position, end, _VARINT_BYTES)
    size, position = read_varint(data, position, end, _VARINT_BYTES)
    return (offset, size), position


@dataclass(slots=True)
class _Table:
    """A table while it is read; `room` is the bytes that its blocks and keys may still be unpacked to."""

    data: bytes
    what: str
    room: int = _MOST_BYTES

    def entries(self) -> Iterator[tuple[bytes, bytes]]:
        """Those of all blocks, which lie in the order of the index, each once."""
        position = len(self.data) - _FOOTER
        if not is_table(self.data):
            raise FrontendError(f"{self.what}: expected a table of a checkpoint, found other data")
        _, position = _handle(self.data, position, len(self.data))
        (offset, size), _ = _handle(self.data, position, len(self.data))
        last = 0
        for _, handle in self._entries(self._block(offset, size)):
            (offset, size), _ = _handle(handle, 0, len(handle))
            if offset < last:
                raise FrontendError(f"{self.what}: expected blocks in order, found one at {offset} before {last}")
            last = offset + size + _TRAILER
            yield from self._entries(self._block(offset, size))

    def _take_room(self, count: int) -> None:
        self.room -= count
        if self.room < 0:
            raise FrontendError(f"{self.what}: expected at most {_MOST_BYTES} bytes of blocks and keys, found more")

    def _block(self, offset: int, size: int) -> bytes:
        """The content of a block."""
        data, what, end = self.data, self.what, offset + size
        if end + _TRAILER > len(data):
            raise FrontendError(f"{what}: a block lies at {offset} to {end} of {len(data)} bytes")
        stored = int.from_bytes(data[end + 1 : end + _TRAILER], "little")
        if masked_crc32c(data[offset : end + 1]) != stored:
            raise FrontendError(f"{what}: the checksum of a block at {offset} differs; copy the file again")
        match data[end]:
            case 0:
                return data[offset:end]
            case 1:
                unpacked_size, _ = read_varint(data, offset, end, _VARINT_BYTES)
                self._take_room(unpacked_size)
                return unpacked(data[offset:end])
            case kind:
                raise FrontendError(f"{what}: expected a plain block or one of Snappy, found kind {kind}")

    def _entries(self, block: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The entries of a block. A key is stored as what differs from the one before; the block ends with a list of
        places to search from."""
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
            self._take_room(shared + added)
            following = key[:shared] + block[position : position + added]
            if position and following <= key and key:
                raise FrontendError(
                    f"{self.what}: expected keys in order, each once, found {following!r} after {key!r}"
                )
            key, position = following, position + added
            yield key, block[position : position + length]
            position += length


def unpacked(data: bytes) -> bytes:
    """Bytes that Snappy packed (google/snappy, format_description.txt). Raises UnusualError if they are damaged."""
    size, position = read_varint(data, 0, len(data), _VARINT_BYTES)
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
        copied = result[start : start + length]
        result += (copied * -(-length // len(copied)))[:length]  # a copy may read what it wrote
    if len(result) != size:
        raise UnusualError
    return bytes(result)
