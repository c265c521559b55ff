"""A whole network by records against the same by the estimate: the operators alone say only what it may gain."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from sateen.frontends.command.arrays import random_inputs
from sateen.frontends.command.artifacts import compile_model
from sateen.frontends.command.compilation import Compilation
from sateen.frontends.command.devices import DevicePlace, device_of, opened
from sateen.frontends.command.output import say
from sateen.frontends.command.progress import step
from sateen.frontends.command.turns import Contender, ContenderHere, ContenderThere, measure_in_turns
from sateen.graph_ir.tune import Record, Records, Tuning, TuningLog, keep_what_gains
from sateen.runtime import ArgumentError, read_artifact

SAMPLES = 15
"""The samples of each network."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The time of a network by records over that by the estimate, and the range between the quartiles of the samples'
    ratios."""

    ratio: float
    spread: float


def tell_whole_network(
    model: Path,
    compilation: Compilation,
    log: Path,
    device: DevicePlace | None,
    tunings: Sequence[Tuning],
    counts: Sequence[int],
    kept: TuningLog,
    *,
    tells: bool,
) -> None:
    """Compare the network by records with that by the estimate, take choices back while it is slower, and say so."""

    def compare(taken_back: Sequence[Record]) -> tuple[float, float]:
        found = compare_networks(model, compilation, log, taken_back, device)
        if tells:
            apart = f"{found.ratio:.3f} of the time by the estimate, the spread is {found.spread:.3f}"
            say(f"whole network by records: {apart}")
        return found.ratio, found.spread

    for record in keep_what_gains(tunings, counts, compare):
        kept.write(record)
        if tells:
            say(f"taken back, as the network is slower: {record.problem}")


def compare_networks(
    model: Path, compilation: Compilation, log: Path, more: Sequence[Record], device: DevicePlace | None
) -> Comparison:
    """A network by the records of a log and some more, against itself by the estimate, in turns on one thread, each in
    a process of its own or in a session of the device."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        records = folder / "records.jsonl"
        records.write_text("".join(f"{r}\n" for r in (*Records.read(log).records, *more)), encoding="utf-8")
        ways = {"estimate": replace(compilation, shipped=False), "records": replace(compilation, records=records)}
        files = {name: folder / f"{name}.sateen" for name in ways}
        for name, way in ways.items():
            compile_model(model, way).save(files[name])
        inputs = random_inputs(read_artifact(files["estimate"]).inputs, 0)
        contenders: list[Contender] = []
        with step(f"measuring {model.name}"):
            for name, file in files.items():
                if device is None:
                    contender: Contender = ContenderHere(name, file, 1, inputs)
                else:
                    session = stack.enter_context(opened(device))
                    contender = ContenderThere(name, file, 1, inputs, session, device_of(device))
                contenders.append(stack.enter_context(contender))
                if contender.refusal:
                    raise ArgumentError(f"{model.name} by {name} does not run: {contender.refusal}")
            measure_in_turns(contenders, SAMPLES)
    estimate, ours = (c.time.samples for c in contenders)
    ratios = sorted(own / other for own, other in zip(ours, estimate, strict=True))
    quarter = len(ratios) // 4
    return Comparison(median(ratios), ratios[-1 - quarter] - ratios[quarter])
