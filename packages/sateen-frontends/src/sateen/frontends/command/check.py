"""`sateen check`: every operator of a model that can't be compiled, all at once."""

from __future__ import annotations

from pathlib import Path

import click

from sateen.frontends.command.arguments import FILE, json_option
from sateen.frontends.command.compilation import (
    Compilation,
    advice_on_dimensions,
    compilation_options,
    constants_of,
    input_types_of,
    require_model,
)
from sateen.frontends.command.output import show_json
from sateen.frontends.command.progress import step
from sateen.frontends.onnx import check_onnx
from sateen.graph_ir.installed import installed_operators


@click.command(short_help="Every operator of a model that can't be compiled.")
@click.argument("model", type=FILE)
@compilation_options
@json_option
def check(model: Path, compilation: Compilation, as_json: bool) -> int:
    """Tell every operator of MODEL that can't be compiled: node, opset, types, why, and what would help."""
    require_model(model)
    with step(f"checking {model.name}"):
        constants = constants_of(model, compilation)
        report = check_onnx(
            model,
            shapes=compilation.shapes,
            dims=compilation.dims,
            constants=constants,
            operators=installed_operators(),
        )
        advice = advice_on_dimensions(model, input_types_of(model, compilation))
    if as_json:
        show_json({**report.to_json(), "advice": advice, "supported": report.is_supported and not advice})
    else:
        if advice:
            click.echo(advice)
            click.echo("with these dimensions open:")
        click.echo(str(report))
    return 0 if report.is_supported and not advice else 1
