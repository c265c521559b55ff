"""All functions of sateen, by name. To add one, put its value into a file of this folder and its name here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sateen.tensor_ir.functions.arithmetic import ceil, fabs, floor, fma, round, sqrt, trunc  # noqa: A004
from sateen.tensor_ir.functions.exponential import erf, exp, ldexp, sigmoid, tanh
from sateen.tensor_ir.functions.function import LIBRARY, MathFunction
from sateen.tensor_ir.functions.integer import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    popcount,
    shift_left,
    shift_right,
)
from sateen.tensor_ir.functions.logarithm import log, log2, log10, pow  # noqa: A004
from sateen.tensor_ir.functions.trigonometric import cos, sin

FUNCTIONS: Mapping[str, MathFunction] = MappingProxyType({
    function.name: function
    for function in (
        bitwise_and, bitwise_or, bitwise_xor, ceil, cos, erf, exp, fabs, floor, fma, ldexp, log, log2, log10,
        popcount, pow, round, shift_left, shift_right, sigmoid, sin, sqrt, tanh, trunc,
    )
})  # fmt: skip


_IN_LIBRARY = MappingProxyType({LIBRARY + f.library: f for f in FUNCTIONS.values() if f.library})


def library_function(name: str) -> str:
    """The function of C's library in a call of this name; '' for any other."""
    return _IN_LIBRARY[name].library if name in _IN_LIBRARY else ""


def function_of(name: str) -> MathFunction | None:
    """The function that a call names, itself or in C's library; None for one with a user's rule."""
    return FUNCTIONS.get(name) or _IN_LIBRARY.get(name)
