"""The formats that can be read, each by its reader; a file's content says which it is."""

from __future__ import annotations

from typing import Unpack

from sateen.frontends.caffe import CAFFE
from sateen.frontends.caffe2 import CAFFE2
from sateen.frontends.core.options import ReadOptions, network_of, report_of, with_weights
from sateen.frontends.core.reader import LoadedModel, Reader
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import LIMITS, Given, Source, read_source
from sateen.frontends.coreml import COREML
from sateen.frontends.darknet import DARKNET
from sateen.frontends.keras import KERAS
from sateen.frontends.mxnet import MXNET
from sateen.frontends.onnx import ONNX
from sateen.frontends.tensorflow import TENSORFLOW
from sateen.frontends.tflite import TFLITE
from sateen.frontends.torch import TORCH
from sateen.graph_ir.ir import Array, Graph
from sateen.runtime.errors import FrontendError

READERS: tuple[Reader, ...] = (CAFFE, CAFFE2, COREML, DARKNET, KERAS, MXNET, ONNX, TENSORFLOW, TFLITE, TORCH)
"""All formats; no two recognise one file."""
PEERS = {name: peer for reader in READERS for name, peer in reader.peers.items()}
"""All engines that models can be measured against."""


def _either(names: tuple[str, ...]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


EXPECTED = _either(tuple(reader.described for reader in READERS))
"""The name in errors for models that can be read."""


def reader_of(given: Given, expected: str = EXPECTED) -> tuple[Reader, Source]:
    """The reader of a model, and its source. Raises FrontendError if no reader takes it; `expected` names what would be
    accepted."""
    source = read_source(given, LIMITS, expected)
    for reader in READERS:
        if reader.recognises(source):
            return reader, source
    found = source.format or "data of no format that is known here"
    raise FrontendError(f"{source.place}: expected a model, found {found}; known are {expected}")


def open_model(given: Given, weights: Given | None = None, expected: str = EXPECTED) -> LoadedModel:
    """A model, loaded and checked as a file. Raises FrontendError if it is no model, or damaged."""
    reader, source = reader_of(given, expected)
    return reader.opened(with_weights(source, weights, reader), LIMITS)


def load(source: Given, weights: Given | None = None, **options: Unpack[ReadOptions]) -> tuple[Graph, dict[str, Array]]:
    """Read a model of any known format: a path, or its bytes.

    `weights` is the second file of a model of two; if it is not given, it is looked for beside the first. The options
    are those of `ReadOptions`; of a SavedModel the signature `serving_default` is read, or the only one, and
    `from_tensorflow` another. The second result holds the data of the graph's parameters by name. Raises FrontendError
    where the model is malformed or has nodes that can't be compiled, naming all of them.
    """
    return network_of(open_model(source, weights), options)


def check(source: Given, weights: Given | None = None, **options: Unpack[ReadOptions]) -> Report:
    """A report of everything in a model that can't be read as a graph. Raises FrontendError if it is malformed."""
    return report_of(open_model(source, weights), options)
