"""The reader of exported programs of PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.options import ReadOptions, read_as
from sateen.frontends.core.reader import LoadedModel, Reader
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import Given, Limits, Source
from sateen.frontends.torch.importer import declaration_of, import_program
from sateen.frontends.torch.in_memory import saved
from sateen.frontends.torch.loading import load_program
from sateen.frontends.torch.program import Program
from sateen.frontends.torch.recognition import is_program
from sateen.graph_ir.ir import Array, Graph, OpSet


@dataclass(frozen=True, slots=True)
class TorchModel(LoadedModel):
    program: Program
    limits: Limits

    def declarations(self) -> Sequence[Declaration]:
        return [declaration_of(self.program, name) for name in self.program.inputs]

    def files_beside(self) -> Iterator[Path]:
        return iter(())

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        return import_program(self.program, bindings, self.limits)


def _load(source: Source, limits: Limits) -> TorchModel:
    return TorchModel(load_program(source, limits), limits)


TORCH = Reader("a program of torch.export", is_program, _load, weights="tensors in safetensors")


def from_torch(
    program: Given | Any, weights: Given | None = None, **options: Unpack[ReadOptions]
) -> tuple[Graph, dict[str, Array]]:
    """Read a program of PyTorch: the path of a file that torch.export.save wrote, its bytes, or a
    torch.export.ExportedProgram.

    `weights` are safetensors whose tensors take the place of those of the program. A file is read without torch; a
    program in memory is saved by it, with operators decomposed that have no converter here. The options are those of
    `ReadOptions`. The second result holds the data of the graph's parameters by name. Raises FrontendError where the
    program is malformed or has nodes that can't be compiled, naming all of them.
    """
    return read_as(TORCH, saved(program), weights, **options)
