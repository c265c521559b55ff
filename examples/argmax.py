"""The largest score of each row and where it is: a reduction over pairs, by a reducer of one's own."""

import numpy as np

from sateen import runtime
from sateen.tensor_ir import Machine, build, te

ROWS, CLASSES = 256, 1000
Pair = tuple[te.Expr, te.Expr]


def larger(left: Pair, right: Pair) -> Pair:
    """The (index, score) of larger score; of equal scores the first, so that any order gives the same result."""
    wins = te.any(left[1] > right[1], te.all(left[1].equal(right[1]), left[0] < right[0]))
    return te.select(wins, left[0], right[0]), te.select(wins, left[1], right[1])


argmax = te.comm_reducer(larger, lambda index, score: (te.max_value(index), te.min_value(score)), name="argmax")

A = te.placeholder((ROWS, CLASSES), name="A")
k = te.reduce_axis(CLASSES, name="k")
index, score = te.compute((ROWS,), lambda i: argmax((te.cast("int32", k), A[i, k]), axis=k), name="best")


def in_order() -> te.Schedule:
    """One element after the other."""
    return te.create_schedule([index, score])


def by_lane() -> te.Schedule:
    """A pair for each lane of a vector, of four rows in turn so that none waits; the best of each row's in the end."""
    s = in_order()
    _, lane = s[index].split(k, factor=Machine.of("llvm").lanes())
    partial, _ = s.rfactor(index, lane, factor_axis=1)

    rows, row = s[index].split(index.op.axis[0], factor=4)
    (last,) = s[index].op.reduce_axis
    s[index].unroll(row)
    s[index].unroll(last)

    s[partial].compute_at(s[index], rows)
    s[partial].set_scope("register")
    row, lane = partial.op.axis
    (block,) = partial.op.reduce_axis
    s[partial].reorder(block, row, lane)
    s[partial].unroll(row)
    s[partial].vectorize(lane)
    return s


def main() -> None:
    a = np.random.default_rng(0).standard_normal((ROWS, CLASSES), dtype=np.float32)
    a[3, [700, 20]] = 9.0  # equal: the first one counts
    scores, found, largest = runtime.array(a), runtime.empty((ROWS,), "int32"), runtime.empty((ROWS,))

    print(f"argmax of {ROWS} rows of {CLASSES}:")
    for schedule in (in_order, by_lane):
        best = build(schedule(), [A, index, score], target="llvm", name="best")
        best(scores, found, largest)
        assert np.array_equal(found.numpy(), a.argmax(axis=1))
        assert np.array_equal(largest.numpy(), a.max(axis=1))
        time = runtime.time_evaluator(best["best"].bind(scores, found, largest), repeat=15)
        print(f"{schedule.__name__:10} {time.median * 1e6:8.1f} µs")
    print(f"{'NumPy':10} {runtime.time_evaluator(a.argmax, 1, repeat=15).median * 1e6:8.1f} µs")


if __name__ == "__main__":
    main()
