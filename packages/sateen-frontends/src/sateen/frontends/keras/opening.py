"""Opens Keras models: what is in their files, and the reading of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.reader import LoadedModel
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.keras.importer import KerasFile, declarations_of, import_keras
from sateen.frontends.keras.loading import load_keras
from sateen.graph_ir.ir import Graph, OpSet


@dataclass(frozen=True, slots=True)
class KerasModel(LoadedModel):
    file: KerasFile
    files: tuple[Path, ...]

    def declarations(self) -> Sequence[Declaration]:
        return declarations_of(self.file)

    def files_beside(self) -> Iterator[Path]:
        return iter(self.files)

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        return import_keras(self.file, bindings, operators)


def open_keras(source: Source, limits: Limits) -> KerasModel:
    """The model in a file. Raises FrontendError if it is damaged or exceeds a limit."""
    return KerasModel(*load_keras(source, limits))
