"""The meaning of calls for the interpreters: a function of the table, or one whose meaning the caller gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sateen.runtime.dtype import DType
from sateen.tensor_ir.functions import MathFunction, function_of
from sateen.tensor_ir.interpret import scalars
from sateen.tensor_ir.interpret.scalars import Trap, Value
from sateen.tensor_ir.ir.expr import Call
from sateen.tensor_ir.ir.external import function_name, is_external
from sateen.tensor_ir.ir.types import wrap

Meanings = Mapping[str, Callable[..., Any]]
"""The meanings of calls that are not native: functions by name, on float64."""


def meaning_of_arrays(e: Call, given: Meanings) -> Callable[..., Any] | None:
    """A function of arrays, floating point as float64; None if neither the table nor `given` has it."""
    function = function_of(e.name)
    if function is None or not function.is_native:
        given_meaning = given.get(function_name(e.name))
        if given_meaning is not None:
            return given_meaning
    return None if function is None else function.reference


def meaning_of_values(e: Call, given: Meanings) -> Callable[..., Value] | None:
    """A function of single values, in the types of the call; None if neither the table nor `given` has it."""
    if is_external(e.name):
        external = given.get(function_name(e.name))
        return None if external is None else _external(external, e.dtype)
    function = function_of(e.name)
    if function is None or not function.is_native:
        given_meaning = given.get(e.name)
        if given_meaning is not None:
            return _in_float64(given_meaning, e)
    return None if function is None else _checked(function, e)


def _external(function: Callable[..., Any], dtype: DType) -> Callable[..., Value]:
    """A function outside of sateen, whose result is of the call's type; None stands for 0."""

    def call(*operands: Any) -> Value:
        result = function(*operands)
        value = 0 if result is None else result
        return dtype.numpy.type(value) if dtype.is_float else bool(value) if dtype.is_bool else wrap(int(value), dtype)

    return call


def _checked(function: MathFunction, e: Call) -> Callable[..., Value]:
    """The function, with a trap for operands outside of its domain."""
    plain = _in_float64(function.reference, e) if function.exact is None else function.exact(e.dtype)
    domain = function.domain
    if domain is None:
        return plain

    def checked(*operands: Value) -> Value:
        if operands[domain.operand] not in domain.range(e.dtype):
            raise Trap(domain.refusal(function.name, e.dtype, operands[domain.operand]))
        return plain(*operands)

    return checked


def _in_float64(meaning: Callable[..., Any], e: Call) -> Callable[..., Value]:
    """A function of the real numbers: evaluated in float64, then rounded."""
    result = scalars.conversion(DType.of("float64"), e.dtype)
    if any(not a.dtype.is_float for a in e.args) or not e.dtype.is_float:
        return meaning
    return lambda *operands: result(meaning(*map(np.float64, operands)))
