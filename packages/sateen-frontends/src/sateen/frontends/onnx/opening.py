"""Opens ONNX models: what is in a file or a message, and the reading of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.reader import LoadedModel
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.onnx.declarations import declaration_of
from sateen.frontends.onnx.external_data import external_files
from sateen.frontends.onnx.importer import import_onnx
from sateen.frontends.onnx.loading import OnnxFile, load_onnx
from sateen.frontends.onnx.strings import is_strings
from sateen.frontends.onnx.structure import inputs_of
from sateen.graph_ir.ir import Graph, OpSet


@dataclass(frozen=True, slots=True)
class OnnxModel(LoadedModel):
    file: OnnxFile

    def declarations(self) -> Sequence[Declaration]:
        return [declaration_of(value) for value in inputs_of(self.file.proto.graph) if not is_strings(value)]

    def files_beside(self) -> Iterator[Path]:
        beside = self.file.beside
        return iter(()) if beside is None else external_files(self.file.proto, beside.folder)

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        return import_onnx(self.file, bindings, operators)


def open_onnx(given: str | Path | bytes | onnx.ModelProto | Source, limits: Limits) -> OnnxModel:
    """The model in a file, its bytes or its message. Raises FrontendError if it is damaged or exceeds a limit."""
    return OnnxModel(load_onnx(given, limits))
