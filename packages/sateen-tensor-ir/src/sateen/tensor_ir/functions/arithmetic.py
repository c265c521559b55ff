"""Functions of floating-point numbers that every processor has: exact ones, and some that are rounded correctly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from sateen.tensor_ir.functions.function import FLOAT64, Array, Lack, MathFunction, NumberKind, OperandTypes
from sateen.tensor_ir.functions.integer import bitwise_and
from sateen.tensor_ir.functions.spelling import LibraryFunction, LlvmIntrinsic
from sateen.tensor_ir.ir.choices import select
from sateen.tensor_ir.ir.expr import Expr, const, reinterpret
from sateen.tensor_ir.ir.types import FLOAT32, INT64

_ONE_FLOAT = OperandTypes(NumberKind.FLOAT)


def _rounding(name: str, meaning: str, function: np.ufunc, llvm: str, c: str) -> MathFunction:
    """A function that moves to an integral value; its derivative is 0 wherever it has one."""
    return MathFunction(
        name,
        meaning,
        _ONE_FLOAT,
        function,
        exact=lambda dtype: function,
        derivative=lambda x: (const(0.0, x.dtype),),
        llvm=LlvmIntrinsic(llvm),
        c99=LibraryFunction(c),
        opencl=LibraryFunction(c),
        wgsl=LibraryFunction(name),
    )


floor = _rounding("floor", "The largest integral value that is at most x.", np.floor, "floor", "floor")
ceil = _rounding("ceil", "The smallest integral value that is at least x.", np.ceil, "ceil", "ceil")
trunc = _rounding("trunc", "x without its fraction, towards 0.", np.trunc, "trunc", "trunc")
round = _rounding("round", "To the nearest integer, ties to even.", np.rint, "roundeven", "rint")  # noqa: A001 - te's word

sqrt: MathFunction = MathFunction(
    "sqrt",
    "Square root, correctly rounded.",
    _ONE_FLOAT,
    np.sqrt,
    exact=lambda dtype: np.sqrt,
    derivative=lambda x: (0.5 / sqrt(x),),
    llvm=LlvmIntrinsic("sqrt"),
    c99=LibraryFunction("sqrt"),
    opencl=LibraryFunction("sqrt"),
    wgsl=LibraryFunction("sqrt"),
)


def _sign(x: Expr) -> Expr:
    """1 above 0, -1 below; x if it is 0 or NaN."""
    return select(x > 0.0, 1.0, select(x < 0.0, const(-1.0, x.dtype), x))


fabs = MathFunction(
    "fabs",
    "Magnitude of a floating-point number.",
    _ONE_FLOAT,
    np.abs,
    exact=lambda dtype: np.abs,
    derivative=lambda x: (_sign(x),),
    llvm=LlvmIntrinsic("fabs"),
    c99=LibraryFunction("fabs"),
    opencl=LibraryFunction("fabs"),
    wgsl=LibraryFunction("abs"),
)


def _fma_of_float64(x: Array, y: Array, z: Array) -> Array:
    return np.asarray(x * y + z)


def _fma32(x: Any, y: Any, z: Any) -> np.float32:
    """The product of two floats is exact in a double; their sum with a third is rounded to odd, so that the rounding

    to float is the only one (Boldo, Melquiond: Emulation of FMA and correctly rounded sums, 2008).
    """
    product = float(x) * float(y)
    total = product + float(z)
    if not math.isfinite(total):
        return np.float32(total)
    part = total - product
    error = (product - (total - part)) + (float(z) - part)  # Knuth's two-sum: total + error is exact
    if error != 0.0 and np.float64(total).view(np.int64) & 1 == 0:
        total = math.nextafter(total, math.inf if error > 0 else -math.inf)
    return np.float32(total)


def _fma64(x: np.float64, y: np.float64, z: np.float64) -> np.float64:
    plain = x * y + z
    if not (np.isfinite(x) and np.isfinite(y) and np.isfinite(z)):
        return plain
    exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    if exact == 0:
        return plain
    try:
        return np.float64(float(exact))
    except OverflowError:
        return np.float64(math.inf if exact > 0 else -math.inf)


def _fma_by_float64(x: Expr, y: Expr, z: Expr) -> Expr:
    """As `_fma32`, with the patterns of float64: an odd one is larger than its even neighbour by 1."""
    product = x.astype(FLOAT64) * y.astype(FLOAT64)
    wide = z.astype(FLOAT64)
    total = product + wide
    part = total - product
    error = (product - (total - part)) + (wide - part)
    pattern = reinterpret(INT64, total)
    outwards = select((error > 0.0).equal(total > 0.0), const(1, INT64), const(-1, INT64))
    is_inexact = (error > 0.0) | (error < 0.0)
    is_even = bitwise_and(pattern, 1).equal(0)
    step = select(is_inexact & is_even, outwards, const(0, INT64))
    return reinterpret(FLOAT64, pattern + step).astype(x.dtype)


fma = MathFunction(
    "fma",
    "x·y + z, rounded once.",
    OperandTypes(NumberKind.FLOAT, 3),
    _fma_of_float64,
    exact=lambda dtype: _fma64 if dtype.bits == 64 else _fma32,
    derivative=lambda x, y, z: (y, x, const(1.0, x.dtype)),
    without={Lack.FMA: {FLOAT32: _fma_by_float64}},
    llvm=LlvmIntrinsic("fma"),
    c99=LibraryFunction("fma"),
    opencl=LibraryFunction("fma"),
    wgsl=LibraryFunction("fma"),
)
