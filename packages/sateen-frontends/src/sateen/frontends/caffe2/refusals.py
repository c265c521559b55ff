"""Operators that are not read, with the reason and what would help."""

from __future__ import annotations

from collections.abc import Iterable

from sateen.frontends.core.report import UnsupportedError
from sateen.runtime.display import did_you_mean

_RANDOM = ("it fills a blob with random numbers", "save the trained weights, which GivenTensorFill holds")
_DATA_DECIDES = (
    "how many elements it gives depends on the values of its inputs, while sateen compiles for known shapes",
    "end the network before it, outputs=[...] or --to NAME, and do what follows outside",
)
_LABELS = ("it compares with labels, which there are only in training", "end the network before it: outputs=[...]")
REFUSALS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("GaussianFill", "MSRAFill", "UniformFill", "UniformIntFill", "XavierFill"), _RANDOM
    ),
    **dict.fromkeys(
        ("BoxWithNMSLimit", "CollectAndDistributeFpnRpnProposals", "GenerateProposals",
         "GenerateProposalsCPP"), _DATA_DECIDES,
    ),
    **dict.fromkeys(("Accuracy", "AveragedLoss", "CrossEntropy", "LabelCrossEntropy", "SoftmaxWithLoss"), _LABELS),
    "BBoxTransform": (
        "versions of Caffe2 place the far corners of boxes differently, and the net does not tell which wrote it",
        "end the network before it: outputs=[...], or --to NAME, and decode outside",
    ),
    "GivenTensorStringFill": ("texts are not supported, only numbers", "end the network before it"),
    "Python": ("it runs code of its own", "end the network before it"),
}  # fmt: skip
"""The reason by type, and what would help."""


def refusal_of(type_: str, known: Iterable[str]) -> UnsupportedError:
    if type_.startswith("Int8"):
        return UnsupportedError("quantised operators of Caffe2 are not read", "export the network with floats")
    unknown = ("sateen has no operator of this type", did_you_mean(type_, known).lstrip("; "))
    return UnsupportedError(*REFUSALS.get(type_, unknown))
