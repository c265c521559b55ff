"""`sateen tune`: measures methods for a model's operators, and judges the estimate that chooses without measuring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import geometric_mean

import click

from sateen.frontends.command.arguments import LOG_FILE, MODEL, json_option
from sateen.frontends.command.compilation import Compilation, compilation_options
from sateen.frontends.command.compilers import compilers
from sateen.frontends.command.devices import HERE, DevicePlace, compiled_for, device_of, device_options, opened
from sateen.frontends.command.files import keep_sources, writing
from sateen.frontends.command.output import say, show_json, show_table
from sateen.frontends.command.progress import step, steps
from sateen.frontends.command.reading import read_graph, require_model, sources_of
from sateen.graph_ir.compile import bind_parameters, network_target
from sateen.graph_ir.tune import (
    Record,
    Records,
    SessionMeasurer,
    Tuning,
    measure_all,
    problems_of,
    tuning_of,
)
from sateen.runtime import Device, DeviceKind, Target, TargetError, open_device
from sateen.runtime.display import counted
from sateen.tensor_ir import Machine
from sateen.tensor_ir.targets import read_machine, with_features


@click.command(short_help="Measure methods for a model's operators.")
@click.argument("model", type=MODEL)
@click.option("-o", "--output", "log", required=True, type=LOG_FILE, metavar="LOG.jsonl", help="Records; it may exist.")
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    default=16,
    show_default=True,
    help="Candidates per problem, those of the best estimates; a fourth as many others come on top.",
)
@click.option("--sample", is_flag=True, help="Draw candidates from all alike, to judge the estimate.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Of a candidate, after which it counts as failed.",
)
@click.option(
    "--compile-on",
    "scheduler",
    metavar="HOST:PORT",
    help="Compile on the workers of this scheduler of dask.distributed.",
)
@device_options
@compilation_options
@json_option
def tune(
    model: Path,
    log: Path,
    trials: int,
    sample: bool,
    timeout: float,
    scheduler: str | None,
    device: DevicePlace | None,
    compilation: Compilation,
    as_json: bool,
) -> None:
    """Measure methods for the operators of MODEL, here or on a device, and append what is found to LOG.jsonl.

    On tracker://HOST:PORT/NAME all devices of that name measure, each a problem at a time and for nobody else. If one
    is lost, another measures its candidate; one during which two were lost is put aside. Candidates are compiled here.

    `--records LOG.jsonl` of the other verbs uses it. What the log has already is not measured again, so that tuning may
    be interrupted at any time and go on later. The table tells what the estimate chooses, what was fastest, and the
    ratio of their times.
    """
    require_model(model)
    if compilation.records is not None:
        raise click.UsageError("--records is for verbs that use them; this one writes to -o, and goes on from there")
    keep_sources("-o", [log], sources_of(model, compilation))
    target = _target_here(compilation.target) if device is None else _target_there(compilation, device)
    machine = None if compilation.machine is None else read_machine(compilation.machine, target)
    known = Records.read(log).of(target) if log.exists() else {}
    with step(f"reading {model.name}"):
        problems = problems_of(bind_parameters(*read_graph(model, compilation)), target, compilation.numerics, machine)
    numerics = compilation.numerics
    tunings = [
        tuning_of(p, target, trials, known.get(p, ()), sample=sample, numerics=numerics, machine=machine)
        for p in problems
    ]
    with writing(log):
        file = log.open("a", encoding="utf-8")
    with file:
        for record in _measured(tunings, target, timeout, device, scheduler, machine):
            with writing(log):
                file.write(f"{record}\n")
                file.flush()
    counts = list(problems.values())
    if as_json:
        problems_found = [_to_json(t, count) for t, count in zip(tunings, counts, strict=True)]
        show_json({"model": str(model), "target": str(target), "log": str(log), "problems": problems_found})
    else:
        _show(model, tunings, counts)


def _target_here(text: str) -> Target:
    """The target. Raises TargetError if this machine can't run its code, DeviceError if it has no such device."""
    target, host = Target.of(text), Target.host()
    if target.device_kind is not DeviceKind.CPU:
        return _on_device(network_target(target), Device(target.device_kind), open_device)
    missing = host.missing_features(with_features(target))
    if target.kind != host.kind or target.triple != host.triple or missing:
        lacks = f", which lacks {', '.join(missing)}" if missing else ""
        raise TargetError(f"tuning measures on this machine, {host.triple}{lacks}; it can't run code for {target}")
    return target


