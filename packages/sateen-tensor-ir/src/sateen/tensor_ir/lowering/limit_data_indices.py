"""Indices that come from data are limited to what fits, for machines whose indices have 32 bits and no more."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Cast, Expr, cast, const
from sateen.tensor_ir.ir.stmt import Function
from sateen.tensor_ir.ir.types import INDEX, int_range
from sateen.tensor_ir.ir.visit import SharingRewriter

LIMIT = 1 << 30
"""Arrays have fewer elements, so that a larger index is out of bounds whatever else is done to it; half of the range is
left for sums."""


def limit_data_indices(function: Function) -> Function:
    """Each index of data that may exceed 2^30 becomes the nearest that doesn't.

        y = A[min(max(index(p[i]), 0), 9)]  =>  y = A[min(max(index(min(max(p[i], -2^30), 2^30)), 0), 9)]

    So a clamped index is the same, and one without a clamp, which had no meaning, has none (docs/semantics.md, 8.5).
    Comparisons of such indices with numbers above 2^30 change; nothing has so many elements.
    """
    body = _Limiting().rewrite(function.body)
    return function if body is function.body else replace(function, body=body)


class _Limiting(SharingRewriter):
    def __init__(self) -> None:
        super().__init__()
        self.analyzer = Analyzer()

    def rewrite_Cast(self, e: Cast) -> Expr:
        conversion = self.descend(e)
        if conversion.dtype != INDEX or not conversion.value.dtype.is_int or self._is_small(conversion):
            return conversion
        value = conversion.value
        low, high = int_range(value.dtype)
        limited = ex.minimum(value, const(min(LIMIT, high), value.dtype))
        return cast(INDEX, ex.maximum(limited, const(-LIMIT, value.dtype)) if low < 0 else limited)

    def _is_small(self, e: Expr) -> bool:
        low, high = self.analyzer.interval(self.analyzer.form(e))
        return low is not None and high is not None and low >= -LIMIT and high <= LIMIT
