"""What all iterations of a loop compute alike: the first can do it for those that follow it on the same thread."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from weft.tensor_ir.ir import expr as ex
from weft.tensor_ir.ir.buffer import Buffer, Scope
from weft.tensor_ir.ir.stmt import Allocate, Barrier, For, Invoke, Seq, Stmt, Store, Timestamp, sequence
from weft.tensor_ir.ir.visit import walk


def without_invariants(loop: For) -> tuple[For, tuple[Stmt, ...]]:
    """A loop whose body begins with what depends on the iteration, and what to put around it, outermost first.

    for i:                                allocate t:
      allocate t:                           for k: t[k] = f(k)
        for k: t[k] = f(k)          =>      for i:
        for k: g(i, t[k])                     for k: g(i, t[k])

    An Allocate of what is put around has an empty body; other statements come before the loop. They store only to
    storage of the loop's own, which nothing else stores to, and read nothing that the loop stores. Only for a loop that
    runs: what stands before it would be executed for nothing, and might read what is not there.
    """
    own: list[Allocate] = []
    body = loop.body
    while isinstance(body, Allocate):
        own.append(body)
        body = body.body
    statements = list(body.body) if isinstance(body, Seq) else [body]
    storage = {a.buffer for a in own if a.buffer.scope is not Scope.REGISTER}
    found: list[Stmt] = []
    given: set[Buffer] = set()
    while len(statements) > 1:
        first, *others = statements
        stores, elsewhere = stored(first) - _allocated(first), stored(*others)
        if (
            not stores <= storage
            or stores & elsewhere
            or _loaded(first) & elsewhere
            or any(n is loop.var or isinstance(n, (Barrier, Timestamp, Invoke)) for n in walk(first))
        ):
            break
        found.append(first)
        given |= stores
        statements = others
    if not found:
        return loop, ()
    rest = sequence(*statements)
    for allocation in reversed(own):
        rest = rest if allocation.buffer in given else replace(allocation, body=rest)
    around = [replace(a, body=sequence()) for a in own if a.buffer in given]
    return replace(loop, body=rest), (*around, *found)


def runs(loop: For) -> bool:
    """Whether a loop is known to have an iteration."""
    return isinstance(loop.extent, ex.Const) and int(loop.extent.value) > 0


def enclosed(loop: Stmt, around: Iterable[Stmt]) -> Stmt:
    """A loop with what `without_invariants` puts around it."""
    for s in reversed(tuple(around)):
        loop = replace(s, body=loop) if isinstance(s, Allocate) else sequence(s, loop)
    return loop


def stored(*statements: Stmt) -> set[Buffer]:
    """The buffers that statements may store to."""
    nodes = [n for s in statements for n in walk(s)]
    invoked = {buffer for n in nodes if isinstance(n, Invoke) for buffer, _ in n.arguments}
    return invoked | {n.buffer for n in nodes if isinstance(n, Store)}


def _loaded(s: Stmt) -> set[Buffer]:
    return {n.buffer for n in walk(s) if isinstance(n, ex.Load)}


def _allocated(s: Stmt) -> set[Buffer]:
    return {n.buffer for n in walk(s) if isinstance(n, Allocate)}
