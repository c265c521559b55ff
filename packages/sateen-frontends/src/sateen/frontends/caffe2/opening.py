"""Opens Caffe2 models: what is in their files, and the reading of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sateen.frontends.caffe2.importer import Caffe2Importer
from sateen.frontends.caffe2.loading import load_network
from sateen.frontends.caffe2.network import network_of
from sateen.frontends.caffe2.recognition import INIT, PREDICT
from sateen.frontends.caffe2.schemas import net_pb2
from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.pairs import paired
from sateen.frontends.core.reader import LoadedModel
from sateen.frontends.core.report import Report, in_model
from sateen.frontends.core.source import Limits, Source
from sateen.graph_ir.ir import Graph, OpSet
from sateen.runtime.errors import printable


@dataclass(frozen=True, slots=True)
class Caffe2Model(LoadedModel):
    name: str
    init: net_pb2.Net
    predict: net_pb2.Net
    beside: Path | None
    limits: Limits

    def declarations(self) -> Sequence[Declaration]:
        return network_of(self.init, self.predict, ()).inputs

    def files_beside(self) -> Iterator[Path]:
        return iter(()) if self.beside is None else iter((self.beside,))

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        with in_model(self.name):
            network = network_of(self.init, self.predict, bindings.shapes)
            return Caffe2Importer(self.name, network, bindings, self.limits, operators).run()


def open_caffe2(source: Source, limits: Limits) -> Caffe2Model:
    """The model in a file. Raises FrontendError if it is damaged or exceeds a limit."""
    predict, init = paired(source, PREDICT, INIT, limits)
    nets = load_network(init, limits), load_network(predict, limits)
    name = printable(predict.path.name) if predict.path is not None else printable(str(nets[1].name)) or "the net"
    return Caffe2Model(name, *nets, (init if source is predict else predict).path, limits)