def _target_there(compilation: Compilation, device: DevicePlace) -> Target:
    """The target. Raises TargetError if the device can't run its code."""
    with opened(device) as session:
        there = Target.parse(session.info()["target"])
        target = Target.of(compiled_for(session, compilation, device.device).target)
        if target.device_kind is not DeviceKind.CPU:
            return _on_device(network_target(target), device.device or Device(target.device_kind), session.device)
    missing = there.missing_features(with_features(target))
    if target.kind != there.kind or target.triple != there.triple or missing:
        lacks = f", which lacks {', '.join(missing)}" if missing else ""
        raise TargetError(f"{device.text} has {there.triple}{lacks}; it can't run code for {target}")
    return target


def _on_device(target: Target, device: Device, opened: Callable[[Device], object]) -> Target:
    """The target of a device that can be opened. Raises TargetError for kernels that no driver takes, and for a device
    of another kind; DeviceError if there is none."""
    if compiler := target.kernel_compiler:
        raise TargetError(f"tuning measures on devices; kernels for {target} are text for {compiler} and no driver")
    if device.kind is not target.device_kind:
        raise TargetError(f"{device} can't run code for {target}")
    opened(device)
    return target


def _measured(
    tunings: Sequence[Tuning],
    target: Target,
    timeout: float,
    device: DevicePlace | None,
    scheduler: str | None,
    machine: Machine | None,
) -> Iterator[Record]:
    """Measure all problems, and yield each record at once. Raises ExecutionError if a problem has none."""
    open_session = None if device is None or device.kind == HERE else partial(device.session, timeout)
    count = 1 if device is None else device.count()
    with compilers(scheduler) as given, steps(sum(len(t.remaining) for t in tunings)) as show:
        measurers = [
            SessionMeasurer(
                target, open_session, compilers=given, device=device_of(device), seconds=timeout, machine=machine
            )
            for _ in range(count)
        ]
        for done, (t, record) in enumerate(measure_all(tunings, measurers), 1):
            show(str(t.problem), done)
            if record is not None:
                yield record


def _show(model: Path, tunings: Sequence[Tuning], counts: Sequence[int]) -> None:
    total = sum(counts)
    say(f"{model.name}: {counted(total, 'operator')} with a choice of methods, {len(tunings)} different")
    if not tunings:
        return
    show_table(
        ("problem", "times", "measured", "failed", "estimate chooses", "us", "fastest", "us", "ratio"),
        [_row(t, count) for t, count in zip(tunings, counts, strict=True)],
        right=("times", "measured", "failed", "us", "ratio"),
    )
    ratios = [t.ratio for t in tunings if t.ratio is not None]
    if ratios:
        say(f"ratio: {geometric_mean(ratios):.3f} in the mean, {min(ratios):.3f} at the least")
    for t in tunings:
        for failure in t.failures.values():
            say(f"failed: {t.problem}: {failure}", err=True)


def _row(t: Tuning, count: int) -> tuple[str, ...]:
    return (
        str(t.problem),
        str(count),
        str(len(t.records)),
        str(len(t.failures)),
        str(t.estimate.method),
        "" if t.estimated is None else f"{t.estimated.seconds * 1e6:.1f}",
        "" if t.fastest is None else str(t.fastest.method),
        "" if t.fastest is None else f"{t.fastest.seconds * 1e6:.1f}",
        "" if t.ratio is None else f"{t.ratio:.3f}",
    )


def _to_json(t: Tuning, count: int) -> dict[str, object]:
    return {
        "problem": str(t.problem),
        "count": count,
        "measured": len(t.records),
        "failed": {str(method): failure for method, failure in t.failures.items()},
        "estimate": {
            "method": str(t.estimate.method),
            "cycles": t.estimate.cycles,
            "seconds": None if t.estimated is None else t.estimated.seconds,
        },
        "fastest": None
        if t.fastest is None
        else {"method": str(t.fastest.method), "cycles": t.fastest.cycles, "seconds": t.fastest.seconds},
        "ratio": t.ratio,
    }
