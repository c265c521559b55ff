"""The reader of ONNX models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from sateen.frontends.core.options import ReadOptions, network_of, report_of
from sateen.frontends.core.reader import Deferred, LoadedModel, Reader
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import LIMITS, read_source
from sateen.frontends.onnx.peers import PEERS
from sateen.frontends.onnx.recognition import EXPECTED, is_onnx
from sateen.graph_ir.ir import Array, Graph

if TYPE_CHECKING:
    from onnx import ModelProto  # a light reader imports no onnx

_OPEN = Deferred("sateen.frontends.onnx.opening", "open_onnx")
ONNX = Reader(EXPECTED, is_onnx, _OPEN, peers=PEERS)


def from_onnx(
    source: str | Path | bytes | ModelProto, **options: Unpack[ReadOptions]
) -> tuple[Graph, dict[str, Array]]:
    """Read an ONNX model: a path, its bytes or its message, with the options of `ReadOptions`.

    The second result holds the data of the graph's parameters by name. Raises FrontendError where the model is
    malformed or has nodes that can't be compiled, naming all of them.
    """
    return network_of(_opened(source), options)


def check_onnx(source: str | Path | bytes | ModelProto, **options: Unpack[ReadOptions]) -> Report:
    """A report of everything in a model that can't be read as a graph. Raises FrontendError if it is malformed."""
    return report_of(_opened(source), options)


def _opened(source: str | Path | bytes | ModelProto) -> LoadedModel:
    if isinstance(source, str | Path | bytes):
        return ONNX.opened(read_source(source, LIMITS, EXPECTED), LIMITS)
    model: LoadedModel = _OPEN(source, LIMITS)
    return model
