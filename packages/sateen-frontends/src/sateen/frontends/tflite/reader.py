"""The reader of TensorFlow Lite models."""

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
from sateen.frontends.tflite.importer import declaration_of, import_tflite
from sateen.frontends.tflite.loading import TfliteFile, load
from sateen.frontends.tflite.recognition import is_tflite
from sateen.graph_ir.ir import Array, Graph, OpSet


@dataclass(frozen=True, slots=True)
class TfliteModel(LoadedModel):
    file: TfliteFile

    def declarations(self) -> Sequence[Declaration]:
        return [declaration_of(tensor) for tensor in dict.fromkeys(self.file.main.inputs)]

    def files_beside(self) -> Iterator[Path]:
        return iter(())

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        return import_tflite(self.file, bindings)


def _load(source: Source, limits: Limits) -> TfliteModel:
    return TfliteModel(load(source, limits))


TFLITE = Reader("a TensorFlow Lite model", is_tflite, _load)


def from_tflite(source: Given, **options: Unpack[ReadOptions]) -> tuple[Graph, dict[str, Array]]:
    """Read a TensorFlow Lite model: a path or its bytes, with the options of `ReadOptions`.

    Quantised inputs and outputs stay integers, and the graph has Quantize and Dequantize around what computes with real
    numbers. The second result holds the data of the graph's parameters by name. Raises FrontendError where the model is
    malformed or has nodes that can't be compiled, naming all of them.
    """
    return read_as(TFLITE, source, **options)
