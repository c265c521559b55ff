"""The judges of ONNX models' values: onnxruntime, and the evaluator of the onnx package, also in float64."""

from __future__ import annotations

from sateen.frontends.core.peers import Judges
from sateen.frontends.core.reader import Deferred

_ENGINES, _REFERENCE = "sateen.frontends.onnx.engines", "sateen.frontends.onnx.reference"
JUDGES = Judges(
    {"onnxruntime": Deferred(_ENGINES, "onnxruntime"), "reference": Deferred(_REFERENCE, "reference")},
    Deferred(_REFERENCE, "usual_judge"),
    Deferred(_REFERENCE, "value_names"),
    Deferred("sateen.frontends.onnx.double", "layers_in_double"),
)
