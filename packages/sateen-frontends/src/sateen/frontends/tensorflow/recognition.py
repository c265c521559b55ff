"""Recognises TensorFlow's files by their content: graphs, graphs with signatures, SavedModels, as bytes or as text."""

from __future__ import annotations

import re
from enum import Enum

from sateen.frontends.core.formats import HEAD_BYTES, format_of_head
from sateen.frontends.core.source import Source
from sateen.frontends.core.wire_format import LENGTH_DELIMITED, VARINT, Field, UnusualError, field_at
from sateen.frontends.tensorflow.sorted_table import is_table

EXPECTED = "a TensorFlow model"
CHECKPOINT = "the index of a TensorFlow checkpoint"
TAGS = ("serve",)
"""The tags of the graph that is read if a SavedModel has several."""
SAVED_MODELS = ("saved_model.pb", "saved_model.pbtxt")
"""The names of the file in the folder of a SavedModel."""
_TEXT = re.compile(rb"\s*(?:#[^\n]*\n\s*)*(\w+)\s*[:{<]")
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
        first = field_at(data, 0, len(data))
        if first.number == 1 and first.wire_type == VARINT:
            graph = field_at(data, first.end, len(data))
            is_graph = _is_message(graph, 2) and _is_meta_graph(data, graph.content, min(graph.end, len(data)))
            return Kind.SAVED_MODEL if is_graph else None
        if _is_message(first, 1) and _is_node(data, first.content, min(first.end, len(data))):
            return Kind.GRAPH
        if _is_meta_graph(data, 0, len(data)):
            return Kind.META_GRAPH
    except UnusualError:
        pass
    return _text_kind(data)


def _text_kind(data: bytes) -> Kind | None:
    found = _TEXT.match(data[:HEAD_BYTES])
    return None if found is None else _TEXT_KINDS.get(found.group(1))


def _is_message(field: Field, number: int) -> bool:
    """Whether a field has this number and may be a message or text."""
    return field.number == number and field.wire_type == LENGTH_DELIMITED


def _is_meta_graph(data: bytes, start: int, end: int) -> bool:
    """Whether a message begins with a description of a graph, and then a graph; a file may be cut within it."""
    field = field_at(data, start, end)
    if _is_message(field, 1) and field.end < end:
        field = field_at(data, field.end, end)
    return _is_message(field, 2) and _is_graph(data, field.content, min(field.end, len(data)))


def _is_graph(data: bytes, start: int, end: int) -> bool:
    """Whether a message begins with nodes."""
    for count in range(_MOST_NODES):
        if start >= end:
            break
        field = field_at(data, start, end)
        if field.number != 1:
            return count > 0
        if not (_is_message(field, 1) and _is_node(data, field.content, min(field.end, len(data)))):
            return False
        start = field.end
    return True


def _is_node(data: bytes, start: int, end: int) -> bool:
    """Whether a message begins with a name and an operator."""
    try:
        name = field_at(data, start, end)
        if not (_is_message(name, 1) and _is_name(data[name.content : name.end]) and name.end < end):
            return name.number == 1 and name.end >= len(data)
        operator = field_at(data, name.end, end)
    except UnusualError:
        return False
    return _is_message(operator, 2) and _is_name(data[operator.content : operator.end])


def _is_name(data: bytes) -> bool:
    return bool(data) and data.isascii() and data.decode().isprintable()
