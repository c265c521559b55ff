"""Symbolic extents of an execution: bound from the shapes of the arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError
from sateen.tensor_ir.ir.expr import Const, Expr, Var, const
from sateen.tensor_ir.ir.stmt import MOST_NUMBER, Function
from sateen.tensor_ir.ir.visit import substitute

Argument = tuple[str, tuple[Expr, ...], DType, np.ndarray[Any, Any]]
"""Name, declared shape and type, and the given array."""


def bind_symbols(arguments: Iterable[Argument], known: Mapping[Var, float] | None = None) -> dict[Var, float]:
    """The values of symbols that are extents of arguments.

    Raises ArgumentError for an array of another type, rank or shape than declared, and for a symbol that no extent
    gives.
    """
    listed = list(arguments)
    symbols = dict(known or {})
    for name, shape, dtype, array in listed:
        if DType.of(array.dtype) != dtype:
            raise ArgumentError(f"argument {name!r} expects elements of {dtype}, found {array.dtype}")
        if array.ndim != len(shape):
            raise ArgumentError(f"argument {name!r} expects {len(shape)} dimensions, found {array.ndim}")
        for extent, size in zip(shape, array.shape, strict=True):
            if isinstance(extent, Var):
                symbols.setdefault(extent, size)
    for name, shape, _, array in listed:
        expected = evaluate_shape(shape, symbols)
        if expected != array.shape:
            raise ArgumentError(f"argument {name!r} expects shape {list(expected)}, found {list(array.shape)}")
    return symbols


def numbers_of(function: Function, arrays: Sequence[np.ndarray[Any, Any]]) -> dict[Var, float]:
    """The symbols that arguments of a function hold. Raises ArgumentError for a number out of range."""
    found: dict[Var, float] = {}
    for symbol, buffer in function.numbers:
        array = arrays[function.parameters.index(buffer)]
        if array.size != 1 or not 0 <= array <= MOST_NUMBER:
            raise ArgumentError(f"argument {buffer.name!r} expects a number in [0, 2^31), found {array}")
        found[symbol] = int(array)
    return found


def check_requirements(function: Function, symbols: Mapping[Var, float]) -> None:
    """Raise ArgumentError for extents with which the function would leave an argument."""
    for r in function.requirements:
        (slack,) = evaluate_shape([r.slack], symbols)
        if slack < 0:
            raise ArgumentError(
                f"argument {r.parameter.name!r} expects an extent with which all reads are within their tensors in "
                f"dimension {r.dimension}, found one that is {-slack} too small"
            )


def evaluate_shape(shape: Iterable[Expr], symbols: Mapping[Var, float]) -> tuple[int, ...]:
    """The extents for the values of their symbols. Raises ArgumentError for a symbol without a value."""
    values = {var: const(value) for var, value in symbols.items()}
    extents = [substitute(extent, values) for extent in shape]
    for extent in extents:
        if not isinstance(extent, Const):
            raise ArgumentError(f"no argument gives the symbols of extent {extent}; pass their values in symbols=")
    return tuple(int(extent.value) for extent in extents if isinstance(extent, Const))
