"""`sateen check`: every operator of a model that can't be compiled, all at once."""

from __future__ import annotations

from pathlib import Path

import click

from sateen.frontends.command.arguments import MODEL, json_option
from sateen.frontends.command.artifacts import refusal_of
from sateen.frontends.command.compilation import Compilation, check_target, compilation_options
from sateen.frontends.command.open_model import open_names
from sateen.frontends.command.output import say, show_json
from sateen.frontends.command.progress import step
from sateen.frontends.command.reading import read_model


@click.command(short_help="Every operator of a model that can't be compiled.")
@click.argument("model", type=MODEL)
@compilation_options
@json_option
def check(model: Path, compilation: Compilation, as_json: bool) -> int:
    """Tell every operator of MODEL that can't be compiled: node, opset, types, why, and what would help.

    All of compiling is done but the code of processors: what is said to compile does.
    """
    check_target(compilation)
    with step(f"checking {model.name}"):
        reading = read_model(model, compilation)
        refusal = None if reading.graph is None else refusal_of(reading.graph, compilation)
    refused = "" if refusal is None else refusal.report()
    is_supported = reading.graph is not None and refusal is None
    outputs = {} if reading.open is None else {v.name: str(v.type) for v in reading.open.outputs}
    if as_json:
        told = {"advice": reading.advice, "refused": refused, "supported": is_supported, "outputs": outputs}
        show_json({**reading.report.to_json(), **told})
    elif refused:
        say(f"{reading.report.head}: it can be read, but not compiled\n{refused}")
    elif reading.open is not None:
        lines = [f"  output {name}: {type_}" for name, type_ in outputs.items()]
        head = f"{reading.report.head}: all nodes can be read with {open_names(reading.open)} open"
        say("\n".join([head, *lines, reading.advice]))
    else:
        say(reading.advice or str(reading.report))
    return 0 if is_supported else 1
