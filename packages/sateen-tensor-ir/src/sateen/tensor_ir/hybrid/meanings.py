"""What scripts call: the functions of te that stand for those of Python, `math` and NumPy, and element types as
conversions."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Mapping
from functools import partial, reduce
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType
from typing import Any

import numpy as np

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir import te
from sateen.tensor_ir.functions import MathFunction
from sateen.tensor_ir.ir.expr import Const, Expr
from sateen.tensor_ir.ir.types import INDEX
from sateen.tensor_ir.te.ir_builder import BufferPointer


def _folded(function: Callable[[Any, Any], Expr], name: str) -> Callable[..., Expr]:
    def fold(*operands: Any) -> Expr:
        if len(operands) < 2:
            raise ExpressionError(f"{name} expects at least two numbers, found {len(operands)}")
        result: Expr = reduce(function, operands)
        return result

    return fold


def _whole(function: MathFunction) -> Callable[[Any], Expr]:
    """Python's rounding functions give an integer."""
    return lambda x: function(x).astype("int64")


def _natural(x: Any, *base: Any) -> Expr:
    if base:
        raise ExpressionError("log of a number has one operand; use log2, log10, or a quotient of logarithms")
    return te.log(x)


def _untyped(name: str, example: str) -> Callable[..., Expr]:
    def refuse(*_: Any) -> Expr:
        raise ExpressionError(f"{name} of an expression names no type of te; use {example}")

    return refuse


MEANINGS: Mapping[Any, Callable[..., Expr]] = MappingProxyType({
    builtins.abs: te.abs,
    builtins.max: _folded(te.maximum, "max"),
    builtins.min: _folded(te.minimum, "min"),
    builtins.pow: te.power,
    builtins.bool: partial(te.cast, "bool"),
    builtins.int: _untyped("int(x)", "int32(x) or int64(x)"),
    builtins.float: _untyped("float(x)", "float32(x) or float64(x)"),
    builtins.round: _untyped("round(x)", "te.round(x), which gives a floating-point number"),
    math.ceil: _whole(te.ceil),
    math.floor: _whole(te.floor),
    math.trunc: _whole(te.trunc),
    math.log: _natural,
    math.fabs: te.abs,
    **{getattr(math, name): getattr(te, name)
       for name in ("atan", "cos", "erf", "exp", "fmod", "isnan", "log10", "log2", "sin", "sqrt", "tanh")},
    math.pow: te.power,
    np.abs: te.abs,
    np.rint: te.round,
    np.arctan: te.atan,
    **{getattr(np, name): getattr(te, name)
       for name in ("ceil", "cos", "exp", "floor", "fmod", "isnan", "log", "log10", "log2", "maximum", "minimum",
                    "power", "sin", "sqrt", "tanh", "trunc")},
})  # fmt: skip
"""Functions of te by those that they stand for, where an operand is an expression."""

_TYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
)  # fmt: skip
CASTS: Mapping[str, Callable[..., Expr]] = MappingProxyType({
    name: partial(te.cast, name) for name in (*_TYPES[1:], "bfloat16")
})  # fmt: skip
"""Conversions, by the names that scripts may use without an import."""

BARE: Mapping[str, Any] = MappingProxyType({
    name: getattr(te, name)
    for name in ("exp", "likely", "log", "popcount", "power", "rsqrt", "sigmoid", "sqrt", "tanh")
})  # fmt: skip
"""Functions of te that scripts may use without an import."""

_NUMPY_TYPES: Mapping[Any, Callable[..., Expr]] = MappingProxyType(
    {np.dtype(name).type: partial(te.cast, name) for name in _TYPES}
)


def call(function: Any, operands: list[Any], named: Mapping[str, Any]) -> Any:
    """The result of a function of numbers: an expression if one is among the operands, otherwise what Python gives.

    Raises ExpressionError for a function that takes no expressions, and for whole tensors among the operands.
    """
    given = [*operands, *named.values()]
    name = getattr(function, "__name__", str(function))
    if function is len and len(given) == 1:
        return length(given[0])
    if any(isinstance(x, BufferPointer) for x in given):
        raise ExpressionError(f"{name} expects numbers, found a tensor; give elements, or make {name!r} a script")
    found = _NUMPY_TYPES.get(function) if isinstance(function, type) else None
    if found is None and any(isinstance(x, Expr) for x in given):
        found = MEANINGS.get(function) if function.__hash__ is not None else None
        takes = (FunctionType, MethodType, MathFunction, partial)
        if found is None and (not isinstance(function, takes) or isinstance(function, BuiltinFunctionType)):
            raise ExpressionError(f"{name} is no function of expressions; use one of te, or write its loops")
    return (function if found is None else found)(*operands, **named)


def length(x: Any) -> Any:
    """The first extent of a tensor; of anything else Python's `len`."""
    shape = getattr(x, "shape", None)
    if shape is None:
        return len(x)
    if not shape:
        raise ExpressionError("len expects a tensor with dimensions, found one without")
    return shape[0]


def element_type_of(dtype: Any) -> Any:
    """A type given by name, as a type of NumPy, or by the word of a conversion."""
    return dtype.args[0] if isinstance(dtype, partial) and dtype.func is te.cast else dtype


def plain(x: Any) -> Any:
    """A literal that Python can compute with, and a number of NumPy as an expression of its type."""
    if isinstance(x, np.generic):
        x = te.const(x)
    if isinstance(x, Const) and (x.dtype == INDEX or x.dtype.is_bool):
        return x.value
    return x
