"""Recognises TensorFlow's files by their content: graphs, graphs with signatures, SavedModels, as bytes or as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum

from sateen.frontends.core.formats import HEAD_BYTES, format_of_head
from sateen.frontends.core.source import Source
from sateen.frontends.core.wire_format import LENGTH_DELIMITED, VARINT, UnusualError, read_varint
from sateen.frontends.tensorflow.sorted_table import is_table

EXPECTED = "a TensorFlow model"
CHECKPOINT = "the index of a TensorFlow checkpoint"
TAGS = ("serve",)
"""The tags of the graph that is read if a SavedModel has several."""
SAVED_MODELS = ("saved_model.pb", "saved_model.pbtxt")
"""The names of the file in the folder of a SavedModel."""
_TEXT = re.compile(rb"\s*(?:#[^\n]*\n\s*)*(\w+)\s*[:{<]")
_VARINT_BYTES, _LENGTH_BYTES = 10, 5
_MOST_NODES = 8
"""The most nodes of a graph to look at."""


class Kind(Enum):
    """The kinds of files."""

    GRAPH = "a graph"
    META_GRAPH = "a graph with signatures"
    SAVED_MODEL = "a SavedModel"
    CHECKPOINT = "the index of a checkpoint"


_TEXT_KINDS = {
    b"node": Kind.GRAPH,
    b"library": Kind.GRAPH,
    b"versions": Kind.GRAPH,
    b"meta_info_def": Kind.META_GRAPH,
    b"saved_model_schema_version": Kind.SAVED_MODEL,
    b"meta_graphs": Kind.SAVED_MODEL,
}


def is_tensorflow(source: Source) -> bool:
    """Whether a source is a model of TensorFlow, perhaps a damaged one, or the index of a checkpoint."""
    if source.path is not None and source.is_folder:
        return any((source.path / name).is_file() for name in SAVED_MODELS)
    return kind_of(source.data) is not None


def is_network(source: Source) -> bool:
    """Whether a file has a graph."""
    return kind_of(source.data) in {Kind.GRAPH, Kind.META_GRAPH, Kind.SAVED_MODEL}


def is_checkpoint(source: Source) -> bool:
    return kind_of(source.data) is Kind.CHECKPOINT


def is_text(data: bytes) -> bool:
    """Whether a model of TensorFlow is stored as text."""
    return _text_kind(data) is not None


def kind_of(data: bytes) -> Kind | None:
    """The kind of a file, by its first fields."""
    if format_of_head(data[:HEAD_BYTES]):
        return None
    if is_table(data):
        return Kind.CHECKPOINT
    try:
        number, wire_type, start, end = _field(data, 0, len(data))
        if number == 1 and wire_type == VARINT:
            return Kind.SAVED_MODEL if _is_field(data, start, len(data), 2, _is_meta_graph) else None
        if number == 1 and _is_node(data, start, end):
            return Kind.GRAPH
        if _is_meta_graph(data, 0, len(data)):
            return Kind.META_GRAPH
    except UnusualError:
        pass
    return _text_kind(data)


def _text_kind(data: bytes) -> Kind | None:
    found = _TEXT.match(data[:HEAD_BYTES])
    return None if found is None else _TEXT_KINDS.get(found.group(1))


def _field(data: bytes, position: int, end: int) -> tuple[int, int, int, int]:
    """The number, wire type, start and end of the field at a position; a file may be cut within it."""
    key, start = read_varint(data, position, end, _LENGTH_BYTES)
    number, wire_type = key >> 3, key & 7
    if wire_type == VARINT:
        _, after = read_varint(data, start, end, _VARINT_BYTES)
        return number, wire_type, after, after
    if wire_type != LENGTH_DELIMITED or not number:
        raise UnusualError
    length, start = read_varint(data, start, end, _LENGTH_BYTES)
    return number, wire_type, start, min(start + length, len(data))


def _is_field(data: bytes, start: int, end: int, number: int, inner: Callable[[bytes, int, int], bool]) -> bool:
    """Whether the field at `start` has this number and this content."""
    found, wire_type, content, stop = _field(data, start, end)
    return found == number and wire_type == LENGTH_DELIMITED and inner(data, content, stop)


def _is_meta_graph(data: bytes, start: int, end: int) -> bool:
    """Whether a message begins with a description of a graph, and then a graph."""
    number, wire_type, content, stop = _field(data, start, end)
    if number == 1 and wire_type == LENGTH_DELIMITED and stop < end:
        number, wire_type, content, stop = _field(data, stop, end)
    return number == 2 and wire_type == LENGTH_DELIMITED and _is_graph(data, content, stop)


def _is_graph(data: bytes, start: int, end: int) -> bool:
    """Whether a message begins with nodes."""
    for count in range(_MOST_NODES):
        if start >= end:
            break
        number, wire_type, content, stop = _field(data, start, end)
        if number != 1:
            return count > 0
        if wire_type != LENGTH_DELIMITED or not _is_node(data, content, stop):
            return False
        start = stop
    return True


def _is_node(data: bytes, start: int, end: int) -> bool:
    """Whether a message begins with a name and an operator."""
    try:
        number, wire_type, content, stop = _field(data, start, end)
        if number != 1 or wire_type != LENGTH_DELIMITED or not _is_name(data[content:stop]) or stop >= end:
            return number == 1 and stop == len(data)
        number, wire_type, content, stop = _field(data, stop, end)
    except UnusualError:
        return False
    return number == 2 and wire_type == LENGTH_DELIMITED and _is_name(data[content:stop])


def _is_name(data: bytes) -> bool:
    return bool(data) and data.isascii() and data.decode().isprintable()
