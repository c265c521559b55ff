"""`sateen profile`: how long each step of a network takes, and how near it comes to the machine's limits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click

from sateen.frontends.command.arguments import MODEL, MOST_THREADS, json_option
from sateen.frontends.command.arrays import random_inputs
from sateen.frontends.command.artifacts import load_model_there
from sateen.frontends.command.compilation import Compilation, compilation_options
from sateen.frontends.command.devices import DevicePlace, device_of, device_options, opened
from sateen.frontends.command.limits import Occupancy, meter_of, occupancy_of
from sateen.frontends.command.output import decimal, say, show_json, show_table
from sateen.frontends.command.progress import step
from sateen.graph_ir.compile import DeviceMeter
from sateen.runtime import Step, TimeResult
from sateen.runtime.display import counted


@dataclass(frozen=True, slots=True)
class TimedStep:
    """A step, its time, its share of the total time, and on a device how its launches fill it."""

    position: int
    step: Step
    time: TimeResult
    share: float
    occupancy: Occupancy | None

    @property
    def gflops(self) -> float | None:
        """10⁹ operations per second by its definition; None if memory limits it."""
        return self.step.operations / self.time.median / 1e9 if self.step.operations and self.time.median else None

    @property
    def gigabytes(self) -> float | None:
        """10⁹ bytes of inputs and outputs per second."""
        return self.step.bytes / self.time.median / 1e9 if self.time.median else None


@click.command(short_help="How long each step of a network takes.")
@click.argument("model", type=MODEL, metavar="MODEL|OUT.sateen")
@click.option(
    "--threads", type=click.IntRange(1, MOST_THREADS), default=1, show_default=True, help="Most threads to use."
)
@click.option("--samples", type=click.IntRange(min=1), default=20, show_default=True, help="Least runs to measure.")
@click.option(
    "--order",
    type=click.Choice(["time", "network"]),
    default="time",
    show_default=True,
    help="Longest step first, or as the network runs them.",
)
@device_options
@compilation_options
@json_option
def profile(
    model: Path,
    threads: int,
    samples: int,
    order: str,
    device: DevicePlace | None,
    compilation: Compilation,
    as_json: bool,
) -> None:
    """Measure every step of a network, a kernel that computes one or more nodes of the model, on random inputs, here or
    on a device.

    OUT.sateen must be compiled with --timed, unless it is for a GPU, whose own clock is read. GFLOP/s count what a step
    takes by definition, so that Winograd's and Strassen's may pass the peak, as may convolutions that skip padding,
    which counts; GB/s count inputs and outputs once each, for steps that memory limits. The limits are measured in
    the same run, by multiply-adds in registers and, on a GPU, by copies. Occupancy is the part of the threads that the
    GPU holds at once.
    """
    with opened(device) as session:
        loaded = load_model_there(model, compilation, threads, session, device=device_of(device), timed=True)
        with step(f"measuring {model.name}"):
            times = loaded.time_steps(random_inputs(loaded.inputs, 0), samples)
            artifact = loaded.artifact
            meter, cores = meter_of(artifact, session, threads, device_of(device))
            peak = median(meter.sample() for _ in range(samples)) * cores
            bandwidth: float | None = None
            if isinstance(meter, DeviceMeter):
                bandwidth = median(meter.bandwidth() for _ in range(samples))
    total = sum(t.median for t in times)
    steps = [
        TimedStep(i, s, t, t.median / total if total else 0.0, occupancy_of(artifact, i))
        for i, (s, t) in enumerate(zip(artifact.steps, times, strict=True))
    ]
    if order == "time":
        steps.sort(key=lambda s: -s.time.median)
    if as_json:
        show_json(
            {
                "model": str(model),
                "threads": threads,
                "seconds": total,
                "peak_gflops": peak,
                "peak_gigabytes_per_second": bandwidth,
                "steps": [_to_json(s) for s in steps],
            }
        )
        return
    place = counted(threads, "thread") if bandwidth is None else f"target {artifact.target}"
    limits = f"peak {peak:.0f} GFLOP/s" + ("" if bandwidth is None else f", {bandwidth:.0f} GB/s")
    say(f"{model.name}: {len(steps)} steps in {decimal(total * 1e3, 3)} ms, {place}, {limits}")
    filled = () if bandwidth is None else ("threads", "occupancy")
    rates = ("us", "share", "GFLOP/s", "GB/s", "of peak", *filled)
    show_table(
        ("step", *rates, "kernel", "result", "nodes"),
        [_row(s, peak, bandwidth) for s in steps],
        right=("step", *rates),
    )


def _row(s: TimedStep, peak: float, bandwidth: float | None) -> tuple[str, ...]:
    flops, bytes_ = s.gflops, s.gigabytes if s.gflops is None else None
    if bandwidth is not None and s.occupancy is None:
        of_peak = ""  # the limits are those of the device
    elif flops is not None:
        of_peak = f"{flops / peak:.0%}"
    else:
        of_peak = f"{bytes_ / bandwidth:.0%}" if bytes_ is not None and bandwidth else ""
    filled: tuple[str, ...] = ()
    if bandwidth is not None:
        filled = ("", "") if s.occupancy is None else (str(s.occupancy.threads), f"{s.occupancy.share:.0%}")
    return (
        str(s.position),
        decimal(s.time.median * 1e6, 1),
        f"{s.share:.1%}",
        "" if flops is None else f"{flops:.1f}",
        "" if bytes_ is None else f"{bytes_:.1f}",
        of_peak,
        *filled,
        s.step.kernel,
        ", ".join(s.step.outputs),
        str(s.step),
    )


def _to_json(s: TimedStep) -> dict[str, object]:
    return {
        "position": s.position,
        **s.step.to_json(),
        "median_seconds": s.time.median,
        "spread": s.time.spread,
        "share": s.share,
        "gflops": s.gflops,
        "gigabytes_per_second": s.gigabytes,
        **({} if s.occupancy is None else {"threads": s.occupancy.threads, "occupancy": s.occupancy.share}),
    }
