"""Elementary functions that formats have as one operator and the graph as several."""

from __future__ import annotations

from functools import reduce
from math import inf

from sateen.frontends.core.node import ModelNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value

_ERFC = (
    0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368,
    -1.26551223,
)  # fmt: skip
"""The exponent of erfc(x) / t beside -x², for t = 1 / (1 + x/2), x ≥ 0, from the highest power of t on: a Chebyshev fit
with a relative error below 1.2e-7 (Press et al., Numerical Recipes, 2nd edition, 6.2, erfcc)."""


def hypotenuse(node: ModelNode, a: Value, b: Value) -> Value:
    """sqrt(a² + b²) as large · sqrt(1 + (small / large)²), so that no square leaves the range; infinite if either is,
    also where the other is NaN (C11, F.10.4.3). The result of the node."""
    a, b = node.step(ops.Abs(), a), node.step(ops.Abs(), b)
    zero, one, infinity = (node.literal(number, a.type.dtype) for number in (0, 1, inf))
    large, small = node.step(ops.Maximum(), a, b), node.step(ops.Minimum(), a, b)
    divisor = node.step(ops.Where(), node.step(ops.Equal(), large, zero), one, large)
    ratio = node.step(ops.Divide(), small, divisor)
    stretched = node.step(ops.Sqrt(), node.step(ops.Add(), node.step(ops.Multiply(), ratio, ratio), one))
    is_infinite = node.step(ops.Or(), *(node.step(ops.Equal(), side, infinity) for side in (a, b)))
    return node.result(ops.Where(), is_infinite, infinity, node.step(ops.Multiply(), large, stretched))


def complementary_error(node: ModelNode, x: Value) -> Value:
    """1 - erf(x), also where that is small: a difference would lose it. The result of the node."""
    zero, two = (node.literal(number, x.type.dtype) for number in (0, 2))
    size = node.step(ops.Abs(), x)
    t = node.step(ops.Divide(), two, node.step(ops.Add(), size, two))

    def by_horner(power: Value, coefficient: float) -> Value:
        product = node.step(ops.Multiply(), power, t)
        return node.step(ops.Add(), product, node.literal(coefficient, x.type.dtype))

    exponent = reduce(by_horner, _ERFC[1:], node.literal(_ERFC[0], x.type.dtype))
    exponent = node.step(ops.Subtract(), exponent, node.step(ops.Multiply(), size, size))
    right = node.step(ops.Multiply(), t, node.step(ops.Exp(), exponent))
    is_left = node.step(ops.Less(), x, zero)
    left = node.step(ops.Subtract(), two, right)
    return node.result(ops.Where(), is_left, left, right)
