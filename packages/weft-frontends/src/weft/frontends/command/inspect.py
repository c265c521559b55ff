"""`weft inspect`: what an artifact holds, or what the compiler makes of a model's graph."""

from __future__ import annotations

import difflib
from collections import Counter
from pathlib import Path

import click

from weft.frontends.command.arguments import FILE, json_option
from weft.frontends.command.compilation import Compilation, check_target, compilation_options, open_artifact, read_graph
from weft.frontends.command.files import is_artifact
from weft.frontends.command.output import show_json, size
from weft.graph_ir.build import bind_parameters, default_pipeline
from weft.graph_ir.graph import Graph
from weft.graph_ir.passes.fuse import fuse
from weft.graph_ir.pipeline import PassRun, run_pipeline
from weft.runtime import Artifact, Target


@click.command(short_help="What an artifact holds, or a model becomes.")
@click.argument("model", type=FILE, metavar="MODEL|OUT.weft")
@click.option("--passes", is_flag=True, help="Show what each pass changes in the graph of a MODEL.")
@compilation_options
@json_option
def inspect(model: Path, passes: bool, compilation: Compilation, as_json: bool) -> None:
    """Show the inputs, outputs, target and sizes of OUT.weft, or the optimised graph of MODEL.

    In the graph each line is a kernel; what was fused into one is indented below it.
    """
    if is_artifact(model):
        if passes:
            raise click.UsageError(f"--passes is for models; {model} is compiled already")
        artifact = open_artifact(model, compilation)
        if as_json:
            show_json(_artifact_summary(artifact))
        else:
            _show_artifact(model, artifact)
        return
    check_target(compilation)
    graph, parameters = read_graph(model, compilation)
    graph = bind_parameters(graph, parameters)
    runs: list[PassRun] = []
    pipeline = (*default_pipeline(Target.of(compilation.target)), fuse)
    optimised = run_pipeline(graph, pipeline, runs.append)
    if as_json:
        show_json(_graph_summary(optimised, runs))
    elif passes:
        click.echo(str(graph))
        for pass_run in runs:
            click.echo(_change(pass_run))
    else:
        click.echo(str(optimised))


def _show_artifact(path: Path, artifact: Artifact) -> None:
    lines = [
        f"{path}: {size(path.stat().st_size)}, made by {artifact.producer}",
        f"  target      {artifact.target}",
        f"  runs here   {_runs_here(artifact)}",
        *(f"  input       {p}" for p in artifact.inputs),
        *(f"  output      {p.name}: {p.dtype}[{', '.join(map(str, p.shape))}]" for p in artifact.outputs),
        f"  library     {size(len(artifact.library))}",
        f"  parameters  {size(len(artifact.parameters))}",
        f"  workspace   {size(artifact.workspace_bytes)}",
        *(f"  option      {name} = {value}" for name, value in artifact.options.items()),
        *(f"  alias       {output} may reuse the memory of {name}" for output, name in artifact.aliases.items()),
    ]
    click.echo("\n".join(lines))


def _runs_here(artifact: Artifact) -> str:
    missing = Target.host().missing_features(Target.parse(artifact.target))
    return f"no, it needs {', '.join(missing)}" if missing else "yes"


def _artifact_summary(artifact: Artifact) -> dict[str, object]:
    return {
        "producer": artifact.producer,
        "target": artifact.target,
        "runs_here": _runs_here(artifact) == "yes",
        "inputs": [p.to_json() for p in artifact.inputs],
        "outputs": [p.to_json() for p in artifact.outputs],
        "library_bytes": len(artifact.library),
        "parameter_bytes": len(artifact.parameters),
        "workspace_bytes": artifact.workspace_bytes,
        "options": dict(artifact.options),
        "aliases": dict(artifact.aliases),
    }


def _graph_summary(graph: Graph, runs: list[PassRun]) -> dict[str, object]:
    return {
        "name": graph.name,
        "inputs": {v.name: str(v.type) for v in graph.inputs},
        "outputs": {v.name: str(v.type) for v in graph.outputs},
        "kernels": len(graph.nodes),
        "parameter_bytes": sum(v.type.bytes for v in graph.parameters),
        "imported_operators": dict(Counter(n.op.op_name() for n in runs[0].before.nodes)),
        "passes": [
            {"name": r.name, "nodes": len(r.after.nodes), "changed": r.after is not r.before, "seconds": r.seconds}
            for r in runs
        ],
        "graph": str(graph),
    }


def _change(run: PassRun) -> str:
    """A heading, and the lines that the pass took and gave, with three around each for the place."""
    heading = f"{run.name} ({run.seconds * 1e3:.1f} ms)"
    if run.after is run.before:
        return f"{heading}: no change"
    before, after = str(run.before).splitlines(), str(run.after).splitlines()
    lines = list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]
    return "\n".join([f"{heading}: {len(run.before.nodes)} nodes to {len(run.after.nodes)}", *lines])
