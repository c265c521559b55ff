"""Opens Caffe models: what is in their files, and the reading of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sateen.frontends.caffe.importer import CaffeImporter
from sateen.frontends.caffe.loading import load_network
from sateen.frontends.caffe.network import Network
from sateen.frontends.caffe.recognition import NETWORK, WEIGHTS
from sateen.frontends.caffe.refusals import NO_WEIGHTS
from sateen.frontends.caffe.weights import Blob, weights_of
from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.pairs import PairedModel, pair_of
from sateen.frontends.core.report import Report, in_model
from sateen.frontends.core.source import Limits, Source
from sateen.graph_ir.ir import Graph, OpSet
from sateen.runtime.errors import FrontendError, printable


@dataclass(frozen=True, slots=True)
class CaffeModel(PairedModel):
    """A network and its weights, None if there is no file of them; `missing` is the message for a part that needs
    it."""

    network: Network
    weights: Mapping[str, tuple[Blob, ...]] | None
    missing: str

    def declarations(self) -> Sequence[Declaration]:
        return self.network.inputs

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        with in_model(self.name):
            graph, report = CaffeImporter(self.name, self.network, self.weights, bindings, self.limits, operators).run()
        if report.gaps and all(gap.reason == NO_WEIGHTS for gap in report.gaps):
            raise FrontendError(self.missing)
        return graph, report


def open_caffe(source: Source, limits: Limits) -> CaffeModel:
    """The model in a file. Raises FrontendError if it is damaged or exceeds a limit."""
    pair = pair_of(source, NETWORK, WEIGHTS, limits)
    network = load_network(pair.network, limits)
    name = _name(pair.network, network)
    if pair.weights is None:
        return CaffeModel(name, None, limits, network, None, pair.missing)
    weights = weights_of(pair.weights, limits)
    _require_common(network, weights, pair.network, pair.weights)
    return CaffeModel(name, pair.beside, limits, network, weights, "")


def _name(text: Source, network: Network) -> str:
    return printable(text.path.name) if text.path is not None else printable(network.name or "the network")


def _require_common(network: Network, weights: Mapping[str, object], text: Source, data: Source) -> None:
    """Raises FrontendError for weights of which no layer of the network has a name: they belong to another network."""
    names = {layer.name for layer in network.layers}
    if weights and names.isdisjoint(weights):
        few = ", ".join(repr(printable(name)) for name in list(weights)[:3])
        remedy = "give the file of its weights (weights=, or --weights FILE)"
        raise FrontendError(f"{data.place}: expected weights of layers of {text.place}, found those of {few}; {remedy}")
