"""The judges of ONNX models' values: onnxruntime, and the evaluator of the onnx package, also in float64."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sateen.frontends.core.peers import Judges, Run
from sateen.frontends.onnx.double import layers_in_double
from sateen.frontends.onnx.loading import load
from sateen.frontends.onnx.peers import ONNXRUNTIME, onnxruntime
from sateen.frontends.onnx.reference import has_brought_operators, reference


def _onnxruntime(path: Path, keep: Sequence[str]) -> Run:
    return onnxruntime(path, keep=keep)


def _default(path: Path) -> str:
    """The evaluator knows operators of installed packages, onnxruntime does not."""
    if ONNXRUNTIME.missing or has_brought_operators(load(path).proto):
        return "reference"
    return "onnxruntime"


def _value_names(path: Path) -> list[str]:
    """The values that the nodes of the main graph compute, in order."""
    return [name for node in load(path).proto.graph.node for name in node.output if name]


JUDGES = Judges({"onnxruntime": _onnxruntime, "reference": reference}, _default, _value_names, layers_in_double)
