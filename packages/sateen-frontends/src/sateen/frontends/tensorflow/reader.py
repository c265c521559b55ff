"""The reader of TensorFlow's models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

from sateen.frontends.core.options import ReadOptions, read_as
from sateen.frontends.core.reader import Deferred, Reader
from sateen.frontends.core.source import Given
from sateen.frontends.tensorflow.recognition import CHECKPOINT, EXPECTED, TAGS, is_tensorflow
from sateen.graph_ir.ir import Array, Graph

_OPEN = Deferred("sateen.frontends.tensorflow.opening", "open_tensorflow")
TENSORFLOW = Reader(EXPECTED, is_tensorflow, _OPEN, weights=CHECKPOINT)


def from_tensorflow(
    source: Given,
    weights: Given | None = None,
    *,
    signature: str | None = None,
    tags: Sequence[str] = TAGS,
    **options: Unpack[ReadOptions],
) -> tuple[Graph, dict[str, Array]]:
    """Read a model of TensorFlow: a frozen graph (`.pb`, `.pbtxt`), the folder of a SavedModel or its saved_model.pb,
    or a graph (`.meta`) with a checkpoint.

    `weights` is the index of the checkpoint; without it, the one beside the graph is taken. Of a SavedModel the graph
    with `tags` is read, and of its signatures `signature`, or else "serving_default", or else the only one. Inputs and
    outputs have the names of the signature; without one, those of nodes (`name`, `name:1`). Of a graph, the outputs are
    the nodes that nothing reads. Raises FrontendError where the model is malformed, or has nodes that can't be
    compiled, naming all of them.
    """
    reader = replace(TENSORFLOW, load=lambda given, limits: _OPEN(given, limits, signature, tags))
    return read_as(reader, source, weights, **options)
