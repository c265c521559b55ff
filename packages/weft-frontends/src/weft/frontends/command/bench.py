"""`weft bench`: how fast a network runs, beside others, in turns within one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from weft.frontends.command import peers
from weft.frontends.command.arguments import FILE, json_option
from weft.frontends.command.arrays import random_inputs
from weft.frontends.command.comparison import TOLERANCE, difference
from weft.frontends.command.compilation import (
    Compilation,
    compilation_options,
    constants_of,
    load_model,
    read_graph,
    require_model,
)
from weft.frontends.command.files import is_artifact
from weft.frontends.command.output import show_json, show_table
from weft.frontends.command.progress import step
from weft.graph_ir.graph import Array
from weft.runtime import TimeResult, time_evaluator
from weft.tensor_ir import PeakMeter

SHORTEST_SAMPLE = 0.01
"""Seconds; calls that are shorter are repeated within a sample."""


@dataclass(frozen=True, slots=True)
class Contender:
    """Who runs the network, and how far its outputs are from ours."""

    name: str
    run: Callable[[], object]
    difference: float


@click.command(short_help="How fast a network runs, beside others.")
@click.argument("model", type=FILE, metavar="MODEL|OUT.weft")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Most threads to use.")
@click.option("--against", multiple=True, type=click.Choice(["onnxruntime"]), help="Who else runs the MODEL.")
@click.option("--samples", type=click.IntRange(min=1), default=20, show_default=True, help="Measurements of each.")
@compilation_options
@json_option
def bench(
    model: Path, threads: int, against: tuple[str, ...], samples: int, compilation: Compilation, as_json: bool
) -> None:
    """Measure a network on random inputs: the median of samples taken in turns, and how far half of them spread.

    GFLOP/s count what convolutions, matrix products and recurrent layers of a MODEL take by definition. The peak is
    that of float32 multiply-adds in registers, measured on one core in the same turns, times the threads.
    """
    if against:
        require_model(model)
    loaded = load_model(model, compilation, threads)
    inputs = random_inputs(loaded.inputs, 0)
    ours = {name: a.numpy() for name, a in loaded.run(inputs).items()}
    out = loaded.run(inputs)
    contenders = [Contender("weft", lambda: loaded.run(inputs, out=out), 0.0)]
    fed = {**inputs, **constants_of(model, compilation)} if against else {}
    if "onnxruntime" in against:
        contenders.append(_peer("onnxruntime", peers.onnxruntime(model, threads), fed, ours))
    with step(f"measuring {model.name}"):
        times, peak = _measure(contenders, samples)
    peak *= threads
    count = 0 if is_artifact(model) else read_graph(model, compilation)[0].operations()
    if as_json:
        show_json(
            {
                "model": str(model),
                "threads": threads,
                "gflop": count / 1e9,
                "peak_gflops": peak,
                "results": [_to_json(c, t, count) for c, t in zip(contenders, times, strict=True)],
            }
        )
        return
    work = f"{count / 1e9:.3g} GFLOP, " if count else ""
    click.echo(f"{model.name}: {work}{threads} thread{'s' * (threads > 1)}, peak {peak:.0f} GFLOP/s")
    show_table(
        ("", "median ms", "spread", "GFLOP/s", "of peak", "difference"),
        [_row(c, t, count, peak) for c, t in zip(contenders, times, strict=True)],
        right=("median ms", "spread", "GFLOP/s", "of peak", "difference"),
    )


def _peer(name: str, run: peers.Run, inputs: Mapping[str, Array], ours: Mapping[str, Array]) -> Contender:
    theirs = run(inputs)
    return Contender(name, lambda: run(inputs), max(difference(ours[key], theirs[key]) for key in ours))


def _measure(contenders: list[Contender], samples: int) -> tuple[list[TimeResult], float]:
    """The times of each contender, and the median peak of one core in GFLOP/s."""
    meter = PeakMeter()
    numbers = [time_evaluator(c.run, repeat=1, min_seconds=SHORTEST_SAMPLE).number for c in contenders]
    rounds: list[list[float]] = [[] for _ in contenders]
    peaks = []
    for _ in range(samples):
        peaks.append(meter.sample())
        for c, number, samples_of in zip(contenders, numbers, rounds, strict=True):
            samples_of.extend(time_evaluator(c.run, number=number, repeat=1).samples)
    times = [TimeResult(tuple(seconds), number) for seconds, number in zip(rounds, numbers, strict=True)]
    return times, sorted(peaks)[len(peaks) // 2]


def _row(c: Contender, time: TimeResult, count: int, peak: float) -> tuple[str, ...]:
    rate = count / time.median / 1e9
    speed = (f"{rate:.1f}", f"{rate / peak:.1%}") if count else ("", "")
    apart = "" if c.name == "weft" else f"{c.difference:.1e}"
    return c.name, f"{time.median * 1e3:.3f}", f"{time.spread:.1%}", *speed, apart


def _to_json(c: Contender, time: TimeResult, count: int) -> dict[str, object]:
    return {
        "name": c.name,
        "median_seconds": time.median,
        "spread": time.spread,
        "samples": list(time.samples),
        "gflops": count / time.median / 1e9,
        "right": c.difference <= TOLERANCE,
    }
