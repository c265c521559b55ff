"""`sateen tune`: measures methods for a model's operators, and judges the estimate that chooses without measuring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import monotonic

import click

from sateen.frontends.command.arguments import LOG_FILE, MODEL, Count, OneOf, duration, json_option
from sateen.frontends.command.compilation import Compilation, compilation_options
from sateen.frontends.command.compilers import compilers
from sateen.frontends.command.devices import HERE, DevicePlace, device_of, device_options
from sateen.frontends.command.files import keep_sources, writing
from sateen.frontends.command.output import say
from sateen.frontends.command.problem_list import problems_in
from sateen.frontends.command.progress import step, work
from sateen.frontends.command.reading import require_model, sources_of
from sateen.frontends.command.tuned_network import WholeNetwork, tell_whole_network
from sateen.frontends.command.tuning_table import show_tunings, show_tunings_as_json
from sateen.frontends.command.tuning_target import tuning_target
from sateen.graph_ir.ops import installed_operators
from sateen.graph_ir.tune import (
    BEGUN,
    Allocation,
    EstimateSearch,
    EvolutionarySearch,
    Gain,
    ModelSearch,
    RandomSearch,
    Records,
    Search,
    SessionMeasurer,
    Tuning,
    TuningLog,
    challenger,
    is_log,
    measure_all,
    tunings_of,
    verified,
)
from sateen.runtime import Target
from sateen.runtime.display import counted
from sateen.tensor_ir import Machine
from sateen.tensor_ir.targets import read_machine

SEARCHES = ("estimate", "random", "evolutionary", "model")


@click.command(short_help="Measure methods for a model's operators.")
@click.argument("model", type=MODEL)
@click.option("-o", "--output", "log", required=True, type=LOG_FILE, metavar="LOG.jsonl", help="Records; it may exist.")
@click.option(
    "--search",
    type=OneOf(SEARCHES),
    default=SEARCHES[0],
    show_default=True,
    help="What to measure next: the best estimates, any, what comes of the fastest, what records make likely.",
)
@click.option("--trials", type=Count(min=1), default=20, show_default=True, help="Most candidates of a problem.")
@click.option(
    "--time",
    "seconds",
    type=duration,
    metavar="10m",
    help="Most time for all candidates, spent where the network gains most.",
)
@click.option("--verify/--no-verify", default=True, help="Compare what is fastest with the estimate's choice again.")
@click.option("--network", is_flag=True, help="Compare the whole network by records with that by the estimate.")
@click.option("--retry", is_flag=True, help="Measure again what failed, or was begun three times and never finished.")
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
    search: str,
    trials: int,
    seconds: float | None,
    verify: bool,
    network: bool,
    retry: bool,
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
    be interrupted at any time and go on later. The table tells what the estimate chooses, what was fastest, the ratio
    of their times, and what the network gains.
    """
    require_model(model)
    if compilation.records is not None:
        raise click.UsageError("--records is for verbs that use them; this one writes to -o, and goes on from there")
    if not is_log(log):
        keep_sources("-o", [log], sources_of(model, compilation))
    target = tuning_target(compilation, device)
    machine = None if compilation.machine is None else read_machine(compilation.machine, target)
    open_session = None if device is None or device.kind == HERE else partial(device.session, timeout)
    with (
        compilers(scheduler, keeps=compilation.use_cache) as given,
        writing(log),
        TuningLog(log, installed_operators()) as kept,
    ):

        def measurer() -> SessionMeasurer:
            return SessionMeasurer(
                target, open_session, compilers=given, device=device_of(device), seconds=timeout, machine=machine
            )

        problems = problems_in(model, compilation, target, machine)
        tunings = tunings_of(
            list(problems),
            target,
            trials,
            kept.known,
            search=search_of(search, kept.known, target, machine),
            numerics=compilation.numerics,
            machine=machine,
            tries_again=retry,
        )
        counts = list(problems.values())
        measurers = [measurer() for _ in range(1 if device is None else device.count())]
        try:
            measure(tunings, counts, measurers, kept, seconds)
            if verify:
                verify_choices(tunings, measurer, kept)
            if network:
                whole = WholeNetwork(model, compilation, target, machine, device)
                tell_whole_network(whole, tunings, counts, log, kept, tells=not as_json)
        except KeyboardInterrupt:
            measured = counted(sum(len(t.records) for t in tunings), "candidate")
            say(f"{log} has what {measured} took; the same command goes on from there", err=True)
            raise
    if as_json:
        show_tunings_as_json(model, log, target, tunings, counts)
    else:
        show_tunings(model, tunings, counts)


def search_of(name: str, known: Records, target: Target, machine: Machine | None) -> Search:
    """The search of a name. Raises ArgumentError if it lacks a package."""
    match name:
        case "random":
            return RandomSearch()
        case "evolutionary":
            return EvolutionarySearch()
        case "model":
            return ModelSearch([r for records in known.measured_here(target, machine).values() for r in records])
        case _:
            return EstimateSearch()


def measure(
    tunings: Sequence[Tuning],
    counts: Sequence[float],
    measurers: Sequence[SessionMeasurer],
    log: TuningLog,
    seconds: float | None,
) -> None:
    """Measure what remains, in so many seconds at most; a log gets each line at once, a terminal what is gained."""
    allocation, begin = Allocation(tunings, counts, seconds), monotonic()
    total, done = sum(t.remaining for t in tunings), 0
    with work() as show:
        for tuning, line in measure_all(allocation, measurers):
            log.write(line)
            is_begun = getattr(line, "outcome", "") == BEGUN
            done += not is_begun
            part = done / total
            if seconds is not None:
                part = max(part, (monotonic() - begin) / seconds)
            show(f"{done} of {total}, gained {Gain.of(tunings, counts)}; {tuning.problem}", min(part, 1.0))


def verify_choices(tunings: Sequence[Tuning], open_measurer: Callable[[], SessionMeasurer], log: TuningLog) -> None:
    """Measure again what is fastest, where it is not the estimate's choice."""
    waiting = [t for t in tunings if challenger(t) is not None]
    for number, tuning in enumerate(waiting, 1):
        with step(f"verifying {number} of {len(waiting)}: {tuning.problem}"):
            compared = log.known.compared_here(tuning.target, tuning.machine)
            for line in verified(tuning, open_measurer, compared):
                log.write(line)
