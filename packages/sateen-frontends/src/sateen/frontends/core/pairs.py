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

MOST_NAMED = 5
"""The most files that a message names."""


@dataclass(frozen=True, slots=True)
class Half:
    """One of the two files of a model.

    `described` is its name in messages. `recognises` says by content whether a file is one. `names` gives patterns
    (as in shells) of its name, for the name of the other file with such signs escaped: the best first; a match of one
    leaves out those after it.
    """

    described: str
    recognises: Callable[[Source], bool]
    names: Callable[[str], Sequence[str]]


def paired(source: Source, network: Half, weights: Half, limits: Limits) -> tuple[Source, Source]:
    """The network and the weights of a model, of which `source` is either and `source.weights`, if given, the other.

    Raises FrontendError if the other is missing, if several files may be it, or if it is something else.
    """
    given, other = (network, weights) if network.recognises(source) else (weights, network)
    found = _beside(source, other, limits) if source.weights is None else source.weights
    if not other.recognises(found):
        kind = given.described if given.recognises(found) else found.format or "data of another kind"
        raise FrontendError(f"{found.place}: expected {other.described} for {source.place}, found {kind}")
    return (source, found) if given is network else (found, source)


def _beside(source: Source, other: Half, limits: Limits) -> Source:
    """The other file, in the folder of `source`."""
    remedy = "give it as weights=, or --weights FILE"
    if source.path is None:
        raise FrontendError(f"{source.place}: expected {other.described} too, found none; {remedy}")
    patterns = other.names(escape(source.path.name))
    for pattern in patterns:
        candidates = [read_source(path, limits, other.described) for path in _matches(source.path, pattern)]
        found = [candidate for candidate in candidates if other.recognises(candidate)]
        if len(found) > 1:
            names = [printable(candidate.path.name) for candidate in found[:MOST_NAMED] if candidate.path is not None]
            more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
            several = f"{', '.join(names)}{more}"
            raise FrontendError(f"{source.place}: expected one file with {other.described}, found {several}; {remedy}")
        if found:
            return found[0]
    tried = " or ".join(patterns)
    raise FrontendError(f"{source.place}: expected {other.described} beside it, found no {tried}; {remedy}")


def _matches(path: Path, pattern: str) -> Iterator[Path]:
    """The other regular files of a folder whose names fit a pattern, in order."""
    try:
        names = sorted(entry.name for entry in path.parent.iterdir())
    except OSError as error:
        raise FrontendError(f"can't list the folder of {str(path)!r}: {error.strerror}") from None
    for name in names:
        if name != path.name and fnmatchcase(name, pattern) and (path.parent / name).is_file():
            yield path.parent / name
