"""The reader of TensorFlow Lite models."""

from __future__ import annotations

from typing import Unpack

from sateen.frontends.core.options import ReadOptions, read_as
from sateen.frontends.core.reader import Deferred, Reader
from sateen.frontends.core.source import Given
from sateen.frontends.tflite.recognition import is_tflite
from sateen.graph_ir.ir import Array, Graph

TFLITE = Reader("a TensorFlow Lite model", is_tflite, Deferred("sateen.frontends.tflite.opening", "open_tflite"))


def from_tflite(source: Given, **options: Unpack[ReadOptions]) -> tuple[Graph, dict[str, Array]]:
    """Read a TensorFlow Lite model: a path or its bytes, with the options of `ReadOptions`.

    Quantised inputs and outputs stay integers, and the graph has Quantize and Dequantize around what computes with real
    numbers. The second result holds the data of the graph's parameters by name. Raises FrontendError where the model is
    malformed or has nodes that can't be compiled, naming all of them.
    """
    return read_as(TFLITE, source, **options)
