"""Parses a CoreML model and checks its extent. Nothing in it is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from sateen.frontends.core.beside import FilesBeside
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.core.wire_format import UnusualError, fields_of
from sateen.frontends.coreml.package import model_of_package
from sateen.frontends.coreml.recognition import EXPECTED
from sateen.frontends.coreml.schemas import coreml_pb2
from sateen.runtime.errors import FrontendError, printable

NEWEST = 10
"""The newest version of the specification that is known: that of iOS 26."""
Message = Any
"""A message of the schema; protobuf's generated classes have no types."""

_OTHER_KINDS: Mapping[int, str] = {
    304: "a Bayesian regressor", 404: "a nearest-neighbour classifier", 501: "a recommender", 555: "a custom model",
    556: "a linked model", 560: "a model of thresholds", 603: "a dictionary vectorizer", 606: "a categorical mapping",
    900: "an identity", 2000: "a text classifier", 2001: "a word tagger", 2002: "a vision feature print",
    2003: "sound preprocessing", 2004: "a gazetteer", 2005: "a word embedding", 2006: "an audio feature print",
    3000: "a serialized model",
}  # fmt: skip
"""The kinds of models that are not read, by the numbers of their fields (mlmodel/format/Model.proto)."""


@dataclass(frozen=True, slots=True)
class CoremlFile:
    """A parsed model; `name` is its name in messages. `beside` has the files that it names; None: there may be none."""

    model: Message
    name: str
    beside: FilesBeside | None
    limits: Limits


def load_coreml(source: Source, limits: Limits) -> CoremlFile:
    """Parse a model. Raises FrontendError if it is damaged, of a newer version, or exceeds a limit."""
    if source.path is not None and source.is_folder:
        name, source = printable(source.path.name), model_of_package(source.path, limits)
    else:
        name = "model" if source.path is None else printable(source.path.name)
    model = coreml_pb2.Model()
    try:
        model.ParseFromString(source.data)
    except DecodeError as error:
        raise FrontendError(f"{source.place}: expected {EXPECTED}, found what protobuf can't parse: {error}") from None
    if not 1 <= model.specificationVersion <= NEWEST:
        raise FrontendError(
            f"{source.place}: expected specification version 1 to {NEWEST}, found {model.specificationVersion}"
        )
    if kind_of(model) is None:
        known = "a network, an ML program, an estimator or a pipeline"
        raise FrontendError(f"{source.place}: expected {known}, found {_other_kind(source.data)}")
    file = CoremlFile(model, name, FilesBeside.of(source.folder), limits)
    _check_extent(file)
    return file


def kind_of(model: Message) -> str | None:
    """The field that holds the model itself; None for kinds that are not read."""
    kind: str | None = model.WhichOneof("type")
    return kind


def _other_kind(data: bytes) -> str:
    """The kind of a model that the schema does not have."""
    try:
        numbers = [field.number for field in fields_of(data, 0, len(data), 4096) if field.number >= 200]
    except UnusualError:
        numbers = []
    return _OTHER_KINDS.get(numbers[-1], f"a model of kind {numbers[-1]}") if numbers else "none of them"


def _check_extent(file: CoremlFile) -> None:
    """Bounds the number of layers and operations, of all networks and of those within them."""
    pending = [file.model]
    count = 0
    while pending:
        message = pending.pop()
        inner = [*_models_in(message), *_networks_in(message)]
        count += len(inner) + len(getattr(message, "layers", ())) + len(getattr(message, "operations", ()))
        if count > file.limits.nodes:
            raise FrontendError(f"{file.name}: expected at most {file.limits.nodes} nodes, found more")
        pending.extend(inner)


def _models_in(message: Message) -> list[Message]:
    """The parts of a model or of a pipeline."""
    match type(message).DESCRIPTOR.name:
        case "Model":
            kind = kind_of(message)
            return [] if kind is None else [getattr(message, kind)]
        case "PipelineSpecial":
            return [message.pipeline]
        case "Pipeline":
            return list(message.models)
        case "Program":
            return list(message.functions.values())
        case "Function":
            return list(message.block_specializations.values())
    return []


def _networks_in(message: Message) -> list[Message]:
    """The networks within layers, and the blocks within operations."""
    match type(message).DESCRIPTOR.name:
        case "Network":
            held = [getattr(layer, kind) for layer in message.layers if (kind := layer.WhichOneof("layer"))]
            branches = [p for p in held if type(p).DESCRIPTOR.name in ("Branch", "Loop")]
            return [value for p in branches for field, value in p.ListFields() if field.message_type is not None]
        case "Block":
            return [block for operation in message.operations for block in operation.blocks]
    return []
