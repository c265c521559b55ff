"""Element-wise operators of one input: the value of each element from the same element.

The functions take and give scalar expressions; `unary` makes an operator of such a function. Formulas are chosen to
keep their relative accuracy where two terms would cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sateen.runtime.dtype import DType, TypeCode
from sateen.tensor_ir import te
from sateen.tensor_ir.ir import int_range
from sateen.tensor_ir.te import Expr
from sateen.topi.computations.arguments import of_expressions, require, require_views
from sateen.topi.schedules import Computation
from sateen.topi.types import Layout, View, compute


def unary(x: View, function: Callable[[Expr], Expr], name: str, layout: Layout | None = None) -> Computation:
    """function(x), element by element; in the layout of x unless another is given.

    The function sees float16 and bfloat16 as float32, and its result is rounded once.
    """
    require_views(name, x=x)
    return Computation((compute(x.shape, lambda *i: in_float32(function, x(*i)), name, layout or x.layout),))


def in_float32(function: Callable[[Expr], Expr], x: Expr) -> Expr:
    """function(x) with 16-bit floating point widened before and rounded after."""
    if not (x.dtype.is_float and x.dtype.bits == 16):
        return function(x)
    wide = function(x.astype("float32"))
    return wide.astype(x.dtype) if wide.dtype.is_float else wide


@of_expressions
def identity(x: Expr) -> Expr:
    return x


def cast(x: View, dtype: DType | str, layout: Layout | None = None) -> Computation:
    """x converted to another type (docs/semantics.md, conversions)."""
    require_views("cast", x=x)
    return Computation((compute(x.shape, lambda *i: te.cast(dtype, x(*i)), "cast", layout or x.layout),))


def bit_cast(x: View, dtype: DType, layout: Layout | None = None) -> Computation:
    """The bits of each element as another type of the same width."""
    require_views("bit_cast", x=x)
    kind = DType.of(dtype)
    require(kind.bits == x.dtype.bits, "bit_cast", f"a type of {x.dtype.bits} bits, as {x.dtype} has", kind)
    return Computation((compute(x.shape, lambda *i: te.reinterpret(dtype, x(*i)), "bit_cast", layout or x.layout),))


# Piecewise linear functions. Comparisons are written so that NaN stays.


@of_expressions
def relu(x: Expr) -> Expr:
    """max(x, 0)."""
    return te.maximum(x, te.const(0, x.dtype))


@of_expressions
def clip(x: Expr, low: float | None, high: float | None) -> Expr:
    """x limited to [low, high]; None is no limit. If low > high, high."""
    if x.dtype.is_int:
        least, most = int_range(x.dtype)
        low = None if low is None or low <= least else low
        high = None if high is None or high >= most else high
    x = x if low is None else te.maximum(x, te.const(low, x.dtype))
    return x if high is None else te.minimum(x, te.const(high, x.dtype))


@of_expressions
def leaky_relu(x: Expr, alpha: float) -> Expr:
    """x, or alpha·x below 0."""
    return te.select(x < 0, x * alpha, x)


@of_expressions
def thresholded_relu(x: Expr, alpha: float) -> Expr:
    """x above alpha, else 0, also for NaN."""
    return te.select(x > alpha, x, te.const(0, x.dtype))


@of_expressions
def hard_sigmoid(x: Expr, alpha: float, beta: float) -> Expr:
    """alpha·x + beta limited to [0, 1]."""
    return clip(x * alpha + beta, 0, 1)


@of_expressions
def hard_swish(x: Expr) -> Expr:
    """x·hard_sigmoid(x) with alpha 1/6 and beta 1/2 (Howard et al., Searching for MobileNetV3, 2019)."""
    return x * hard_sigmoid(x, 1 / 6, 0.5)


@of_expressions
def shrink(x: Expr, bias: float, lambd: float) -> Expr:
    """x moved by bias towards 0 if its distance from 0 exceeds lambd, otherwise 0, also for NaN (ONNX Shrink-9).

    Integers are truncated.
    """
    real = x if x.dtype.is_float else x.astype("float64")
    moved = te.select(real < -lambd, real + bias, te.select(real > lambd, real - bias, te.const(0.0, real.dtype)))
    return moved.astype(x.dtype)


# Smooth activations.


@of_expressions
def elu(x: Expr, alpha: float) -> Expr:
    """x, or alpha·(e^x - 1) below 0."""
    return te.select(x < 0, _expm1_below_1(x) * alpha, x)


@of_expressions
def selu(x: Expr, alpha: float, gamma: float) -> Expr:
    """gamma·elu(x, alpha) (Klambauer et al., Self-Normalizing Neural Networks, 2017)."""
    return elu(x, alpha) * gamma


@of_expressions
def celu(x: Expr, alpha: float) -> Expr:
    """x, or alpha·(e^(x/alpha) - 1) below 0 (Barron, Continuously Differentiable Exponential Linear Units, 2017)."""
    y = x * (1 / alpha)
    if alpha > 0:
        return te.select(x < 0, _expm1_below_1(y) * alpha, x)
    root = te.exp(y * 0.5)  # e^y alone may overflow where the result does not
    return te.select(x < 0, _expm1_below_1(-y) * -alpha * root * root, x)


@of_expressions
def softplus(x: Expr) -> Expr:
    """log(1 + e^x), computed with the exponential that does not overflow."""
    return te.maximum(x, 0.0) + log1p(te.exp(-te.abs(x)))


@of_expressions
def softsign(x: Expr) -> Expr:
    """x / (1 + |x|)."""
    return x / (te.abs(x) + 1.0)


@of_expressions
def mish(x: Expr) -> Expr:
    """x·tanh(softplus(x)) (Misra, Mish, 2019)."""
    return x * te.tanh(softplus(x))


@of_expressions
def gelu(x: Expr) -> Expr:
    """x·Φ(x), Φ the normal distribution (Hendrycks, Gimpel, Gaussian Error Linear Units, 2016)."""
    return x * 0.5 * (te.erf(x * math.sqrt(0.5)) + 1.0)


@of_expressions
def gelu_tanh(x: Expr) -> Expr:
    """The approximation of gelu by tanh, from the same paper; 1 + tanh u = 2 sigmoid(2u) does not cancel below 0."""
    return x * te.sigmoid((x + x * x * x * 0.044715) * math.sqrt(8 / math.pi))


# Arithmetic.


@of_expressions
def reciprocal(x: Expr) -> Expr:
    return 1.0 / x


@of_expressions
def negative(x: Expr) -> Expr:
    return -x


@of_expressions
def absolute(x: Expr) -> Expr:
    """|x|; the smallest integer is its own."""
    return x if is_unsigned(x) else te.abs(x)


@of_expressions
def sign(x: Expr) -> Expr:
    """1, 0 or -1; NaN stays."""
    one = te.const(1, x.dtype)
    if is_unsigned(x):
        return te.minimum(x, one)
    return te.select(x > 0, one, te.select(x < 0, te.const(-1, x.dtype), x))


@of_expressions
def logical_not(x: Expr) -> Expr:
    return ~x


@of_expressions
def is_infinite(x: Expr, negative: bool = True, positive: bool = True) -> Expr:
    """Whether x is an infinity of the given signs."""
    never = te.abs(x) < 0.0  # reads x, as an operator does with its input
    return te.any(x.equal(math.inf) if positive else never, x.equal(-math.inf) if negative else never)


@of_expressions
def is_unsigned(x: Expr) -> bool:
    """Whether x is of an unsigned integer type."""
    return x.dtype.code is TypeCode.UINT


# Elementary functions beyond those of te.


@of_expressions
def log1p(x: Expr) -> Expr:
    """log(1 + x): the error of rounding 1 + x is divided out (Kahan; Goldberg, What Every Computer Scientist Should
    Know About Floating-Point Arithmetic, theorem 4)."""
    one_more = x + 1.0
    rounded = one_more - 1.0
    exact = te.any(rounded.equal(0.0), one_more.equal(math.inf))
    return te.select(exact, x, te.log(one_more) * (x / rounded))


@of_expressions
def _expm1_below_1(x: Expr) -> Expr:
    """e^x - 1 for x < 1: 2t / (1 - t) of t = tanh(x/2), which near 0 has the relative accuracy that e^x - 1 lacks."""
    t = te.tanh(x * 0.5)
    return t * 2.0 / (1.0 - t)


@of_expressions
def expm1(x: Expr) -> Expr:
    """e^x - 1 with its relative accuracy near 0."""
    return te.select(te.abs(x) < 1.0, _expm1_below_1(x), te.exp(x) - 1.0)


@of_expressions
def tan(x: Expr) -> Expr:
    return te.sin(x) / te.cos(x)


@of_expressions
def atan(x: Expr) -> Expr:
    """Arc tangent."""
    return te.atan(x)


@of_expressions
def asin(x: Expr) -> Expr:
    """Arc sine; NaN beyond [-1, 1]."""
    return atan(x / te.sqrt((1.0 - x) * (1.0 + x)))


@of_expressions
def acos(x: Expr) -> Expr:
    """Arc cosine; NaN beyond [-1, 1]."""
    return atan(te.sqrt((1.0 - x) / (1.0 + x))) * 2.0


@of_expressions
def sinh(x: Expr) -> Expr:
    """Hyperbolic sine: 2t / (1 - t²) of t = tanh(x/2) near 0, exponentials elsewhere."""
    t, root = te.tanh(x * 0.5), te.exp(te.abs(x) * 0.5)
    far = root * 0.5 * root - 0.5 / root / root
    return te.select(te.abs(x) < 1.0, t * 2.0 / (1.0 - t * t), with_sign_of(x, far))


@of_expressions
def cosh(x: Expr) -> Expr:
    """Hyperbolic cosine."""
    root = te.exp(te.abs(x) * 0.5)
    return root * 0.5 * root + 0.5 / root / root


@of_expressions
def asinh(x: Expr) -> Expr:
    """Inverse hyperbolic sine."""
    size = te.abs(x)
    near = log1p(size + size * size / (te.sqrt(size * size + 1.0) + 1.0))
    return with_sign_of(x, te.select(size > _SQUARABLE, te.log(size) + math.log(2), near))


@of_expressions
def acosh(x: Expr) -> Expr:
    """Inverse hyperbolic cosine; NaN below 1."""
    above = x - 1.0
    near = log1p(above + te.sqrt(above) * te.sqrt(above + 2.0))
    return te.select(x > _SQUARABLE, te.log(x) + math.log(2), near)


@of_expressions
def atanh(x: Expr) -> Expr:
    """Inverse hyperbolic tangent; NaN beyond [-1, 1]."""
    size = te.abs(x)
    return with_sign_of(x, log1p(size * 2.0 / (1.0 - size)) * 0.5)


_SQUARABLE = 1e9
"""Above this number x² + 1 is x² in every type, and below it x² is finite in every type."""


@of_expressions
def with_sign_of(x: Expr, magnitude: Expr) -> Expr:
    """The magnitude, negative where x is."""
    return te.select(x < 0.0, -magnitude, magnitude)
