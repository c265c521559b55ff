"""Tensor expressions: what is to be computed, apart from how. The vocabulary is that of TVM's te."""

from weft.tensor_ir.ir.buffer import decl_buffer
from weft.tensor_ir.ir.expr import all_of as _all_of
from weft.tensor_ir.ir.expr import Expr, cast, const, select, logical_or as _or
from weft.tensor_ir.ir.expr import maximum, minimum
from weft.tensor_ir.schedule import create_schedule, thread_axis
from weft.tensor_ir.te.math import (
    abs, bitwise_and, bitwise_not, bitwise_or, bitwise_xor, ceil, cos, erf, exp, floor, fma, isnan, left_shift, log,
    popcount, power, reinterpret, right_shift, round, rsqrt, sigmoid, sin, sqrt, tanh, trunc,
)
from weft.tensor_ir.te.reduction import comm_reducer, max, max_value, min, min_value, prod, reduce_axis, sum
from weft.tensor_ir.te.tensor import Tensor, compute, constant, piecewise, placeholder, var
from weft.tensor_ir.te.extern import extern


def all(*conditions: Expr) -> Expr:
    """Their conjunction, evaluated left to right."""
    return _all_of(conditions)


def any(*conditions: Expr) -> Expr:
    """Their disjunction, evaluated left to right."""
    result: Expr = const(False)
    for condition in conditions:
        result = _or(result, condition)
    return result


def if_then_else(condition: Expr, then: object, otherwise: object) -> Expr:
    """`select`, by its other name: only the chosen operand's loads are performed."""
    return select(condition, then, otherwise)
