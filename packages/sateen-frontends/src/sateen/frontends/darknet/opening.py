"""Opens darknet models: what is in their files, and the reading of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.pairs import is_alone, paired
from sateen.frontends.core.reader import LoadedModel
from sateen.frontends.core.report import Report, in_model
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.darknet.importer import DarknetImporter
from sateen.frontends.darknet.loading import load_network
from sateen.frontends.darknet.network import Network
from sateen.frontends.darknet.recognition import NETWORK, WEIGHTS
from sateen.frontends.darknet.weights import Weights, has_weights, weights_of
from sateen.graph_ir.ir import Graph, OpSet
from sateen.runtime.errors import printable


@dataclass(frozen=True, slots=True)
class DarknetModel(LoadedModel):
    name: str
    network: Network
    weights: Mapping[int, Weights]
    beside: Path | None
    limits: Limits

    def declarations(self) -> Sequence[Declaration]:
        return self.network.inputs

    def files_beside(self) -> Iterator[Path]:
        return iter(()) if self.beside is None else iter((self.beside,))

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        with in_model(self.name):
            return DarknetImporter(self.name, self.network, self.weights, bindings, self.limits).run()


def open_darknet(source: Source, limits: Limits) -> DarknetModel:
    """The model in a file. Raises FrontendError if it is damaged or exceeds a limit."""
    if is_alone(source, NETWORK, WEIGHTS, limits):
        network = load_network(source, limits)
        if not has_weights(network):
            return DarknetModel(_name(source), network, {}, None, limits)
    text, data = paired(source, NETWORK, WEIGHTS, limits)
    network = load_network(text, limits)
    weights = weights_of(data, network, limits)
    return DarknetModel(_name(text), network, weights, (data if source is text else text).path, limits)


def _name(text: Source) -> str:
    return printable(text.path.name) if text.path is not None else "the network"
