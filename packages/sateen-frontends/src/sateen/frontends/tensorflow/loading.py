"""Loads TensorFlow's files as data: parsed within limits, a signature chosen, variables found in a checkpoint.

No code of a model runs: operators are names here, and functions are graphs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path
from typing import TypeVar

from google.protobuf import text_format  # type: ignore[import-untyped]
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from sateen.frontends.core.pairs import Half, found_beside, paired, require_alone
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.tensorflow.checkpoint import Checkpoint, checkpoint_in, checkpoint_of
from sateen.frontends.tensorflow.recognition import (
    CHECKPOINT,
    EXPECTED,
    SAVED_MODELS,
    TAGS,
    Kind,
    is_checkpoint,
    is_network,
    is_text,
    kind_of,
)
from sateen.frontends.tensorflow.schemas.tensorflow_pb2 import (
    GraphDef,
    MetaGraphDef,
    SavedModel,
    SavedObjectGraph,
    SignatureDef,
)
from sateen.runtime.display import did_you_mean
from sateen.runtime.errors import FrontendError, printable

SIGNATURE = "serving_default"
"""The signature that is read if none is asked for."""
_VARIABLES = "variables/variables"
_DEEPEST = 100
"""The most messages within messages of a text; those of bytes are bounded by protobuf alike."""
_STRING = re.compile(rb'"(?:[^"\\\n]|\\.)*+"?|\'(?:[^\'\\\n]|\\.)*+\'?|#[^\n]*+')
_BRACKETS = re.compile(rb"[{}<>]")

Message = TypeVar("Message", GraphDef, MetaGraphDef, SavedModel)


@dataclass(frozen=True, slots=True)
class TensorflowFile:
    """A parsed model; its name can be printed. `signature` names its inputs and outputs; None: the graph shows them.
    `objects` are those of a program that TensorFlow 2 saved; variables are among them."""

    name: str
    graph: GraphDef
    limits: Limits
    signature: SignatureDef | None = None
    checkpoint: Checkpoint | None = None
    objects: SavedObjectGraph = field(default_factory=SavedObjectGraph)


def load_tensorflow(
    source: Source, limits: Limits, signature: str | None = None, tags: Sequence[str] = TAGS
) -> TensorflowFile:
    """Read and parse a model. Raises FrontendError if it is damaged, exceeds a limit, or lacks the signature."""
    if source.path is not None and source.is_folder:
        require_alone(source, "the folder of a SavedModel")
        return _saved_model_in(source.path, limits, signature, tags)
    kind = kind_of(source.data)
    weights = None
    if kind in {Kind.CHECKPOINT, Kind.META_GRAPH} or source.weights is not None:
        if kind is Kind.CHECKPOINT and source.weights is None:
            _require_network(source, limits)
        source, weights = paired(source, _GRAPH, _INDEX, limits)
        kind = kind_of(source.data)
    checkpoint = None if weights is None else checkpoint_of(weights)
    name = "the given bytes" if source.path is None else printable(source.path.name)
    match kind:
        case Kind.SAVED_MODEL:
            found = _parsed(SavedModel(), source.data, source.place)
            return _saved_model(found, name, source.folder, limits, signature, tags)
        case Kind.META_GRAPH:
            meta = _parsed(MetaGraphDef(), source.data, source.place)
            chosen = _signature(meta.signature_def, signature, name) if signature is not None else None
            file = TensorflowFile(name, meta.graph_def, limits, chosen, checkpoint)
        case _:
            file = TensorflowFile(name, _parsed(GraphDef(), source.data, source.place), limits, checkpoint=checkpoint)
    _require_extent(file)
    return file


def _checkpoint_names(network: str) -> Sequence[str]:
    return (re.sub(r"\.meta$", "", network) + ".index", "*.index")


def _network_names(index: str) -> Sequence[str]:
    return (re.sub(r"\.index$", "", index) + ".meta", "*.meta", "graph.pbtxt", "*.pb", "*.pbtxt")


_GRAPH = Half("a TensorFlow graph", is_network, _network_names)
_INDEX = Half(CHECKPOINT, is_checkpoint, _checkpoint_names)


def _require_network(index: Source, limits: Limits) -> None:
    """Raises FrontendError if no graph lies beside the index of a checkpoint."""
    if index.path is None or found_beside(index, _GRAPH, limits) is not None:
        return
    around = index.path.parent.parent
    if any((around / name).is_file() for name in SAVED_MODELS):
        remedy = f"give the folder of the SavedModel, {printable(str(around))}"
    else:
        remedy = (
            "give the graph (.meta, .pb), and the index as weights=, or --weights; if there is none, save the model "
            "anew: tf.saved_model.save(model, folder)"
        )
    names = " or ".join(_network_names(escape(index.path.name)))
    raise FrontendError(
        f"{index.place}: expected {CHECKPOINT}, which has variables and no network, beside {_GRAPH.described} "
        f"({printable(names)}), found none; {remedy}"
    )


def _saved_model_in(folder: Path, limits: Limits, signature: str | None, tags: Sequence[str]) -> TensorflowFile:
    """The SavedModel of a folder."""
    path = next(folder / name for name in SAVED_MODELS if (folder / name).is_file())
    try:
        size = path.stat().st_size
        if size > limits.model_bytes:
            raise FrontendError(f"expected a model of at most {limits.model_bytes} bytes, {path} has {size}")
        data = path.read_bytes()
    except OSError as error:
        raise FrontendError(f"can't read the model {str(path)!r}: {error}") from None
    saved = _parsed(SavedModel(), data, printable(str(path)))
    return _saved_model(saved, printable(folder.name), folder, limits, signature, tags)


def _saved_model(
    saved: SavedModel, name: str, folder: Path | None, limits: Limits, signature: str | None, tags: Sequence[str]
) -> TensorflowFile:
    """The graph with the tags, its signature, and its variables beside it."""
    if saved.saved_model_schema_version > 1:
        raise FrontendError(f"{name}: expected a SavedModel of version 1, found {saved.saved_model_schema_version}")
    graphs = list(saved.meta_graphs)
    if len(graphs) > 1:
        graphs = [graph for graph in graphs if set(graph.meta_info_def.tags) == set(tags)]
    if len(graphs) != 1:
        there = "; ".join(", ".join(map(printable, graph.meta_info_def.tags)) for graph in saved.meta_graphs)
        raise FrontendError(f"{name}: expected one graph with tags {', '.join(tags)}, found {there or 'none'}")
    (meta,) = graphs
    chosen = _signature(meta.signature_def, signature, name)
    checkpoint = None
    if folder is not None and (folder / f"{_VARIABLES}.index").exists():
        checkpoint = checkpoint_in(folder, _VARIABLES, limits)
    file = TensorflowFile(name, meta.graph_def, limits, chosen, checkpoint, meta.object_graph_def)
    _require_extent(file)
    return file


def _signature(signatures: Mapping[str, SignatureDef], wanted: str | None, name: str) -> SignatureDef:
    """The signature that is asked for, the usual one, or the only one. Raises FrontendError if there is none."""
    known = sorted(key for key in signatures if not key.startswith("__"))
    key = wanted if wanted is not None else SIGNATURE if SIGNATURE in signatures or len(known) != 1 else known[0]
    if key not in signatures:
        there = f"its signatures are {', '.join(map(printable, known))}" if known else "it has no signatures"
        remedy = "name one: from_tensorflow(…, signature=…)" if known else "save it with signatures=, or export it anew"
        raise FrontendError(f"{name}: expected signature {key!r}; {there}{did_you_mean(key, known)}; {remedy}")
    return signatures[key]


def _parsed(message: Message, data: bytes, place: str) -> Message:
    """A message of bytes or text. Raises FrontendError if it is damaged."""
    try:
        if not is_text(data):
            message.ParseFromString(data)
            return message
        _require_shallow(data, place)
        text_format.Parse(data.decode(), message, allow_unknown_field=True)
        return message
    except (DecodeError, text_format.ParseError, UnicodeDecodeError, ValueError) as error:
        raise FrontendError(
            f"{place}: expected {EXPECTED}, found what can't be parsed: {error}; copy it again"
        ) from None


def _require_shallow(data: bytes, place: str) -> None:
    """Raises FrontendError if messages are nested too deep for protobuf, whose reader of text is recursive."""
    depth = 0
    for bracket in _BRACKETS.finditer(_STRING.sub(b"", data)):
        depth += 1 if bracket.group() in b"{<" else -1
        if depth > _DEEPEST:
            raise FrontendError(f"{place}: expected messages nested at most {_DEEPEST} deep")


def _require_extent(file: TensorflowFile) -> None:
    """Bounds the number of nodes, of the graph and of its functions; names must be printable."""
    functions = file.graph.library.function
    count = len(file.graph.node) + sum(len(function.node_def) for function in functions)
    if count > file.limits.nodes:
        raise FrontendError(f"{file.name}: expected at most {file.limits.nodes} nodes, found {count}")
