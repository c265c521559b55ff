"""The rules that ship: every function of te.math that is not native, as plain expressions, per element type.

float32 has formulas of its own (math_exponential, math_logarithm, math_trigonometric). float16 and bfloat16 are
computed in float32 and rounded. float64 calls the C library by `libm.<name>`, one lane at a time, except for sigmoid,
which is written with `exp`.
"""

from __future__ import annotations

from collections.abc import Callable

from sateen.tensor_ir.codegen import math_exponential, math_logarithm, math_trigonometric
from sateen.tensor_ir.codegen.math_bits import FLOAT64, scale
from sateen.tensor_ir.ir.expr import FLOAT32, Call, Expr, call, cast, select

LIBM = "libm."
"""Calls of this prefix are native: the C library's function of the name that follows, for float64."""


def _rule(name: str, float32: Callable[..., Expr], float64: Callable[..., Expr]) -> Callable[[Call], Expr | None]:
    def rule(e: Call) -> Expr | None:
        if e.dtype == FLOAT32:
            return float32(*e.args)
        if e.dtype == FLOAT64:
            return float64(*e.args)
        if e.dtype.is_float and e.dtype.bits == 16:
            return cast(e.dtype, call(name, [cast(FLOAT32, argument) for argument in e.args]))
        return None

    return rule


def _of_libm(name: str) -> Callable[..., Expr]:
    return lambda *args: call(LIBM + name, args)


def _ldexp(e: Call) -> Expr | None:
    """x·2^n for what `scale` takes, and for NaN: on processors that can't."""
    x, n = e.args
    return select(x.equal(x), scale(x, n), x) if e.dtype == FLOAT32 else None


def _sigmoid_float64(x: Expr) -> Expr:
    decay = call("exp", [-call("fabs", [x])])
    return select(x < 0.0, decay, 1.0) / (1.0 + decay)


MATH_RULES = {
    "exp": _rule("exp", math_exponential.exp, _of_libm("exp")),
    "ldexp": _ldexp,
    "log": _rule("log", math_logarithm.log, _of_libm("log")),
    "sigmoid": _rule("sigmoid", math_exponential.sigmoid, _sigmoid_float64),
    "tanh": _rule("tanh", math_exponential.tanh, _of_libm("tanh")),
    "erf": _rule("erf", math_exponential.erf, _of_libm("erf")),
    "sin": _rule("sin", math_trigonometric.sin, _of_libm("sin")),
    "cos": _rule("cos", math_trigonometric.cos, _of_libm("cos")),
    "pow": _rule("pow", math_logarithm.pow, _of_libm("pow")),
}
"""Name to rule. A rule gives None for an element type that it does not serve. `ldexp` is what rules themselves call."""
