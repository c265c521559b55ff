"""Operators that can't become operators of a graph, each with the reason and what to do."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.refusals import BEGIN, DATA_DECIDES, END, Refusal, refusal_by
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tflite.model import Operation

CUT = f"{END}; or {BEGIN}"
_STATE = "it reads or writes a state that outlives a run", "convert the model with its states as inputs and outputs"
_TABLE = "it looks up text or hashes", CUT
_RANDOM = "its result is random", "convert the model with the random numbers as an input"
_COMPLEX = "it computes with complex numbers", CUT

REFUSALS: Mapping[str, Refusal] = {
    "ASSIGN_VARIABLE": _STATE,
    "CALL_ONCE": _STATE,
    "COMPLEX_ABS": _COMPLEX,
    "CONCAT_EMBEDDINGS": _TABLE,
    "DELEGATE": ("it stands for a part that is compiled for one device", "use the model from before that"),
    "HASHTABLE": _TABLE,
    "HASHTABLE_FIND": _TABLE,
    "HASHTABLE_IMPORT": _TABLE,
    "HASHTABLE_LOOKUP": _TABLE,
    "HASHTABLE_SIZE": _TABLE,
    "IMAG": _COMPLEX,
    "LSH_PROJECTION": _TABLE,
    "MULTINOMIAL": _RANDOM,
    "RANDOM_STANDARD_NORMAL": _RANDOM,
    "RANDOM_UNIFORM": _RANDOM,
    "READ_VARIABLE": _STATE,
    "REAL": _COMPLEX,
    "RFFT2D": _COMPLEX,
    "SKIP_GRAM": _TABLE,
    "STABLEHLO_RNG_BIT_GENERATOR": _RANDOM,
    "UNIQUE": DATA_DECIDES,
    "VAR_HANDLE": _STATE,
    "WHERE": DATA_DECIDES,
}


def refusal_of(node: Operation) -> UnsupportedError:
    """The refusal of an operator that no converter takes."""
    if node.custom is not None:
        return refusal_by({}, node.operator, kind="custom operator")
    return refusal_by(REFUSALS, node.operator, remedy=CUT)
