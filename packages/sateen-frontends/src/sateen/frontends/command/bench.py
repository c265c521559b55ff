"""`sateen bench`: the speed of a network compared to other engines, in turns within one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import click

from sateen.frontends.command.arguments import MODEL, MOST_THREADS, Count, json_option
from sateen.frontends.command.arrays import random_inputs
from sateen.frontends.command.artifacts import compile_model, load_model, load_model_there
from sateen.frontends.command.bindings import bound_arrays
from sateen.frontends.command.comparison import rounds_operands
from sateen.frontends.command.compilation import Compilation, compilation_options
from sateen.frontends.command.devices import DevicePlace, device_of, device_options, opened
from sateen.frontends.command.files import is_artifact
from sateen.frontends.command.limits import DeviceUse, meter_of, use_of
from sateen.frontends.command.output import decimal, finite, say, show_json, show_table
from sateen.frontends.command.progress import step
from sateen.frontends.command.reading import read_graph, require_model
from sateen.frontends.command.turns import OURS, Contender, ContenderHere, ContenderThere, measure_in_turns
from sateen.frontends.readers import PEERS, reader_of
from sateen.graph_ir.compile import DeviceMeter
from sateen.graph_ir.ir import Array
from sateen.runtime import ArgumentError, Artifact, Device, Session, Target, TimeResult, read_artifact
from sateen.runtime.display import counted, did_you_mean, size

HERE = "here"
"""Our engine on this machine, beside a device."""


def opponents(text: str) -> tuple[str, ...]:
    """NAME[,NAME...] of peers, and of files of artifacts; or HERE."""
    names = tuple(text.split(","))
    for name in names:
        if name not in {*PEERS, HERE} and not (Path(name).is_file() and is_artifact(Path(name))):
            raise click.BadParameter(
                f"expected {', '.join(PEERS)} or the file of an artifact, found {name!r}{did_you_mean(name, PEERS)}"
            )
    return names


@click.command(short_help="How fast a network runs, beside others.")
@click.argument("model", type=MODEL, metavar="MODEL|OUT.sateen")
@click.option("--threads", type=Count(1, MOST_THREADS), default=1, show_default=True, help="Most threads to use.")
@click.option(
    "--against",
    multiple=True,
    type=opponents,
    metavar="NAME[,NAME...]",
    help=f"Who else runs it: {', '.join(PEERS)} run a MODEL; another artifact runs beside either; beside a device, "
    f"{HERE} is this machine.",
)
@click.option("--samples", type=Count(min=1), default=20, show_default=True, help="Measurements of each.")
@device_options
@compilation_options
@json_option
def bench(
    model: Path,
    threads: int,
    against: tuple[tuple[str, ...], ...],
    samples: int,
    device: DevicePlace | None,
    compilation: Compilation,
    as_json: bool,
) -> None:
    """Measure a network on random inputs: the median of samples taken in turns, and how far half of them spread.

    It runs here, or on a device beside other artifacts. Here each engine has a process of its own, and waits while
    another runs. GFLOP/s count what convolutions, matrix products and recurrent layers of a MODEL take by
    definition. The peak is that of float32 multiply-adds in registers, measured on one core in the same turns,
    times the threads. Memory is what engine and network add to a process of Python. Where two differ by less than
    their times spread, it says so: the run does not tell which is faster. Of a GPU it also says what the network makes
    of it by the GPU's clock: kernels, launches, occupancy, and operations and bytes against what it does at most.
    """
    names = list(dict.fromkeys(name for given in against for name in given))
    peers = [name for name in names if name in PEERS]
    if HERE in names:
        if device is None:
            raise click.UsageError(f"--against {HERE} is for --device")
        require_model(model)
    if peers:
        if device is not None:
            raise click.UsageError(f"{' and '.join(peers)} run here; on a device, --against takes artifacts and {HERE}")
        require_model(model)
        if compilation.is_cut:
            raise click.UsageError(f"{' and '.join(peers)} run whole networks; leave out --from and --to")
    missing = _missing(model, peers)
    if missing and len(missing) == len(names):
        raise ArgumentError("; ".join(f"{name} is left out: {reason}" for name, reason in missing.items()))
    names = [name for name in names if name not in missing]
    peaks: list[float] = []
    with ExitStack() as stack:
        session = None if device is None else stack.enter_context(opened(device))
        artifact = _artifact(model, compilation, threads, session, device_of(device))
        artifacts = [name for name in names if name not in {*peers, HERE}]
        for name in artifacts:
            _require_same_inputs(name, artifact)
        ours = str(model) if is_artifact(model) or artifacts else OURS
        inputs = random_inputs(artifact.inputs, 0)
        folder = Path(stack.enter_context(TemporaryDirectory()))
        compiled = folder / "network.sateen"
        artifact.save(compiled)
        files = {ours: compiled, **{name: Path(name) for name in artifacts}}
        if HERE in names:
            files[HERE] = folder / "here.sateen"
            compile_model(model, compilation).save(files[HERE])
        files |= _files_for([name for name in names if name in peers], model, compilation, inputs, folder)
        contenders: list[Contender] = []
        for name in (ours, *names):
            with step(f"loading {model.name} in {name}"):
                given = name, files[name], threads, inputs
                if session is None or name == HERE:
                    contender: Contender = ContenderHere(*given)
                else:
                    contender = ContenderThere(*given, session, device_of(device))
            contenders.append(stack.enter_context(contender))
        if contenders[0].refusal:
            raise ArgumentError(f"{model.name} does not run here: {contenders[0].refusal}")
        with step(f"measuring {model.name}"):
            place = session or stack.enter_context(opened(None))
            meter, cores = meter_of(artifact, place, threads, device_of(device))
            measure_in_turns(contenders, samples, lambda: peaks.append(meter.sample()))
            use: DeviceUse | None = None
            if isinstance(meter, DeviceMeter):
                bandwidth = median(meter.bandwidth() for _ in range(samples))
                use = _use(artifact, place, device_of(device), inputs, samples, median(peaks), bandwidth)
    count = 0 if is_artifact(model) else read_graph(model, compilation)[0].operations()
    peak = median(peaks) * cores
    rounded = any(map(rounds_operands, (artifact, *(read_artifact(name) for name in artifacts))))
    _show(model, threads, contenders, missing, count, peak, use, rounded, as_json)


def _artifact(
    model: Path, compilation: Compilation, threads: int, session: Session | None, device: Device | None
) -> Artifact:
    """The network of a file, which runs where it will be measured; one for another machine is refused by its name."""
    if session is None:
        with load_model(model, compilation, threads) as here:
            return here.artifact
    with load_model_there(model, compilation, threads, session, device=device) as there:
        return there.artifact


def _use(
    artifact: Artifact,
    session: Session,
    device: Device | None,
    inputs: Mapping[str, Array],
    samples: int,
    peak: float,
    bandwidth: float,
) -> DeviceUse:
    """What our network makes of the device, whose clock measures its steps."""
    described = session.device(device or Device(Target.parse(artifact.target).device_kind))
    with session.load_model(artifact, device=device) as loaded:
        return use_of(artifact, loaded.time_steps(inputs, samples), described, peak, bandwidth)


def _missing(model: Path, names: Sequence[str]) -> dict[str, str]:
    """The messages about peers that can't run the model, because of its format or missing packages."""
    if not names:
        return {}
    reader, _ = reader_of(model)
    other = f"it does not run {reader.described}"
    told = {name: PEERS[name].missing if name in reader.peers else other for name in names}
    return {name: reason for name, reason in told.items() if reason}


