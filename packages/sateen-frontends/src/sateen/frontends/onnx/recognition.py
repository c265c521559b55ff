"""Recognises an ONNX model by its content, whole or cut short: a message with the fields of a model, including a
graph."""

from __future__ import annotations

from sateen.frontends.core.formats import HEAD_BYTES, format_of_head
from sateen.frontends.core.source import Source
from sateen.frontends.core.wire_format import LENGTH_DELIMITED, VARINT, CutShortError, UnusualError, fields_of

_MOST_FIELDS, _MOST_GRAPH_FIELDS = 4096, 64
"""The most fields of a model and of its graph to look at."""


EXPECTED = "an ONNX model"
GRAPH = 7
"""The number of the graph among the fields of a model."""
MODEL_FIELDS = dict.fromkeys((1, 5), VARINT) | dict.fromkeys((2, 3, 4, 6, GRAPH, 8, 14, 20, 25, 26), LENGTH_DELIMITED)
GRAPH_FIELDS = dict.fromkeys((1, 2, 5, *range(10, 17)), LENGTH_DELIMITED)
"""The wire types of the fields of a model and of a graph, by number (onnx.proto)."""


def is_onnx(source: Source) -> bool:
    """Whether data is an ONNX model, or the beginning of one."""
    data = source.data
    if source.is_folder or format_of_head(data[:HEAD_BYTES]):
        return False
    has_graph = False
    try:
        for field in fields_of(data, 0, len(data), _MOST_FIELDS):
            if MODEL_FIELDS.get(field.number, field.wire_type) != field.wire_type:
                return False
            if field.number == GRAPH:
                has_graph = _is_graph(data, field.content, field.end)
    except CutShortError as cut:
        return has_graph or cut.number == GRAPH
    except UnusualError:  # behind the graph it is for protobuf to judge
        pass
    return has_graph


def _is_graph(data: bytes, start: int, end: int) -> bool:
    """Whether the first fields of a message are those of a graph."""
    try:
        for count, field in enumerate(fields_of(data, start, end, _MOST_GRAPH_FIELDS + 1)):
            if count == _MOST_GRAPH_FIELDS:
                break
            if GRAPH_FIELDS.get(field.number, field.wire_type) != field.wire_type:
                return False
    except UnusualError:
        return False
    return True


def cut_short(data: bytes) -> str:
    """The message about an ONNX model that ends within its graph, or within a later field; '' for other data."""
    has_graph = False
    try:
        for field in fields_of(data, 0, len(data), _MOST_FIELDS):
            if MODEL_FIELDS.get(field.number) != field.wire_type:
                return ""
            has_graph |= field.number == GRAPH
    except CutShortError as cut:
        if cut.number in MODEL_FIELDS and (has_graph or cut.number == GRAPH):
            return f"one that is cut short: {len(data)} bytes where {cut.end} are announced; copy it again"
    except UnusualError:
        pass
    return ""
