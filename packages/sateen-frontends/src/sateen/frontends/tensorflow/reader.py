"""The reader of TensorFlow's models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.options import ReadOptions, network_of, with_weights
from sateen.frontends.core.reader import LoadedModel, Reader
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import LIMITS, Given, Limits, Source, read_source
from sateen.frontends.tensorflow.declarations import declared_input, is_text
from sateen.frontends.tensorflow.importer import import_tensorflow
from sateen.frontends.tensorflow.loading import CHECKPOINT, EXPECTED, TAGS, TensorflowFile, load
from sateen.frontends.tensorflow.network import Network, connected
from sateen.frontends.tensorflow.operation import needed
from sateen.frontends.tensorflow.recognition import is_tensorflow
from sateen.graph_ir.ir import Array, Graph, OpSet
from sateen.runtime.errors import FrontendError


@dataclass(frozen=True, slots=True)
class TensorflowModel(LoadedModel):
    file: TensorflowFile
    network: Network

    def declarations(self) -> Sequence[Declaration]:
        """Those that the outputs need, without text, which nobody can give: a network has to begin behind it."""
        shapes, inputs = self.network.shapes, self.network.inputs
        read = (one for one in needed(self.network.operations, self.network.outputs) if one.name in inputs)
        return [declared_input(one, self.file.graph, shapes.get(one.name)) for one in read if not is_text(one)]

    def files_beside(self) -> Iterator[Path]:
        return iter(()) if self.file.checkpoint is None else self.file.checkpoint.files()

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        return import_tensorflow(self.file, self.network, bindings)


def _model(file: TensorflowFile) -> TensorflowModel:
    return TensorflowModel(file, connected(file))


def _load(source: Source, limits: Limits) -> TensorflowModel:
    return _model(load(source, limits))


TENSORFLOW = Reader(EXPECTED, is_tensorflow, _load, weights=CHECKPOINT)


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
    given = read_source(source, LIMITS, EXPECTED)
    if not is_tensorflow(given):
        raise FrontendError(f"{given.place}: expected {EXPECTED}, found {given.format or 'data of another kind'}")
    return network_of(_model(load(with_weights(given, weights, TENSORFLOW), LIMITS, signature, tags)), options)
