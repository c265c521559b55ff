"""Opens MXNet models: what is in their files, and the reading of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.reader import LoadedModel
from sateen.frontends.core.report import Report, in_model
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.mxnet.declarations import declarations_of
from sateen.frontends.mxnet.importer import MxnetImporter
from sateen.frontends.mxnet.loading import MxnetFile, load_mxnet
from sateen.graph_ir.ir import Graph, OpSet


@dataclass(frozen=True, slots=True)
class MxnetModel(LoadedModel):
    file: MxnetFile

    def declarations(self) -> Sequence[Declaration]:
        return list(declarations_of(self.file).values())

    def files_beside(self) -> Iterator[Path]:
        return iter(() if self.file.beside is None else (self.file.beside,))

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        with in_model(self.file.name):
            return MxnetImporter(self.file, bindings, operators).run()


def open_mxnet(source: Source, limits: Limits) -> MxnetModel:
    """The model in a file. Raises FrontendError if it is damaged or exceeds a limit."""
    return MxnetModel(load_mxnet(source, limits))
