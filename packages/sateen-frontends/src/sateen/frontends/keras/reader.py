"""The reader of Keras models."""

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
from sateen.frontends.keras.importer import KerasFile, declarations_of, import_keras
from sateen.frontends.keras.loading import WEIGHTS, load_keras
from sateen.frontends.keras.recognition import is_keras
from sateen.graph_ir.ir import Array, Graph, OpSet


@dataclass(frozen=True, slots=True)
class KerasModel(LoadedModel):
    file: KerasFile
    files: tuple[Path, ...]

    def declarations(self) -> Sequence[Declaration]:
        return declarations_of(self.file)

    def files_beside(self) -> Iterator[Path]:
        return iter(self.files)

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        return import_keras(self.file, bindings)


def _load(source: Source, limits: Limits) -> KerasModel:
    return KerasModel(*load_keras(source, limits))


KERAS = Reader("a Keras model", is_keras, _load, weights=WEIGHTS)


def from_keras(
    source: Given, weights: Given | None = None, **options: Unpack[ReadOptions]
) -> tuple[Graph, dict[str, Array]]:
    """Read a Keras model: an .h5 or .keras file, or its bytes, with the options of `ReadOptions`.

    An architecture (JSON of Model.to_json) and a file of weights make a model together; `weights` is the other of them,
    which otherwise is looked for beside the first. The second result holds the data of the graph's parameters by name.
    Raises FrontendError where the model is malformed or has layers that can't be compiled, naming all of them.
    """
    return read_as(KERAS, source, weights, **options)
