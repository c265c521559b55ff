"""Layers that are not read, with the reason and what would help."""

from __future__ import annotations

from sateen.frontends.caffe.parameters import PARAMETERS
from sateen.frontends.core.report import UnsupportedError
from sateen.runtime.display import did_you_mean

_LOSS = (
    "it compares with labels, which there are only in training",
    "use the deploy network, or end before it: outputs=[...], or --to NAME",
)
_OUTSIDE = ("it runs code or reads files of its own", "end the network before it: outputs=[...], or --to NAME")
_DATA_DECIDES = (
    "how many elements it gives depends on the values of its inputs, while sateen compiles for known shapes",
    "end the network before it, outputs=[...] or --to NAME, and do what follows outside",
)
_UNKNOWN = ("sateen has no layer of this type", "")

REFUSALS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("Accuracy", "BoxAnnotatorOHEM", "CenterLoss", "ContrastiveLoss", "DetectionEvaluate", "EuclideanLoss",
         "HingeLoss", "InfogainLoss", "MultiBoxLoss", "MultinomialLogisticLoss", "SigmoidCrossEntropyLoss",
         "SmoothL1Loss", "SmoothL1LossOHEM", "SoftmaxWithLoss", "SoftmaxWithLossOHEM", "TripletLoss"),
        _LOSS,
    ),
    **dict.fromkeys(("HDF5Output", "Python"), _OUTSIDE),
    **dict.fromkeys(("Filter", "Proposal"), _DATA_DECIDES),
    "ROIAlign": ("forks of Caffe place the samples of its regions in different ways", "end the network before it"),
}  # fmt: skip


def refusal_of(type_: str) -> UnsupportedError:
    reason, remedy = REFUSALS.get(type_, _UNKNOWN)
    if type_ not in REFUSALS:
        remedy = did_you_mean(type_, PARAMETERS).lstrip("; ")
    return UnsupportedError(reason, remedy)