def _files_for(
    names: Sequence[str], model: Path, compilation: Compilation, inputs: Mapping[str, Array], folder: Path
) -> dict[str, Path]:
    """The file for each peer, which says as much about the model as our compiler knows; peers with equal files share
    one."""
    shapes = {name: array.shape for name, array in inputs.items()}
    files = {name: folder / PEERS[name].file for name in names}
    for file, name in {file: name for name, file in files.items()}.items():
        PEERS[name].write(model, file, shapes, bound_arrays(model, compilation))
    return files


def _require_same_inputs(name: str, artifact: Artifact) -> None:
    """Raises ArgumentError for the file of an artifact with other inputs or other outputs."""
    other = read_artifact(name)
    for what, here, there in (("inputs", artifact.inputs, other.inputs), ("outputs", artifact.outputs, other.outputs)):
        if [(p.name, p.type) for p in here] != [(p.name, p.type) for p in there]:
            expected, found = (", ".join(f"{p.name}: {p.type}" for p in side) for side in (here, there))
            raise ArgumentError(f"{name}: expected {what} {expected}, found {found}")


def _show(
    model: Path,
    threads: int,
    contenders: Sequence[Contender],
    missing: Mapping[str, str],
    count: int,
    peak: float,
    use: DeviceUse | None,
    is_rounded: bool,
    as_json: bool,
) -> None:
    expected = contenders[0].outputs
    if as_json:
        show_json(
            {
                "model": str(model),
                "threads": threads,
                "gflop": count / 1e9,
                "peak_gflops": peak,
                **({} if use is None else {"device": use.to_json()}),
                "results": [
                    *(_to_json(c, expected, count, is_rounded=is_rounded) for c in contenders),
                    *({"name": name, "refusal": reason} for name, reason in missing.items()),
                ],
            }
        )
        return
    work = f"{count / 1e9:.3g} GFLOP, " if count else ""
    say(f"{model.name}: {work}{counted(threads, 'thread')}, peak {peak:.0f} GFLOP/s")
    if use is not None:
        say(str(use))
    columns = ("median ms", "spread", "GFLOP/s", "of peak", "memory", "difference")
    first = contenders[0]
    running = [c for c in contenders if not c.refusal]
    rows = [_row(c, "" if c is first else f"{c.difference(expected):.1e}", count, peak) for c in running]
    show_table(("", *columns), rows, right=columns)
    for c in contenders:
        if c.refusal:
            say(f"{c.name} does not run it: {c.refusal}")
        elif not c.is_right(expected, is_rounded=is_rounded):
            say(f"{c.name} computes something else: the times can't be compared")
        elif warning := spread_warning(first.name, first.time, c.name, c.time):
            say(warning)
    for name, reason in missing.items():
        say(f"{name} is left out: {reason}")


def spread_warning(name: str, time: TimeResult, other: str, other_time: TimeResult) -> str:
    """The warning if two times differ by less than the spread of either; '' if they differ by more."""
    apart = abs(time.median - other_time.median) / min(time.median, other_time.median)
    spread = max(time.spread, other_time.spread)
    if name == other or apart > spread:
        return ""
    return (
        f"{name} and {other} differ by {apart:.1%}, but their times spread by {spread:.1%}: this run does not tell "
        "which is faster; take more --samples, on a machine that does nothing else"
    )


def _row(c: Contender, apart: str, count: int, peak: float) -> tuple[str, ...]:
    time = c.time
    rate = count / time.median / 1e9
    of_peak = "" if c.name == HERE else f"{rate / peak:.1%}"  # which is the device's
    speed = (f"{rate:.1f}", of_peak) if count else ("", "")
    memory = size(c.memory_bytes) if c.memory_bytes else ""
    return c.name, decimal(time.median * 1e3, 3), f"{time.spread:.1%}", *speed, memory, apart


def _to_json(c: Contender, expected: Sequence[Array], count: int, *, is_rounded: bool) -> dict[str, object]:
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
        "right": c.is_right(expected, is_rounded=is_rounded),
    }
