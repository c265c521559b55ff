"""Operators that are not read, with the reason and what would help."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sateen.frontends.caffe2.converters import CONVERTERS
from sateen.frontends.caffe2.network import WITH_WEIGHTS, Operation
from sateen.frontends.core.refusals import DATA_DECIDES, END, LABELS, Refusal, refusal_by
from sateen.frontends.core.report import UnsupportedError
from sateen.runtime.errors import FrontendError

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


def require_weights(operations: Sequence[Operation], inputs: Collection[str]) -> None:
    """Raises FrontendError for inputs that are read as weights: the init net is that of another network, or cut off."""
    for operation in operations:
        if operation.type in WITH_WEIGHTS and (absent := [name for name in operation.inputs[1:] if name in inputs]):
            raise FrontendError(
                f"operator {operation.name!r} ({operation.type}) reads weights {', '.join(map(repr, absent))}, which "
                "the init net does not fill; give the init net that does (weights=, or --weights FILE), or the shapes "
                "of those that are inputs (shapes=, or --shape)"
            )


def refusal_of(type_: str) -> UnsupportedError:
    """The refusal of an operator that no converter takes."""
    if type_.startswith("Int8"):
        return UnsupportedError("quantised operators of Caffe2 are not read", "export the network with floats")
    return refusal_by(REFUSALS, type_, CONVERTERS)
