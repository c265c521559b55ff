"""A matrix product, scheduled step by step from plain loops to the peak of the machine.

Every step computes the same C = A·B from the same expression; only the schedule changes.
"""

from collections.abc import Callable
from statistics import median

import numpy as np

from weft import runtime
from weft.tensor_ir import Machine, PeakMeter, build, te

N = 1024
MACHINE = Machine.of("llvm")
LANES = MACHINE.lanes("float32")
ROWS, COLUMNS = 6, LANES * (4 if MACHINE.vector_registers == 32 else 2)
"""The register tile: ROWS × COLUMNS sums leave room in the registers for a row of B and an element of A."""

Scheduled = tuple[te.Schedule, list[te.Tensor]]


def naive(rows: int) -> Scheduled:
    """What the expression says: three loops, one multiply-add at a time."""
    A, B = te.placeholder((rows, N), name="A"), te.placeholder((N, N), name="B")
    k = te.reduce_axis(N, name="k")
    C = te.compute((rows, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_schedule(C), [A, B, C]


def blocked(rows: int) -> Scheduled:
    """Tiles, so that what is loaded into the cache is used many times before it leaves; j innermost, along memory."""
    s, [A, B, C] = naive(rows)
    io, jo, ii, ji = s[C].tile(*C.op.axis, 32, COLUMNS)
    ko, ki = s[C].split(C.op.reduce_axis[0], factor=4)
    s[C].reorder(io, jo, ko, ii, ki, ji)
    return s, [A, B, C]


def vectorized(rows: int) -> Scheduled:
    """A vector of j at a time."""
    s, [A, B, C] = naive(rows)
    io, jo, ii, ji = s[C].tile(*C.op.axis, 32, COLUMNS)
    ko, ki = s[C].split(C.op.reduce_axis[0], factor=4)
    jv, lane = s[C].split(ji, factor=LANES)
    s[C].reorder(io, jo, ko, ii, ki, jv, lane)
    s[C].unroll(ki)
    s[C].unroll(jv)
    s[C].vectorize(lane)
    return s, [A, B, C]


def packed_product(rows: int) -> list[te.Tensor]:
    """The same product of A and a copy of B in panels of COLUMNS columns, each one piece of memory."""
    A, B = te.placeholder((rows, N), name="A"), te.placeholder((N, N), name="B")
    P = te.compute((N // COLUMNS, N, COLUMNS), lambda panel, k, j: B[k, panel * COLUMNS + j], name="P")
    k = te.reduce_axis(N, name="k")
    C = te.compute(
        (rows, N), lambda i, j: te.sum(A[i, k] * P[j // COLUMNS, k, j % COLUMNS], axis=k), name="C"
    )
    return [A, B, P, C]


def pack_panel(s: te.Schedule, P: te.Tensor, C: te.Tensor, panel: te.IterVar) -> None:
    """Copy a panel just before it is used: one loop of C's later, it is still in the cache."""
    s[P].compute_at(s[C], panel)
    _, lane = s[P].split(P.op.axis[2], factor=LANES)
    s[P].vectorize(lane)
