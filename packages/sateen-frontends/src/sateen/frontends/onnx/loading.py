"""Loads an ONNX model as data: bytes within limits, parsed, names readable, nesting and number of nodes bounded.

No code of a model ever runs. docs/design/frontends.md lists what is refused here, and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from sateen.frontends.core.beside import FilesBeside
from sateen.frontends.core.source import LIMITS, Limits, Source, read_source
from sateen.frontends.onnx.recognition import EXPECTED, cut_short
from sateen.frontends.onnx.weights import LEAST_MODEL_BYTES, cut_weights
from sateen.runtime.errors import FrontendError, printable


@dataclass(frozen=True, slots=True)
class OnnxFile:
    """A parsed model; its name can be printed. `beside` has its external data; None: there may be none."""

    proto: onnx.ModelProto
    name: str
    beside: FilesBeside | None
    limits: Limits
    weights: Mapping[int, memoryview] = field(default_factory=dict)
    """Raw data of initialisers of the graph that was cut out of the message, by position."""


def load_onnx(given: str | Path | bytes | onnx.ModelProto | Source, limits: Limits = LIMITS) -> OnnxFile:
    """Read and parse a model. Raises FrontendError if it is no ONNX model or exceeds a limit."""
    match given:
        case onnx.ModelProto():
            file = OnnxFile(given, _graph_name(given), None, limits)
        case Source():
            file = _parsed(given, limits)
        case str() | bytes() | PathLike():
            file = _parsed(read_source(given, limits, EXPECTED), limits)
        case _:
            found = type(given).__name__
            raise FrontendError(f"expected {EXPECTED}: a path, its bytes or its message, found {found}")
    if not file.proto.HasField("graph"):
        raise FrontendError(f"{file.name or 'the model'}: expected a model with a graph, found none")
    _check_extent(file)
    return file


def _graph_name(proto: onnx.ModelProto) -> str:
    return printable(text(proto.graph.name, "the graph"))


def _parsed(source: Source, limits: Limits) -> OnnxFile:
    """The message, without the data of large initialisers where all of it is large, and that data."""
    data = source.data
    rest, weights = cut_weights(data) if len(data) >= LEAST_MODEL_BYTES else (data, {})
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(rest)
    except DecodeError as error:
        raise _no_model(source, f"what protobuf can't parse: {error}") from None
    if not proto.HasField("graph") and (found := _found(source)):
        raise _no_model(source, found)
    name = _graph_name(proto) if source.path is None else printable(source.path.name)
    return OnnxFile(proto, name, FilesBeside.of(source.folder), limits, weights)


def _no_model(source: Source, otherwise: str) -> FrontendError:
    return FrontendError(f"{source.place}: expected {EXPECTED}, found {_found(source) or otherwise}")


def _found(source: Source) -> str:
    return cut_short(source.data) or source.format


def text(value: str | bytes, what: str) -> str:
    """A name as text: protobuf gives bytes if a string is not UTF-8."""
    if isinstance(value, bytes):
        raise FrontendError(f"expected the name of {what} in UTF-8, found {value!r}")
    return value


def _check_extent(model: OnnxFile) -> None:
    """Bounds the number of nodes and the depth of graphs, of the main graph and of functions."""
    pending = [(list(body.node), 1) for body in (model.proto.graph, *model.proto.functions)]
    count = 0
    while pending:
        nodes, depth = pending.pop()
        count += len(nodes)
        if count > model.limits.nodes:
            raise FrontendError(f"expected at most {model.limits.nodes} nodes, found more")
        if depth > model.limits.nesting:
            raise FrontendError(f"expected graphs nested at most {model.limits.nesting} deep, found deeper ones")
        pending.extend((list(graph.node), depth + 1) for node in nodes for graph in subgraphs(node))


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs among a node's attributes."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs
