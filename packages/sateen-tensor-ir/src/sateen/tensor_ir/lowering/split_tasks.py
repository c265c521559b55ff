"""The tasks of parallel loops: the work that each thread does once, and the loop over its iterations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from sateen.tensor_ir.ir.access import all_read, all_written
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.device_work import Copy, Launch, Wait
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import (
    Allocate,
    Barrier,
    Evaluate,
    For,
    Function,
    Invoke,
    LoopKind,
    Seq,
    Shuffle,
    Stmt,
    Timestamp,
    sequence,
)
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.lowering.alternate_loops import backward_turns

_STAYS = (Barrier, Shuffle, Timestamp, Invoke, Evaluate, Launch, Copy, Wait)
"""Statements with other effects than stores."""


@dataclass(frozen=True, slots=True, eq=False)
class Invariants:
    """The storage and the statements to put around a loop."""

    storage: tuple[Allocate, ...] = ()
    statements: tuple[Stmt, ...] = ()

    def around(self, loop: For) -> Stmt:
        """The loop with its invariants around it."""
        result = sequence(*self.statements, loop)
        for allocation in reversed(self.storage):
            result = replace(allocation, body=result)
        return result


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """The part of a parallel loop that a thread runs: statements that all iterations share, then a serial loop over
    iterations.

    `loop` is over all iterations. An emitter gives it the range of a thread instead, from the last to the first where
    `backwards` holds.
    """

    loop: For
    invariants: Invariants
    backwards: Expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class HostProgram:
    """A function, and the task of each of its parallel loops.

    Indices are computed in `index_bits`, which suffice for all of them where no symbolic extent exceeds its number in
    `greatest`; the function checks that.
    """

    function: Function
    tasks: Mapping[For, Task]
    index_bits: int = 64
    greatest: Mapping[Var, int] = field(default_factory=dict)


def split_tasks(function: Function) -> HostProgram:
    """The tasks of a function, one for each parallel loop, including nested ones.

    parallel i: allocate t; t[0] = f; g(i, t[0])   =>   task of i: allocate t; t[0] = f; for i: g(i, t[0])
    """
    loops = (n for n in walk(function.body) if isinstance(n, For) and n.kind is LoopKind.PARALLEL)
    serial = {loop: replace(loop, kind=LoopKind.SERIAL) for loop in loops}
    backwards = backward_turns(function.body)
    tasks = {
        loop: Task(*without_invariants(own, function.aliased), backwards.get(loop)) for loop, own in serial.items()
    }
    return HostProgram(function, tasks)


def without_invariants(loop: For, aliased: Collection[Buffer] = ()) -> tuple[For, Invariants]:
    """A loop whose body begins with statements that depend on the iteration, and the invariants to put around it.

    for i:                                allocate t:
      allocate t:                           for k: t[k] = f(k)
        for k: t[k] = f(k)          =>      for i:
        for k: g(i, t[k])                     for k: g(i, t[k])

    Invariant statements store only to the loop's own storage, to which nothing else stores, and read nothing that the
    loop stores; `aliased` buffers may share memory. Only for a loop that has an iteration: otherwise the invariants
    would be executed for nothing, and might read elements that do not exist.
    """
    own: list[Allocate] = []
    body = loop.body
    while isinstance(body, Allocate):
        own.append(body)
        body = body.body
    statements = list(body.body) if isinstance(body, Seq) else [body]
    storage = {a.buffer for a in own if a.buffer.scope is not Scope.REGISTER and not _depends(a.buffer, loop)}
    found: list[Stmt] = []
    given: set[Buffer] = set()
    while len(statements) > 1:
        first, *others = statements
        stores, elsewhere = all_written(first) - _allocated(first), all_written(*others)
        if not elsewhere.isdisjoint(aliased):
            elsewhere.update(aliased)
        if (
            not stores <= storage
            or stores & elsewhere
            or all_read(first) & elsewhere
            or any(n is loop.var or isinstance(n, _STAYS) for n in walk(first))
        ):
            break
        found.append(first)
        given |= stores
        statements = others
    if not found:
        return loop, Invariants()
    rest = sequence(*statements)
    for allocation in reversed(own):
        rest = rest if allocation.buffer in given else replace(allocation, body=rest)
    outside = tuple(a for a in own if a.buffer in given)
    return replace(loop, body=rest), Invariants(outside, tuple(found))


def _allocated(s: Stmt) -> set[Buffer]:
    return {n.buffer for n in walk(s) if isinstance(n, Allocate)}


def _depends(buffer: Buffer, loop: For) -> bool:
    """Whether the size of a buffer differs between iterations."""
    return any(n is loop.var for e in (*buffer.shape, *(buffer.strides or ())) for n in walk(e))
