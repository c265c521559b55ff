"""The reader of MXNet models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.options import ReadOptions, read_as
from sateen.frontends.core.reader import LoadedModel, Reader
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import Given, Limits, Source
from sateen.frontends.mxnet.importer import MxnetImporter, declarations_of
from sateen.frontends.mxnet.loading import ARRAYS, MxnetFile, load_mxnet
from sateen.frontends.mxnet.recognition import is_mxnet
from sateen.graph_ir.ir import Array, Graph, OpSet


@dataclass(frozen=True, slots=True)
class MxnetModel(LoadedModel):
    file: MxnetFile

    def declarations(self) -> Sequence[Declaration]:
        return list(declarations_of(self.file).values())

    def files_beside(self) -> Iterator[Path]:
        return iter(() if self.file.beside is None else (self.file.beside,))

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        return MxnetImporter(self.file, bindings).run()


def _load(source: Source, limits: Limits) -> MxnetModel:
    return MxnetModel(load_mxnet(source, limits))


MXNET = Reader("an MXNet model", is_mxnet, _load, weights=ARRAYS.described)


def from_mxnet(
    source: Given, weights: Given | None = None, **options: Unpack[ReadOptions]
) -> tuple[Graph, dict[str, Array]]:
    """Read an MXNet model: its symbol (`-symbol.json`) or its arrays (`.params`), with the options of `ReadOptions`.

    The other file is `weights`, or is found beside the first by name. MXNet rarely stores shapes of inputs: give them
    by `shapes`. The second result holds the data of the graph's parameters by name. Raises FrontendError where a file
    is malformed, the two don't belong together, or the network has nodes that can't be compiled, naming all of them.
    """
    return read_as(MXNET, source, weights, **options)
