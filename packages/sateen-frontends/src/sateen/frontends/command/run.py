"""`sateen run`: a network on arrays, pictures or random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from time import perf_counter

import click
import numpy as np

from sateen.frontends.command.arguments import (
    FILE,
    MODEL,
    NEW_FILE,
    Count,
    OneOf,
    by_name,
    json_option,
    named_file,
    numbers,
    threads_option,
)
from sateen.frontends.command.arrays import (
    elements_of,
    is_array_file,
    random_inputs,
    read_array,
    require_type,
    split_key,
    write_arrays,
)
from sateen.frontends.command.artifacts import load_model, load_model_there
from sateen.frontends.command.compilation import Compilation, compilation_options
from sateen.frontends.command.devices import DevicePlace, device_of, device_options, opened
from sateen.frontends.command.files import keep_sources, writing
from sateen.frontends.command.labels import Ranked, are_labels, largest, predicted, read_labels, require_labels
from sateen.frontends.command.output import finite, say, show_json, show_table
from sateen.frontends.command.pictures import Recipe, read_picture
from sateen.frontends.command.reading import sources_of
from sateen.graph_ir.ir import Array, Graph
from sateen.runtime import ArgumentError, Model, Parameter, SessionModel
from sateen.runtime.display import did_you_mean
from sateen.runtime.files import replacing

MOST_NAMED = 8
"""The most predicted labels to show."""


@click.command(short_help="A network on arrays, pictures or random numbers.")
@click.argument("model", type=MODEL, metavar="OUT.sateen|MODEL")
@click.option(
    "--input",
    "given",
    multiple=True,
    type=named_file,
    metavar="[NAME=]FILE",
    help="An input: FILE.npy, FILE.npz:KEY or a picture. NAME may be left out where there is one input.",
)
@click.option("--random", "seed", type=Count(min=0), metavar="SEED", help="Random numbers for other inputs.")
@click.option("--bgr", is_flag=True, help="Pictures: blue comes first.")
@click.option("--mean", type=numbers, metavar="N[,N,N]", default="0", help="Pictures: subtracted from pixels.")
@click.option(
    "--std", type=numbers, metavar="N[,N,N]", default="1", help="Pictures: what pixels are divided by after that."
)
@click.option(
    "--range",
    "brightest",
    type=OneOf(["1", "255"]),
    help="Pictures: pixels are 0 to this, 255 if not given; mean and std are in the same range.",
)
@click.option(
    "--crop",
    type=Count(min=1),
    metavar="N",
    help="Pictures: resize the shorter side to N and take the centre, rather than stretch.",
)
@click.option("--output", type=NEW_FILE, metavar="OUT.npz", help="Keep the outputs.")
@threads_option
@click.option("--top", type=Count(min=1), metavar="K", help="Show the K largest elements of the first output.")
@click.option("--labels", type=FILE, metavar="FILE", help="A label a line for --top, which is 5 if not given.")
@device_options
@compilation_options
@json_option
def run(
    model: Path,
    given: Sequence[tuple[str, str]],
    seed: int | None,
    bgr: bool,
    mean: tuple[float, ...],
    std: tuple[float, ...],
    brightest: str | None,
    crop: int | None,
    output: Path | None,
    threads: int,
    top: int | None,
    labels: Path | None,
    device: DevicePlace | None,
    compilation: Compilation,
    as_json: bool,
) -> None:
    """Run a network once. A MODEL is compiled first, in memory, for the processor of the device."""
    recipe = Recipe(bgr, mean, std, None if brightest is None else int(brightest), crop)
    if output is not None:
        read = [split_key(text)[0] for _, text in given] + ([] if labels is None else [labels])
        keep_sources("--output", [output], chain(read, sources_of(model, compilation)))
    _require_picture(recipe, given)
    names = None if labels is None else read_labels(labels)

    def checked(graph: Graph) -> Graph:
        """The graph, whose labels are known to fit before it is compiled."""
        if names is not None:
            require_labels(names, graph.outputs[0].type.shape)
        return graph

    with ExitStack() as stack:
        loaded: Model | SessionModel
        if device is None:
            loaded = load_model(model, compilation, threads, change=checked)
        else:
            session = stack.enter_context(opened(device))
            loaded = load_model_there(model, compilation, threads, session, checked, device=device_of(device))
        if names is not None:
            require_labels(names, loaded.outputs[0].shape)
        inputs = _inputs(loaded.inputs, given, seed, recipe)
        start = perf_counter()
        outputs = loaded.run(inputs).numpy()
        seconds = perf_counter() - start
    if output is not None:
        with writing(output), replacing(output) as file:
            write_arrays(file, outputs)
    ranked: list[Ranked] = []
    named = predicted(outputs, loaded.artifact.labels)
    if top is not None or labels is not None:
        first, names = _scores(outputs, loaded.artifact.labels, names)
        ranked = largest(first, top or 5, names)
    if as_json:
        show_json(
            {"seconds": seconds, "outputs": _summary(outputs), "labels": named, "top": [asdict(r) for r in ranked]}
        )
    elif ranked:
        has_axes = sum(extent > 1 for extent in first.shape) > 1
        show_table(
            ("value", "index", "label"),
            [(f"{r.value:.6g}", str(r.position if has_axes else r.index), r.label) for r in ranked],
            right=("value", "index"),
        )
    else:
        rows = [[str(cell) for cell in row.values()] for row in _summary(outputs)]
        show_table(("output", "type", "shape", "minimum", "mean", "maximum", "not finite"), rows)
        for name, found in named.items():
            more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
            say(f"{name}: {', '.join(found[:MOST_NAMED])}{more}")


def _scores(
    outputs: Mapping[str, Array], labels: Mapping[str, Sequence[str]], names: list[str] | None
) -> tuple[Array, list[str] | None]:
    """The first output, with names from a file; without any, the first one whose elements the network names."""
    labelled = next((name for name in outputs if name in labels and not are_labels(outputs[name])), None)
    if names is not None or labelled is None:
        return next(iter(outputs.values())), names
    own = list(labels[labelled])
    return outputs[labelled], own * (outputs[labelled].size // max(len(own), 1))


def _require_picture(recipe: Recipe, given: Sequence[tuple[str, str]]) -> None:
    """Raises UsageError for options of pictures if every input is an array or random."""
    if recipe.options and all(is_array_file(split_key(text)[0]) for _, text in given):
        options = " and ".join(recipe.options)
        raise click.UsageError(
            f"{options}: expected an input that is a picture, found none; arrays and random ones are taken as they are"
        )


def _inputs(
    parameters: Sequence[Parameter], given: Sequence[tuple[str, str]], seed: int | None, recipe: Recipe
) -> dict[str, Array]:
    """Each input from its file, otherwise random. Raises ArgumentError if one has neither."""
    known = {p.name: p for p in parameters}
    inputs = {} if seed is None else random_inputs(parameters, seed)
    for name, text in by_name("--input", given).items():
        if not name and len(known) != 1:
            raise ArgumentError(f"--input {text}: expected NAME=FILE, since there are inputs {_names(parameters)}")
        p = known.get(name or next(iter(known)))
        if p is None:
            raise ArgumentError(f"--input {name}: expected one of {_names(parameters)}{did_you_mean(name, known)}")
        path, _ = split_key(text)
        if is_array_file(path):
            inputs[p.name] = read_array(text, p.name, elements_of(p))
            require_type(f"--input {text}", inputs[p.name], p)
        else:
            inputs[p.name] = read_picture(path, p, recipe)
    for p in parameters:
        if p.name not in inputs:
            raise ArgumentError(f"input {p} is missing; give --input {p.name}=FILE, or --random SEED")
    return inputs


def _names(parameters: Sequence[Parameter]) -> str:
    return ", ".join(map(str, parameters)) or "none"


def _summary(outputs: Mapping[str, Array]) -> list[dict[str, object]]:
    """Type, shape and range of the finite elements of each output."""
    rows: list[dict[str, object]] = []
    for name, array in outputs.items():
        values = array.astype(np.float64)
        rest = values[np.isfinite(values)]
        low, mean, high = (rest.min(), rest.mean(), rest.max()) if rest.size else (np.nan,) * 3
        rows.append(
            {
                "name": name,
                "dtype": str(array.dtype),
                "shape": list(array.shape),
                "minimum": finite(float(f"{low:.6g}")),
                "mean": finite(float(f"{mean:.6g}")),
                "maximum": finite(float(f"{high:.6g}")),
                "not_finite": int(values.size - rest.size),
            }
        )
    return rows
