"""Opens TensorFlow Lite models: what is in their files, and the reading of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.reader import LoadedModel
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.tflite.importer import declaration_of, import_tflite
from sateen.frontends.tflite.loading import TfliteFile, load_tflite
from sateen.graph_ir.ir import Graph, OpSet


@dataclass(frozen=True, slots=True)
class TfliteModel(LoadedModel):
    file: TfliteFile

    def declarations(self) -> Sequence[Declaration]:
        return [declaration_of(tensor) for tensor in dict.fromkeys(self.file.main.inputs)]

    def files_beside(self) -> Iterator[Path]:
        return iter(())

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        return import_tflite(self.file, bindings, operators)


def open_tflite(source: Source, limits: Limits) -> TfliteModel:
    """The model in a file. Raises FrontendError if it is damaged or exceeds a limit."""
    return TfliteModel(load_tflite(source, limits))
