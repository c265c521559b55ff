"""Cuts the data of large initialisers out of a serialised model, so that it stays where the file was read to.

protobuf would copy it twice, once as it parses and once when it is asked for. The rest of the model is for protobuf to
judge: bytes in which anything is out of the ordinary are left as they are. Source: Protocol Buffers, Encoding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onnx import GraphProto, ModelProto, TensorProto

LEAST_MODEL_BYTES = 16 << 20
"""Smaller models are parsed as fast."""
LEAST_BYTES = 1 << 16
"""Of data that is cut out."""

_VARINT, _LENGTH_DELIMITED = 0, 2
_FIXED_BYTES = {1: 8, 5: 4}
"""By wire type."""
_MOST_BYTES, _MOST_LENGTH_BYTES = 10, 5
"""Of a varint, and of one that is a key or a length."""
_MOST_FIELDS, _MOST_TENSOR_FIELDS = 200_000, 64
"""Of a model and of its graph, and of a tensor: seconds of work for 2 GB."""


class _UnusualError(Exception):
    """What this module does not read."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a message: where its key, its content and the next field begin."""

    number: int
    wire_type: int
    start: int
    content: int
    end: int


def cut_weights(data: bytes, least_bytes: int = LEAST_BYTES) -> tuple[bytes, dict[int, memoryview]]:
    """A serialised model without the raw data of its graph's large initialisers, and that data by their positions."""
    try:
        graph = _only(_fields(data, 0, len(data), _MOST_FIELDS), ModelProto.GRAPH_FIELD_NUMBER)
        pieces, weights = ([], {}) if graph is None else _without_weights(data, graph, least_bytes)
    except _UnusualError:
        return data, {}
    if graph is None or not weights:
        return data, {}
    view = memoryview(data)
    return b"".join([view[: graph.start], *_field(graph.number, pieces), view[graph.end :]]), weights


def _without_weights(
    data: bytes, graph: _Field, least_bytes: int
) -> tuple[list[bytes | memoryview], dict[int, memoryview]]:
    """The content of a graph in pieces, and what was cut out of it."""
    view, kept = memoryview(data), graph.content
    pieces: list[bytes | memoryview] = []
    weights: dict[int, memoryview] = {}
    index = 0
    for field in _fields(data, graph.content, graph.end, _MOST_FIELDS):
        if field.number != GraphProto.INITIALIZER_FIELD_NUMBER:
            continue
        if field.wire_type != _LENGTH_DELIMITED:
            raise _UnusualError
        if field.end - field.content >= least_bytes:
            fields = _fields(data, field.content, field.end, _MOST_TENSOR_FIELDS)
            raw = _only(fields, TensorProto.RAW_DATA_FIELD_NUMBER)
            if raw is not None and raw.end - raw.content >= least_bytes:
                rest = [view[field.content : raw.start], view[raw.end : field.end]]
                pieces += [view[kept : field.start], *_field(field.number, rest)]
                kept = field.end
                weights[index] = view[raw.content : raw.end]
        index += 1
    return [*pieces, view[kept : graph.end]], weights


def _only(fields: Iterator[_Field], number: int) -> _Field | None:
    """The field of a number. Raises _UnusualError where there are several, and for one without a length."""
    found = None
    for field in fields:
        if field.number == number:
            if found is not None or field.wire_type != _LENGTH_DELIMITED:
                raise _UnusualError
            found = field
    return found


def _fields(data: bytes, position: int, end: int, most: int) -> Iterator[_Field]:
    """The fields of a message in bytes [position, end).

    Raises _UnusualError for what is none, for groups, and for more than `most` fields.
    """
    while position < end:
        most -= 1
        if most < 0:
            raise _UnusualError
        start = position
        key, position = _read_varint(data, position, end, _MOST_LENGTH_BYTES)
        number, wire_type, content = key >> 3, key & 7, position
        if wire_type == _VARINT:
            _, position = _read_varint(data, position, end, _MOST_BYTES)
        elif wire_type == _LENGTH_DELIMITED:
            length, content = _read_varint(data, position, end, _MOST_LENGTH_BYTES)
            position = content + length
        elif wire_type in _FIXED_BYTES:
            position += _FIXED_BYTES[wire_type]
        else:
            raise _UnusualError
        if position > end or not 0 < number < 1 << 29:
            raise _UnusualError
        yield _Field(number, wire_type, start, content, position)


def _read_varint(data: bytes, position: int, end: int, most: int) -> tuple[int, int]:
    """A number of at most so many bytes, and where the next thing begins."""
    value = 0
    for count in range(min(most, end - position)):
        byte = data[position + count]
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            return value, position + count + 1
    raise _UnusualError


def _varint(value: int) -> bytes:
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])


def _field(number: int, pieces: Sequence[bytes | memoryview]) -> list[bytes | memoryview]:
    """A length-delimited field of this content."""
    return [_varint(number << 3 | _LENGTH_DELIMITED), _varint(sum(map(len, pieces))), *pieces]
