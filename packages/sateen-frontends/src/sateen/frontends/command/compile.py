"""`sateen compile`: a model in, an artifact out."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter

import click
import llvmlite.binding as llvm

from sateen.frontends.command.arguments import MODEL, NEW_FILE, json_option
from sateen.frontends.command.artifacts import compile_model
from sateen.frontends.command.compilation import Compilation, compilation_options
from sateen.frontends.command.files import is_artifact, keep_sources, writing
from sateen.frontends.command.memory_limits import (
    MemoryLimits,
    flash_text,
    is_without_system,
    memory_options,
    memory_text,
)
from sateen.frontends.command.output import say, show_json
from sateen.frontends.command.parameter_growth import ParameterGrowth
from sateen.frontends.command.reading import sources_of
from sateen.runtime import CodeForm, Target
from sateen.runtime.display import size

MOST_FEATURES = 3
"""The most features of a processor that are named without being asked for."""


@click.command("compile", short_help="A model in, an artifact out.")
@click.argument("model", type=MODEL)
@click.option("-o", "--output", required=True, type=NEW_FILE, metavar="OUT.sateen")
@click.option("--timed", is_flag=True, help="Make it tell the time of each step, for `sateen profile OUT.sateen`.")
@click.option("--verbose", is_flag=True, help="Name all features of the processor that the code may use.")
@memory_options
@compilation_options
@json_option
def compile_(
    model: Path,
    output: Path,
    timed: bool,
    verbose: bool,
    limits: MemoryLimits,
    compilation: Compilation,
    as_json: bool,
) -> None:
    """Compile MODEL into the artifact OUT.sateen, which `sateen run` and sateen-runtime run."""
    keep_sources("-o", [output], sources_of(model, compilation, beside=not is_artifact(output)))
    start = perf_counter()
    growth = ParameterGrowth()
    artifact = compile_model(model, compilation, timed=timed, observer=growth)
    limits.check(artifact)
    with writing(output):
        artifact.save(output)
    seconds = perf_counter() - start
    if as_json:
        show_json(
            {
                "output": str(output),
                "bytes": output.stat().st_size,
                "library_bytes": len(artifact.code),
                "parameter_bytes": len(artifact.parameters),
                "packed_bytes": artifact.packed_bytes,
                "parameter_growth_bytes": growth.bytes,
                "workspace_bytes": artifact.workspace_bytes,
                "target": artifact.target,
                "seconds": round(seconds, 3),
                **({"footprint": asdict(artifact.footprint)} if artifact.form is CodeForm.ARCHIVE else {}),
            }
        )
        return
    workspace = int(artifact.signature.parameters[-1].shape[0])
    say(
        f"{output}: {size(output.stat().st_size)} (code {size(len(artifact.code))}, parameters "
        f"{artifact.parameter_text}), workspace {size(workspace)}, in {seconds:.2f} s"
    )
    if artifact.packing is None:
        growth.tell()
    if artifact.form is CodeForm.ARCHIVE and (is_without_system(artifact.target) or limits.is_given):
        footprint = artifact.footprint
        say(f"flash {footprint.flash} bytes: {flash_text(footprint)}")
        say(f"memory {footprint.memory} bytes: {memory_text(footprint)}")
    target = Target.parse(artifact.target)
    named = f"this machine ({llvm.get_host_cpu_name()}): " if compilation.target == "llvm" else ""
    say(f"for {named}{target if verbose else _shortened(target)}")


def _shortened(target: Target) -> str:
    """The text of a target, with the number of its features where they are many."""
    count = len(target.features)
    return str(target) if count <= MOST_FEATURES else f"{replace(target, features=())} and {count} more features"
