"""Parallel loops whose threads go through their parts forwards and backwards in turn."""

from __future__ import annotations

from dataclasses import replace

from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.choices import select
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import ALTERNATE, For, Let, LoopKind, Stmt
from sateen.tensor_ir.ir.visit import children


def backward_turns(s: Stmt) -> dict[For, Expr]:
    """Of each parallel loop with the pragma `alternate`: whether its iterations run from the last to the first now,
    which is in odd iterations of the serial loop around it.

    Without such a loop around it, a loop always runs forwards, and is not among them.
    """
    found: dict[For, Expr] = {}
    pending: list[tuple[Stmt, Var | None]] = [(s, None)]
    while pending:
        node, around = pending.pop()
        if isinstance(node, For):
            if node.kind is LoopKind.PARALLEL and ALTERNATE in node.pragmas and around is not None:
                found[node] = ex.floormod(around, 2).equal(1)
            if node.kind is LoopKind.SERIAL:
                around = node.var
        pending += ((child, around) for child in children(node) if isinstance(child, Stmt))
    return found


def turned(loop: For, backwards: Expr) -> For:
    """A loop of independent iterations that run from the last to the first where `backwards` holds.

    for i in [0, n):         for turn in [0, n):
      b[i] = a[i]      =>      let i = n - 1 - turn if backwards, else turn
                               b[i] = a[i]
    """
    turn = Var(f"{loop.var.name}_turn")
    opposite = ex.subtract(ex.add(loop.start, ex.subtract(loop.extent, 1)), ex.subtract(turn, loop.start))
    body = Let(loop.var, select(backwards, opposite, turn), loop.body)
    return replace(loop, var=turn, body=body, pragmas=tuple(p for p in loop.pragmas if p != ALTERNATE))
