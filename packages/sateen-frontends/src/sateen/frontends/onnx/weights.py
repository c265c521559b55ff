"""Cuts the data of large initialisers out of a serialised model, so that it stays where it was read. protobuf would
copy it twice, once during parsing and once on access. protobuf parses the rest of the model; bytes with anything
unusual are left as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnx import GraphProto, ModelProto, TensorProto

from sateen.frontends.core.wire_format import LENGTH_DELIMITED, Field, UnusualError, fields_of

LEAST_MODEL_BYTES = 16 << 20
"""The least bytes of a model from which data is cut out; smaller ones parse as fast without that."""
LEAST_BYTES = 1 << 16
"""The least bytes of data that is cut out."""

_MOST_FIELDS, _MOST_TENSOR_FIELDS = 200_000, 64
"""The most fields of a model or its graph, and of a tensor, that are read: seconds of work for 2 GB."""


def cut_weights(data: bytes, least_bytes: int = LEAST_BYTES) -> tuple[bytes, dict[int, memoryview]]:
    """A serialised model without the raw data of its graph's large initialisers, and that data by position."""
    try:
        graph = _only(fields_of(data, 0, len(data), _MOST_FIELDS), ModelProto.GRAPH_FIELD_NUMBER)
        pieces, weights = ([], {}) if graph is None else _without_weights(data, graph, least_bytes)
    except UnusualError:
        return data, {}
    if graph is None or not weights:
        return data, {}
    view = memoryview(data)
    return b"".join([view[: graph.start], *_field(graph.number, pieces), view[graph.end :]]), weights


def _without_weights(
    data: bytes, graph: Field, least_bytes: int
) -> tuple[list[bytes | memoryview], dict[int, memoryview]]:
    """The content of a graph in pieces, and the data cut out of it."""
    view, kept = memoryview(data), graph.content
    pieces: list[bytes | memoryview] = []
    weights: dict[int, memoryview] = {}
    index = 0
    for field in fields_of(data, graph.content, graph.end, _MOST_FIELDS):
        if field.number != GraphProto.INITIALIZER_FIELD_NUMBER:
            continue
        if field.wire_type != LENGTH_DELIMITED:
            raise UnusualError
        if field.end - field.content >= least_bytes:
            fields = fields_of(data, field.content, field.end, _MOST_TENSOR_FIELDS)
            raw = _only(fields, TensorProto.RAW_DATA_FIELD_NUMBER)
            if raw is not None and raw.end - raw.content >= least_bytes:
                rest = [view[field.content : raw.start], view[raw.end : field.end]]
                pieces += [view[kept : field.start], *_field(field.number, rest)]
                kept = field.end
                weights[index] = view[raw.content : raw.end]
        index += 1
    return [*pieces, view[kept : graph.end]], weights


def _only(fields: Iterator[Field], number: int) -> Field | None:
    """The field with a number. Raises UnusualError if there are several, or if it has no length."""
    found = None
    for field in fields:
        if field.number == number:
            if found is not None or field.wire_type != LENGTH_DELIMITED:
                raise UnusualError
            found = field
    return found


def _varint(value: int) -> bytes:
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])


def _field(number: int, pieces: Sequence[bytes | memoryview]) -> list[bytes | memoryview]:
    """A length-delimited field of this content."""
    return [_varint(number << 3 | LENGTH_DELIMITED), _varint(sum(map(len, pieces))), *pieces]
