"""Opens CoreML models: what is in their files, and the reading of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.reader import LoadedModel
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.coreml.allowed_sizes import with_examples
from sateen.frontends.coreml.importer import import_coreml
from sateen.frontends.coreml.loading import CoremlFile, load_coreml
from sateen.frontends.coreml.models import steps_of
from sateen.frontends.coreml.steps import Steps
from sateen.graph_ir.ir import Graph, OpSet


@dataclass(frozen=True, slots=True)
class CoremlModel(LoadedModel):
    file: CoremlFile
    steps: Steps

    def declarations(self) -> Sequence[Declaration]:
        return with_examples(self.steps.inputs, self.file.model.description)

    def files_beside(self) -> Iterator[Path]:
        return iter(())

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        return import_coreml(self.file, self.steps, bindings, operators)


def open_coreml(source: Source, limits: Limits) -> CoremlModel:
    """The model in a file. Raises FrontendError if it is damaged or exceeds a limit."""
    file = load_coreml(source, limits)
    return CoremlModel(file, steps_of(file))
