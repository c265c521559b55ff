"""The reader of CoreML models."""

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
from sateen.frontends.coreml.importer import import_coreml
from sateen.frontends.coreml.loading import EXPECTED, CoremlFile, load
from sateen.frontends.coreml.models import steps_of
from sateen.frontends.coreml.recognition import is_coreml
from sateen.frontends.coreml.steps import Steps
from sateen.graph_ir.ir import Array, Graph, OpSet


@dataclass(frozen=True, slots=True)
class CoremlModel(LoadedModel):
    file: CoremlFile
    steps: Steps

    def declarations(self) -> Sequence[Declaration]:
        return self.steps.inputs

    def files_beside(self) -> Iterator[Path]:
        return iter(())

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        return import_coreml(self.file, self.steps, bindings)


def _load(source: Source, limits: Limits) -> CoremlModel:
    file = load(source, limits)
    return CoremlModel(file, steps_of(file))


COREML = Reader(EXPECTED, is_coreml, _load)


def from_coreml(source: Given, **options: Unpack[ReadOptions]) -> tuple[Graph, dict[str, Array]]:
    """Read a CoreML model: the path of an .mlmodel file or an .mlpackage folder, or the bytes of a model.

    The options are those of `ReadOptions`. The second result holds the data of the graph's parameters by name. Raises
    FrontendError where the model is malformed or has layers that can't be compiled, naming all of them.
    """
    return read_as(COREML, source, **options)
