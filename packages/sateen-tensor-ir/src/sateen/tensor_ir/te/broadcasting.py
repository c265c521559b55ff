"""Which element of an operand meets which element of the result: NumPy's rules, for extents that may be symbols."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir.expr import Expr, const, is_const

Shape = tuple[Expr, ...]


def common_shape(name: str, shapes: Sequence[Shape]) -> Shape:
    """The shape that all of `shapes` broadcast to: last dimensions meet, and an extent of 1 meets any other.

    Raises ExpressionError for extents that are not 1 and not provably equal: a symbol is not taken for 1.
    """
    analyzer, rank = Analyzer(), max(map(len, shapes))
    result: list[Expr] = []
    for d in range(-rank, 0):
        extents = [s[d] for s in shapes if len(s) >= -d and not is_const(s[d], 1)]
        if not all(analyzer.prove(extents[0].equal(e)) for e in extents[1:]):
            found = " and ".join(f"[{', '.join(map(str, s))}]" for s in shapes)
            raise ExpressionError(
                f"'{name}' expects shapes that broadcast to a common one, found {found}, whose dimension {rank + d} "
                "is not provably equal"
            )
        result.append(extents[0] if extents else const(1))
    return tuple(result)


def own_indices(shape: Shape, indices: Sequence[Expr]) -> list[Expr]:
    """The indices in an operand of `shape` of the element that meets the one at `indices` of the result."""
    own = indices[len(indices) - len(shape) :]
    return [const(0) if is_const(extent, 1) else i for extent, i in zip(shape, own, strict=True)]
