"""`sateen profile`: how long each step of a network takes, and how near it comes to the machine's limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click

from sateen.frontends.command.arguments import MODEL, MOST_THREADS, Count, OneOf, json_option
from sateen.frontends.command.arrays import random_inputs
from sateen.frontends.command.artifacts import load_model_there
from sateen.frontends.command.compilation import Compilation, compilation_options
from sateen.frontends.command.devices import DevicePlace, device_of, device_options, opened
from sateen.frontends.command.limits import Occupancy, launches_of, meter_of, occupancy_of, use_of
from sateen.frontends.command.output import decimal, say, show_json, show_table
from sateen.frontends.command.progress import step
from sateen.graph_ir.compile import DeviceMeter
from sateen.runtime import Device, Step, Target, TimeResult
from sateen.runtime.display import counted
from sateen.runtime.launches import NetworkLaunch


@dataclass(frozen=True, slots=True)
class TimedStep:
    """A step, its time, its share of the total time, and on a device how its launches fill it."""

    position: int
    step: Step
    time: TimeResult
    share: float
    occupancy: Occupancy | None
    launches: Sequence[NetworkLaunch]

    @property
    def gflops(self) -> float | None:
        """10⁹ operations per second by its definition; None if memory limits it."""
        return self.step.operations / self.time.median / 1e9 if self.step.operations and self.time.median else None

    @property
    def gigabytes(self) -> float | None:
        """10⁹ bytes of inputs and outputs per second."""
        return self.step.bytes / self.time.median / 1e9 if self.time.median else None

    def of_limits(self, peak: float, bandwidth: float | None) -> float | None:
        """The part of the limit to which it comes nearest: of multiply-adds or, where that is known, of memory.

        None for a step beside a device, whose limits these are.
        """
        if bandwidth is not None and self.occupancy is None:
            return None
        parts = [
            rate / limit
            for rate, limit in ((self.gflops, peak), (self.gigabytes, bandwidth))
            if rate is not None and limit
        ]
        return max(parts, default=None)


@click.command(short_help="How long each step of a network takes.")
@click.argument("model", type=MODEL, metavar="MODEL|OUT.sateen")
@click.option("--threads", type=Count(1, MOST_THREADS), default=1, show_default=True, help="Most threads to use.")
@click.option("--samples", type=Count(min=1), default=20, show_default=True, help="Least runs to measure.")
@click.option(
    "--order",
    type=OneOf(["time", "network"]),
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
    which counts; GB/s count inputs and outputs once each, on a processor for steps that memory limits. The limits are
    measured in the same run, by multiply-adds in registers and, on a GPU, by copies; `of peak` is the part of that
    which is nearer. Occupancy is the part of the threads that the GPU holds at once.
    """
    with opened(device) as session:
        loaded = load_model_there(model, compilation, threads, session, device=device_of(device), timed=True)
        with step(f"measuring {model.name}"):
            times = loaded.time_steps(random_inputs(loaded.inputs, 0), samples)
            artifact = loaded.artifact
            meter, cores = meter_of(artifact, session, threads, device_of(device))
            peak = median(meter.sample() for _ in range(samples)) * cores
            bandwidth: float | None = None
            described: Mapping[str, Any] = {}
            if isinstance(meter, DeviceMeter):
                bandwidth = median(meter.bandwidth() for _ in range(samples))
                described = session.device(device_of(device) or Device(Target.parse(artifact.target).device_kind))
    total = sum(t.median for t in times)
    steps = [
        TimedStep(
            i, s, t, t.median / total if total else 0.0, occupancy_of(artifact, i, described), launches_of(artifact, i)
        )
        for i, (s, t) in enumerate(zip(artifact.steps, times, strict=True))
    ]
    use = None if bandwidth is None else use_of(artifact, times, described, peak, bandwidth)
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
                **({} if use is None else {"device": use.to_json()}),
                "steps": [_to_json(s, peak, bandwidth) for s in steps],
            }
        )
        return
    place = counted(threads, "thread") if bandwidth is None else f"target {artifact.target}"
    limits = f"peak {peak:.0f} GFLOP/s" + ("" if bandwidth is None else f", {bandwidth:.0f} GB/s")
    say(f"{model.name}: {counted(len(steps), 'step')} in {decimal(total * 1e3, 3)} ms, {place}, {limits}")
    if use is not None:
        say(str(use))
    filled = () if bandwidth is None else ("launches", "threads", "occupancy")
    rates = ("us", "share", "GFLOP/s", "GB/s", "of peak", *filled)
    show_table(
        ("step", *rates, "kernel", "result", "nodes"),
        [_row(s, peak, bandwidth) for s in steps],
        right=("step", *rates),
    )


def _row(s: TimedStep, peak: float, bandwidth: float | None) -> tuple[str, ...]:
    flops = s.gflops
    bytes_ = s.gigabytes if flops is None or bandwidth is not None else None
    of_peak = s.of_limits(peak, bandwidth)
    filled: tuple[str, ...] = ()
    if bandwidth is not None:
        threads, share = ("", "") if s.occupancy is None else (str(s.occupancy.threads), f"{s.occupancy.share:.0%}")
        filled = (str(len(s.launches)), threads, share)
    return (
        str(s.position),
        decimal(s.time.median * 1e6, 1),
        f"{s.share:.1%}",
        "" if flops is None else f"{flops:.1f}",
        "" if bytes_ is None else f"{bytes_:.1f}",
        "" if of_peak is None else f"{of_peak:.0%}",
        *filled,
        s.step.kernel,
        ", ".join(s.step.outputs),
        str(s.step),
    )


def _to_json(s: TimedStep, peak: float, bandwidth: float | None) -> dict[str, object]:
    return {
        "position": s.position,
        **s.step.to_json(),
        "median_seconds": s.time.median,
        "spread": s.time.spread,
        "share": s.share,
        "gflops": s.gflops,
        "gigabytes_per_second": s.gigabytes,
        "of_peak": s.of_limits(peak, bandwidth),
        **({} if s.occupancy is None else {"threads": s.occupancy.threads, "occupancy": s.occupancy.share}),
        **({} if bandwidth is None else {"launches": list(map(_launch_to_json, s.launches))}),
    }


def _launch_to_json(launch: NetworkLaunch) -> dict[str, object]:
    return {
        "kernel": launch.kernel,
        "grid": list(launch.grid),
        "block": list(launch.block),
        "shared_bytes": launch.shared_bytes,
    }
