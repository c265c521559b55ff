"""`sateen verify`: whether the numbers are right, and if not, from which layer on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import click

from sateen.frontends.command.arguments import FILE, MODEL, Count, OneOf, json_option, threads_option
from sateen.frontends.command.arrays import named_inputs, open_arrays, random_inputs, recorded_outputs, with_outliers
from sateen.frontends.command.artifacts import open_artifact
from sateen.frontends.command.comparison import Comparison, Tolerance
from sateen.frontends.command.compilation import Compilation, compilation_options
from sateen.frontends.command.devices import DevicePlace, compiled_for, device_of, device_options, opened
from sateen.frontends.command.files import MODEL_OR_ARTIFACT, is_artifact
from sateen.frontends.command.output import finite, say, show_json, show_table
from sateen.frontends.command.verification import Verification, compare_outputs, run_artifact
from sateen.frontends.judges import DEFINITIONS, NAMES, default_judge
from sateen.graph_ir.ir import Array
from sateen.runtime import ArgumentError, Artifact, Device, Session
from sateen.runtime.display import counted
from sateen.runtime.errors import printable


@click.command(short_help="Are the numbers right, and if not, from which layer on?")
@click.argument("model", type=MODEL, metavar="MODEL|OUT.sateen")
@click.option(
    "--against",
    type=OneOf([*NAMES, "recorded"]),
    show_default="of ONNX, onnxruntime if installed and able, else reference; of other formats, definitions",
    help="The judge: onnxruntime, the evaluator of the onnx package, the definitions of the operators that MODEL "
    "becomes, or arrays out/NAME of --inputs.",
)
@click.option(
    "--inputs", type=FILE, metavar="FILE.npz", help="Inputs: arrays NAME or in/NAME; random ones if not given."
)
@click.option("--layers", is_flag=True, help="Compare every layer, even if all outputs are right.")
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    show_default="1e-4; four units in the last place of float16 and narrower; 2e-2 where operands are bfloat16",
    help="The largest difference that is right.",
)
@click.option(
    "--steps",
    type=Count(min=0),
    default=0,
    show_default=True,
    help="How far integers may be apart; those of a quantised network by 1 where a sum is in the middle of two.",
)
@threads_option
@device_options
@compilation_options
@json_option
def verify(
    model: Path,
    against: str | None,
    inputs: Path | None,
    layers: bool,
    tolerance: float | None,
    steps: int,
    threads: int,
    device: DevicePlace | None,
    compilation: Compilation,
    as_json: bool,
) -> int:
    """Compare what MODEL computes, here or on a device, with a judge.

    A difference is max|y-r| / max|r|, over all and over each row or tile. NaN and infinity must be equal, and
    integers but for --steps. Random inputs are tried again with a token or pixel a thousand times as large. Where a
    float32 output differs by no more than 0.1, float64 decides whether we or the judge is inexact. Where an output
    is wrong, every layer is compared and the first wrong one named; the exit status is 1. OUT.sateen can be
    compared with recorded outputs, without float64, which needs the MODEL.
    """
    found: list[Comparison] = []
    allowed = Tolerance(tolerance, steps)
    judge = _judge_of(model, compilation, against)
    if judge == "recorded" and (inputs is None or layers):
        raise click.UsageError("--against recorded needs --inputs FILE.npz, and has no layers")
    with ExitStack() as stack:
        place = device_of(device)
        session = None if device is None else stack.enter_context(opened(device))
        if session is not None and not is_artifact(model):
            compilation = compiled_for(session, compilation, place)
        if judge == "recorded":
            assert inputs is not None
            outputs = _compare_recorded(model, compilation, inputs, threads, allowed, session, place)
        else:
            artifact = open_artifact(model, compilation)
            allowed = allowed.of(artifact)
            outputs = []
            for kind, given in _inputs_of(artifact, inputs).items():
                verification = Verification(model, compilation, judge, given, threads, allowed, session, place)
                compared = verification.compare_outputs(artifact)
                outputs += [replace(c, inputs=kind) for c in compared]
                if not found and (layers or not _all_right(compared)):
                    found = [replace(c, inputs=kind) for c in verification.compare_layers()]
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


def _judge_of(model: Path, compilation: Compilation, against: str | None) -> str:
    """Who judges a model. Raises UsageError for an artifact, and for a judge that can't run it as the options say."""
    if against == "recorded":
        return against
    if is_artifact(model):
        raise click.UsageError(
            f"{model} is compiled already; give the model that it was compiled from, or outputs to compare with by "
            "--against recorded --inputs FILE.npz"
        )
    judge = against or default_judge(model, MODEL_OR_ARTIFACT)
    if compilation.inputs and judge != DEFINITIONS:
        raise click.UsageError(
            f"{judge} runs a network from its inputs; --from needs --against {DEFINITIONS} or recorded"
        )
    return judge


