"""`weft verify`: are the numbers right, and if not, from which layer on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import onnx

from weft import runtime
from weft.frontends.command import peers
from weft.frontends.command.arguments import FILE, json_option, threads_option
from weft.frontends.command.arrays import named_inputs, random_inputs, read_arrays
from weft.frontends.command.comparison import TOLERANCE, Comparison, compare
from weft.frontends.command.compilation import (
    Compilation,
    compilation_options,
    compile_model,
    constants_of,
    open_artifact,
    require_model,
)
from weft.frontends.command.output import finite, show_json, show_table
from weft.frontends.command.progress import step
from weft.graph_ir.graph import Array, Graph
from weft.runtime import ArgumentError, Artifact


@click.command(short_help="Are the numbers right, and if not, from which layer on?")
@click.argument("model", type=FILE, metavar="MODEL|OUT.weft")
@click.option(
    "--against",
    type=click.Choice(["onnxruntime", "reference", "recorded"]),
    show_default="onnxruntime if installed, else reference",
    help="The judge: onnxruntime, the evaluator of the onnx package, or arrays out/NAME of --inputs.",
)
@click.option(
    "--inputs", type=FILE, metavar="FILE.npz", help="Inputs: arrays NAME or in/NAME; random ones if not given."
)
@click.option("--layers", is_flag=True, help="Compare every layer, even if all outputs are right.")
@threads_option
@compilation_options
@json_option
def verify(
    model: Path,
    against: str | None,
    inputs: Path | None,
    layers: bool,
    threads: int,
    compilation: Compilation,
    as_json: bool,
) -> int:
    """Compare what MODEL computes here with a judge: max|y-r| / max|r|, at most 1e-4; integers, NaN and infinity equal.

    Where an output is wrong, every layer is compared and the first wrong one named; the exit status is 1.
    OUT.weft can be compared with recorded outputs.
    """
    judge = against or ("onnxruntime" if peers.has_onnxruntime() else "reference")
    if judge == "recorded" and (inputs is None or layers):
        raise click.UsageError("--against recorded needs --inputs FILE.npz, which records outputs, but no --layers")
    if judge != "recorded":
        require_model(model)
    artifact = open_artifact(model, compilation)
    arrays = {} if inputs is None else read_arrays(inputs)
    given = random_inputs(artifact.inputs, 0) if inputs is None else named_inputs(arrays, artifact.inputs, inputs)
    if judge == "recorded":
        outputs = _compare_outputs(judge, _run(artifact, given, threads), peers.recorded(arrays)(given))
        found: list[Comparison] = []
    else:
        fed = {**given, **constants_of(model, compilation)}
        with step(f"running {judge}"):
            expected = _judge(judge, model, ())(fed)
        outputs = _compare_outputs(judge, _run(artifact, given, threads), expected)
        found = _compare_layers(model, compilation, judge, given, fed, threads) if layers or not _all(outputs) else []
    if as_json:
        show_json(
            {
                "against": judge,
                "tolerance": TOLERANCE,
                "right": _all(outputs),
                "outputs": list(map(_to_json, outputs)),
                "layers": list(map(_to_json, found)),
            }
        )
    else:
        _show(judge, outputs, found)
    return 0 if _all(outputs) and _all(found) else 1


def _run(artifact: Artifact, inputs: Mapping[str, Array], threads: int) -> dict[str, Array]:
    return {name: a.numpy() for name, a in runtime.load(artifact, threads=threads).run(inputs).items()}


def _judge(name: str, model: Path, keep: Sequence[str]) -> peers.Run:
    return peers.onnxruntime(model, keep=keep) if name == "onnxruntime" else peers.reference(model, keep)


def _compare_outputs(judge: str, found: Mapping[str, Array], expected: Mapping[str, Any]) -> list[Comparison]:
    """All our outputs. Raises ArgumentError where the judge lacks one."""
    missing = [name for name in found if name not in expected]
    if missing:
        raise ArgumentError(f"{judge}: expected an output {missing[0]!r}, found {', '.join(expected) or 'none'}")
    return compare(found, expected, {})


def _compare_layers(
    model: Path,
    compilation: Compilation,
    judge: str,
    given: Mapping[str, Array],
    fed: Mapping[str, Array],
    threads: int,
) -> list[Comparison]:
    """Every value that both the model and our graph name, in order: the network compiled anew with them as outputs."""
    names = peers.value_names(onnx.load(model, load_external_data=False))
    layers: dict[str, str] = {}

    def keep(graph: Graph) -> Graph:
        inner = [v for node in graph.nodes for v in node.outputs if v.name in set(names)]
        layers.update((v.name, str(node.spans[0])) for node in graph.nodes for v in node.outputs if node.spans)
        return replace(graph, outputs=tuple(dict.fromkeys((*inner, *graph.outputs))))

    artifact = compile_model(model, compilation, change=keep)
    with step(f"running {judge} with all layers"):
        expected = _judge(judge, model, [p.name for p in artifact.outputs])(fed)
    return compare(_run(artifact, given, threads), expected, layers)


def _all(comparisons: Sequence[Comparison]) -> bool:
    return all(c.is_right for c in comparisons)


def _to_json(c: Comparison) -> dict[str, object]:
    return {
        "value": c.value,
        "layer": c.layer,
        "shape": list(c.shape),
        "difference": finite(c.difference),
        "right": c.is_right,
    }


def _show(judge: str, outputs: Sequence[Comparison], layers: Sequence[Comparison]) -> None:
    def rows(comparisons: Sequence[Comparison]) -> list[tuple[str, ...]]:
        return [
            (c.value, "x".join(map(str, c.shape)), f"{c.difference:.2e}", "" if c.is_right else "wrong", c.layer)
            for c in comparisons
        ]

    if layers:
        show_table(("value", "shape", "difference", "", "layer"), rows(layers), right=("difference",))
        first = next((c for c in layers if not c.is_right), None)
        click.echo(
            f"first wrong layer: {first.layer}, value {first.value}"
            if first is not None
            else "no layer is wrong when the result of each is kept"
        )
        click.echo()
    show_table(("output", "shape", "difference", "", ""), rows(outputs), right=("difference",))
    verdict = "right" if _all(outputs) else "wrong"
    click.echo(f"{verdict} against {judge}, tolerance {TOLERANCE:g}")
