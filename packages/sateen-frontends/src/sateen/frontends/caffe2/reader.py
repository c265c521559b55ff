"""The reader of Caffe2 models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from sateen.frontends.caffe2.importer import Caffe2Importer
from sateen.frontends.caffe2.loading import load_net
from sateen.frontends.caffe2.network import network_of
from sateen.frontends.caffe2.recognition import INIT, PREDICT, is_net
from sateen.frontends.caffe2.schemas import net_pb2
from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.options import ReadOptions, read_as
from sateen.frontends.core.pairs import paired
from sateen.frontends.core.reader import LoadedModel, Reader
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import Given, Limits, Source
from sateen.graph_ir.ir import Array, Graph, OpSet
from sateen.runtime.errors import FrontendError, printable


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
        try:
            network = network_of(self.init, self.predict, bindings.shapes)
            return Caffe2Importer(self.name, network, bindings, self.limits).run()
        except FrontendError as error:
            error.add_note(f"in model {self.name!r}")
            raise


def _load(source: Source, limits: Limits) -> Caffe2Model:
    predict, init = paired(source, PREDICT, INIT, limits)
    nets = load_net(init, limits), load_net(predict, limits)
    name = printable(predict.path.name) if predict.path is not None else printable(str(nets[1].name)) or "the net"
    return Caffe2Model(name, *nets, (init if source is predict else predict).path, limits)


CAFFE2 = Reader("a Caffe2 model", is_net, _load, weights=INIT.described)


def from_caffe2(
    source: Given, weights: Given | None = None, **options: Unpack[ReadOptions]
) -> tuple[Graph, dict[str, Array]]:
    """Read a Caffe2 model: its predict net and its init net, in either order, by path or as bytes.

    The second file is looked for beside the first if it is not given. `options` are those of `ReadOptions`; `shapes`
    has to give those of the inputs, since nets declare none. The second result holds the data of the graph's parameters
    by name. Raises FrontendError where the model is malformed or has operators that can't be compiled, naming all of
    them.
    """
    return read_as(CAFFE2, source, weights, **options)
