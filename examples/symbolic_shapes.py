"""One function for all sizes: extents that are known in a call only, and loops that fit them.

A variable in a shape is the extent of what a call brings. It is checked, and extents that share a variable must agree.
Tiles need no multiple: the last one is guarded, or gets loops of its own. A variable in no shape is a number that the
call gives.
"""

import numpy as np

from sateen import runtime
from sateen.tensor_ir import Machine, build, lower, te

LANES = Machine.of("llvm").lanes("float32")
Scheduled = tuple[te.Schedule, list[te.Tensor | te.Var]]


def softmax() -> Scheduled:
    """Rows of any number and length; each row is one chain of stages, and rows are shared among threads."""
    rows, columns = te.var("rows"), te.var("columns")
    A = te.placeholder((rows, columns), name="A")
    k, r = te.reduce_axis(columns, name="k"), te.reduce_axis(columns, name="r")
    largest = te.compute((rows,), lambda i: te.max(A[i, k], axis=k), name="largest")
    power = te.compute((rows, columns), lambda i, j: te.exp(A[i, j] - largest[i]), name="power")
    total = te.compute((rows,), lambda i: te.sum(power[i, r], axis=r), name="total")
    P = te.compute((rows, columns), lambda i, j: power[i, j] / total[i], name="P")

    s = te.create_schedule(P)
    i, j = P.op.axis
    s[P].parallel(i)
    for stage in (largest, power, total):
        s[stage].compute_at(s[P], i)
    for stage, axis in ((P, j), (power, power.op.axis[1])):
        s[stage].vectorize(s[stage].split(axis, factor=LANES, tail="partition")[1])
    return s, [A, P]


def strided_sum() -> Scheduled:
    """y[i] = x[2·i] + x[2·i + 1]: an extent may be an expression, and the tile is a number of the call."""
    n, tile = te.var("n"), te.var("tile")
    x = te.placeholder((2 * n,), name="x")
    y = te.compute((n,), lambda i: x[2 * i] + x[2 * i + 1], name="y")
    s = te.create_schedule(y)
    outer, _ = s[y].split(y.op.axis[0], factor=tile)
    s[y].parallel(outer)
    return s, [tile, x, y]


def main() -> None:
    rng = np.random.default_rng(0)
    s, arguments = softmax()
    print(lower(s, arguments, "softmax"), "\n")
    f = build(s, arguments, target="llvm", name="softmax")
    for shape in ((1, 1), (3, LANES - 1), (5, 1000), (0, 7)):
        a, p = rng.standard_normal(shape, dtype=np.float32), np.empty(shape, np.float32)
        f(a, p)
        expected = np.exp(a) / np.exp(a).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(p, expected, rtol=1e-5)
        print(f"softmax of {shape[0]} rows of {shape[1]}: equal to NumPy's")
    try:
        f(np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32))
    except runtime.ArgumentError as error:
        print(f"refused: {error}\n")
    else:
        raise AssertionError("two lengths of a row")

    s, arguments = strided_sum()
    print(lower(s, arguments, "pairs"), "\n")
    pairs = build(s, arguments, target="llvm", name="pairs")
    x, y = rng.standard_normal(22, dtype=np.float32), np.empty(11, np.float32)
    for tile in (1, 4, 100):
        pairs(tile, x, y)
        assert np.array_equal(y, x[::2] + x[1::2])
        print(f"{len(y)} pairs in tiles of {tile}: equal to NumPy's")


if __name__ == "__main__":
    main()
