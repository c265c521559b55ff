"""Loads an ONNX model as data: bytes within limits, parsed, names readable, nesting and number of nodes bounded.

Nothing of a model is ever run. What is refused here, and why, is listed in docs/design/frontends.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from sateen.frontends.onnx.formats import NO_FILE, format_of, format_of_folder
from sateen.frontends.onnx.weights import LEAST_MODEL_BYTES, cut_weights
from sateen.runtime.errors import FrontendError, printable


@dataclass(frozen=True, slots=True)
class Limits:
    """What a model may ask of the machine that reads it."""

    model_bytes: int = 2**31 - 1
    """Of the file; a protobuf message holds no more."""
    nodes: int = 1_000_000
    """Of all graphs."""
    expanded: int = 50_000
    """Nodes that the calls of function bodies and branches come to; a few functions can call for any number."""
    nesting: int = 64
    """Graphs within graphs, functions within functions."""
    tensor_bytes: int = 2**36
    """Of all constants together."""


@dataclass(frozen=True, slots=True)
class Model:
    """A parsed model; its name can be printed. `folder` is where its external data may lie; None: nowhere."""

    proto: onnx.ModelProto
    name: str
    folder: Path | None
    limits: Limits
    weights: Mapping[int, memoryview] = field(default_factory=dict)
    """Raw data of initialisers of the graph, by position, that the message itself is without."""


def load(
    source: str | Path | bytes | onnx.ModelProto, limits: Limits = Limits(), expected: str = "an ONNX model"
) -> Model:
    """Read and parse a model. Raises FrontendError where it is no ONNX model or exceeds a limit.

    `expected` is what such an error calls the files that would do.
    """
    match source:
        case onnx.ModelProto():
            model = Model(source, printable(text(source.graph.name, "the graph")), None, limits)
        case bytes():
            proto, weights = _parse(source, "the given bytes", limits, expected)
            model = Model(proto, printable(text(proto.graph.name, "the graph")), None, limits, weights)
        case str() | PathLike():
            path = Path(source)
            proto, weights = _parse(_read(path, limits, expected), printable(str(path)), limits, expected)
            model = Model(proto, printable(path.name), path.parent, limits, weights)
        case _:
            found = type(source).__name__
            raise FrontendError(f"expected an ONNX model: a path, its bytes or its message, found {found}")
    if not model.proto.HasField("graph"):
        raise FrontendError(f"{model.name or 'the model'}: expected a model with a graph, found none")
    _check_extent(model)
    return model


def text(value: str | bytes, what: str) -> str:
    """A name as text: protobuf hands out bytes where a string is not UTF-8."""
    if isinstance(value, bytes):
        raise FrontendError(f"expected the name of {what} in UTF-8, found {value!r}")
    return value


def _read(path: Path, limits: Limits, expected: str) -> bytes:
    try:
        size = path.stat().st_size
        if path.is_dir():
            raise FrontendError(f"{path}: expected {expected}, found {format_of_folder(path)}")
        if not path.is_file():
            raise FrontendError(f"{path}: expected {expected}, found {NO_FILE}")
        if size > limits.model_bytes:
            raise FrontendError(f"expected a model of at most {limits.model_bytes} bytes, {str(path)!r} has {size}")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise FrontendError(f"can't read the model {str(path)!r}: {error}") from None
    except MemoryError:
        raise FrontendError(f"can't read the model {str(path)!r}: there is no memory for its {size} bytes") from None


def _parse(data: bytes, name: str, limits: Limits, expected: str) -> tuple[onnx.ModelProto, dict[int, memoryview]]:
    """The message, without the data of large initialisers where all of it is large, and that data."""
    if len(data) > limits.model_bytes:
        raise FrontendError(f"expected a model of at most {limits.model_bytes} bytes, {name} has {len(data)}")
    rest, weights = cut_weights(data) if len(data) >= LEAST_MODEL_BYTES else (data, {})
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(rest)
    except DecodeError as error:
        found = format_of(data) or f"what protobuf can't parse: {error}"
        raise FrontendError(f"{name}: expected {expected}, found {found}") from None
    if not proto.HasField("graph") and (found := format_of(data)):
        raise FrontendError(f"{name}: expected {expected}, found {found}")
    return proto, weights


def _check_extent(model: Model) -> None:
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
