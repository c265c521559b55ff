"""The wire format of Protocol Buffers: the fields of a message, without knowing what it is. Source: Encoding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

VARINT, LENGTH_DELIMITED, FIXED = 0, 2, 5
"""Wire types; FIXED has 32 bits."""
_FIXED_BYTES = {1: 8, FIXED: 4}
"""The bytes of a number of each wire type of fixed width."""
_MOST_BYTES, _MOST_LENGTH_BYTES = 10, 5
"""The most bytes of a varint, and of one that is a key or a length."""


class UnusualError(Exception):
    """Bytes that are no message, or a message with features that this reader does not support."""


class CutShortError(UnusualError):
    """A message that ends before a field does: the field's number, and where it would end."""

    def __init__(self, number: int, end: int) -> None:
        super().__init__(number, end)
        self.number, self.end = number, end


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message: where its key, its content and the next field begin."""

    number: int
    wire_type: int
    start: int
    content: int
    end: int


def fields_of(data: bytes, position: int, end: int, most: int) -> Iterator[Field]:
    """The fields of a message in bytes [position, end).

    Raises UnusualError for bytes that are no field, for groups, and for more than `most` fields; CutShortError if a
    field goes past the end.
    """
    while position < end:
        most -= 1
        if most < 0:
            raise UnusualError
        field = field_at(data, position, end)
        if field.end > end:
            raise CutShortError(field.number, field.end)
        yield field
        position = field.end


def field_at(data: bytes, position: int, end: int) -> Field:
    """The field that begins at a position; its content may go past the end. Raises UnusualError for bytes that are no
    field, and for groups."""
    key, content = read_varint(data, position, end, _MOST_LENGTH_BYTES)
    number, wire_type = key >> 3, key & 7
    if not 0 < number < 1 << 29:
        raise UnusualError
    if wire_type == VARINT:
        _, after = read_varint(data, content, end, _MOST_BYTES)
    elif wire_type == LENGTH_DELIMITED:
        length, content = read_varint(data, content, end, _MOST_LENGTH_BYTES)
        after = content + length
    elif wire_type in _FIXED_BYTES:
        after = content + _FIXED_BYTES[wire_type]
    else:
        raise UnusualError
    return Field(number, wire_type, position, content, after)


def read_varint(data: bytes, position: int, end: int, most: int) -> tuple[int, int]:
    """A number of at most the given number of bytes, and the position after it."""
    value = 0
    for count in range(min(most, end - position)):
        byte = data[position + count]
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            return value, position + count + 1
    raise UnusualError
