"""The reader of Keras models."""

from __future__ import annotations

from typing import Unpack

from sateen.frontends.core.options import ReadOptions, read_as
from sateen.frontends.core.reader import Deferred, Reader
from sateen.frontends.core.source import Given
from sateen.frontends.keras.recognition import WEIGHTS, is_keras
from sateen.graph_ir.ir import Array, Graph

KERAS = Reader("a Keras model", is_keras, Deferred("sateen.frontends.keras.opening", "open_keras"), weights=WEIGHTS)


def from_keras(
    source: Given, weights: Given | None = None, **options: Unpack[ReadOptions]
) -> tuple[Graph, dict[str, Array]]:
    """Read a Keras model: an .h5 or .keras file, or its bytes, with the options of `ReadOptions`.

    An architecture (JSON of Model.to_json) and a file of weights make a model together; `weights` is the other of them,
    which otherwise is looked for beside the first. The second result holds the data of the graph's parameters by name.
    Raises FrontendError where the model is malformed or has layers that can't be compiled, naming all of them.
    """
    return read_as(KERAS, source, weights, **options)
