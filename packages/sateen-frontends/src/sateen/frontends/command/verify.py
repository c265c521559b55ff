"""`sateen verify`: are the numbers right, and if not, from which layer on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from sateen.frontends.command import peers
from sateen.frontends.command.arguments import FILE, json_option, threads_option
from sateen.frontends.command.arrays import named_inputs, random_inputs, read_arrays
from sateen.frontends.command.comparison import Comparison
from sateen.frontends.command.compilation import Compilation, compilation_options, open_artifact, require_model
from sateen.frontends.command.output import finite, show_json, show_table
from sateen.frontends.command.verification import Verification, compare_outputs, run_artifact
from sateen.runtime.errors import printable


@click.command(short_help="Are the numbers right, and if not, from which layer on?")
@click.argument("model", type=FILE, metavar="MODEL|OUT.sateen")
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
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    show_default="1e-4; four units in the last place of float16 and narrower",
    help="The largest difference that is right.",
)
@threads_option
@compilation_options
@json_option
def verify(
    model: Path,
    against: str | None,
    inputs: Path | None,
    layers: bool,
    tolerance: float | None,
    threads: int,
    compilation: Compilation,
    as_json: bool,
) -> int:
    """Compare what MODEL computes here with a judge: max|y-r| / max|r|; integers, NaN and infinity must be equal.

    Where a float32 output differs by no more than 0.1, float64 decides whether we or the judge is inexact.
    Where an output is wrong, every layer is compared and the first wrong one named; the exit status is 1.
    OUT.sateen can be compared with recorded outputs.
    """
    judge = against or ("onnxruntime" if peers.has_onnxruntime() else "reference")
    found: list[Comparison] = []
    if judge == "recorded":
        if inputs is None or layers:
            raise click.UsageError("--against recorded needs --inputs FILE.npz, and has no layers")
        outputs = _compare_recorded(model, compilation, inputs, threads, tolerance)
    else:
        require_model(model)
        artifact = open_artifact(model, compilation)
        given = (
            random_inputs(artifact.inputs, 0)
            if inputs is None
            else named_inputs(read_arrays(inputs), artifact.inputs, inputs)
        )
        verification = Verification(model, compilation, judge, given, threads, tolerance)
        outputs = verification.compare_outputs(artifact)
        if layers or not _all_right(outputs):
            found = verification.compare_layers()
    if as_json:
        show_json(
            {
                "against": judge,
                "right": _all_right(outputs),
                "outputs": list(map(_to_json, outputs)),
                "layers": list(map(_to_json, found)),
            }
        )
    else:
        _show(judge, outputs, found)
    return 0 if _all_right([*outputs, *found]) else 1


def _compare_recorded(
    model: Path, compilation: Compilation, file: Path, threads: int, tolerance: float | None
) -> list[Comparison]:
    artifact = open_artifact(model, compilation)
    arrays = read_arrays(file)
    found = run_artifact(artifact, named_inputs(arrays, artifact.inputs, file), threads)
    recorded = {key.removeprefix("out/"): array for key, array in arrays.items() if key.startswith("out/")}
    return compare_outputs(str(file), found, recorded, tolerance)


def _all_right(comparisons: Sequence[Comparison]) -> bool:
    return all(c.is_right for c in comparisons)


def _to_json(c: Comparison) -> dict[str, object]:
    apart = {name: finite(d) for name, d in asdict(c).items() if isinstance(d, float)}
    return {**asdict(c), **apart, "right": c.is_right}


def _show(judge: str, outputs: Sequence[Comparison], layers: Sequence[Comparison]) -> None:
    if layers:
        _show_table("layer", layers)
        wrong = [c for c in layers if not c.is_right]
        first = f"first wrong layer: {wrong[0].layer}, value {wrong[0].value}" if wrong else "no layer is wrong"
        click.echo(f"{printable(first)}, where the result of each is kept\n")
    _show_table("", outputs)
    verdict = "right" if _all_right(outputs) else "wrong"
    ours = [c.error for c in outputs if c.error is not None]
    theirs = [c.judge_error for c in outputs if c.judge_error is not None]
    if theirs and all(c.is_right or c.judge_error is not None for c in outputs):
        click.echo(f"{verdict} by float64; sateen is {max(ours):.1e} off, {judge} {max(theirs):.1e}")
    else:
        click.echo(f"{verdict} against {judge}")


def _verdict(c: Comparison) -> str:
    if not c.is_right:
        return "wrong"
    return "" if c.error is None else "right by float64"


def _show_table(layer: str, comparisons: Sequence[Comparison]) -> None:
    rows = [
        (
            c.value,
            "x".join(map(str, c.shape)),
            f"{c.difference:.1e}",
            f"{c.tolerance:.1e}",
            _verdict(c),
            c.layer,
        )
        for c in comparisons
    ]
    header = ("value" if layer else "output", "shape", "difference", "tolerance", "", layer)
    show_table(header, rows, right=("difference", "tolerance"))
