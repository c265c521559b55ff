"""Several results of one computation: a function that returns a tuple makes as many tensors, in one loop nest.

First element by element, then a reduction over triples: count, mean and squared distance of each row in one reading.
"""

import numpy as np

from sateen.tensor_ir import Machine, build, lower, te

ROWS, COLUMNS = 5, 4096
Triple = tuple[te.Expr, te.Expr, te.Expr]


def directions() -> tuple[te.Schedule, list[te.Tensor]]:
    """Vectors of length 1 in the directions of these: both coordinates at once."""
    n = te.var("n")
    x, y = te.placeholder((n,), name="x"), te.placeholder((n,), name="y")
    length = te.compute((n,), lambda i: te.sqrt(x[i] * x[i] + y[i] * y[i]), name="length")
    right, up = te.compute((n,), lambda i: (x[i] / length[i], y[i] / length[i]), name="unit")
    s = te.create_schedule([right, up])
    assert s[right] is s[up], "one stage computes both"
    block, lane = s[right].split(right.op.axis[0], factor=Machine.of("llvm").lanes())
    s[right].vectorize(lane)
    s[length].compute_at(s[right], block)
    return s, [x, y, right, up]


def join(left: Triple, right: Triple) -> Triple:
    """Count, mean and sum of squared distances to it of two parts together (Chan, Golub and LeVeque 1979)."""
    (n, mean, square), (m, other, more) = left, right
    total = n + m
    share = te.select(total > 0, m / te.maximum(total, 1.0), 0.0)
    step = other - mean
    return total, mean + step * share, square + more + step * step * n * share


def moments() -> tuple[te.Schedule, list[te.Tensor]]:
    """The moments of each row, of as many parts as a vector has lanes, which are joined in the end."""
    zero = te.const(0, "float32")
    joined = te.comm_reducer(join, lambda *_: (zero, zero, zero), name="joined")
    A = te.placeholder((ROWS, COLUMNS), name="A")
    k = te.reduce_axis(COLUMNS, name="k")
    one = te.const(1, "float32")
    count, mean, square = te.compute((ROWS,), lambda i: joined((one, A[i, k], zero), axis=k), name="moments")
    s = te.create_schedule([count, mean, square])
    _, lane = s[count].split(k, factor=Machine.of("llvm").lanes())
    partial, *_ = s.rfactor(count, lane, factor_axis=1)
    s[partial].compute_at(s[count], s[count].op.axis[0])
    row, lane = partial.op.axis
    (block,) = partial.op.reduce_axis
    s[partial].reorder(row, block, lane)
    s[partial].vectorize(lane)
    return s, [A, count, mean, square]


def main() -> None:
    rng = np.random.default_rng(0)
    s, arguments = directions()
    print(lower(s, arguments, "directions"), "\n")
    x, y = rng.standard_normal((2, 1000), dtype=np.float32)
    right, up = np.empty_like(x), np.empty_like(x)
    build(s, arguments, name="directions")(x, y, right, up)
    np.testing.assert_allclose(np.hypot(right, up), 1, rtol=1e-6)
    np.testing.assert_allclose(right, x / np.hypot(x, y), rtol=1e-6)

    s, arguments = moments()
    print(lower(s, arguments, "moments"), "\n")
    a = rng.normal(1000, 1, (ROWS, COLUMNS)).astype(np.float32)  # a sum of squares would lose all digits here
    count, mean, square = (np.empty(ROWS, np.float32) for _ in range(3))
    build(s, arguments, name="moments")(a, count, mean, square)
    assert count.tolist() == [COLUMNS] * ROWS
    np.testing.assert_allclose(mean, a.mean(axis=1, dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(square / count, a.var(axis=1, dtype=np.float64), rtol=1e-3)
    naive = (a * a).mean(axis=1) - a.mean(axis=1) ** 2
    print("variance           ", *(f"{value:8.4f}" for value in square / count))
    print("by sums of squares ", *(f"{value:8.4f}" for value in naive))


if __name__ == "__main__":
    main()
