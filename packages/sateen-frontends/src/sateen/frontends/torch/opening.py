"""Opens exported programs of PyTorch: what is in their files, and the reading of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.reader import LoadedModel
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.torch.importer import declaration_of, import_program
from sateen.frontends.torch.loading import load_torch
from sateen.frontends.torch.program import Program
from sateen.graph_ir.ir import Graph, OpSet


@dataclass(frozen=True, slots=True)
class TorchModel(LoadedModel):
    program: Program
    limits: Limits

    def declarations(self) -> Sequence[Declaration]:
        return [declaration_of(self.program, name) for name in self.program.inputs]

    def ranges(self) -> Mapping[str, tuple[int, float]]:
        return self.program.ranges

    def files_beside(self) -> Iterator[Path]:
        return iter(())

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        return import_program(self.program, bindings, self.limits, operators)


def open_torch(source: Source, limits: Limits) -> TorchModel:
    """The model in a file. Raises FrontendError if it is damaged or exceeds a limit."""
    return TorchModel(load_torch(source, limits), limits)
