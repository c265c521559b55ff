"""Binary heaps in the bodies of te.extern."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sateen.tensor_ir import te
from sateen.tensor_ir.te import Expr
from sateen.tensor_ir.te.ir_builder import IRBuilder


@dataclass(frozen=True, slots=True)
class Heap:
    """A binary heap over places 0, 1, …: no parent belongs below its children.

    `belongs_below(i, j)` says whether the element at place i does so to that at j; `swap(i, j)` exchanges them.
    """

    ib: IRBuilder
    belongs_below: Callable[[Expr, Expr], Expr]
    swap: Callable[[Expr, Expr], None]

    def build(self, size: Any) -> None:
        """Make a heap of the first `size` elements, which are in any order (Floyd, Algorithm 245, 1964)."""
        with self.ib.for_range(0, size // 2, "i") as i:
            self.sift_down(size // 2 - 1 - i, size)

    def sift_down(self, start: Expr, size: Any) -> None:
        """Let the element at `start` sink below all children that it belongs below, in the first `size` elements."""
        ib = self.ib
        hole = ib.allocate("int64", (1,), name="hole")
        hole[0] = start
        with ib.while_scope(hole[0] * 2 + 1 < size):
            parent = ib.let("parent", hole[0].astype("index"))
            left = ib.let("left", parent * 2 + 1)
            right_is_nearer = te.all(left + 1 < size, self.belongs_below(left, left + 1))
            child = ib.let("child", left + right_is_nearer.astype("index"))
            with ib.if_scope(self.belongs_below(parent, child)):
                self.swap(parent, child)
                hole[0] = child
            with ib.else_scope():
                hole[0] = size
