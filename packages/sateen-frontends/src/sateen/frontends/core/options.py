"""The options that every way to read a model takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

from sateen.frontends.core.inputs import Bindings
from sateen.frontends.core.reader import LoadedModel, Reader
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import LIMITS, Given, Source, read_source
from sateen.graph_ir.ir import Array, Graph, OpSet
from sateen.graph_ir.ops import OPS
from sateen.runtime.errors import FrontendError


class ReadOptions(TypedDict, total=False):
    """How to read a model; each may be left out.

    `shapes` gives inputs their shapes, `dims` gives dimensions that the model names their extents, `constants` makes
    inputs constant, by an array or, for a scalar, a number; dimensions that stay unknown are Symbols. `inputs` and
    `outputs` name values within the model at which the network begins and ends. `operators` may have the user's
    own and those of other packages, for layers that are not ours; a layer's type tells the name of its operator.
    """

    shapes: Mapping[str, Sequence[int]]
    dims: Mapping[str, int]
    constants: Mapping[str, Array | float]
    inputs: Sequence[str]
    outputs: Sequence[str]
    operators: OpSet


def network_of(model: LoadedModel, options: ReadOptions) -> tuple[Graph, dict[str, Array]]:
    """The graph of a model and the data of its parameters by name. Raises FrontendError if it has gaps."""
    graph, report = model.read(*_settings(options))
    if graph is None:
        raise FrontendError(str(report))
    return graph, {value.name: data for value, data in graph.parameters.items()}


def report_of(model: LoadedModel, options: ReadOptions) -> Report:
    """The gaps of a model. Raises FrontendError if it is malformed."""
    return model.read(*_settings(options))[1]


def _settings(options: ReadOptions) -> tuple[Bindings, OpSet]:
    """Raises TypeError for an option that does not exist, and for a name in place of names."""
    if unknown := sorted(options.keys() - ReadOptions.__annotations__.keys()):
        known = ", ".join(ReadOptions.__annotations__)
        raise TypeError(f"expected options {known}, found {', '.join(unknown)}")
    for name in ("inputs", "outputs"):
        if isinstance(options.get(name), str):
            raise TypeError(f"expected a sequence of names as {name}, found the text {options[name]!r}")
    given = {name: value for name, value in options.items() if name != "operators"}
    return Bindings(**given), options.get("operators", OPS)  # type: ignore[arg-type]  # the others are Bindings' fields


def with_weights(source: Source, given: Given | None, reader: Reader) -> Source:
    """The source with its second file. Raises FrontendError for a format of one file."""
    if given is None:
        return source
    weights = read_source(given, LIMITS, reader.weights or "no second file")
    if not reader.weights:
        raise FrontendError(f"{source.place}: {reader.described} is one file, found a second one: {weights.place}")
    return replace(source, weights=weights)


def read_as(
    reader: Reader, given: Given, weights: Given | None = None, **options: Unpack[ReadOptions]
) -> tuple[Graph, dict[str, Array]]:
    """Read a model of one format. Raises FrontendError if it is of another, malformed, or can't be compiled."""
    source = read_source(given, LIMITS, reader.described)
    if not reader.recognises(source):
        found = source.format or "data of another kind"
        raise FrontendError(f"{source.place}: expected {reader.described}, found {found}")
    return network_of(reader.opened(with_weights(source, weights, reader), LIMITS), options)
