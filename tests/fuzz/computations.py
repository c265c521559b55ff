"""The computations that random schedules are drawn over: small, and of whole numbers, so that every order is exact.

Extents are drawn too; few of them are multiples of a usual factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import numpy as np

from sateen.runtime.dtype import DType
from sateen.tensor_ir import te
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.te.tensor import Tensor

EXTENTS = (1, 2, 3, 5, 6, 7, 8, 9, 12, 13, 16, 17, 19, 24, 30, 33)


@dataclass(frozen=True)
class Computation:
    """What is computed from what. `limit` is the largest magnitude of an input that keeps every result exact."""

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    limit: int = 3
    symbols: dict[Var, int] = field(default_factory=dict)
    whole_range: bool = False
    """Whether integers are drawn from all that their type holds, its ends most of all."""

    def arrays(self, rng: Random) -> list[np.ndarray]:
        """An array of whole numbers for each input."""
        return [self._array(tensor, rng) for tensor in self.inputs]

    def _array(self, tensor: Tensor, rng: Random) -> np.ndarray:
        low = 0 if str(tensor.dtype).startswith("uint") else -self.limit
        generator = np.random.default_rng(rng.randrange(1 << 32))
        if self.whole_range and tensor.dtype.is_int:
            low, high = int(np.iinfo(tensor.dtype.numpy).min), int(np.iinfo(tensor.dtype.numpy).max)
            ends = np.array([low, low + 1, high - 1, high, high // 2 + 1, 0, 1, 5], tensor.dtype.numpy)
            return generator.choice(ends, self.shape(tensor))
        return generator.integers(low, self.limit + 1, self.shape(tensor)).astype(tensor.dtype.numpy)

    def shape(self, tensor: Tensor) -> tuple[int, ...]:
        """The extents of a tensor, with the symbols' values put in."""
        return tuple(self.symbols[e] if isinstance(e, Var) else int(e.value) for e in tensor.shape)


def _extents(rng: Random, count: int, most: int) -> list[int]:
    return [rng.choice([n for n in EXTENTS if n <= most]) for _ in range(count)]


def _wide(dtype: str) -> str:
    """A type that holds sums of products of `dtype`."""
    return "int32" if DType.of(dtype).is_int else "float64" if dtype == "float64" else "float32"


def chain(rng: Random) -> Computation:
    """Three element-wise stages, the second of which reads two of them, and an index as a value."""
    n, m = _extents(rng, 2, 33)
    dtype = rng.choice(["int8", "uint16", "int32", "int64", "float16", "bfloat16", "float32", "float64"])
    A = te.placeholder((n, m), dtype, name="A")
    B = te.compute((n, m), lambda i, j: A[i, j] * 2 + 1, name="B")
    C = te.compute((n, m), lambda i, j: B[i, j] - A[i, j] + (j % 4).astype(dtype), name="C")
    D = te.compute((n, m), lambda i, j: te.maximum(C[i, j], 2), name="D")
    return Computation("chain", (A,), (D,))


