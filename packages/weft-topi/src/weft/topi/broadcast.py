"""Operators of two and more inputs that broadcast by NumPy's rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.tensor_ir import te
from weft.topi.layout import Layout, View, compute
from weft.topi.operator import Computation


def broadcast_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The common shape (NumPy's broadcasting). Raises ValueError where there is none."""
    rank = max(map(len, shapes))
    result = []
    for d in range(rank):
        extents = {s[d - rank + len(s)] for s in shapes if d - rank + len(s) >= 0} - {1}
        if len(extents) > 1:
            raise ValueError(f"shapes {', '.join(str(list(s)) for s in shapes)} differ in dimension {d}")
        result.append(extents.pop() if extents else 1)
    return tuple(result)


def element(x: View, index: Sequence[te.Expr]) -> te.Expr:
    """The element of x at an index of a shape that x broadcasts to."""
    own = index[len(index) - len(x.shape) :]
    return x(*(te.const(0) if extent == 1 else i for i, extent in zip(own, x.shape, strict=True)))


def elementwise(
    inputs: Sequence[View], function: Callable[..., te.Expr], name: str, layout: Layout | None = None
) -> Computation:
    """function(a, b, …), element by element of the common shape."""
    shape = broadcast_shape(*(x.shape for x in inputs))
    return Computation((compute(shape, lambda *i: function(*(element(x, i) for x in inputs)), name, layout),))


def add(a: View, b: View, layout: Layout | None = None) -> Computation:
    """a + b."""
    return elementwise((a, b), lambda x, y: x + y, "add", layout)
