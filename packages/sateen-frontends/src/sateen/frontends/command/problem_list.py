"""The problems of a model, kept between commands: tuning that is stopped often need not read the model each time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import astuple
from hashlib import sha256
from importlib import import_module
from pathlib import Path

from sateen.frontends.command.bindings import bound_files
from sateen.frontends.command.caches import cache_folder
from sateen.frontends.command.compilation import Compilation
from sateen.frontends.command.progress import step
from sateen.frontends.command.reading import read_graph
from sateen.frontends.version import __version__
from sateen.graph_ir.compile import bind_parameters
from sateen.graph_ir.ir import Problem, parse_problem
from sateen.graph_ir.ops import installed_operators
from sateen.graph_ir.tune import installed_versions, problems_of
from sateen.runtime import ArgumentError, Target
from sateen.runtime.cache_folder import CacheFolder
from sateen.tensor_ir import Machine

MOST_BYTES, MOST_LISTS = 16 << 20, 1000
"""The most bytes and lists that are kept."""


def problems_in(
    model: Path, compilation: Compilation, target: Target, machine: Machine | None
) -> Mapping[Problem, int]:
    """The problems of a model with a choice of methods on a target's machine or another one, and the number of nodes
    with each.

    A list is kept for the model's file as it is, and for sateen as it is, by their names, sizes and times.
    """
    folder = _folder() if compilation.use_cache else None
    name = identity_of(model, compilation, target)
    kept = None if folder is None else folder.read(name)
    if kept is not None and (known := _parsed(kept)) is not None:
        return known
    with step(f"reading {model.name}"):
        found = problems_of(bind_parameters(*read_graph(model, compilation)), target, compilation.numerics, machine)
    if folder is not None:
        folder.write(name, json.dumps([[str(problem), count] for problem, count in found.items()]).encode())
    return found


def _folder() -> CacheFolder | None:
    """None if the folder can't be used, which costs time."""
    try:
        return CacheFolder(cache_folder() / "problems", MOST_BYTES, MOST_LISTS)
    except OSError:
        return None


def identity_of(model: Path, compilation: Compilation, target: Target) -> str:
    """A digest of what decides what a model becomes: its files by name, size and time, the options, and sateen as it
    is."""
    told = [__version__, str(installed_versions()), str(target), *map(str, astuple(compilation))]
    for path in _files(model, compilation):
        status = path.stat()
        told.append(f"{path.resolve()} {status.st_size} {status.st_mtime_ns}")
    return sha256("\n".join(told).encode()).hexdigest()


def _files(model: Path, compilation: Compilation) -> Iterator[Path]:
    """The files that decide what a model becomes: its own, those that the command line names, and the packages that
    compile it."""
    yield from sorted(p for p in model.rglob("*") if p.is_file()) if model.is_dir() else (model,)
    yield from (path for path in (compilation.weights, compilation.machine) if path is not None)
    yield from bound_files(compilation)
    for package in ("frontends", "graph_ir", "topi", "tensor_ir", "runtime"):
        yield from sorted(Path(import_module(f"sateen.{package}").__file__ or "").parent.rglob("*.py"))


def _parsed(content: bytes) -> dict[Problem, int] | None:
    """The list in a kept content; None for one that this version of sateen does not understand."""
    try:
        operators = installed_operators()
        return {parse_problem(str(text), operators): int(count) for text, count in json.loads(content)}
    except (ValueError, TypeError, ArgumentError):
        return None
