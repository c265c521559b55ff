"""Operations that can't be compiled: why, and what to do."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.refusals import END, Refusal, refusal_by
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.program.compression import COMPRESSION
from sateen.frontends.coreml.program.converters import CONVERTERS

_RANDOM = ("its numbers are drawn at random, by a generator that the format does not define", "make them an input")
_LIST = ("lists of tensors are not supported", END)
_COUNT = ("how much it gives is known only at run time", END)

REFUSALS: Mapping[str, Refusal] = {
    "list_gather": _LIST,
    "list_length": _LIST,
    "list_read": _LIST,
    "list_scatter": _LIST,
    "list_write": _LIST,
    "make_list": _LIST,
    "non_zero": _COUNT,
    "random_bernoulli": _RANDOM,
    "random_categorical": _RANDOM,
    "random_normal": _RANDOM,
    "random_uniform": _RANDOM,
}


def refusal_of(kind: str) -> UnsupportedError:
    """The refusal of an operation that no converter takes."""
    return refusal_by(REFUSALS, kind, (*CONVERTERS, *COMPRESSION), "operation")