def _inputs_of(artifact: Artifact, file: Path | None) -> dict[str, dict[str, Array]]:
    """The inputs of the network, by kind: the arrays of a file, or random ones without and with outliers."""
    if file is not None:
        with open_arrays(file) as content:
            return {"given": named_inputs(content, artifact.inputs)}
    drawn = random_inputs(artifact.inputs, 0)
    return {"random": drawn, "outliers": with_outliers(drawn)}


def _compare_recorded(
    model: Path,
    compilation: Compilation,
    file: Path,
    threads: int,
    tolerance: Tolerance,
    session: Session | None,
    device: Device | None,
) -> list[Comparison]:
    artifact = open_artifact(model, compilation)
    tolerance = tolerance.of(artifact)
    with open_arrays(file) as content:
        inputs, recorded = named_inputs(content, artifact.inputs), recorded_outputs(content, artifact.outputs)
        if not recorded:
            expected = ", ".join(f"out/{p.name}" for p in artifact.outputs)
            raise ArgumentError(f"{file}: expected an array {expected}, found {', '.join(content.keys) or 'none'}")
    if is_artifact(model):  # which holds no model for float64 to decide by
        return compare_outputs(str(file), run_artifact(artifact, inputs, threads, session, device), recorded, tolerance)
    verification = Verification(model, compilation, str(file), inputs, threads, tolerance, session, device)
    return verification.compare_outputs(artifact, recorded)


def _all_right(comparisons: Sequence[Comparison]) -> bool:
    return all(c.is_right for c in comparisons)


def _to_json(c: Comparison) -> dict[str, object]:
    told: dict[str, object] = {
        "value": c.value, "layer": c.layer, "inputs": c.inputs, "shape": c.shape, "tolerance": c.tolerance,
        "right": c.is_right, "steps": c.steps, "element": None if c.element is None else finite(c.element),
    }  # fmt: skip
    for name, apart in (("difference", c.difference), ("error", c.error), ("judge_error", c.judge_error)):
        told[name] = None if apart is None else finite(apart.overall)
        told[f"local_{name}"] = None if apart is None else finite(apart.local)
    return told


def _show(judge: str, outputs: Sequence[Comparison], layers: Sequence[Comparison]) -> None:
    if layers:
        _show_table("layer", layers)
        wrong = [c for c in layers if not c.is_right]
        first = f"first wrong layer: {wrong[0].layer}, value {wrong[0].value}" if wrong else "no layer is wrong"
        say(f"{printable(first)}, where the result of each is kept\n")
    _show_table("", outputs)
    verdict = "right" if _all_right(outputs) else "wrong"
    ours = [c.error for c in outputs if c.error is not None]
    theirs = [c.judge_error for c in outputs if c.judge_error is not None]
    if theirs and all(c.is_right or c.judge_error is not None for c in outputs):
        off, judge_off = (max(e.largest for e in errors) for errors in (ours, theirs))
        say(f"{verdict} by float64; sateen is {off:.1e} off, {judge} {judge_off:.1e}")
    else:
        say(f"{verdict} against {judge}")


def _verdict(c: Comparison) -> str:
    if not c.is_right:
        return "wrong"
    if c.error is None:
        return ""
    return "right by float64" if c.error.largest <= c.tolerance else "as near to float64 as the judge"


def _show_table(layer: str, comparisons: Sequence[Comparison]) -> None:
    figures = ["difference", "local", *(["of terms"] if layer else []), "tolerance"]
    rows = [
        (
            c.value,
            c.inputs,
            "x".join(map(str, c.shape)),
            f"{c.difference.overall:.1e}" if c.steps is None else counted(c.steps, "step"),
            f"{c.difference.local:.1e}" if c.steps is None else "",
            *([("" if c.element is None else f"{c.element:.1e}")] if layer else []),
            f"{c.tolerance:.1e}" if c.steps is None else counted(c.most_steps, "step"),
            _verdict(c),
            c.layer,
        )
        for c in comparisons
    ]
    header = ("value" if layer else "output", "inputs", "shape", *figures, "", layer)
    show_table(header, rows, right=figures)
