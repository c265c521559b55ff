"""From a MODEL or an artifact on the command line to code: compiled as the options say, or opened."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import click

from sateen.frontends.command.caches import object_cache, tell_refusal, verified_files
from sateen.frontends.command.compilation import Compilation, check_target, machine_of, records_of
from sateen.frontends.command.devices import compiled_for
from sateen.frontends.command.files import is_artifact
from sateen.frontends.command.progress import step
from sateen.frontends.command.reading import read_graph
from sateen.graph_ir.compile import build, lowered, network_target
from sateen.graph_ir.ir import Graph
from sateen.graph_ir.kernels import KernelPool
from sateen.graph_ir.passes import Observer
from sateen.runtime import Artifact, Device, DeviceKind, Model, SateenError, Session, SessionModel, read_artifact
from sateen.runtime import load as load_artifact

WORKERS = 2
"""The most compiler processes. They start while the model is read, but where its kernels are likely to be in the cache,
only when one has to be compiled."""


def compile_model(
    path: Path,
    compilation: Compilation,
    change: Callable[[Graph], Graph] = lambda graph: graph,
    *,
    timed: bool = False,
    static: bool = False,
    observer: Observer | None = None,
) -> Artifact:
    """The artifact of a model, whose graph `change` may alter before it is optimised; with `timed` its steps are
    timed, with `static` its code is a static archive. `observer` gets a record of each pass."""
    check_target(compilation)
    records, machine = records_of(compilation), machine_of(compilation)
    cache = object_cache(compilation)
    note = _note(path, compilation)
    is_known = cache is not None and cache.read_facts(note) is not None
    with KernelPool(WORKERS, at_once=not is_known) as workers:
        with step(f"reading {path.name}"):
            graph, parameters = read_graph(path, compilation)
        with step(f"compiling {path.name}"):
            artifact = build(
                change(graph),
                target=compilation.target,
                params=parameters,
                numerics=compilation.numerics,
                denormals=compilation.denormals,
                records=records,
                shipped=compilation.shipped,
                placed=compilation.placed,
                target_host=compilation.target_host,
                machine=machine,
                parameters="trained" if compilation.parameters is None else compilation.parameters,
                timed=timed,
                static=static,
                observer=observer,
                workers=workers,
                cache=cache,
            )
    if cache is not None and not is_known:
        cache.write_facts(note, {})
    tell_refusal(cache)
    return artifact


def _note(path: Path, compilation: Compilation) -> str:
    """The key under which the cache notes that a model was compiled. What it leaves out, such as the versions of
    packages, costs time if it differs."""
    status = path.stat()
    identity = [str(path.resolve()), status.st_size, status.st_mtime_ns, repr(compilation)]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()


def refusal_of(graph: Graph, compilation: Compilation) -> SateenError | None:
    """The error of compiling a graph before code generation; None if there is none. The code of kernels for devices is
    made, too: their languages lack types, which those who write them know."""
    check_target(compilation)
    target = network_target(compilation.target)
    make = lowered if target.device_kind is DeviceKind.CPU else build
    try:
        make(
            graph,
            target,
            numerics=compilation.numerics,
            records=records_of(compilation),
            denormals=compilation.denormals,
            placed=compilation.placed,
            target_host=compilation.target_host,
            machine=machine_of(compilation),
        )
    except SateenError as error:
        return error
    return None


def open_artifact(
    path: Path, compilation: Compilation, *, static: bool = False, observer: Observer | None = None
) -> Artifact:
    """The artifact in a file, or of a model in it, which is compiled as by `compile_model`."""
    if not is_artifact(path):
        return compile_model(path, compilation, static=static, observer=observer)
    _require_default(path, compilation)
    return read_artifact(path, verified=verified_files())


def load_model(
    path: Path,
    compilation: Compilation,
    threads: int,
    change: Callable[[Graph], Graph] = lambda graph: graph,
) -> Model:
    """The network in a file, an artifact or a model, which is compiled as by `compile_model`, ready to run here."""
    if not is_artifact(path):
        return load_artifact(compile_model(path, compilation, change), threads=threads)
    _require_default(path, compilation)
    return load_artifact(path, threads=threads, verified=verified_files())


def load_model_there(
    path: Path,
    compilation: Compilation,
    threads: int,
    session: Session,
    change: Callable[[Graph], Graph] = lambda graph: graph,
    *,
    device: Device | None = None,
    timed: bool = False,
) -> SessionModel:
    """As `load_model`, in a session; a model is compiled for the device or the processor there if no target is
    given."""
    network: Path | Artifact = path
    if is_artifact(path):
        _require_default(path, compilation)
    else:
        network = compile_model(path, compiled_for(session, compilation, device), change, timed=timed)
    with step(f"sending {path.name}"):
        return session.load_model(network, threads=threads, device=device)


def _require_default(path: Path, compilation: Compilation) -> None:
    """Raises UsageError if the command line has options of compiling for an artifact."""
    if given := compilation.given:
        raise click.UsageError(
            f"{' and '.join(given)}: expected a model to compile so, found {path}, which is compiled already; give the "
            "model that it was compiled from, or run it as it is"
        )
