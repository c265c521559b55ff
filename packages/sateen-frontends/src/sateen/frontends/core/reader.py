"""What a reader of models is, and what it gives: a value per format, and a model per file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.peers import Peer
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import Limits, Source
from sateen.graph_ir.ir import Array, Graph, OpSet
from sateen.runtime.errors import FrontendError


class Model(ABC):
    """A model that is loaded: checked as a file, not yet as a network."""

    @abstractmethod
    def declarations(self) -> Sequence[Declaration]:
        """The inputs that have no data in the model. Raises FrontendError for what is no tensor."""

    @abstractmethod
    def files_beside(self) -> Iterator[Path]:
        """The other files that reading it reads."""

    @abstractmethod
    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        """The graph of the model, None where it has gaps, and the report of these. Raises FrontendError where the model
        is malformed. `operators` may have some of other packages."""


def network_of(model: Model, bindings: Bindings, operators: OpSet) -> tuple[Graph, dict[str, Array]]:
    """The graph of a model and the data of its parameters by name. Raises FrontendError where it has gaps."""
    graph, report = model.read(bindings, operators)
    if graph is None:
        raise FrontendError(str(report))
    return graph, {value.name: data for value, data in graph.parameters.items()}


@dataclass(frozen=True, slots=True)
class Reader:
    """How models of a format are read.

    `described` is what messages call such a model. `recognises` knows one by its content; `load` takes what it knows,
    and raises FrontendError where that is damaged or beyond the limits. `peers` are other engines that run such models.
    """

    described: str
    recognises: Callable[[Source], bool]
    load: Callable[[Source, Limits], Model]
    peers: Mapping[str, Peer] = field(default_factory=dict)
