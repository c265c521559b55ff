"""The reader of ONNX models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import onnx

from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.options import ReadOptions, network_of, report_of
from sateen.frontends.core.reader import LoadedModel, Reader
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.onnx.declarations import declaration_of
from sateen.frontends.onnx.external_data import external_files
from sateen.frontends.onnx.importer import import_onnx
from sateen.frontends.onnx.loading import EXPECTED, OnnxFile, load
from sateen.frontends.onnx.peers import PEERS
from sateen.frontends.onnx.recognition import is_onnx
from sateen.frontends.onnx.strings import is_strings
from sateen.frontends.onnx.structure import inputs_of
from sateen.graph_ir.ir import Array, Graph, OpSet


@dataclass(frozen=True, slots=True)
class OnnxModel(LoadedModel):
    file: OnnxFile

    def declarations(self) -> Sequence[Declaration]:
        return [declaration_of(value) for value in inputs_of(self.file.proto.graph) if not is_strings(value)]

    def files_beside(self) -> Iterator[Path]:
        return iter(()) if self.file.folder is None else external_files(self.file.proto, self.file.folder)

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        return import_onnx(self.file, bindings, operators)


def _load(source: Source, limits: Limits) -> OnnxModel:
    return OnnxModel(load(source, limits))


ONNX = Reader(EXPECTED, is_onnx, _load, peers=PEERS)


def from_onnx(
    source: str | Path | bytes | onnx.ModelProto, **options: Unpack[ReadOptions]
) -> tuple[Graph, dict[str, Array]]:
    """Read an ONNX model: a path, its bytes or its message, with the options of `ReadOptions`.

    The second result holds the data of the graph's parameters by name. Raises FrontendError where the model is
    malformed or has nodes that can't be compiled, naming all of them.
    """
    return network_of(OnnxModel(load(source)), options)


def check_onnx(source: str | Path | bytes | onnx.ModelProto, **options: Unpack[ReadOptions]) -> Report:
    """A report of everything in a model that can't be read as a graph. Raises FrontendError if it is malformed."""
    return report_of(OnnxModel(load(source)), options)
