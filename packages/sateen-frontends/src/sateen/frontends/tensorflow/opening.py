"""Opens TensorFlow's models: what is in their files, and the reading of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.reader import LoadedModel
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.tensorflow.declarations import declared_input, is_text
from sateen.frontends.tensorflow.importer import import_tensorflow
from sateen.frontends.tensorflow.loading import TensorflowFile, load_tensorflow
from sateen.frontends.tensorflow.network import Network, connected
from sateen.frontends.tensorflow.operation import needed
from sateen.frontends.tensorflow.recognition import TAGS
from sateen.graph_ir.ir import Graph, OpSet


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
        return import_tensorflow(self.file, self.network, bindings, operators)


def open_tensorflow(
    source: Source, limits: Limits, signature: str | None = None, tags: Sequence[str] = TAGS
) -> TensorflowModel:
    """The model in a file or folder. Raises FrontendError if it is damaged, exceeds a limit, or lacks the signature."""
    file = load_tensorflow(source, limits, signature, tags)
    return TensorflowModel(file, connected(file))
