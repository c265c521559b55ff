"""The reader of darknet models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.options import ReadOptions, read_as
from sateen.frontends.core.pairs import paired
from sateen.frontends.core.reader import LoadedModel, Reader
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import Given, Limits, Source
from sateen.frontends.darknet.importer import DarknetImporter
from sateen.frontends.darknet.network import Network, load_network
from sateen.frontends.darknet.recognition import NETWORK, WEIGHTS, is_darknet
from sateen.frontends.darknet.weights import Weights, weights_of
from sateen.graph_ir.ir import Array, Graph, OpSet
from sateen.runtime.errors import FrontendError, printable


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
        try:
            return DarknetImporter(self.name, self.network, self.weights, bindings, self.limits).run()
        except FrontendError as error:
            error.add_note(f"in model {self.name!r}")
            raise


def _load(source: Source, limits: Limits) -> DarknetModel:
    text, data = paired(source, NETWORK, WEIGHTS, limits)
    network = load_network(text, limits)
    weights = weights_of(data, network, limits)
    name = printable(text.path.name) if text.path is not None else "the network"
    return DarknetModel(name, network, weights, (data if source is text else text).path, limits)


DARKNET = Reader("a darknet model", is_darknet, _load, weights=WEIGHTS.described)


def from_darknet(
    source: Given, weights: Given | None = None, **options: Unpack[ReadOptions]
) -> tuple[Graph, dict[str, Array]]:
    """Read a darknet model: its .cfg and its .weights, in either order, by path or as bytes.

    The second file is looked for beside the first if it is not given. `options` are those of `ReadOptions`; the input
    is called data, layer 3 of type route route_3. Outputs are the results of detectors, planes that are not decoded,
    and of the last layer. The second result holds the data of the graph's parameters by name. Raises FrontendError
    where the model is malformed or has layers that can't be compiled, naming all of them.
    """
    return read_as(DARKNET, source, weights, **options)
