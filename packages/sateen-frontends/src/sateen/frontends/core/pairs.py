"""Models of two files: the network, and the data of its weights. Given one of them, the other is found beside it.

Names only propose a file; its content decides. Nothing that a file contains names the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from glob import escape
from itertools import islice
from pathlib import Path

from sateen.frontends.core.reader import LoadedModel
from sateen.frontends.core.source import Limits, Source, read_source
from sateen.runtime.errors import FrontendError, printable

_REMEDY = "give it as weights=, or --weights FILE"
_DIGIT = "[0-9]"
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


@dataclass(frozen=True, slots=True)
class Pair:
    """The two files of a model; `given` is the one that the user names. `weights` is None if there is no other, and
    `missing` the message for networks that need it."""

    given: Source
    network: Source
    weights: Source | None
    missing: str = ""

    @property
    def beside(self) -> Path | None:
        """The path of the other file; None if it has none."""
        other = self.weights if self.given is self.network else self.network
        return None if other is None else other.path

    def required_weights(self) -> Source:
        """The weights. Raises FrontendError if there are none."""
        if self.weights is None:
            raise FrontendError(self.missing)
        return self.weights


@dataclass(frozen=True, slots=True)
class PairedModel(LoadedModel):
    """A model of two files, whose `name` is that of its network; `beside` is the path of the other file, if any."""

    name: str
    beside: Path | None
    limits: Limits

    def files_beside(self) -> Iterator[Path]:
        return iter(()) if self.beside is None else iter((self.beside,))


def pair_of(source: Source, network: Half, weights: Half, limits: Limits) -> Pair:
    """The files of a model, of which `source` is either and `source.weights`, if given, the other. A network may be
    the only file.

    Raises FrontendError if the network is missing, if several files may be the other, or if it is something else.
    """
    is_network = network.recognises(source)
    given, other = (network, weights) if is_network else (weights, network)
    found = found_beside(source, other, limits) if source.weights is None else source.weights
    if found is None:
        remedy = f"{_REMEDY}; {other.origin}" if other.origin else _REMEDY
        place = "too, found none" if source.path is None else f"beside it, found no {_tried(source.path, other)}"
        missing = f"{source.place}: expected {other.described} {place}; {remedy}"
        if is_network:
            return Pair(source, source, None, missing)
        raise FrontendError(missing)
    if not other.recognises(found):
        kind = given.described if given.recognises(found) else found.format or "data of another kind"
        raise FrontendError(f"{found.place}: expected {other.described} for {source.place}, found {kind}")
    return Pair(source, *((source, found) if is_network else (found, source)))


def paired(source: Source, network: Half, weights: Half, limits: Limits) -> tuple[Source, Source]:
    """The network and the weights of a model that needs both. Raises FrontendError as `pair_of`, and if the weights are
    missing."""
    pair = pair_of(source, network, weights, limits)
    return pair.network, pair.required_weights()


def require_alone(source: Source, what: str) -> None:
    """Raises FrontendError if a second file is given for a model that is whole; `what` says what has all of it."""
    if source.weights is not None:
        found = f"found {source.weights.place} given with it"
        raise FrontendError(f"{source.place}: {what} has its weights, {found}; leave out weights=, or --weights")


def found_beside(source: Source, other: Half, limits: Limits) -> Source | None:
    """The other file, in the folder of `source`; None if there is none. Raises FrontendError for several, of which one
    at a time is in memory beside the first."""
    if source.path is None:
        return None
    for pattern in other.names(escape(source.path.name)):
        candidates = (
            (path.name, read_source(path, limits, other.described)) for path in _matches(source.path, pattern)
        )
        fitting = (candidate for candidate in candidates if other.recognises(candidate[1]))
        for name, found in fitting:
            more = [printable(another) for another, _ in islice(fitting, MOST_NAMED)]
            if not more:
                return found
            names = ", ".join([printable(name), *more][:MOST_NAMED]) + " and more" * (len(more) == MOST_NAMED)
            what = f"one file with {other.described}, found {names}"
            raise FrontendError(f"{source.place}: expected {what}; {_REMEDY}")
    return None


def _tried(path: Path, other: Half) -> str:
    return " or ".join(dict.fromkeys(map(_shown, other.names(escape(path.name)))))


def _shown(pattern: str) -> str:
    """A pattern for people, who may not know those of shells."""
    digits = pattern.count(_DIGIT)
    return f"{pattern.replace(_DIGIT, '0')} (or any other {digits} digits)" if digits else pattern


def _matches(path: Path, pattern: str) -> Iterator[Path]:
    """The other regular files of a folder whose names fit a pattern, in order."""
    try:
        names = sorted(entry.name for entry in path.parent.iterdir())
    except OSError as error:
        raise FrontendError(f"can't list the folder of {str(path)!r}: {error.strerror}") from None
    for name in names:
        if name != path.name and fnmatchcase(name, pattern) and (path.parent / name).is_file():
            yield path.parent / name
