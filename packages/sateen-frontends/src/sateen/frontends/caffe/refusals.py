"""Layers that are not read, with the reason and what would help."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.caffe.network import Layer
from sateen.frontends.caffe.parameters import PARAMETERS
from sateen.frontends.caffe.weights import WITH_BLOBS
from sateen.frontends.core.refusals import BRING, DATA_DECIDES, END, Refusal, refusal_by
from sateen.frontends.core.report import UnsupportedError

_LOSS = (
    "it compares with labels, which there are only in training",
    "use the deploy network, or end before it: outputs=[...], or --to NAME",
)

REFUSALS: Mapping[str, Refusal] = {
    **dict.fromkeys(
        ("Accuracy", "BoxAnnotatorOHEM", "CenterLoss", "ContrastiveLoss", "DetectionEvaluate", "EuclideanLoss",
         "HingeLoss", "InfogainLoss", "MultiBoxLoss", "MultinomialLogisticLoss", "SigmoidCrossEntropyLoss",
         "SmoothL1Loss", "SmoothL1LossOHEM", "SoftmaxWithLoss", "SoftmaxWithLossOHEM", "TripletLoss"),
        _LOSS,
    ),
    "HDF5Output": ("it writes a file", END),
    "Python": ("its code is in Python, which no reader runs", f"{BRING}, or {END}"),
    **dict.fromkeys(("Filter", "Proposal"), DATA_DECIDES),
    "ROIAlign": ("forks of Caffe place the samples of its regions in different ways", END),
}  # fmt: skip

NO_WEIGHTS = "its weights are missing"
"""The reason for layers that have weights, if there is no file of them."""


def require_bottoms(layer: Layer) -> None:
    """Raises UnsupportedError for a layer that reads a blob which no layer before it gives."""
    if layer.lacks:
        reason, remedy = _LOSS if REFUSALS.get(layer.type) is _LOSS else ("", "")
        lack = f"expected a layer before it that gives {layer.lacks[0]!r}, found none"
        raise UnsupportedError("; ".join(filter(None, (lack, reason))), remedy)


def require_none(layer: Layer) -> None:
    """Raises UnsupportedError for a layer with weights: there is no file of them."""
    if layer.type in WITH_BLOBS:
        raise UnsupportedError(NO_WEIGHTS, "give the file of its weights: weights=, or --weights FILE")


def refusal_of(type_: str) -> UnsupportedError:
    """The refusal of a layer that no converter takes."""
    return refusal_by(REFUSALS, type_, PARAMETERS, "layer")
