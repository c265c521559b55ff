"""Finds expressions of equal structure, in time linear in their nodes even if these are shared many times."""

from __future__ import annotations

from collections.abc import Iterator

from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Address, Load
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.tensor_expr import Read, Reduce
from sateen.tensor_ir.ir.visit import children, operands_first, unknown


class StructuralKeys:
    """Numbers expressions: equal numbers for equal structure; variables, buffers and tensors by identity.

    A node is visited once; its key consists of its children's numbers, so that a shared node costs no more than any
    other.
    """

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._known: dict[int, tuple[Expr, int]] = {}

    def of(self, e: Expr) -> int:
        for node in operands_first(e, self._known):
            key = (type(node), *_facts(node), *[self._known[id(child)][1] for child in children(node)])
            self._known[id(node)] = node, self._numbers.setdefault(key, len(self._numbers))
        return self._known[id(e)][1]

    def __len__(self) -> int:
        """The number of visited nodes."""
        return len(self._known)


def _facts(e: Expr) -> Iterator[object]:
    """The fields that distinguish a node from others of its class with the same children."""
    match e:
        case Var() | Reduce():
            yield e
        case ex.Const():
            yield repr(e.value)
            yield e.dtype
        case ex.Cast() | ex.Reinterpret():
            yield e.dtype
        case ex.Call():
            yield e.name
            yield e.dtype
        case Load():
            yield e.buffer
        case Address():
            yield e.buffer
            yield e.access
        case Read():
            yield e.tensor
        case ex.Binary() | ex.Not() | ex.Select() | ex.Piecewise():
            pass
        case _:
            raise unknown(e, "the table of structural keys")
