"""From a MODEL on the command line to a graph, or to a report of gaps, and the files that are read."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from sateen.frontends.command.bindings import bound_files, constants_of
from sateen.frontends.command.compilation import Compilation
from sateen.frontends.command.dimensions import Sizes, find_sizes, open_dimensions, options_of
from sateen.frontends.command.files import is_artifact, read_model_file
from sateen.frontends.core.inputs import Bindings, input_types
from sateen.frontends.core.reader import LoadedModel
from sateen.frontends.core.report import Report
from sateen.graph_ir.ir import Array, Graph, TensorType
from sateen.graph_ir.ops import installed_operators
from sateen.runtime import FrontendError

MOST_INPUTS = 3
"""The most inputs that a message names."""


def sources_of(path: Path, compilation: Compilation, *, beside: bool = True) -> Iterator[Path]:
    """The files that compiling a model or opening an artifact reads.

    Files beside the model come last, since the model must be read to find them, or not at all.
    """
    yield path
    if compilation.records is not None:
        yield compilation.records
    if compilation.machine is not None:
        yield compilation.machine
    if compilation.weights is not None:
        yield compilation.weights
    yield from bound_files(compilation)
    if beside and not is_artifact(path):
        yield from read_model_file(path, compilation.weights).files_beside()


def require_model(path: Path) -> None:
    """Raises UsageError for an artifact if a verb needs a model."""
    if is_artifact(path):
        raise click.UsageError(f"{path} is compiled already; this needs the model that it was compiled from")


@dataclass(frozen=True, slots=True)
class Reading:
    """A model's graph, None where it has gaps or open dimensions; the report of gaps; and advice on open dimensions.

    With open dimensions the report is for the best sizes that were tried, and `open` is the graph without sizes, None
    if it has gaps that sizes close.
    """

    graph: Graph | None
    report: Report
    advice: str = ""
    open: Graph | None = None


def read_graph(path: Path, compilation: Compilation) -> tuple[Graph, dict[str, Array]]:
    """The graph of a model and the data of its parameters. Raises FrontendError if a dimension is still open."""
    return required_graph(read_model(path, compilation))


def required_graph(reading: Reading) -> tuple[Graph, dict[str, Array]]:
    """The graph that was read and the data of its parameters. Raises FrontendError if a dimension is still open."""
    if reading.advice:
        raise FrontendError(reading.advice)
    if reading.graph is None:
        raise FrontendError(str(reading.report))
    return reading.graph, {value.name: data for value, data in reading.graph.parameters.items()}


def read_model(path: Path, compilation: Compilation) -> Reading:
    """The graph of a model, or a report of gaps. Raises FrontendError if it is malformed."""
    require_model(path)
    constants = constants_of(path, compilation)
    operators = installed_operators()
    model = read_model_file(path, compilation.weights)
    cut = compilation.inputs, compilation.outputs

    def read(dims: Mapping[str, int]) -> tuple[Graph | None, Report]:
        return model.read(Bindings(compilation.shapes, {**compilation.dims, **dims}, constants, *cut), operators)

    graph, report = read({})
    examples: dict[str, tuple[int, ...]] = {}
    if not compilation.is_cut:
        types = input_types_of(model, compilation)
        examples = {given.name: given.example for given in model.declarations() if given.example}
    else:  # the graph knows which inputs are left
        types = {} if graph is None else {v.name: v.type for v in graph.inputs}
    usual = open_dimensions(types, examples, model.ranges())
    if not usual:
        return Reading(graph, report)
    sizes = find_sizes(usual, read)
    return Reading(None, sizes.report, _advice(types, sizes), graph)


def input_types_of(model: LoadedModel, compilation: Compilation) -> dict[str, TensorType]:
    """The types of the inputs that stay inputs, as far as they are known."""
    shapes = {name: shape for name, shape in compilation.shapes.items() if name not in compilation.bindings}
    inputs = [given for given in model.declarations() if given.name not in compilation.bindings]
    return input_types(inputs, shapes, compilation.dims)[0]


def _advice(types: Mapping[str, TensorType], sizes: Sizes) -> str:
    """The command line with sizes for a model's open dimensions; with the report if no sizes work."""
    open_ = [f"{name}: {t}" for name, t in types.items() if not t.is_static]
    more = f" and {len(open_) - MOST_INPUTS} more" if len(open_) > MOST_INPUTS else ""
    words: list[str] = click.get_current_context().obj  # as `main` has got them
    end = words.index("--") if "--" in words else len(words)  # behind it all words are names of files
    bound = "".join(f" --bind {name}=..." for name in _decide(types, sizes.report))
    example = shlex.join([*words[:end], *options_of(types, sizes.dims)]) + bound
    example += f" {shlex.join(words[end:])}" if words[end:] else ""
    advice = f"expected inputs of known dimensions, found {'; '.join(open_[:MOST_INPUTS])}{more}; say what they are"
    if sizes.work:
        return f"{advice}, such as\n  {example}"
    if not sizes.matter:
        return f"{advice}, such as\n  {example}\nwith these, as with all that were tried: {sizes.report}"
    tried = f"none of the {sizes.tried} that were tried works" if sizes.tried > 1 else "the usual ones don't work"
    return f"{advice}, since {tried}; the nearest are\n  {example}\nwith these: {sizes.report}"


def _decide(types: Mapping[str, TensorType], report: Report) -> list[str]:
    """The inputs that gaps ask to bind, since their values decide."""
    return [name for name in types if any(f" --bind {name}=..." in gap.help for gap in report.gaps)]
