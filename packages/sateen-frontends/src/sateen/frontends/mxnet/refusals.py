"""Why some operators of MXNet can't be read, and what to do."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.refusals import END, Refusal, refusal_by
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.mxnet.converters import OPERATORS

_LOOP = ("sateen reads no loops and conditions of MXNet", "unroll the loop where the network is built")
_RANDOM = ("it gives random numbers", "end the network before it, or make its result an input: inputs=[...]")
_QUANTIZED = ("sateen reads no 8-bit operators of MXNet", "read the network as it was before it was quantised")

REFUSALS: Mapping[str, Refusal] = {
    "Custom": ("its code is in Python, which no reader runs", "build the network with operators of MXNet"),
    "_cond": _LOOP,
    "_foreach": _LOOP,
    "_while_loop": _LOOP,
    "_random_exponential": _RANDOM,
    "_random_gamma": _RANDOM,
    "_random_normal": _RANDOM,
    "_random_uniform": _RANDOM,
    "_sample_multinomial": _RANDOM,
    "_shuffle": _RANDOM,
    "_contrib_dequantize": _QUANTIZED,
    "_contrib_quantize": _QUANTIZED,
    "_contrib_quantize_v2": _QUANTIZED,
    "_contrib_quantized_conv": _QUANTIZED,
    "_contrib_quantized_fully_connected": _QUANTIZED,
    "_contrib_quantized_pooling": _QUANTIZED,
    "_contrib_requantize": _QUANTIZED,
    "_sg_mkldnn_conv": ("the graph was rewritten for one processor", "save the symbol before its optimisation"),
    "_sg_mkldnn_fully_connected": (
        "the graph was rewritten for one processor",
        "save the symbol before its optimisation",
    ),
    "_contrib_boolean_mask": ("the data decide the size of its result", END),
}


def refusal_of(operator: str) -> UnsupportedError:
    """The refusal of an operator that no converter takes."""
    return refusal_by(REFUSALS, operator, OPERATORS)
