"""Identity of nodes, where `==` would build a comparison: whether one is among others, and its position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sateen.tensor_ir.ir.expr import Expr


def is_among(e: Expr, nodes: Iterable[Expr]) -> bool:
    """Whether `e` itself is one of `nodes`; `in` would compare values."""
    return any(e is node for node in nodes)


def same_nodes(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    """Whether two sequences hold the same nodes."""
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def position(e: Expr, nodes: Iterable[Expr]) -> int:
    """The position of `e` itself in `nodes`, which must contain it."""
    return next(i for i, node in enumerate(nodes) if e is node)
