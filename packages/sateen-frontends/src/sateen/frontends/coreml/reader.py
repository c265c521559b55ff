"""The reader of CoreML models."""

from __future__ import annotations

from typing import Unpack

from sateen.frontends.core.options import ReadOptions, read_as
from sateen.frontends.core.reader import Deferred, Reader
from sateen.frontends.core.source import Given
from sateen.frontends.coreml.recognition import EXPECTED, is_coreml
from sateen.graph_ir.ir import Array, Graph

COREML = Reader(EXPECTED, is_coreml, Deferred("sateen.frontends.coreml.opening", "open_coreml"))


def from_coreml(source: Given, **options: Unpack[ReadOptions]) -> tuple[Graph, dict[str, Array]]:
    """Read a CoreML model: the path of an .mlmodel file or an .mlpackage folder, or the bytes of a model.

    The options are those of `ReadOptions`. The second result holds the data of the graph's parameters by name. Raises
    FrontendError where the model is malformed or has layers that can't be compiled, naming all of them.
    """
    return read_as(COREML, source, **options)
