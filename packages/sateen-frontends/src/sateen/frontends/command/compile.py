"""`sateen compile`: a model in, an artifact out."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import click

from sateen.frontends.command.arguments import FILE, NEW_FILE, json_option
from sateen.frontends.command.compilation import Compilation, compilation_options, compile_model
from sateen.frontends.command.files import writing
from sateen.frontends.command.output import show_json, size


@click.command("compile", short_help="A model in, an artifact out.")
@click.argument("model", type=FILE)
@click.option("-o", "--output", required=True, type=NEW_FILE, metavar="OUT.sateen")
@click.option("--timed", is_flag=True, help="Make it tell the time of each step, for `sateen profile OUT.sateen`.")
@compilation_options
@json_option
def compile_(model: Path, output: Path, timed: bool, compilation: Compilation, as_json: bool) -> None:
    """Compile MODEL into the artifact OUT.sateen, which `sateen run` and sateen-runtime run."""
    _check_output(output, model)
    start = perf_counter()
    artifact = compile_model(model, compilation, timed=timed)
    with writing(output):
        artifact.save(output)
    seconds = perf_counter() - start
    if as_json:
        show_json(
            {
                "output": str(output),
                "bytes": output.stat().st_size,
                "library_bytes": len(artifact.library),
                "parameter_bytes": len(artifact.parameters),
                "workspace_bytes": artifact.workspace_bytes,
                "target": artifact.target,
                "seconds": round(seconds, 3),
            }
        )
        return
    click.echo(
        f"{output}: {size(output.stat().st_size)} (code {size(len(artifact.library))}, parameters "
        f"{size(len(artifact.parameters))}), workspace {size(artifact.workspace_bytes)}, in {seconds:.2f} s"
    )
    click.echo(f"for {artifact.target}")


def _check_output(output: Path, model: Path) -> None:
    """Raises BadParameter where the artifact, which replaces what is there, would replace what is no artifact."""
    if output.is_symlink() or (output.exists() and not output.is_file()):
        found = "a symbolic link" if output.is_symlink() else "no regular file"
        raise click.BadParameter(f"expected a new or a regular file, found {output}, {found}", param_hint="-o")
    if output.exists() and output.samefile(model):
        raise click.BadParameter(f"expected another file than the model, found {output}", param_hint="-o")
