"""The reader of exported programs of PyTorch."""

from __future__ import annotations

from typing import Any, Unpack

from sateen.frontends.core.options import ReadOptions, read_as
from sateen.frontends.core.reader import Deferred, Reader
from sateen.frontends.core.source import Given
from sateen.frontends.torch.recognition import is_program
from sateen.graph_ir.ir import Array, Graph

TORCH = Reader(
    "a program of torch.export",
    is_program,
    Deferred("sateen.frontends.torch.opening", "open_torch"),
    weights="tensors in safetensors",
)
_SAVED = Deferred("sateen.frontends.torch.in_memory", "saved")
"""A program as the bytes of a file; what is a file already stays as it is."""


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
    return read_as(TORCH, _SAVED(program), weights, **options)