def matmul(rng: Random) -> Computation:
    n, m, depth = _extents(rng, 3, 24)
    dtype = rng.choice(["float32", "float64", "int32"])
    A, B = te.placeholder((n, depth), dtype, name="A"), te.placeholder((depth, m), dtype, name="B")
    k = te.reduce_axis(depth, "k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return Computation("matmul", (A, B), (C,))


def dense(rng: Random) -> Computation:
    """Matrix product of narrow types in a wide one, bias and rectifier."""
    n, m, depth = _extents(rng, 3, 24)
    dtype = rng.choice(["float32", "int8", "bfloat16"])
    wide = _wide(dtype)
    A, B = te.placeholder((n, depth), dtype, name="A"), te.placeholder((m, depth), dtype, name="B")
    bias = te.placeholder((m,), wide, name="bias")
    k = te.reduce_axis(depth, "k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k].astype(wide) * B[j, k].astype(wide), axis=k), name="C")
    D = te.compute((n, m), lambda i, j: te.maximum(C[i, j] + bias[j], 0), name="D")
    return Computation("dense", (A, B, bias), (D,))


def convolution(rng: Random) -> Computation:
    """3x3 with padding that `where` leaves out, and a rectifier."""
    c, o = _extents(rng, 2, 6)
    h, w = _extents(rng, 2, 13)
    stride = rng.choice([1, 2])
    dtype = rng.choice(["float32", "float64"])
    X, W = te.placeholder((c, h, w), dtype, name="X"), te.placeholder((o, c, 3, 3), dtype, name="W")
    k, y, x = te.reduce_axis(c, "k"), te.reduce_axis(3, "y"), te.reduce_axis(3, "x")

    def term(f: Expr, i: Expr, j: Expr) -> Expr:
        row, column = i * stride + y - 1, j * stride + x - 1
        inside = te.all(row >= 0, row < h, column >= 0, column < w)
        return te.sum(X[k, row, column] * W[f, k, y, x], axis=[k, y, x], where=inside)

    Y = te.compute((o, (h - 1) // stride + 1, (w - 1) // stride + 1), term, name="Y")
    Z = te.compute(Y.shape, lambda f, i, j: te.maximum(Y[f, i, j], 0.0), name="Z")
    return Computation("convolution", (X, W), (Z,))


def depthwise(rng: Random) -> Computation:
    """3x3 over a padded copy, and a residual addition."""
    (c,) = _extents(rng, 1, 8)
    h, w = _extents(rng, 2, 13)
    dtype = rng.choice(["float32", "int32", "float64"])
    X, W = te.placeholder((c, h, w), dtype, name="X"), te.placeholder((c, 3, 3), dtype, name="W")

    def padded(f: Expr, i: Expr, j: Expr) -> Expr:
        inside = te.all(i >= 1, i <= h, j >= 1, j <= w)
        return te.select(inside, X[f, i - 1, j - 1], te.const(0, dtype))

    P = te.compute((c, h + 2, w + 2), padded, name="P")
    y, x = te.reduce_axis(3, "y"), te.reduce_axis(3, "x")
    Y = te.compute((c, h, w), lambda f, i, j: te.sum(P[f, i + y, j + x] * W[f, y, x], axis=[y, x]), name="Y")
    Z = te.compute((c, h, w), lambda f, i, j: Y[f, i, j] + X[f, i, j], name="Z")
    return Computation("depthwise", (X, W), (Z,))


def blur(rng: Random) -> Computation:
    """A stencil of a stencil, and the difference to the first's centre."""
    h, w = _extents(rng, 2, 30)
    dtype = rng.choice(["int16", "float32", "uint8"])
    A = te.placeholder((h + 2, w + 2), dtype, name="A")
    H = te.compute((h + 2, w), lambda i, j: A[i, j] + A[i, j + 1] * 2 + A[i, j + 2], name="H")
    V = te.compute((h, w), lambda i, j: H[i, j] + H[i + 1, j] * 2 + H[i + 2, j], name="V")
    D = te.compute((h, w), lambda i, j: V[i, j] - H[i + 1, j], name="D")
    return Computation("blur", (A,), (D,))


def normalise(rng: Random) -> Computation:
    """The shape of softmax: two reductions of each row, both broadcast back over it."""
    n, m = _extents(rng, 2, 24)
    dtype = rng.choice(["float32", "int32"])
    A = te.placeholder((n, m), dtype, name="A")
    j, k = te.reduce_axis(m, "j"), te.reduce_axis(m, "k")
    largest = te.compute((n,), lambda i: te.max(A[i, j], axis=j), name="largest")
    shifted = te.compute((n, m), lambda i, j: (A[i, j] - largest[i]) * (A[i, j] - largest[i]), name="shifted")
    total = te.compute((n,), lambda i: te.sum(shifted[i, k], axis=k), name="total")
    result = te.compute((n, m), lambda i, j: shifted[i, j] * 3 - total[i], name="result")
    return Computation("normalise", (A,), (result,))


def argmax(rng: Random) -> Computation:
    """The first greatest element of each row and its place, then a stage that reads both."""
    n, m = _extents(rng, 2, 24)
    A = te.placeholder((n, m), "float32", name="A")
    k = te.reduce_axis(m, "k")

    def better(left: tuple[Expr, Expr], right: tuple[Expr, Expr]) -> tuple[Expr, Expr]:
        keep = te.any(left[1] > right[1], te.all(left[1].equal(right[1]), left[0] < right[0]))
        return te.select(keep, left[0], right[0]), te.select(keep, left[1], right[1])

    reducer = te.comm_reducer(better, lambda i, v: (te.max_value(i), te.min_value(v)), "argmax")
    place, value = te.compute((n,), lambda i: reducer((k.astype("int32"), A[i, k]), axis=k), name="best")
    D = te.compute((n, m), lambda i, j: A[i, j] - value[i] * place[i].astype("float32"), name="D")
    return Computation("argmax", (A,), (D,))


def reshape(rng: Random) -> Computation:
    """Flatten, transpose and regroup: indices of // and %."""
    n, m = _extents(rng, 2, 13)
    q = rng.choice([d for d in (1, 2, 3, 4, 5) if n * m % d == 0])
    dtype = rng.choice(["int8", "float32", "float16", "int64"])
    A = te.placeholder((n, m), dtype, name="A")
    T = te.compute((m, n), lambda i, j: A[j, i] + 1, name="T")
    F = te.compute((n * m,), lambda i: T[i // n, i % n] * 2, name="F")
    D = te.compute((n * m // q, q), lambda i, j: F[i * q + j] + F[n * m - 1 - i * q - j], name="D")
    return Computation("reshape", (A,), (D,))


def symbolic(rng: Random) -> Computation:
    """Rows of an extent that is known only when the kernel runs, reversed, with a sum of each."""
    n = te.var("n")
    (m,) = _extents(rng, 1, 17)
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis(m, "k")
    B = te.compute((n, m), lambda i, j: A[i, j] * 2.0, name="B")
    S = te.compute((n,), lambda i: te.sum(B[i, k], axis=k), name="S")
    D = te.compute((n, m), lambda i, j: B[i, m - 1 - j] + S[i] * A[i, j], name="D")
    return Computation("symbolic", (A,), (D,), symbols={n: rng.choice([0, 1, 2, 5, 8, 13, 31])})


INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def lets(rng: Random) -> Computation:
    """Values that a let keeps of loaded integers, which wrap, and a stage that reads them."""
    n, m = _extents(rng, 2, 24)
    dtype = rng.choice(["int64", "int64", "uint64", "int32", "uint32"])
    A = te.placeholder((n, m), dtype, name="A")

    def body(ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        ib = te.ir_builder.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, n, "i") as i, ib.for_range(0, m, "j") as j:
            x = ib.let("x", source[i, j])
            y = ib.let("y", x + 1)
            larger = te.select(y > x, te.const(3, dtype), te.const(5, dtype))
            result[i, j] = larger + x * 4 // 4 % 7 - te.maximum(y, x)
        return ib.get()

    B = te.extern((n, m), [A], body, name="B", dtype=dtype)
    C = te.compute((n, m), lambda i, j: B[i, j] * 2 + A[i, m - 1 - j], name="C")
    return Computation("lets", (A,), (C,), whole_range=True)


def ranges(rng: Random) -> Computation:
    """A loop of an extern that changes its own range, and a stage that reads what it stores."""
    n, first = rng.choice([16, 37, 64]), rng.randrange(8)
    A = te.placeholder((n,), "int64", name="A")

    def body(ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        ib = te.ir_builder.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, n, "i") as i:
            result[i] = source[i] % 8 + (n - 8)
        with ib.for_range(first, result[first], "j") as j:
            result[j] = 3
        return ib.get()

    B = te.extern((n,), [A], body, name="B", dtype="int64")
    C = te.compute((n,), lambda i: B[n - 1 - i] * 2, name="C")
    return Computation("ranges", (A,), (C,), whole_range=True)


def conversions(rng: Random) -> Computation:
    """Integers that become other ones and back, and comparisons of them, also of indices below zero."""
    n, m = _extents(rng, 2, 33)
    first, second, third = (rng.choice(INTEGERS) for _ in range(3))
    A = te.placeholder((n, m), first, name="A")
    B = te.compute((n, m), lambda i, j: A[i, j].astype(second) + (j - 5).astype(second), name="B")
    compare = rng.choice([Expr.__lt__, Expr.__ge__, Expr.equal, Expr.not_equal])

    def chosen(i: Expr, j: Expr) -> Expr:
        number = B[i, j].astype(third)
        below = (i - 3).astype("uint64").astype("int64") < 0
        return te.select(te.any(compare(number, A[i, j].astype(third)), below), number, number * 3 + 1)

    C = te.compute((n, m), chosen, name="C")
    D = te.compute((n, m), lambda i, j: te.maximum(C[i, j], C[i, m - 1 - j]) - C[n - 1 - i, j], name="D")
    return Computation("conversions", (A,), (D,), whole_range=True)


def places(rng: Random) -> Computation:
    """Elements at places that are data: clamped, taken round, and moved by axes; what is computed of both wraps."""
    n, m = _extents(rng, 2, 24)
    P = te.placeholder((n,), rng.choice(INTEGERS), name="P")
    A = te.placeholder((m, n), rng.choice(["int32", "int64"]), name="A")

    def element(i: Expr, j: Expr) -> Expr:
        place, moved = P[i].astype("index"), P[j].astype("int64") * 3 + i
        inside = te.minimum(te.maximum(place, 0), m - 1)
        beside = te.minimum(te.maximum(moved, 0), m - 1)
        chosen = te.select(te.any(place > j, moved < j), A[beside, j], A[(place + j) % m, n - 1 - j])
        return chosen + A[inside, i] * A[m - 1 - inside, j] + (moved - j).astype(A.dtype)

    C = te.compute((n, n), element, name="C")
    return Computation("places", (P, A), (C,), whole_range=True)


def indices(rng: Random) -> Computation:
    """Arithmetic of indices nested at random, as numbers and as places: products of quotients and remainders, too."""
    n, m = _extents(rng, 2, 17)
    dtype = rng.choice(["int32", "uint32", "int64"])
    A = te.placeholder((n, m), dtype, name="A")

    def nested(depth: int, *leaves: Expr) -> Expr:
        if depth == 0 or rng.random() < 0.15:
            return rng.choice(leaves) + rng.choice([0, 0, 1, 5])
        operation = rng.choice(["+", "-", "*", "*", "//", "//", "%", "%", "min", "select"])
        a = nested(depth - 1, *leaves)
        if operation in ("//", "%"):
            by = rng.choice([2, 3, 4, 7])
            return a // by if operation == "//" else a % by
        b = nested(depth - 1, *leaves)
        match operation:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "min":
                return te.minimum(a, b)
        return te.select(a < b, a, b * 2)

    B = te.compute((n, m), lambda i, j: nested(4, i, j).astype(dtype) + A[i, j], name="B")
    C = te.compute((n, m), lambda i, j: A[nested(3, i, j) % n, nested(3, i, j) % m], name="C")
    D = te.compute((n, m), lambda i, j: nested(3, A[i, j], B[i, j]) - C[n - 1 - i, j], name="D")
    return Computation("indices", (A,), (D,))


def deep(rng: Random) -> Computation:
    """An expression of many levels, some of which read the one before twice."""
    n, m = _extents(rng, 2, 17)
    dtype = rng.choice(["int32", "uint64", "float32", "float64"])
    levels = rng.choice([20, 40, 60])
    A, B = te.placeholder((n, m), dtype, name="A"), te.placeholder((m,), dtype, name="B")

    def element(i: Expr, j: Expr) -> Expr:
        e: Expr = A[i, j]
        for level in range(levels):
            e = te.minimum(e + B[j], 50) if level % 2 else te.maximum(e - level % 3, 1)
            if level % 32 == 31:
                e = te.select(e > 20, e - 19, e)
        return e

    C = te.compute((n, m), element, name="C")
    D = te.compute((n, m), lambda i, j: C[i, j] * 2 + C[n - 1 - i, j], name="D")
    return Computation("deep", (A, B), (D,))


def recurrence(rng: Random) -> Computation:
    """Two states over time, one by way of a sum and two steps back, the other from the first; and what reads them."""
    rows, n = rng.choice([2, 3, 5, 8]), rng.choice(EXTENTS[:9])
    dtype = rng.choice(["int16", "int32", "float32", "float64"])
    steps = te.var("steps") if rng.random() < 0.4 else rows
    A, W = te.placeholder((steps, n), dtype, name="A"), te.placeholder((n, n), dtype, name="W")
    P, Q = (te.placeholder((steps, n), dtype, name=name) for name in "PQ")
    first = te.compute((2, n), lambda t, i: W[i, 0] - t.astype(dtype), name="first")
    start = te.compute((2, n), lambda t, i: W[0, i] * 2, name="start")
    k = te.reduce_axis(n, "k")
    mixed = te.compute((steps, n), lambda t, i: te.sum(W[i, k] * P[t - 1, k], axis=k), name="mixed")
    bounded = te.compute((steps, n), lambda t, i: te.maximum(te.minimum(mixed[t, i], 9), -9), name="bounded")
    p = te.compute((steps, n), lambda t, i: te.maximum(bounded[t, i] + A[t, i] - P[t - 2, n - 1 - i], -30), name="p")
    q = te.compute((steps, n), lambda t, i: te.minimum(p[t, i], 20) - te.select(t % 2 > 0, Q[t - 1, i], 0), name="q")
    R, S = te.scan([first, start], [p, q], [P, Q], name="states")
    D = te.compute((steps, n), lambda t, i: te.maximum(R[t, i], S[t, i]) + A[t, n - 1 - i], name="D")
    symbols = {steps: rows} if isinstance(steps, Var) else {}
    return Computation("recurrence", (A, W), (D,) if rng.random() < 0.5 else (R, S), symbols=symbols)


COMPUTATIONS: tuple[Callable[[Random], Computation], ...] = (
    chain,
    matmul,
    dense,
    convolution,
    depthwise,
    blur,
    normalise,
    argmax,
    reshape,
    symbolic,
    lets,
    conversions,
    places,
    indices,
    deep,
    recurrence,
    ranges,
)
OF_PROCESSORS = (lets, ranges, recurrence)
"""Those with loops that no schedule binds, an extern's and copies of initial rows: a device's host does no work."""
