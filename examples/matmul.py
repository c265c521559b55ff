"""A matrix product, scheduled step by step from plain loops to the peak of the machine.

Every step computes C = A·B; only the schedule changes, and from `packed` on, a copy of B in another order is a stage.
The steps are built with `keep_loops`, so that each shows what its schedule alone gives; `left to build` is the first
step without that. The program prints the loops of each step, then the speed.
"""

from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np

from sateen import runtime
from sateen.tensor_ir import CompiledModule, Machine, PeakMeter, build, lower, te

N = 1024
MACHINE = Machine.of("llvm")
LANES = MACHINE.lanes("float32")
ROWS, COLUMNS = 6, LANES * (4 if MACHINE.vector_registers >= 32 else 2)
"""ROWS × COLUMNS sums fit into the vector registers, with room for a row of B and an element of A."""

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Scheduled = tuple[te.Schedule, list[te.Tensor]]


def naive(rows: int) -> Scheduled:
    """What the expression says: three loops, one multiply-add at a time."""
    A, B = te.placeholder((rows, N), name="A"), te.placeholder((N, N), name="B")
    k = te.reduce_axis(N, name="k")
    C = te.compute((rows, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_schedule(C), [A, B, C]


def blocked(rows: int) -> Scheduled:
    """Tiles, so that what comes into the cache is used many times; j innermost, as it lies in memory."""
    s, [A, B, C] = naive(rows)
    i, j = C.op.axis
    io, jo, ii, ji = s[C].tile(i, j, 32, COLUMNS)
    ko, ki = s[C].split(C.op.reduce_axis[0], factor=4)
    s[C].reorder(io, jo, ko, ki, ii, ji)
    return s, [A, B, C]


def vectorized(rows: int) -> Scheduled:
    """A vector of j at a time."""
    s, [A, B, C] = naive(rows)
    i, j = C.op.axis
    io, jo, ii, ji = s[C].tile(i, j, 32, COLUMNS)
    ko, ki = s[C].split(C.op.reduce_axis[0], factor=4)
    jv, lane = s[C].split(ji, factor=LANES)
    s[C].reorder(io, jo, ko, ki, ii, jv, lane)
    s[C].vectorize(lane)
    return s, [A, B, C]


def permuted(rows: int) -> Scheduled:
    """The small loop over k inside that over rows, and written out: a row of C gets 4 terms while in registers."""
    s, [A, B, C] = naive(rows)
    i, j = C.op.axis
    io, jo, ii, ji = s[C].tile(i, j, 32, COLUMNS)
    ko, ki = s[C].split(C.op.reduce_axis[0], factor=4)
    jv, lane = s[C].split(ji, factor=LANES)
    s[C].reorder(io, jo, ko, ii, ki, jv, lane)
    s[C].unroll(ki)
    s[C].unroll(jv)
    s[C].vectorize(lane)
    return s, [A, B, C]


def product_of_packed(rows: int) -> tuple[te.Tensor, te.Tensor, te.Tensor, te.Tensor]:
    """A, B, the panels P of B (COLUMNS columns each, in one piece of memory), and C = A·B computed from A and P."""
    A, B = te.placeholder((rows, N), name="A"), te.placeholder((N, N), name="B")
    P = te.compute((N // COLUMNS, N, COLUMNS), lambda panel, k, j: B[k, panel * COLUMNS + j], name="P")
    k = te.reduce_axis(N, name="k")
    C = te.compute((rows, N), lambda i, j: te.sum(A[i, k] * P[j // COLUMNS, k, j % COLUMNS], axis=k), name="C")
    return A, B, P, C


def packed(rows: int) -> Scheduled:
    """Each panel is copied just before its use, and read from the nearest cache from then on."""
    A, B, P, C = product_of_packed(rows)
    s = te.create_schedule(C)
    i, j = C.op.axis
    panel, j = s[C].split(j, factor=COLUMNS)
    io, ii = s[C].split(i, factor=32)
    ko, ki = s[C].split(C.op.reduce_axis[0], factor=4)
    jv, lane = s[C].split(j, factor=LANES)
    s[C].reorder(panel, io, ko, ii, ki, jv, lane)
    s[C].unroll(ki)
    s[C].unroll(jv)
    s[C].vectorize(lane)
    s[P].compute_at(s[C], panel)
    s[P].vectorize(s[P].split(P.op.axis[2], factor=LANES)[1])
    return s, [A, B, C]


def register_tile(rows: int) -> Scheduled:
    """A tile of C stays in registers over the whole of k: two loads feed ROWS × COLUMNS multiply-adds."""
    A, B, P, C = product_of_packed(rows)
    s = te.create_schedule(C)
    T = s.cache_write(C, "register")

    i, j = C.op.axis
    panel, j = s[C].split(j, factor=COLUMNS)
    io, ii = s[C].split(i, factor=ROWS, tail="partition")
    jv, lane = s[C].split(j, factor=LANES)
    s[C].reorder(panel, io, ii, jv, lane)
    s[C].unroll(ii)
    s[C].unroll(jv)
    s[C].vectorize(lane)

    s[T].compute_at(s[C], io)
    i, j = T.op.axis
    ko, ki = s[T].split(T.op.reduce_axis[0], factor=4)
    jv, lane = s[T].split(j, factor=LANES)
    s[T].reorder(ko, ki, i, jv, lane)
    for loop in (ki, i, jv):
        s[T].unroll(loop)
    s[T].vectorize(lane)

    s[P].compute_at(s[C], panel)
    s[P].vectorize(s[P].split(P.op.axis[2], factor=LANES)[1])
    return s, [A, B, C]


def parallel(rows: int) -> Scheduled:
    """The panels shared among the threads."""
    s, [A, B, C] = register_tile(rows)
    s[C].parallel(s[C].leaves[0])
    return s, [A, B, C]


STEPS = {naive: 32, blocked: 32, vectorized: N, permuted: N, packed: N, register_tile: N, parallel: N}
"""Each step with the rows of C that it is measured on."""


def checked(matmul: CompiledModule, a: Array, b: Array) -> Callable[[], object]:
    """A call of the function, whose result has been compared with NumPy's."""
    A, B, C = runtime.array(a), runtime.array(b), runtime.empty((len(a), N))
    matmul(A, B, C)
    np.testing.assert_allclose(C.numpy(), a.astype(np.float64) @ b, rtol=0, atol=1e-3)
    return matmul["run"].bind(A, B, C)


def main() -> None:
    a, b = np.random.default_rng(0).standard_normal((2, N, N), dtype=np.float32)
    runs: dict[str, tuple[Callable[[], object], int]] = {}
    for step, rows in STEPS.items():
        schedule, arguments = step(rows)
        print(f"{step.__name__}: {step.__doc__}\n{lower(schedule, arguments).body}\n")
        runs[step.__name__] = checked(build(schedule, arguments, keep_loops=True), a[:rows], b), rows
    runs["left to build"] = checked(build(*naive(N)), a, b), N
    runs["NumPy"] = partial(np.matmul, a, b), N

    meter = PeakMeter()
    peaks: list[float] = []
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(7):  # in turn, so that whatever else the machine does falls on all alike
        peaks.append(meter.sample())
        for name, (run, rows) in runs.items():
            seconds = runtime.time_evaluator(run, repeat=1).median
            rates[name].append(2 * rows * N * N / seconds / 1e9)

    peak = median(peaks)
    print(f"C = A·B of {N}×{N} float32 in tiles of {ROWS}×{COLUMNS}; one core's measured peak is {peak:.1f} GFLOP/s\n")
    print("step             GFLOP/s   of one core's peak")
    for name, samples in rates.items():
        print(f"{name:14} {median(samples):9.2f} {median(samples) / peak:9.1%}")


if __name__ == "__main__":
    main()
