"""Opens Caffe2 models: what is in their files, and the reading of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sateen.frontends.caffe2.importer import Caffe2Importer
from sateen.frontends.caffe2.loading import load_network
from sateen.frontends.caffe2.network import network_of
from sateen.frontends.caffe2.recognition import INIT, PREDICT
from sateen.frontends.caffe2.schemas import net_pb2
from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.pairs import PairedModel, pair_of
from sateen.frontends.core.report import Report, in_model
from sateen.frontends.core.source import Limits, Source
from sateen.graph_ir.ir import Graph, OpSet
from sateen.runtime.errors import printable


@dataclass(frozen=True, slots=True)
class Caffe2Model(PairedModel):
    init: net_pb2.Net
    predict: net_pb2.Net

    def declarations(self) -> Sequence[Declaration]:
        return network_of(self.init, self.predict, ()).inputs

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        with in_model(self.name):
            network = network_of(self.init, self.predict, bindings.shapes)
            return Caffe2Importer(self.name, network, bindings, self.limits, operators).run()


def open_caffe2(source: Source, limits: Limits) -> Caffe2Model:
    """The model in a file. Raises FrontendError if it is damaged or exceeds a limit."""
    pair = pair_of(source, PREDICT, INIT, limits)
    init, predict = load_network(pair.required_weights(), limits), load_network(pair.network, limits)
    path = pair.network.path
    name = printable(path.name) if path is not None else printable(str(predict.name)) or "the net"
    return Caffe2Model(name, pair.beside, limits, init, predict)
