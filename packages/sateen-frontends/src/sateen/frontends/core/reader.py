"""Readers of models and their results: a `Reader` per format, and a `LoadedModel` per file."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.peers import Peer
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import Limits, Source
from sateen.graph_ir.ir import Graph, OpSet
from sateen.runtime.errors import FrontendError, SateenError


class LoadedModel(ABC):
    """A model that is loaded: checked as a file, not yet as a network."""

    @abstractmethod
    def declarations(self) -> Sequence[Declaration]:
        """The inputs that have no data in the model. Raises FrontendError for an input that is no tensor."""

    def ranges(self) -> Mapping[str, tuple[int, float]]:
        """The least and the largest size of open dimensions, by symbol, as far as the file tells."""
        return {}

    @abstractmethod
    def files_beside(self) -> Iterator[Path]:
        """The other files that reading it reads."""

    @abstractmethod
    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        """The graph of the model, None if it has gaps, and the report of these. Raises FrontendError if the model is
        malformed. `operators` may contain operators of other packages."""


@dataclass(frozen=True, slots=True)
class Deferred:
    """A function of a format, whose module is imported when it is called first: nobody waits for the converters of
    formats that are not read."""

    module: str
    function: str

    def __call__(self, *arguments: Any) -> Any:
        return getattr(import_module(self.module), self.function)(*arguments)


@dataclass(frozen=True, slots=True)
class Reader:
    """How to read models of a format.

    `described` is the name of such a model in messages. `recognises` says by content whether a file is one; of a model
    of two files, either. `load` reads it, and raises FrontendError if it is damaged or exceeds the limits. `weights`
    describes the second file, '' if there is none. `peers` are other engines that run such models. A reader is light:
    what recognises is imported with it, what loads is `Deferred`.
    """

    described: str
    recognises: Callable[[Source], bool]
    load: Callable[[Source, Limits], LoadedModel]
    weights: str = ""
    peers: Mapping[str, Peer] = field(default_factory=dict)

    def opened(self, source: Source, limits: Limits) -> LoadedModel:
        """The model in a file. Raises FrontendError if it is damaged, also in a way that `load` does not foresee: the
        error of Python is its cause then."""
        try:
            return self.load(source, limits)
        except SateenError:
            raise
        except MemoryError:
            raise FrontendError(f"{source.place}: {self.described} that asks for more memory than there is") from None
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError, struct.error) as error:
            found = f"one that is damaged: {type(error).__name__}: {error}"
            raise FrontendError(f"{source.place}: expected {self.described}, found {found}") from error
