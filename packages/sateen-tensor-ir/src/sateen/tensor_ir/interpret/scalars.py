"""Scalar arithmetic as docs/semantics.md defines it, for the interpreters.

A value is an `int` in the range of its type, a `bool`, an `np.float64`, or an `np.float32` for every shorter
floating-point type: those are storage, and `rounded` is the effect of a store or a cast on a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from sateen.runtime.dtype import DType
from sateen.tensor_ir.ir.types import FLOAT32, INDEX, INT64, int_range, wrap

Value = Any
"""int, bool, np.float32 or np.float64."""


class Trap(Exception):  # noqa: N818 - the field's word
    """An operation without a result; the interpreter adds the place."""


@cache
def rounded(dtype: DType) -> Callable[[Value], Value]:
    """The function that rounds a floating-point value to one that `dtype` can represent."""
    if dtype.bits == 64:
        return np.float64
    if dtype == FLOAT32:
        return np.float32
    narrow = dtype.numpy.type
    return lambda x: np.float32(narrow(np.float32(x)))


def literal(value: float | bool, dtype: DType) -> Value:
    """The value of a literal, rounded to the type in which its own type is computed."""
    if not dtype.is_float:
        return value
    return np.float64(value) if dtype.bits == 64 else np.float32(value)


def elements(array: np.ndarray[Any, Any], dtype: DType) -> list[Value]:
    """The elements of an array in row-major order, as values."""
    if not dtype.is_float:
        return array.ravel().tolist()
    return list(array.astype(np.float64 if dtype.bits == 64 else np.float32).ravel())


def to_integer(x: Value, dtype: DType) -> int:
    """A floating-point value truncated, saturated to the range of `dtype`; NaN is 0."""
    low, high = int_range(dtype)
    if math.isnan(x):
        return 0
    if math.isinf(x):
        return high if x > 0 else low
    return min(max(int(x), low), high)


@cache
def conversion(source: DType, target: DType) -> Callable[[Value], Value]:
    """The function that a cast from `source` to `target` applies; of an index, which is exact, if it has 64 bits."""
    if source == INDEX:
        as_data = conversion(INT64, target)
        return lambda x: as_data(_of_64_bits(x))
    if target.is_bool:
        return lambda x: bool(x != 0)
    if target.is_int:
        return (lambda x: to_integer(x, target)) if source.is_float else (lambda x: wrap(int(x), target))
    to_target = rounded(target)
    if source.is_int:  # from an integer NumPy rounds once, from a Python int twice, by way of a double
        integer = source.numpy.type
        if target.bits == 64:
            return lambda x: np.float64(integer(x))
        return lambda x: to_target(np.float32(integer(x)))
    return lambda x: to_target(float(x))


@cache
def reinterpretation(source: DType, target: DType) -> Callable[[Value], Value]:
    """The function that gives the bits of a `source` value as a value of `target`."""
    return lambda x: elements(np.array([x], source.numpy).view(target.numpy), target)[0]


def _of_64_bits(index: int) -> int:
    if index != wrap(index, INT64):
        raise Trap(f"the index {index}, which leaves 64 bits")
    return index


def minimum(a: Value, b: Value) -> Value:
    """The smaller; NaN if either is NaN."""
    return a if a < b or math.isnan(a) else b


def maximum(a: Value, b: Value) -> Value:
    """The larger; NaN if either is NaN."""
    return a if a > b or math.isnan(a) else b
