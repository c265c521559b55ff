"""A whole network by records against the same by the estimate: the operators alone say only what it may gain.

Each step that is finished is kept, so that it is not done again when tuning was stopped: the two networks in a cache
until they are compared, the ratio of each turn in the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from sateen.frontends.command.arrays import random_inputs
from sateen.frontends.command.artifacts import compile_model
from sateen.frontends.command.caches import cache_folder, verified_files
from sateen.frontends.command.compilation import Compilation
from sateen.frontends.command.devices import DevicePlace, device_of, opened
from sateen.frontends.command.output import say
from sateen.frontends.command.problem_list import identity_of
from sateen.frontends.command.progress import step
from sateen.frontends.command.turns import Contender, ContenderHere, ContenderThere, measure_in_turns
from sateen.graph_ir.tune import (
    Comparison,
    Record,
    Records,
    Tuning,
    TuningLog,
    installed_versions,
    keep_what_gains,
    machine_text,
)
from sateen.runtime import ArgumentError, Target, read_artifact
from sateen.runtime.cache_folder import CacheFolder
from sateen.runtime.files import replacing
from sateen.tensor_ir import Machine

SAMPLES = 15
"""The samples of each network."""
MOST_BYTES, MOST_FILES = 4 << 30, 64
"""The most that is kept of networks whose tuning was stopped, in bytes and files."""
DIGITS = 64
"""The length of the names of files that are kept: the first half says which network, the second which file of it."""


@dataclass(frozen=True, slots=True)
class WholeNetwork:
    """A model, how it is compiled, for what, and where it runs."""

    model: Path
    compilation: Compilation
    target: Target
    machine: Machine | None
    device: DevicePlace | None


def tell_whole_network(
    network: WholeNetwork,
    tunings: Sequence[Tuning],
    counts: Sequence[int],
    log: Path,
    kept: TuningLog,
    *,
    tells: bool,
) -> None:
    """Compare the network by records with that by the estimate, take choices back while it is slower, and say so."""
    identity = identity_of(network.model, network.compilation, network.target)[: DIGITS // 2]
    with _folder(network.compilation) as folder:

        def compare(taken_back: Sequence[Record]) -> tuple[float, float]:
            files = _files(network, [*Records.read(log).records, *taken_back], folder / identity)
            ratio, spread = _summary(_ratios(network, files, kept))
            if tells:
                say(f"whole network by records: {ratio:.3f} of the time by the estimate, the spread is {spread:.3f}")
            return ratio, spread

        for record in keep_what_gains(tunings, counts, compare):
            kept.write(record)
            if tells:
                say(f"taken back, as the network is slower: {record.problem}")
        for file in folder.glob(f"{identity}*"):
            file.unlink(missing_ok=True)


@contextmanager
def _folder(compilation: Compilation) -> Iterator[Path]:
    """A folder that lasts when tuning is stopped, unless there is to be no cache or it can't be used, which costs
    time."""
    if compilation.use_cache:
        try:
            cache = CacheFolder(cache_folder() / "networks", MOST_BYTES, MOST_FILES)
            cache.tidy()
        except OSError:
            cache = None
        if cache is not None:
            yield cache.path
            return
    with TemporaryDirectory() as place:
        yield Path(place)


def _files(network: WholeNetwork, records: Sequence[Record], beginning: Path) -> dict[str, Path]:
    """The artifacts of the network by the estimate and by records, files with this beginning, compiled unless they are
    there."""

    def named(what: str) -> Path:
        return beginning.with_name(f"{beginning.name}{sha256(what.encode()).hexdigest()[: DIGITS // 2]}")

    text = "".join(f"{r}\n" for r in records)
    chosen = named(f"records\n{text}")
    with replacing(chosen) as file:
        file.write(text.encode())
    ways = {
        "estimate": (replace(network.compilation, shipped=False), named("estimate")),
        "records": (replace(network.compilation, records=chosen), named(text)),
    }
    for way, place in ways.values():
        if not place.exists():
            compile_model(network.model, way).save(place)
    return {name: place for name, (_, place) in ways.items()}


def _ratios(network: WholeNetwork, files: Mapping[str, Path], log: TuningLog) -> list[float]:
    """The times by records over those by the estimate, in turns on one thread, each in a process of its own or in a
    session of the device. The log gets each ratio that it does not have."""
    artifacts = {name: read_artifact(file, verified=verified_files()) for name, file in files.items()}
    there = "" if network.device is None else f" on {network.device.text}"
    of = f"network {network.model.name}{there}: {artifacts['records'].digest} against {artifacts['estimate'].digest}"
    ratios = log.known.compared_here(network.target, network.machine).get(of, [])[:SAMPLES]
    if len(ratios) == SAMPLES:
        return ratios
    inputs, where = random_inputs(artifacts["estimate"].inputs, 0), machine_text(network.target, "", network.machine)
    with ExitStack() as stack, step(f"measuring {network.model.name}"):
        contenders: list[Contender] = []
        for name, file in files.items():
            if network.device is None:
                contender: Contender = ContenderHere(name, file, 1, inputs)
            else:
                session = stack.enter_context(opened(network.device))
                contender = ContenderThere(name, file, 1, inputs, session, device_of(network.device))
            contenders.append(stack.enter_context(contender))
        while len(ratios) < SAMPLES:
            measure_in_turns(contenders, 1)
            for contender in contenders:
                if contender.refusal:
                    raise ArgumentError(f"{network.model.name} by {contender.name} does not run: {contender.refusal}")
            estimate, ours = (c.time.samples[-1] for c in contenders)
            ratios.append(ours / estimate)
            log.write(Comparison(str(network.target), of, ratios[-1], where, dict(installed_versions())))
    return ratios


def _summary(ratios: Sequence[float]) -> tuple[float, float]:
    """The median, and the range between the quartiles."""
    ordered = sorted(ratios)
    quarter = len(ordered) // 4
    return median(ordered), ordered[-1 - quarter] - ordered[quarter]
