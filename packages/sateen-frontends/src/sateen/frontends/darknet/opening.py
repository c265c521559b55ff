"""Opens darknet models: what is in their files, and the reading of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.pairs import PairedModel, pair_of
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
class DarknetModel(PairedModel):
    network: Network
    weights: Mapping[int, Weights]

    def declarations(self) -> Sequence[Declaration]:
        return self.network.inputs

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        with in_model(self.name):
            return DarknetImporter(self.name, self.network, self.weights, bindings, self.limits).run()


def open_darknet(source: Source, limits: Limits) -> DarknetModel:
    """The model in a file. Raises FrontendError if it is damaged or exceeds a limit."""
    pair = pair_of(source, NETWORK, WEIGHTS, limits)
    network = load_network(pair.network, limits)
    name = "the network" if pair.network.path is None else printable(pair.network.path.name)
    is_whole = pair.weights is None and not has_weights(network)
    weights = {} if is_whole else weights_of(pair.required_weights(), network, limits)
    return DarknetModel(name, pair.beside, limits, network, weights)
