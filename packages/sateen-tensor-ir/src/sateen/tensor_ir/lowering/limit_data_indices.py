"""Indices that come from data are limited to what fits, for machines whose indices have 32 bits and no more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Load
from sateen.tensor_ir.ir.expr import Cast, Expr, cast, const
from sateen.tensor_ir.ir.stmt import Function, Store
from sateen.tensor_ir.ir.types import INDEX, int_range
from sateen.tensor_ir.ir.visit import Node, SharingRewriter, children, walk

LIMIT = 1 << 30
"""More elements than an array has there. Half of the range of an index is left for sums and products."""
_SMALL = 1 << 28
"""What is added to an index of data, or limits it, has a smaller magnitude: then the limit changes no element in
bounds."""


def limit_data_indices(function: Function) -> Function:
    """Each index of data that only selects elements, and may exceed 2^30, becomes the nearest that doesn't.

        y = A[min(max(index(p[i]), 0), 9)]  =>  y = A[min(max(index(max(min(p[i], 2^30), -2^30)), 0), 9)]

    It may be added to, multiplied, chosen, limited by small numbers and compared with one before it is a subscript: a
    larger one is clamped, or out of bounds and without meaning (docs/semantics.md, 8.5), either way. One that is used
    otherwise, as data or in a remainder, stays as it is.
    """
    body = _Limiting(_otherwise_used(function)).rewrite(function.body)
    return function if body is function.body else replace(function, body=body)


class _Limiting(SharingRewriter):
    def __init__(self, kept: frozenset[int]) -> None:
        super().__init__()
        self.kept = kept
        self.analyzer = Analyzer()

    def rewrite_Cast(self, e: Cast) -> Expr:
        conversion = self.descend(e)
        if not _is_of_data(conversion) or id(e) in self.kept or _is_within(conversion, LIMIT, self.analyzer):
            return conversion
        value = conversion.value
        low, high = int_range(value.dtype)
        limited = ex.minimum(value, const(min(LIMIT, high), value.dtype))
        return cast(INDEX, ex.maximum(limited, const(-LIMIT, value.dtype)) if low < 0 else limited)


def _is_of_data(e: Node) -> bool:
    return isinstance(e, Cast) and e.dtype == INDEX and e.value.dtype.is_int


def _is_within(e: Expr, limit: int, analyzer: Analyzer) -> bool:
    low, high = analyzer.interval(analyzer.form(e))
    return low is not None and high is not None and -limit <= low and high <= limit


def _otherwise_used(function: Function) -> frozenset[int]:
    """The conversions of data to an index, by identity, of which some use is not one that the limit leaves alone."""
    analyzer, kept = Analyzer(), set[int]()
    for node in walk(function.body):
        indices = [c for c in children(node) if isinstance(c, Expr) and c.dtype == INDEX]
        operands = [index for index in indices if next(_conversions(index), None) is not None]
        if operands and not _takes(node, operands, analyzer):
            kept |= {id(conversion) for operand in operands for conversion in _conversions(operand)}
    return frozenset(kept)


def _conversions(e: Expr) -> Iterator[Node]:
    """The conversions of data to an index of which e is computed; not those of subscripts within the data."""
    stack: list[Node] = [e]
    while stack:
        node = stack.pop()
        if _is_of_data(node):
            yield node
        elif not isinstance(node, Load):
            stack.extend(children(node))


def _takes(node: Node, operands: list[Expr], analyzer: Analyzer) -> bool:
    """Whether a node uses these operands of it in a way that the limit leaves alone."""
    if isinstance(node, (Load, Store, ex.Select)):
        return True
    others = [c for c in children(node) if isinstance(c, Expr) and not any(c is operand for operand in operands)]
    is_small = len(operands) == 1 and all(_is_within(other, _SMALL, analyzer) for other in others)
    if isinstance(node, (ex.Add, ex.Sub, ex.Mul, ex.Min, ex.Max)):
        return is_small
    return isinstance(node, ex.Compare) and is_small and _is_of_data(operands[0])
