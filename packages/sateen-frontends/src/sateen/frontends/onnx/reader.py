"""The reader of ONNX models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from sateen.frontends.core.inputs import Bindings, Declaration
from sateen.frontends.core.reader import LoadedModel, Reader, network_of
from sateen.frontends.core.report import Report
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.onnx.declarations import declaration_of
from sateen.frontends.onnx.external_data import external_files
from sateen.frontends.onnx.importer import import_onnx
from sateen.frontends.onnx.loading import EXPECTED, OnnxFile, load
from sateen.frontends.onnx.peers import PEERS
from sateen.frontends.onnx.recognition import is_onnx
from sateen.frontends.onnx.structure import inputs_of
from sateen.graph_ir.ir import Array, Graph, OpSet
from sateen.graph_ir.ops import OPS


@dataclass(frozen=True, slots=True)
class OnnxModel(LoadedModel):
    file: OnnxFile

    def declarations(self) -> Sequence[Declaration]:
        return [declaration_of(value) for value in inputs_of(self.file.proto.graph)]

    def files_beside(self) -> Iterator[Path]:
        return iter(()) if self.file.folder is None else external_files(self.file.proto, self.file.folder)

    def read(self, bindings: Bindings, operators: OpSet) -> tuple[Graph | None, Report]:
        return import_onnx(self.file, bindings, operators)


def _load(source: Source, limits: Limits) -> OnnxModel:
    return OnnxModel(load(source, limits))


ONNX = Reader(EXPECTED, is_onnx, _load, PEERS)


def from_onnx(
    source: str | Path | bytes | onnx.ModelProto,
    *,
    shapes: Mapping[str, Sequence[int]] = {},  # never written to
    dims: Mapping[str, int] = {},
    constants: Mapping[str, Array | float] = {},
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    operators: OpSet = OPS,
) -> tuple[Graph, dict[str, Array]]:
    """Read an ONNX model: a path, its bytes or its message.

    `shapes` gives inputs their shapes, `dims` gives dimensions that the model names their extents, `constants` makes
    inputs constant, by an array or, for a scalar, a number; dimensions that stay unknown are Symbols. `inputs` and
    `outputs` name values within the model at which the network begins and ends. `operators` may have some of other
    packages, for nodes of their domain and type that are not ours. The second result holds the data of the graph's
    parameters by name. Raises FrontendError where the model is malformed or has nodes that can't be compiled, naming
    all of them.
    """
    return network_of(OnnxModel(load(source)), Bindings(shapes, dims, constants, inputs, outputs), operators)


def check_onnx(
    source: str | Path | bytes | onnx.ModelProto,
    *,
    shapes: Mapping[str, Sequence[int]] = {},
    dims: Mapping[str, int] = {},
    constants: Mapping[str, Array | float] = {},
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    operators: OpSet = OPS,
) -> Report:
    """A report of everything in a model that can't be read as a graph. Raises FrontendError if it is malformed."""
    return import_onnx(load(source), Bindings(shapes, dims, constants, inputs, outputs), operators)[1]
