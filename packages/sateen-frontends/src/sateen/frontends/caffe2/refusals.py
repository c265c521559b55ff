"""Operators that are not read, with the reason and what would help."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.caffe2.converters import CONVERTERS
from sateen.frontends.core.refusals import DATA_DECIDES, END, LABELS, Refusal, refusal_by
from sateen.frontends.core.report import UnsupportedError

_RANDOM = ("it fills a blob with random numbers", "save the trained weights, which GivenTensorFill holds")
REFUSALS: Mapping[str, Refusal] = {
    **dict.fromkeys(
        ("GaussianFill", "MSRAFill", "UniformFill", "UniformIntFill", "XavierFill"), _RANDOM
    ),
    **dict.fromkeys(
        ("BoxWithNMSLimit", "CollectAndDistributeFpnRpnProposals", "GenerateProposals",
         "GenerateProposalsCPP"), DATA_DECIDES,
    ),
    **dict.fromkeys(("Accuracy", "AveragedLoss", "CrossEntropy", "LabelCrossEntropy", "SoftmaxWithLoss"), LABELS),
    "BBoxTransform": (
        "versions of Caffe2 place the far corners of boxes differently, and the net does not tell which wrote it",
        f"{END}, and decode outside",
    ),
    "GivenTensorStringFill": ("texts are not supported, only numbers", END),
    "Python": ("it runs code of its own", END),
}  # fmt: skip
"""The reason by type, and what would help."""


def refusal_of(type_: str) -> UnsupportedError:
    """The refusal of an operator that no converter takes."""
    if type_.startswith("Int8"):
        return UnsupportedError("quantised operators of Caffe2 are not read", "export the network with floats")
    return refusal_by(REFUSALS, type_, CONVERTERS)
