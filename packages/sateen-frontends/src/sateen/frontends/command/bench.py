"""`sateen bench`: how fast a network runs, beside others, in turns within one run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import click

from sateen.frontends.command.arguments import FILE, MOST_THREADS, allowed_processors, json_option
from sateen.frontends.command.arrays import random_inputs
from sateen.frontends.command.compilation import (
    Compilation,
    compilation_options,
    constants_of,
    load_model,
    read_graph,
    require_model,
)
from sateen.frontends.command.files import is_artifact
from sateen.frontends.command.output import decimal, finite, show_json, show_table, size
from sateen.frontends.command.peers import PEERS, require, write_for_peers
from sateen.frontends.command.progress import step
from sateen.frontends.command.turns import OURS, Contender, measure_in_turns
from sateen.graph_ir.graph import Array
from sateen.runtime import ArgumentError
from sateen.tensor_ir import PeakMeter


def peer_names(text: str) -> tuple[str, ...]:
    """NAME[,NAME...] of peers."""
    names = tuple(text.split(","))
    for name in names:
        if name not in PEERS:
            raise click.BadParameter(f"expected {', '.join(PEERS)}, found {name!r}")
    return names


@click.command(short_help="How fast a network runs, beside others.")
@click.argument("model", type=FILE, metavar="MODEL|OUT.sateen")
@click.option(
    "--threads", type=click.IntRange(1, MOST_THREADS), default=1, show_default=True, help="Most threads to use."
)
@click.option(
    "--against",
    multiple=True,
    type=peer_names,
    metavar="NAME[,NAME...]",
    help=f"Who else runs the MODEL: {', '.join(PEERS)}.",
)
@click.option("--samples", type=click.IntRange(min=1), default=20, show_default=True, help="Measurements of each.")
@compilation_options
@json_option
def bench(
    model: Path,
    threads: int,
    against: tuple[tuple[str, ...], ...],
    samples: int,
    compilation: Compilation,
    as_json: bool,
) -> None:
    """Measure a network on random inputs: the median of samples taken in turns, and how far half of them spread.

    Each engine has a process of its own, and waits while another runs. GFLOP/s count what convolutions, matrix products
    and recurrent layers of a MODEL take by definition. The peak is that of float32 multiply-adds in registers, measured
    on one core in the same turns, times the threads. Memory is what engine and network add to a process of Python.
    """
    names = list(dict.fromkeys(name for given in against for name in given))
    if names:
        require_model(model)
    for name in names:
        require(name)
    with load_model(model, compilation, threads) as network:
        artifact = network.artifact  # an artifact for another machine is refused by its own name
    inputs = random_inputs(artifact.inputs, 0)
    peaks: list[float] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        compiled, readable = folder / "network.sateen", folder / "network.onnx"
        artifact.save(compiled)
        if names:
            shapes = {given: array.shape for given, array in inputs.items()}
            write_for_peers(model, readable, shapes, constants_of(model, compilation))
        contenders = []
        for name in (OURS, *names):
            with step(f"loading {model.name} in {name}"):
                contender = Contender(name, compiled if name == OURS else readable, threads, inputs)
            contenders.append(stack.enter_context(contender))
        if contenders[0].refusal:
            raise ArgumentError(f"{model.name} does not run here: {contenders[0].refusal}")
        with step(f"measuring {model.name}"):
            meter = PeakMeter()
            measure_in_turns(contenders, samples, lambda: peaks.append(meter.sample()))
    count = 0 if is_artifact(model) else read_graph(model, compilation)[0].operations()
    _show(model, threads, contenders, count, median(peaks) * min(threads, allowed_processors()), as_json)


def _show(model: Path, threads: int, contenders: Sequence[Contender], count: int, peak: float, as_json: bool) -> None:
    expected = contenders[0].outputs
    if as_json:
        show_json(
            {
                "model": str(model),
                "threads": threads,
                "gflop": count / 1e9,
                "peak_gflops": peak,
                "results": [_to_json(c, expected, count) for c in contenders],
            }
        )
        return
    work = f"{count / 1e9:.3g} GFLOP, " if count else ""
    click.echo(f"{model.name}: {work}{threads} thread{'s' * (threads > 1)}, peak {peak:.0f} GFLOP/s")
    columns = ("median ms", "spread", "GFLOP/s", "of peak", "memory", "difference")
    rows = [_row(c, c.difference(expected), count, peak) for c in contenders if not c.refusal]
    show_table(("", *columns), rows, right=columns)
    for c in contenders:
        if c.refusal:
            click.echo(f"{c.name} does not run it: {c.refusal}")
        elif not c.is_right(expected):
            click.echo(f"{c.name} computes something else: the times can't be compared")


def _row(c: Contender, apart: float, count: int, peak: float) -> tuple[str, ...]:
    time = c.time
    rate = count / time.median / 1e9
    speed = (f"{rate:.1f}", f"{rate / peak:.1%}") if count else ("", "")
    memory = size(c.memory_bytes) if c.memory_bytes else ""
    told = "" if c.name == OURS else f"{apart:.1e}"
    return c.name, decimal(time.median * 1e3, 3), f"{time.spread:.1%}", *speed, memory, told


def _to_json(c: Contender, expected: Sequence[Array], count: int) -> dict[str, object]:
    if c.refusal:
        return {"name": c.name, "refusal": c.refusal}
    time = c.time
    return {
        "name": c.name,
        "median_seconds": time.median,
        "spread": time.spread,
        "samples": list(time.samples),
        "gflops": count / time.median / 1e9,
        "memory_bytes": c.memory_bytes,
        "difference": finite(c.difference(expected)),
        "right": c.is_right(expected),
    }
