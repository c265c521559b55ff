"""Why some operators of MXNet can't be read, and what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sateen.frontends.core.refusals import BEGIN, BRING, DATA_DECIDES, END, LABELS, Refusal, refusal_by
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.mxnet.converters import OPERATORS

_LOOP = ("sateen reads no loops and conditions of MXNet", "unroll the loop where the network is built")
_RANDOM = ("it gives random numbers", f"{END}; or {BEGIN}")
_QUANTIZED = ("sateen reads no 8-bit operators of MXNet", "read the network as it was before it was quantised")
_REWRITTEN = ("the graph was rewritten for one processor", "save the symbol before its optimisation")
_TRAINING = ("it changes weights in training", END)
_FACTORS = ("sateen has no decompositions and inverses of matrices", END)
_PROPOSALS = ("sateen has no proposals of regions", f"{END}; or {BEGIN}")

REFUSALS: Mapping[str, Refusal] = {
    "Custom": ("its code is in Python, which no reader runs", f"{BRING}, or build the network with operators of MXNet"),
    **dict.fromkeys(("_cond", "_foreach", "_while_loop"), _LOOP),
    **dict.fromkeys(("_shuffle", "normal", "shuffle", "uniform"), _RANDOM),
    **dict.fromkeys(("_contrib_dequantize", "_contrib_requantize"), _QUANTIZED),
    **dict.fromkeys(
        ("_contrib_boolean_mask", "_npi_boolean_mask", "_npi_delete", "_npi_nonzero", "_npi_unique", "_npx_nonzero"),
        DATA_DECIDES,
    ),
    **dict.fromkeys(
        ("CTCLoss", "_contrib_CTCLoss", "_contrib_MultiBoxTarget", "_contrib_bipartite_matching", "_contrib_box_encode",
         "_contrib_ctc_loss", "_npx_multibox_target", "ctc_loss"), LABELS,
    ),
    **dict.fromkeys(("_contrib_MultiProposal", "_contrib_Proposal"), _PROPOSALS),
}  # fmt: skip
"""(reason, remedy) by operator."""
FAMILIES = (
    (re.compile(r"_(?:random|sample)_\w+"), _RANDOM),
    (
        re.compile(
            r"_npi_(?:bernoulli|choice|exponential|gamma|gumbel|logistic|multinomial|normal\w*|pareto|powerd|rayleigh|"
            r"shuffle|uniform\w*|weibull)"
        ),
        _RANDOM,
    ),
    (re.compile(r"_contrib_quantized?_\w+|_contrib_quantize"), _QUANTIZED),
    (re.compile(r"_sg_\w+"), _REWRITTEN),
    (re.compile(r"\w*(?:sgd|adam|adamw|lamb|ftrl|ftml|rmsprop|signum|adagrad)\w*_update\w*"), _TRAINING),
    (re.compile(r"_linalg_(?:det|gelqf|inverse|potrf|potri|slogdet|syevd|trsm)"), _FACTORS),
    (
        re.compile(r"_npi_(?:cholesky|det|eig\w*|inv|pinv\w*|slogdet|solve|svd|tensorinv|tensorsolve)"),
        _FACTORS,
    ),
)
"""(reason, remedy) by patterns of names."""


def refusal_of(operator: str) -> UnsupportedError:
    """The refusal of an operator that no converter takes."""
    family = next((refusal for pattern, refusal in FAMILIES if pattern.fullmatch(operator)), None)
    return refusal_by(REFUSALS if family is None else {operator: family}, operator, OPERATORS)
