"""Softmax and its logarithm."""

from __future__ import annotations

from sateen.tensor_ir import te
from sateen.topi.computations.arguments import require_axis, require_floats, require_views
from sateen.topi.schedules import Computation, Rows, accumulator_type
from sateen.topi.types import View


def softmax(x: View, axis: int) -> Computation:
    """exp(x) / Σ exp(x) along an axis; the row's maximum is subtracted first, so that nothing overflows."""
    require_views("softmax", x=x)
    require_floats("softmax", x=x)
    require_axis("softmax", axis, x.ndim)
    kind = accumulator_type(x.dtype)
    rows = Rows(x.shape, axis, axis + 1)
    largest = rows.reduction(te.max, lambda o, r, i: x(*rows.index(o, r, i)).astype(kind), "largest")
    powers = rows.buffer(lambda o, r, i: te.exp(x(*rows.index(o, r, i)).astype(kind) - largest(o, i)), "powers")
    total = rows.reduction(te.sum, powers, "total")
    inverse = rows.statistic(lambda o, i: 1.0 / total(o, i), "inverse")

    def element(*index: te.Expr) -> te.Expr:
        o, i = rows.row_of(index)
        return (powers(o, index[axis], i) * inverse(o, i)).astype(x.dtype)

    return rows.computation(element, "softmax")


def log_softmax(x: View, axis: int) -> Computation:
    """x - log Σ exp(x) along an axis."""
    require_views("log_softmax", x=x)
    require_floats("log_softmax", x=x)
    require_axis("log_softmax", axis, x.ndim)
    kind = accumulator_type(x.dtype)
    rows = Rows(x.shape, axis, axis + 1)
    largest = rows.reduction(te.max, lambda o, r, i: x(*rows.index(o, r, i)).astype(kind), "largest")
    total = rows.reduction(
        te.sum, lambda o, r, i: te.exp(x(*rows.index(o, r, i)).astype(kind) - largest(o, i)), "total"
    )
    logarithm = rows.statistic(lambda o, i: te.log(total(o, i)), "logarithm")

    def element(*index: te.Expr) -> te.Expr:
        o, i = rows.row_of(index)
        return (x(*index).astype(kind) - largest(o, i) - logarithm(o, i)).astype(x.dtype)

    return rows.computation(element, "log_softmax")
