"""A tour of the primitives: the length of each row of a matrix, scheduled in many ways, with the loops of each.

The result stays the same. A primitive that would change it is refused, as the last stop shows; docs/schedule.md has all
primitives with all refusals.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sateen import runtime
from sateen.tensor_ir import build, lower, te
from sateen.tensor_ir.interpret import run

ROWS, COLUMNS = 8, 12


@dataclass(frozen=True, slots=True)
class Lengths:
    """squares = A·A, element by element; total, their sum by rows; length, its root. `s` schedules all three."""

    A: te.Tensor
    squares: te.Tensor
    total: te.Tensor
    length: te.Tensor
    k: te.IterVar
    s: te.Schedule

    @staticmethod
    def make() -> "Lengths":
        A = te.placeholder((ROWS, COLUMNS), name="A")
        squares = te.compute((ROWS, COLUMNS), lambda i, j: A[i, j] * A[i, j], name="squares")
        k = te.reduce_axis(COLUMNS, name="k")
        total = te.compute((ROWS,), lambda i: te.sum(squares[i, k], axis=k), name="total")
        length = te.compute((ROWS,), lambda i: te.sqrt(total[i]), name="length")
        return Lengths(A, squares, total, length, k, te.create_schedule(length))


def default(_: Lengths) -> None:
    """Nothing said: each stage is computed as a whole, in the order of its axes."""


def tile(c: Lengths) -> None:
    """Two loops split, and their tiles outermost; a split takes factor= or nparts=."""
    i, j = c.squares.op.axis
    c.s[c.squares].tile(i, j, 4, 3)


def fuse(c: Lengths) -> None:
    """Two loops become one."""
    c.s[c.squares].fuse(*c.squares.op.axis)


def reorder(c: Lengths) -> None:
    """Columns outermost; in a reduction the data loop may go inside the reduce loop."""
    i, j = c.squares.op.axis
    c.s[c.squares].reorder(j, i)
    c.s[c.total].reorder(c.k, *c.total.op.axis)


def vectorize(c: Lengths) -> None:
    """Four columns at a time."""
    _, lane = c.s[c.squares].split(c.squares.op.axis[1], factor=4)
    c.s[c.squares].vectorize(lane)


def unroll(c: Lengths) -> None:
    """A loop written out."""
    c.s[c.total].unroll(c.k)


def parallel(c: Lengths) -> None:
    """Rows shared among the threads of the processor."""
    c.s[c.total].parallel(c.total.op.axis[0])


def compute_at(c: Lengths) -> None:
    """The total of a row is computed where it is read, and the squares where the total reads them: storage shrinks."""
    (i,) = c.length.op.axis
    c.s[c.total].compute_at(c.s[c.length], i)
    c.s[c.squares].compute_at(c.s[c.total], c.k)


def compute_inline(c: Lengths) -> None:
    """No storage for the squares at all: their expression stands where they were read."""
    c.s[c.squares].compute_inline()


def set_scope(c: Lengths) -> None:
    """A vector of squares in registers, for each step of the sum; other scopes are local, shared and global."""
    _, inner = c.s[c.total].split(c.k, factor=4)
    c.s[c.total].unroll(inner)
    c.s[c.squares].compute_at(c.s[c.total], c.s[c.total].leaves[1])
    c.s[c.squares].set_scope("register")
    c.s[c.squares].vectorize(c.squares.op.axis[1])


def cache_read(c: Lengths) -> None:
    """A copy of each row of A, just before it is read."""
    copy = c.s.cache_read(c.A, "local", [c.squares])
    c.s[copy].compute_at(c.s[c.squares], c.squares.op.axis[0])


def cache_write(c: Lengths) -> None:
    """The sum in a place of its own, then copied to its result."""
    total = c.s.cache_write(c.total, "local")
    c.s[total].compute_at(c.s[c.total], c.total.op.axis[0])


def rfactor(c: Lengths) -> None:
    """Four partial sums, which a last loop adds up: so a vector of them is computed at once."""
    _, lane = c.s[c.total].split(c.k, factor=4)
    partial = c.s.rfactor(c.total, lane, factor_axis=1)
    i, lane = partial.op.axis
    c.s[partial].reorder(i, *partial.op.reduce_axis, lane)
    c.s[partial].vectorize(lane)


def storage_align(c: Lengths) -> None:
    """Rows 16 elements apart, so that each begins at a multiple of 64 bytes."""
    c.s[c.squares].storage_align(c.squares.op.axis[0], 16, 0)


def double_buffer(c: Lengths) -> None:
    """Two parts of the storage: the squares of the next row are computed before those of this one are added."""
    c.s[c.squares].compute_at(c.s[c.total], c.total.op.axis[0])
    c.s[c.squares].double_buffer()


def prefetch(c: Lengths) -> None:
    """The processor is asked for a row two iterations ahead."""
    c.s[c.squares].prefetch(c.A, c.squares.op.axis[0], 2)


def pragma(c: Lengths) -> None:
    """A word to lowering about a loop: here it is cut where the condition in it changes."""
    outer, _ = c.s[c.squares].split(c.squares.op.axis[1], factor=5)
    c.s[c.squares].pragma(outer, "partition")


def bind_virtual_threads(c: Lengths) -> None:
    """One thread adds up two rows in turns, term by term."""
    rows, _ = c.s[c.total].split(c.total.op.axis[0], nparts=2)
    c.s[c.total].bind(rows, te.thread_axis("vthread"))


def bind(c: Lengths) -> None:
    """Rows on the blocks of a device, and the terms of a sum on the threads of a block."""
    c.s[c.squares].compute_inline()
    c.s[c.total].bind(c.total.op.axis[0], te.thread_axis("blockIdx.x"))
    c.s[c.total].bind(c.s[c.total].split(c.k, factor=4)[1], te.thread_axis("threadIdx.x"))
    c.s[c.length].bind(c.length.op.axis[0], te.thread_axis("blockIdx.x"))


STOPS: tuple[Callable[[Lengths], None], ...] = (
    *(default, tile, fuse, reorder, vectorize, unroll, parallel),
    *(compute_at, compute_inline, set_scope, cache_read, cache_write, rfactor, storage_align, double_buffer),
    *(prefetch, pragma, bind_virtual_threads, bind),
)


def main() -> None:
    a = np.random.default_rng(0).integers(-4, 5, (ROWS, COLUMNS)).astype(np.float32)
    for stop in STOPS:
        lengths = Lengths.make()
        stop(lengths)
        arguments = [lengths.A, lengths.length]
        print(f"{stop.__name__}: {stop.__doc__}\n{lower(lengths.s, arguments).body}\n")
        found = np.empty(ROWS, np.float32)
        if stop is bind:
            program = build(lengths.s, arguments, target="opencl").program
            run(program.host, [a, found], kernels=program.kernels)
        else:
            build(lengths.s, arguments, target="llvm")(a, found)
        np.testing.assert_allclose(found, np.linalg.norm(a, axis=1), rtol=1e-6)

    lengths = Lengths.make()
    try:
        lengths.s[lengths.total].vectorize(lengths.k)
    except runtime.ScheduleError as refusal:
        print(f"refused: {refusal}")
    else:
        raise AssertionError("lanes of a reduction would race")


if __name__ == "__main__":
    main()
