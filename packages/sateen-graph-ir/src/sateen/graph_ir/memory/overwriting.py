"""Proof that a kernel may write its output over one of its inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf

from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import (
    Buffer,
    Const,
    Expr,
    For,
    Function,
    Load,
    Stmt,
    Store,
    While,
    children,
    read_by,
    walk,
    written_by,
)


def allow_overwriting(function: Function) -> tuple[Function, tuple[int, ...]]:
    """The function, marked that its output may use the memory of some inputs (`aliased`), and the positions of these.

    Requires: each element of the outputs is stored. If there are no more stores than elements, each is stored once. An
    input with elements of the same size may then be overwritten if each of its elements is read only for the store of
    the output's element at the same place: the store waits for the read, and nothing reads the element afterwards.
    """
    output, *others = function.outputs
    if others or _most_stores(function, output) != output.size():
        return function, ()
    apart = {output, *_read_apart(function, output)}
    found = {i: b for i, b in enumerate(function.parameters) if b not in apart and b.dtype.bytes == output.dtype.bytes}
    if not found:
        return function, ()
    return replace(function, aliased=frozenset({output, *found.values()})), tuple(found)


def _most_stores(function: Function, buffer: Buffer) -> float:
    """The most stores to elements of a buffer."""
    writers = ((s, times) for s, times in _executions(function.body) if buffer in written_by(s))
    return sum(times if isinstance(s, Store) else inf for s, times in writers)


def _executions(s: Stmt, times: float = 1) -> Iterator[tuple[Stmt, float]]:
    """Each statement, and the most times that it runs."""
    yield s, times
    if isinstance(s, For):
        times = times * int(s.extent.value) if isinstance(s.extent, Const) else inf
    if isinstance(s, While):
        times = inf
    for child in children(s):
        if isinstance(child, Stmt):
            yield from _executions(child, times)


def _read_apart(function: Function, output: Buffer) -> set[Buffer]:
    """The buffers of which an element is read for anything but the store of the output's element at the same place."""
    analyzer = Analyzer()
    found: set[Buffer] = set()
    for s, _ in _executions(function.body):
        loads = {n for e in children(s) if isinstance(e, Expr) for n in walk(e) if isinstance(n, Load)}
        if isinstance(s, Store) and s.buffer is output:
            place = analyzer.form(output.offset(s.indices))
            loads = {n for n in loads if not analyzer.form(n.buffer.offset(n.indices)).same(place)}
        found |= {*(n.buffer for n in loads), *read_by(s)}
    return found
