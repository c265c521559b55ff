"""Loops over blocks and threads of a device, for the bodies of te.extern."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import prod

from sateen.tensor_ir.targets import Gpu
from sateen.tensor_ir.te import Expr
from sateen.tensor_ir.te.ir_builder import IRBuilder
from sateen.topi.schedules.extern_loops import loops
from sateen.topi.schedules.rows import unflattened
from sateen.topi.schedules.thread_tiles import ELEMENT_THREADS


def threads_for(count: int, gpu: Gpu) -> int:
    """The threads of a block that shares `count` iterations: whole warps, as many as a block has at most."""
    return min(gpu.block_threads, gpu.whole_warps(max(count, 1)))


@contextmanager
def blocks(ib: IRBuilder, count: int) -> Iterator[Expr]:
    """A kernel of `count` blocks around the statements; yields the number of the block."""
    with ib.for_range(0, count, "block", "blockIdx.x") as block:
        yield block


@contextmanager
def shared_out(ib: IRBuilder, count: int, threads: int) -> Iterator[Expr]:
    """`count` independent iterations, shared among the threads of a block: neighbours take neighbours.

    The threads wait for each other before the next such loop uses what this one has stored.
    """
    with ib.for_range(0, threads, "thread", "threadIdx.x") as thread:
        if count <= threads:
            with _limited(ib, thread, count, threads):
                yield thread
            return
        with ib.for_range(0, -(-count // threads), "turn") as turn:
            place = turn * threads + thread
            with _limited(ib, place, count, -(-count // threads) * threads):
                yield place


@contextmanager
def each_thread(ib: IRBuilder, count: int, gpu: Gpu) -> Iterator[Expr]:
    """A kernel with a thread for each of `count` independent iterations."""
    threads = min(threads_for(count, gpu), ELEMENT_THREADS)
    number = -(-count // threads)
    with blocks(ib, number) as block, ib.for_range(0, threads, "thread", "threadIdx.x") as thread:
        place = block * threads + thread
        with _limited(ib, place, count, number * threads):
            yield place


@contextmanager
def rows_and_parts(
    ib: IRBuilder, rows: int, parts: Sequence[int], kind: str, gpu: Gpu | None
) -> Iterator[tuple[Expr, AbstractContextManager[Sequence[Expr]]]]:
    """A loop over rows, of a `kind`, around the statements, and the loops over the parts of a row for them to enter.

    On a device (`gpu`) each part of each row, of which there are some, has a thread, which does all of it.
    """
    if gpu is None:
        with ib.for_range(0, rows, "row", kind) as row:
            yield row, loops(ib, parts)
    else:
        with each_thread(ib, rows * prod(parts), gpu) as e:
            place = unflattened(e, (rows, *parts))
            yield ib.let("row", place[0]), nullcontext(place[1:])


@contextmanager
def one_thread(ib: IRBuilder) -> Iterator[None]:
    """Statements that one thread of a block executes, while the others wait."""
    with ib.for_range(0, 1, "thread", "threadIdx.x"):
        yield


@contextmanager
def _limited(ib: IRBuilder, place: Expr, count: int, room: int) -> Iterator[None]:
    """The statements if `place`, which is below `room`, is below `count`."""
    if count == room:
        yield
        return
    with ib.if_scope(place < count):
        yield
