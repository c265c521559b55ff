"""Models of two files: the network, and the data of its weights. Given one of them, the other is found beside it.

Names only propose a file; its content decides. Nothing that a file contains names the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path

from sateen.frontends.core.source import Limits, Source, read_source
from sateen.runtime.errors import FrontendError, printable

_REMEDY = "give it as weights=, or --weights FILE"
MOST_NAMED = 5
"""The most files that a message names."""


@dataclass(frozen=True, slots=True)
class Half:
    """One of the two files of a model.

    `described` is its name in messages. `recognises` says by content whether a file is one. `names` gives patterns
    (as in shells) of its name, for the name of the other file with such signs escaped: the best first; a match of one
    leaves out those after it. `origin` says how such a file is made, where the framework may not have written one.
    """

    described: str
    recognises: Callable[[Source], bool]
    names: Callable[[str], Sequence[str]]
    origin: str = ""


def paired(source: Source, network: Half, weights: Half, limits: Limits) -> tuple[Source, Source]:
    """The network and the weights of a model, of which `source` is either and `source.weights`, if given, the other.

    Raises FrontendError if the other is missing, if several files may be it, or if it is something else.
    """
    given, other = (network, weights) if network.recognises(source) else (weights, network)
    found = found_beside(source, other, limits) if source.weights is None else source.weights
    if found is None:
        remedy = f"{_REMEDY}; {other.origin}" if other.origin else _REMEDY
        place = "too, found none" if source.path is None else f"beside it, found no {_tried(source.path, other)}"
        raise FrontendError(f"{source.place}: expected {other.described} {place}; {remedy}")
    if not other.recognises(found):
        kind = given.described if given.recognises(found) else found.format or "data of another kind"
        raise FrontendError(f"{found.place}: expected {other.described} for {source.place}, found {kind}")
    return (source, found) if given is network else (found, source)


def is_alone(source: Source, network: Half, weights: Half, limits: Limits) -> bool:
    """Whether a network is the only file of its model: no weights are given, and none lie beside it."""
    is_network = source.weights is None and network.recognises(source)
    return is_network and found_beside(source, weights, limits) is None


def require_alone(source: Source, what: str) -> None:
    """Raises FrontendError if a second file is given for a model that is whole; `what` says what has all of it."""
    if source.weights is not None:
        found = f"found {source.weights.place} given with it"
        raise FrontendError(f"{source.place}: {what} has its weights, {found}; leave out weights=, or --weights")


def found_beside(source: Source, other: Half, limits: Limits) -> Source | None:
    """The other file, in the folder of `source`; None if there is none. Raises FrontendError for several."""
    if source.path is None:
        return None
    for pattern in other.names(escape(source.path.name)):
        candidates = [read_source(path, limits, other.described) for path in _matches(source.path, pattern)]
        found = [candidate for candidate in candidates if other.recognises(candidate)]
        if len(found) > 1:
            names = [printable(candidate.path.name) for candidate in found[:MOST_NAMED] if candidate.path is not None]
            more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
            several = f"{', '.join(names)}{more}"
            raise FrontendError(f"{source.place}: expected one file with {other.described}, found {several}; {_REMEDY}")
        if found:
            return found[0]
    return None


def _tried(path: Path, other: Half) -> str:
    return " or ".join(dict.fromkeys(other.names(escape(path.name))))


def _matches(path: Path, pattern: str) -> Iterator[Path]:
    """The other regular files of a folder whose names fit a pattern, in order."""
    try:
        names = sorted(entry.name for entry in path.parent.iterdir())
    except OSError as error:
        raise FrontendError(f"can't list the folder of {str(path)!r}: {error.strerror}") from None
    for name in names:
        if name != path.name and fnmatchcase(name, pattern) and (path.parent / name).is_file():
            yield path.parent / name
