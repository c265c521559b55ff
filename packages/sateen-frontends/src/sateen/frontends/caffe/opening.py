"""Opens Caffe models: what is in their files, and the reading of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sateen.frontends.caffe.importer import CaffeImporter
from sateen.frontends.caffe.loading import load_network
from sateen.frontends.caffe.network import Network
from sateen.frontends.caffe.recognition import NETWORK, WEIGHTS
from sateen.frontends.caffe.weights import WITH_BLOBS, Blob, weights_of
from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.pairs import PairedModel, pair_of
from sateen.frontends.core.report import Report, in_model
from sateen.frontends.core.source import Limits, Source
from sateen.graph_ir.ir import Graph, OpSet
from sateen.runtime.errors import FrontendError, printable


@dataclass(frozen=True, slots=True)
class CaffeModel(PairedModel):
    network: Network
    weights: Mapping[str, tuple[Blob, ...]]

    def declarations(self) -> Sequence[Declaration]:
        return self.network.inputs

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        with in_model(self.name):
            return CaffeImporter(self.name, self.network, self.weights, bindings, self.limits, operators).run()


def open_caffe(source: Source, limits: Limits) -> CaffeModel:
    """The model in a file. Raises FrontendError if it is damaged or exceeds a limit."""
    pair = pair_of(source, NETWORK, WEIGHTS, limits)
    network = load_network(pair.network, limits)
    name = _name(pair.network, network)
    if pair.weights is None and not any(layer.type in WITH_BLOBS for layer in network.layers):
        return CaffeModel(name, pair.beside, limits, network, {})
    data = pair.required_weights()
    weights = weights_of(data, limits)
    _require_common(network, weights, pair.network, data)
    return CaffeModel(name, pair.beside, limits, network, weights)


def _name(text: Source, network: Network) -> str:
    return printable(text.path.name) if text.path is not None else printable(network.name or "the network")


def _require_common(network: Network, weights: Mapping[str, object], text: Source, data: Source) -> None:
    """Raises FrontendError for weights of which no layer of the network has a name: they belong to another network."""
    names = {layer.name for layer in network.layers}
    if weights and names.isdisjoint(weights):
        few = ", ".join(repr(printable(name)) for name in list(weights)[:3])
        remedy = "give the file of its weights (weights=, or --weights FILE)"
        raise FrontendError(f"{data.place}: expected weights of layers of {text.place}, found those of {few}; {remedy}")
