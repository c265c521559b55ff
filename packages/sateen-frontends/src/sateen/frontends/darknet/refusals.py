"""Layers that are not read, with the reason and what would help."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.refusals import BEGIN, END, LABELS, Refusal, refusal_by
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.darknet.sizes import SIZES

_STATE = (
    "layers that remember pictures are not read",
    "train a network without them",
)
_NOT_DARKNETS = (
    "darknet has no layer of this type; YOLOR's networks are those of a program in PyTorch",
    "export it as ONNX, or by torch.export",
)
_ORDER = (
    "pjreddie's darknet and AlexeyAB's save the weights of its gates in different orders, and files don't tell which",
    "use layers rnn",
)
_UNKNOWN = (
    f"{END}; or {BEGIN}; operators of other packages can't stand for it, since the file does not tell its weights and "
    "sizes"
)
REFUSALS: Mapping[str, Refusal] = {
    **dict.fromkeys(("conv_lstm", "history"), _STATE),
    **dict.fromkeys(("gru", "lstm"), _ORDER),
    **dict.fromkeys(
        ("alternate_channels", "control_channels", "implicit_add", "implicit_cat", "implicit_mul", "select_channels",
         "shift_channels"), _NOT_DARKNETS,
    ),
    "contrastive": LABELS,
    "normalization": (
        "darknet leaves a channel out of the first sum and subtracts it later (normalization_layer.c)",
        "train a network without it",
    ),
}  # fmt: skip
"""The reason by type, and what would help."""


def refusal_of(type_: str) -> UnsupportedError:
    """The refusal of a layer that no converter takes."""
    return refusal_by(REFUSALS, type_, SIZES, "layer", _UNKNOWN)
