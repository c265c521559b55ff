"""The converters of models that are no networks, and those that can't be compiled."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.refusals import Refusal
from sateen.frontends.coreml.estimators.boxes import BOXES
from sateen.frontends.coreml.estimators.linear import LINEAR
from sateen.frontends.coreml.estimators.node import Converter
from sateen.frontends.coreml.estimators.preparation import PREPARATION
from sateen.frontends.coreml.estimators.trees import TREES
from sateen.frontends.coreml.estimators.vectors import VECTORS

CONVERTERS: Mapping[str, Converter] = {**BOXES, **LINEAR, **PREPARATION, **TREES, **VECTORS}
"""By the kind of model, the name of its field in Model."""

REFUSALS: Mapping[str, Refusal] = {
    "supportVectorClassifier": (
        "libsvm's probabilities of classes are what an iteration has reached when it stops, which is not supported",
        "convert the estimator to ONNX",
    ),
}
"""By the kind of model: why, and what to do."""
