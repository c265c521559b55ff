"""The plain programs of bench/plain.py: as tutorials write them, tuned for no machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sateen.tensor_ir import te

Scheduled = tuple[te.Schedule, list[te.Tensor]]
SIZE = 384
"""The rows and columns of matrices: three of them fit into a second cache of 2 MB."""
LENGTH = 1 << 16


@dataclass(frozen=True)
class Plain:
    """A program, and the values of symbols in its shapes."""

    name: str
    make: Callable[[], Scheduled]
    symbols: tuple[int, ...] = ()


def _gemm() -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    a, b = te.placeholder((SIZE, SIZE), name="A"), te.placeholder((SIZE, SIZE), name="B")
    k = te.reduce_axis(SIZE, name="k")
    return a, b, te.compute((SIZE, SIZE), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")


def gemm() -> Scheduled:
    """The definition alone."""
    a, b, c = _gemm()
    return te.create_schedule(c), [a, b, c]


def gemm_blocked() -> Scheduled:
    """Tiles of 32 x 32, sums over 4 terms innermost but one."""
    a, b, c = _gemm()
    s = te.create_schedule(c)
    i, j = c.op.axis
    io, jo, ii, ji = s[c].tile(i, j, 32, 32)
    ko, ki = s[c].split(c.op.reduce_axis[0], 4)
    s[c].reorder(io, jo, ko, ki, ii, ji)
    return s, [a, b, c]


def gemm_vectorized() -> Scheduled:
    """Tiles as before, the columns of a row of a tile together."""
    a, b, c = _gemm()
    s = te.create_schedule(c)
    i, j = c.op.axis
    io, jo, ii, ji = s[c].tile(i, j, 32, 32)
    ko, ki = s[c].split(c.op.reduce_axis[0], 4)
    s[c].reorder(io, jo, ko, ii, ki, ji)
    s[c].vectorize(ji)
    return s, [a, b, c]


def gemm_cached(rows: int = 8, columns: int = 48) -> Scheduled:
    """Panels of B, and tiles of C in local memory, of a size that registers hold."""
    a, b = te.placeholder((SIZE, SIZE), name="A"), te.placeholder((SIZE, SIZE), name="B")
    panels = te.compute((SIZE // columns, SIZE, columns), lambda p, r, j: b[r, p * columns + j], name="panels")
    k = te.reduce_axis(SIZE, name="k")
    c = te.compute((SIZE, SIZE), lambda i, j: te.sum(a[i, k] * panels[j // columns, k, j % columns], axis=k), name="C")
    s = te.create_schedule(c)
    tile = s.cache_write(c, "local")
    i, j = c.op.axis
    io, jo, ii, ji = s[c].tile(i, j, rows, columns)
    s[c].reorder(jo, io, ii, ji)
    s[c].vectorize(ji)
    s[tile].compute_at(s[c], io)
    i, j = tile.op.axis
    ko, ki = s[tile].split(tile.op.reduce_axis[0], 4)
    s[tile].reorder(ko, ki, i, j)
    s[tile].unroll(ki)
    s[tile].vectorize(j)
    s[panels].vectorize(panels.op.axis[2])
    return s, [a, b, c]


def gemm_tutorial(size: int = 32) -> Scheduled:
    """The last step of the tutorial as it is: tiles of C in memory, of a size that no registers hold."""
    a, b = te.placeholder((SIZE, SIZE), name="A"), te.placeholder((SIZE, SIZE), name="B")
    panels = te.compute((SIZE // size, SIZE, size), lambda p, r, j: b[r, p * size + j], name="panels")
    k = te.reduce_axis(SIZE, name="k")
    c = te.compute((SIZE, SIZE), lambda i, j: te.sum(a[i, k] * panels[j // size, k, j % size], axis=k), name="C")
    s = te.create_schedule(c)
    tile = s.cache_write(c, "global")
    i, j = c.op.axis
    io, jo, _, _ = s[c].tile(i, j, size, size)
    s[tile].compute_at(s[c], jo)
    i, j = tile.op.axis
    ko, ki = s[tile].split(tile.op.reduce_axis[0], 4)
    s[tile].reorder(ko, i, ki, j)
    s[tile].unroll(ki)
    s[tile].vectorize(j)
    s[c].parallel(io)
    panel, _, column = panels.op.axis
    s[panels].vectorize(column)
    s[panels].parallel(panel)
    return s, [a, b, c]


def row_sum() -> Scheduled:
    a = te.placeholder((SIZE, SIZE), name="A")
    k = te.reduce_axis(SIZE, name="k")
    c = te.compute((SIZE,), lambda i: te.sum(a[i, k], axis=k), name="C")
    return te.create_schedule(c), [a, c]


def column_sum() -> Scheduled:
    a = te.placeholder((SIZE, SIZE), name="A")
    k = te.reduce_axis(SIZE, name="k")
    c = te.compute((SIZE,), lambda j: te.sum(a[k, j], axis=k), name="C")
    return te.create_schedule(c), [a, c]


def stencil() -> Scheduled:
    """The mean of a point and its neighbours."""
    a = te.placeholder((SIZE + 2, SIZE + 2), name="A")

    def mean(i: te.Expr, j: te.Expr) -> te.Expr:
        around = a(i, j + 1) + a(i + 2, j + 1) + a(i + 1, j) + a(i + 1, j + 2)
        return (around + a(i + 1, j + 1)) * 0.2

    c = te.compute((SIZE, SIZE), mean, name="C")
    return te.create_schedule(c), [a, c]


def exponential() -> Scheduled:
    """A length known at run time."""
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    c = te.compute((n,), lambda i: te.exp(a[i]), name="C")
    return te.create_schedule(c), [a, c]


def transpose() -> Scheduled:
    a = te.placeholder((SIZE, SIZE), name="A")
    c = te.compute((SIZE, SIZE), lambda i, j: a[j, i], name="C")
    return te.create_schedule(c), [a, c]


def softmax() -> Scheduled:
    """Rows, in four stages."""
    a = te.placeholder((SIZE, SIZE), name="A")
    k, r = te.reduce_axis(SIZE, name="k"), te.reduce_axis(SIZE, name="r")
    largest = te.compute((SIZE,), lambda i: te.max(a[i, k], axis=k), name="largest")
    powers = te.compute((SIZE, SIZE), lambda i, j: te.exp(a[i, j] - largest[i]), name="powers")
    total = te.compute((SIZE,), lambda i: te.sum(powers[i, r], axis=r), name="total")
    c = te.compute((SIZE, SIZE), lambda i, j: powers[i, j] / total[i], name="C")
    return te.create_schedule(c), [a, c]


CHANNELS, PICTURE, WINDOW = 32, 56, 3


def _conv() -> tuple[te.Tensor, te.Tensor, te.Tensor, te.Tensor]:
    data = te.placeholder((CHANNELS, PICTURE, PICTURE), name="data")
    weight = te.placeholder((CHANNELS, CHANNELS, WINDOW, WINDOW), name="weight")
    size = PICTURE + WINDOW - 1

    def inside(c: te.Expr, y: te.Expr, x: te.Expr) -> te.Expr:
        is_inside = te.all(y >= 1, y <= PICTURE, x >= 1, x <= PICTURE)
        return te.if_then_else(is_inside, data[c, y - 1, x - 1], 0.0)

    padded = te.compute((CHANNELS, size, size), inside, name="padded")
    ci, ky, kx = (te.reduce_axis(n, name) for n, name in ((CHANNELS, "ci"), (WINDOW, "ky"), (WINDOW, "kx")))
    conv = te.compute(
        (CHANNELS, PICTURE, PICTURE),
        lambda o, y, x: te.sum(padded[ci, y + ky, x + kx] * weight[o, ci, ky, kx], axis=[ci, ky, kx]),
        name="conv",
    )
    return data, weight, padded, conv


def conv_direct() -> Scheduled:
    """The definition alone, with a padded copy of the picture."""
    data, weight, _, conv = _conv()
    return te.create_schedule(conv), [data, weight, conv]


def conv_tiled() -> Scheduled:
    """As schedules for small ARM boards do: tiles of channels and columns, terms of a window unrolled."""
    data, weight, _, conv = _conv()
    s = te.create_schedule(conv)
    tile = s.cache_write(conv, "local")
    o, y, x = conv.op.axis
    oo, oi = s[conv].split(o, 4)
    xo, xi = s[conv].split(x, 28)
    s[conv].reorder(oo, y, xo, oi, xi)
    s[tile].compute_at(s[conv], xo)
    o, y, x = tile.op.axis
    ci, ky, kx = tile.op.reduce_axis
    s[tile].reorder(ci, ky, kx, o, y, x)
    s[tile].unroll(o)
    s[tile].unroll(kx)
    s[tile].vectorize(x)
    return s, [data, weight, conv]


PROGRAMS = (
    Plain("gemm", gemm),
    Plain("gemm, blocked", gemm_blocked),
    Plain("gemm, blocked, vectorized", gemm_vectorized),
    Plain("gemm, packed, cached", gemm_cached),
    Plain("gemm of the tutorial", gemm_tutorial),
    Plain("sums of rows", row_sum),
    Plain("sums of columns", column_sum),
    Plain("stencil of 5 points", stencil),
    Plain("exp, any length", exponential, (LENGTH + 7,)),
    Plain("transpose", transpose),
    Plain("softmax of rows", softmax),
    Plain("convolution", conv_direct),
    Plain("convolution, tiled", conv_tiled),
)
