"""Bounds the code of expanded loops: unrolled ones statement by statement, vectors lane by lane."""

from __future__ import annotations

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.stmt import For, Function, LoopKind, Stmt, lets
from sateen.tensor_ir.ir.visit import children, walk

MOST_STATEMENTS = 65_536
"""The most statements of a function after unrolling; beyond it LLVM takes minutes."""

MOST_LANES = 4_096
"""The most lanes of a vector; LLVM ends the process on vectors a few times as long."""


def check_expansion(function: Function) -> Function:
    """The function as it is. Raises CodegenError, which names the loops, if it is too long after expansion."""
    loops = [s for s in walk(function.body) if isinstance(s, For)]
    for loop in loops:
        if loop.kind is LoopKind.VECTORIZED and _iterations(loop) > MOST_LANES:
            raise CodegenError(
                f"{function.name}: expected at most {MOST_LANES} lanes in the vectorized loop {loop.var.name!r}, "
                f"found {_iterations(loop)}; split it and vectorize the inner loop"
            )
    if (count := _statements(function.body)) > MOST_STATEMENTS:
        unrolled = ", ".join(dict.fromkeys(loop.var.name for loop in loops if loop.kind is LoopKind.UNROLLED))
        raise CodegenError(
            f"{function.name}: expected at most {MOST_STATEMENTS} statements once its unrolled loops ({unrolled}) are "
            f"written out, found {count}; split them and unroll the inner loops"
        )
    return function


def _statements(s: Stmt) -> int:
    _, s = lets(s)
    within = [_statements(child) for child in children(s) if isinstance(child, Stmt)]
    repeated = _iterations(s) if isinstance(s, For) and s.kind is LoopKind.UNROLLED else 1
    return repeated * sum(within) if within else 1


def _iterations(loop: For) -> int:
    return int(loop.extent.value) if isinstance(loop.extent, ex.Const) else 1
