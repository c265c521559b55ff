"""What choices evaluate whichever way they go. Emitters write it before a branch: repeated on both sides, it would
double the code at each link of a chain of choices."""

from __future__ import annotations

from collections.abc import Container, Iterator

from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Load
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.visit import children


def needed_by_both(one: Expr, other: Expr) -> list[Expr]:
    """The nodes that both expressions evaluate in any case, the outermost ones; no names and literals."""
    needed = set(_needed(other, ()))
    return [e for e in _needed(one, needed) if e in needed]


def _needed(root: Expr, borders: Container[Expr]) -> Iterator[Expr]:
    """The nodes that an expression evaluates in any case, except names, literals, and what is beneath loads and
    `borders`."""
    stack, seen = [root], set[Expr]()
    while stack:
        e = stack.pop()
        if e in seen or isinstance(e, (ex.Const, Var)):
            continue
        seen.add(e)
        yield e
        match e:
            case _ if e in borders or isinstance(e, Load):
                pass
            case ex.Select():
                stack.append(e.condition)
            case ex.And() | ex.Or():
                stack.append(e.a)
            case ex.Piecewise():
                stack.append(e.index)
            case _:
                stack += [part for part in children(e) if isinstance(part, Expr)]
