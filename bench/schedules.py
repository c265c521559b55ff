"""The kernels that bench/tensor.py measures: computations and schedules, each with its tile as arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.intrinsics import INTRINSICS, TensorIntrinsic

Scheduled = tuple[te.Schedule, list[te.Tensor]]
BLOCK = 16
"""Channels in the innermost dimension of blocked layouts."""


def _register_tile(stage: te.Stage, *axes: Any) -> None:
    """Unroll all of these loops except the last, which is vectorized."""
    for axis in axes[:-1]:
        stage.unroll(axis)
    stage.vectorize(axes[-1])


def sgemm(
    m: int,
    n: int,
    k: int,
    rows: int,
    columns: int,
    *,
    block: int | None = None,
    pack: bool = False,
    parallel: bool = False,
) -> Scheduled:
    """C[m, n] = A[m, k] B[k, n] in register tiles of rows x columns; B comes in panels of `columns`, or is packed here.

    `block` splits k into blocks around the row loop, so that a block of a panel stays in the L2 cache.
    """
    a = te.placeholder((m, k), name="A")
    if pack:
        b = te.placeholder((k, n), name="B")
        panels = te.compute((n // columns, k, columns), lambda p, r, j: b[r, p * columns + j], name="panels")
    else:
        b = panels = te.placeholder((n // columns, k, columns), name="B")
    r = te.reduce_axis(k, "r")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * panels[j // columns, r, j % columns], axis=r), name="C")
    s = te.create_schedule(c)
    tile = s.cache_write(c, "register")
    i, j = c.op.axis
    io, ii = s[c].split(i, rows, tail="partition")
    jo, ji = s[c].split(j, columns)
    jv, jl = s[c].split(ji, BLOCK)
    s[c].reorder(jo, io, ii, jv, jl)
    _register_tile(s[c], ii, jv, jl)
    s[tile].compute_at(s[c], io)
    i, j = tile.op.axis
    (r,) = tile.op.reduce_axis
    outer = []
    if block is not None and block < k:
        ro, r = s[tile].split(r, block)
        outer = [ro]
    rs, ru = s[tile].split(r, 4)
    jv, jl = s[tile].split(j, BLOCK)
    s[tile].reorder(*outer, rs, ru, i, jv, jl)
    _register_tile(s[tile], ru, i, jv, jl)
    if outer:
        s[c].reorder(jo, *outer, io)
    if parallel:
        s[c].parallel(jo)
    if pack:
        _, _, j = panels.op.axis
        jv, jl = s[panels].split(j, BLOCK)
        _register_tile(s[panels], jv, jl)
    return s, [a, b, c]


def dot_instruction(kinds: str, machine: Machine) -> TensorIntrinsic | None:
    """The dot product of some terms of a row with those of a vector of columns; None if no vector is so wide."""
    lanes = machine.lanes("float32")
    names = {"u8s8": f"dot4_u8s8_x{lanes}_broadcast", "bf16": f"dot2_bf16_x{lanes}_broadcast"}
    return INTRINSICS.get(names[kinds])


def register_tile(n: int, machine: Machine) -> tuple[int, int]:
    """Rows and columns of the register tile with the most products per load, of those whose columns divide n."""
    lanes = machine.lanes("float32")
    tiles = [(machine.tile_positions(vectors), vectors) for vectors in range(1, machine.vector_registers // 2)]
    rows, vectors = max(
        (tile for tile in tiles if tile[0] > 0 and n % (tile[1] * lanes) == 0),
        key=lambda tile: tile[0] * tile[1] / (tile[0] + tile[1]),
    )
    return rows, vectors * lanes


def dot_gemm(m: int, n: int, k: int, dot: TensorIntrinsic, rows: int, columns: int) -> Scheduled:
    """C[m, n] = A[m, k] B[k, n] by an instruction, in register tiles of rows x columns, which divide n.

    B comes in panels of `columns`, in which the terms of a column that the instruction takes at once are neighbours.
    """
    total, some, vector = dot.inputs
    (count,), (lanes, _) = dot.shape_of(some), dot.shape_of(vector)
    a = te.placeholder((m, k), some.dtype, name="A")
    b = te.placeholder((n // columns, k // count, columns, count), vector.dtype, name="B")
    r = te.reduce_axis(k, "r")

    def element(i: te.Expr, j: te.Expr) -> te.Expr:
        right = b[j // columns, r // count, j % columns, r % count]
        return te.sum(a[i, r].astype(total.dtype) * right.astype(total.dtype), axis=r)

    c = te.compute((m, n), element, name="C")
    s = te.create_schedule(c)
    tile = s.cache_write(c, "register")
    i, j = c.op.axis
    io, ii = s[c].split(i, rows, tail="partition")
    jo, ji = s[c].split(j, columns)
    jv, jl = s[c].split(ji, lanes)
    s[c].reorder(jo, io, ii, jv, jl)
    _register_tile(s[c], ii, jv, jl)
    s[tile].compute_at(s[c], io)
    i, j = tile.op.axis
    rs, ru = s[tile].split(tile.op.reduce_axis[0], count)
    jv, jl = s[tile].split(j, lanes)
    s[tile].reorder(rs, i, jv, jl, ru)
    s[tile].unroll(i)
    s[tile].unroll(jv)
    s[tile].tensorize(jl, dot)
    return s, [a, b, c]


def tile_gemm(m: int, n: int, k: int, instruction: TensorIntrinsic) -> Scheduled:
    """C[m, n] = A[m, k] B[k, n] by products of tiles, two by two of whose sums are in registers.

    B comes in columns of tiles: `[n / columns, k / terms, columns, terms]`, where `terms` of a column are neighbours.
    """
    total, rows, block = instruction.inputs
    (height, depth), (_, width, terms) = instruction.shape_of(rows), instruction.shape_of(block)
    a = te.placeholder((m, k), rows.dtype, name="A")
    b = te.placeholder((n // width, k // terms, width, terms), block.dtype, name="B")
    q, r = te.reduce_axis(k // terms, "q"), te.reduce_axis(terms, "r")
    sums = te.compute(
        (m // height, n // width, height, width),
        lambda io, jo, i, j: te.sum(
            a[height * io + i, terms * q + r].astype(total.dtype) * b[jo, q, j, r].astype(total.dtype), axis=[q, r]
        ),
        name="sums",
    )
    c = te.compute((m, n), lambda i, j: sums[i // height, j // width, i % height, j % width], name="C")
    s = te.create_schedule(c)
    i, j = c.op.axis
    io, jo, i, j = s[c].tile(i, j, 2 * height, 2 * width)
    jv, jl = s[c].split(j, width)
    s[c].reorder(jo, io, i, jv, jl)
    _register_tile(s[c], i, jv, jl)
    s[sums].set_scope("register")
    s[sums].compute_at(s[c], io)
    io, jo, i, j = sums.op.axis
    qo, qi = s[sums].split(q, depth // terms)
    s[sums].reorder(qo, io, jo, i, j, qi, r)
    s[sums].unroll(io)
    s[sums].unroll(jo)
    s[sums].tensorize(i, instruction)
    return s, [a, b, c]


@dataclass(frozen=True)
class ConvShape:
    """A 3x3 convolution of stride 1 and padding 1."""

    inputs: int
    outputs: int
    height: int
    width: int

    @property
    def useful_flops(self) -> int:
        """Multiply-adds on data, none on padding, times two."""
        return 2 * self.inputs * self.outputs * (3 * self.height - 2) * (3 * self.width - 2)

    @property
    def padded_flops(self) -> int:
        """As if padding were data."""
        return 2 * self.inputs * self.outputs * 9 * self.height * self.width


def direct_conv(shape: ConvShape, columns: int, vectors: int, *, halo: bool) -> Scheduled:
    """relu(conv + bias) in register tiles of `columns` x `vectors`, layout [C/16, H, W, 16].

    With `halo` the input carries its border of zeros; without, the terms on padding are absent.
    """
    h, w = shape.height, shape.width
    border = 2 if halo else 0
    data = te.placeholder((shape.inputs // BLOCK, h + border, w + border, BLOCK), name="data")
    weight = te.placeholder(
        (shape.outputs // (BLOCK * vectors), shape.inputs // BLOCK, 3, 3, BLOCK, vectors * BLOCK), name="weight"
    )
    bias = te.placeholder((shape.outputs // BLOCK, BLOCK), name="bias")
    cb, ci = te.reduce_axis(shape.inputs // BLOCK, "cb"), te.reduce_axis(BLOCK, "ci")
    kh, kw = te.reduce_axis(3, "kh"), te.reduce_axis(3, "kw")

    def element(ob: te.Expr, y: te.Expr, x: te.Expr, oi: te.Expr) -> te.Expr:
        factor = weight[ob // vectors, cb, kh, kw, ci, ob % vectors * BLOCK + oi]
        if halo:
            return te.sum(data[cb, y + kh, x + kw, ci] * factor, axis=[cb, kh, kw, ci])
        row, column = y + kh - 1, x + kw - 1
        inside = te.all(row >= 0, row < h, column >= 0, column < w)
        return te.sum(data[cb, row, column, ci] * factor, axis=[cb, kh, kw, ci], where=inside)

    conv = te.compute((shape.outputs // BLOCK, h, w, BLOCK), element, name="conv")
    out = te.compute(
        (shape.outputs // BLOCK, h, w, BLOCK),
        lambda ob, y, x, oi: te.maximum(conv[ob, y, x, oi] + bias[ob, oi], 0.0),
        name="out",
    )
    s = te.create_schedule(out)
    ob, y, x, oi = out.op.axis
    obo, obi = s[out].split(ob, vectors)
    xo, xi = s[out].split(x, columns, tail="partition")
    s[out].reorder(obo, y, xo, xi, obi, oi)
    _register_tile(s[out], xi, obi, oi)
    s[conv].set_scope("register")
    s[conv].compute_at(s[out], xo)
    ob, y, x, oi = conv.op.axis
    cis, ciu = s[conv].split(ci, 4)
    s[conv].reorder(cb, kh, kw, cis, ciu, y, x, ob, oi)
    _register_tile(s[conv], ciu, x, ob, oi)
    if not halo:
        s[out].pragma(xo, "partition")
        s[conv].unroll(kw)
    return s, [data, weight, bias, out]


def depthwise_conv(channels: int, height: int, width: int, rows: int, columns: int, *, halo: bool) -> Scheduled:
    """Depthwise 3x3 of stride 1 and padding 1 in register tiles of rows x columns, layout [C/16, H, W, 16]."""
    border = 2 if halo else 0
    data = te.placeholder((channels // BLOCK, height + border, width + border, BLOCK), name="data")
    weight = te.placeholder((channels // BLOCK, 3, 3, BLOCK), name="weight")
    kh, kw = te.reduce_axis(3, "kh"), te.reduce_axis(3, "kw")

    def element(c: te.Expr, y: te.Expr, x: te.Expr, ci: te.Expr) -> te.Expr:
        if halo:
            return te.sum(data[c, y + kh, x + kw, ci] * weight[c, kh, kw, ci], axis=[kh, kw])
        row, column = y + kh - 1, x + kw - 1
        inside = te.all(row >= 0, row < height, column >= 0, column < width)
        return te.sum(data[c, row, column, ci] * weight[c, kh, kw, ci], axis=[kh, kw], where=inside)

    out = te.compute((channels // BLOCK, height, width, BLOCK), element, name="out")
    s = te.create_schedule(out)
    tile = s.cache_write(out, "register")
    c, y, x, ci = out.op.axis
    yo, yi = s[out].split(y, rows, tail="partition")
    xo, xi = s[out].split(x, columns, tail="partition")
    s[out].reorder(c, yo, xo, yi, xi, ci)
    _register_tile(s[out], yi, xi, ci)
    s[tile].compute_at(s[out], xo)
    c, y, x, ci = tile.op.axis
    kh, kw = tile.op.reduce_axis
    s[tile].reorder(c, kh, kw, y, x, ci)
    _register_tile(s[tile], kh, kw, y, x, ci)
    if not halo:
        s[out].pragma(yo, "partition")
        s[out].pragma(xo, "partition")
    return s, [data, weight, out]


@dataclass(frozen=True)
class Winograd:
    """The matrices of F(m x m, 3x3) (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015)."""

    m: int
    data: tuple[tuple[float, ...], ...]
    weight: tuple[tuple[float, ...], ...]
    output: tuple[tuple[float, ...], ...]

    def transform_weight(self, weight: np.ndarray[Any, Any], vectors: int) -> np.ndarray[Any, Any]:
        """Weights [O, C, 3, 3] as [O/(16 vectors), m + 2, m + 2, C, 16 vectors], computed in float64."""
        g = np.array(self.weight)
        u = np.einsum("ia,ocab,jb->ijco", g, weight.astype(np.float64), g)
        n, _, c, o = u.shape
        width = BLOCK * vectors
        return np.ascontiguousarray(u.reshape(n, n, c, o // width, width).transpose(3, 0, 1, 2, 4), np.float32)


F2 = Winograd(
    2,
    ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),
    ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1)),
    ((1, 1, 1, 0), (0, 1, -1, -1)),
)
F4 = Winograd(
    4,
    (
        (4, 0, -5, 0, 1, 0),
        (0, -4, -4, 1, 1, 0),
        (0, 4, -4, -1, 1, 0),
        (0, -2, -1, 2, 1, 0),
        (0, 2, -1, -2, 1, 0),
        (0, 4, 0, -5, 0, 1),
    ),
    (
        (1 / 4, 0, 0),
        (-1 / 6, -1 / 6, -1 / 6),
        (-1 / 6, 1 / 6, -1 / 6),
        (1 / 24, 1 / 12, 1 / 6),
        (1 / 24, -1 / 12, 1 / 6),
        (0, 0, 1),
    ),
    ((1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 0), (0, 1, 1, 4, 4, 0), (0, 1, -1, 8, -8, 1)),
)


def winograd_conv(shape: ConvShape, f: Winograd, tiles: int, vectors: int, tile_rows: int) -> Scheduled:
    """relu(conv + bias) by Winograd on an input with its border of zeros, layout [C/16, H + 2, W + 2, 16].

    All stages run per block of `tile_rows` rows of tiles, so that the transformed block stays in the L2 cache; the
    products over channels run in register tiles of `tiles` x `vectors`.
    """
    m, n = f.m, f.m + 2
    across, count = shape.width // m, (shape.height // m) * (shape.width // m)
    cbs, obs = shape.inputs // BLOCK, shape.outputs // BLOCK
    data = te.placeholder((cbs, shape.height + 2, shape.width + 2, BLOCK), name="data")
    weight = te.placeholder((obs // vectors, n, n, shape.inputs, vectors * BLOCK), name="weight")
    bias = te.placeholder((obs, BLOCK), name="bias")
    bt, at = te.constant(np.array(f.data, np.float32), "BT"), te.constant(np.array(f.output, np.float32), "AT")

    def product(matrix: te.Tensor, row: te.Expr, r: Any, e: te.Expr) -> te.Expr:
        return te.sum(matrix[row, r] * e, axis=r, where=matrix[row, r].not_equal(0.0))

    p, q = te.reduce_axis(n, "p"), te.reduce_axis(n, "q")
    columns = te.compute(
        (n, n, cbs, count, BLOCK),
        lambda i, j, c, t, ci: product(bt, i, p, data[c, t // across * m + p, t % across * m + j, ci]),
        name="columns",
    )
    transformed = te.compute(
        (n, n, cbs, count, BLOCK), lambda i, j, c, t, ci: product(bt, j, q, columns[i, q, c, t, ci]), name="transformed"
    )
    cb, ci = te.reduce_axis(cbs, "cb"), te.reduce_axis(BLOCK, "ci")
    products = te.compute(
        (n, n, obs, count, BLOCK),
        lambda i, j, ob, t, oi: te.sum(
            transformed[i, j, cb, t, ci] * weight[ob // vectors, i, j, cb * BLOCK + ci, ob % vectors * BLOCK + oi],
            axis=[cb, ci],
        ),
        name="products",
    )
    u, v = te.reduce_axis(n, "u"), te.reduce_axis(n, "v")
    rows = te.compute(
        (m, n, obs, count, BLOCK), lambda i, j, ob, t, oi: product(at, i, u, products[u, j, ob, t, oi]), name="rows"
    )
    conv = te.compute(
        (m, m, obs, count, BLOCK), lambda i, j, ob, t, oi: product(at, j, v, rows[i, v, ob, t, oi]), name="conv"
    )
    out = te.compute(
        (obs, shape.height, shape.width, BLOCK),
        lambda ob, y, x, oi: te.maximum(conv[y % m, x % m, ob, y // m * across + x // m, oi] + bias[ob, oi], 0.0),
        name="out",
    )
    s = te.create_schedule(out)
    ob, y, x, oi = out.op.axis
    yo, yi = s[out].split(y, m)
    xo, xi = s[out].split(x, m)
    block, yo = s[out].split(yo, tile_rows)
    s[out].reorder(block, ob, yo, xo, yi, xi, oi)
    _register_tile(s[out], yi, xi, oi)
    for stage in (conv, rows):
        i, j, ob, t, oi = stage.op.axis
        (r,) = stage.op.reduce_axis
        s[stage].set_scope("register")
        s[stage].compute_at(s[out], xo)
        s[stage].reorder(ob, t, j, i, r, oi)
        _register_tile(s[stage], j, i, r, oi)

    tile = s.cache_write(products, "register")
    i, j, ob, t, oi = products.op.axis
    s[products].compute_at(s[out], block)
    og, ob = s[products].split(ob, vectors)
    to, ti = s[products].split(t, tiles, tail="partition")
    s[products].reorder(og, i, j, to, ti, ob, oi)
    _register_tile(s[products], ti, ob, oi)
    s[tile].compute_at(s[products], to)
    i, j, ob, t, oi = tile.op.axis
    cb, ci = tile.op.reduce_axis
    cis, ciu = s[tile].split(ci, 4)
    s[tile].reorder(i, j, cb, cis, ciu, t, ob, oi)
    _register_tile(s[tile], ciu, t, ob, oi)

    tile = s.cache_write(transformed, "register")
    i, j, c, t, ci = transformed.op.axis
    s[transformed].compute_at(s[out], block)
    s[transformed].reorder(c, t, i, j, ci)
    _register_tile(s[transformed], i, j, ci)
    for stage in (tile, columns):
        i, j, c, t_, ci = stage.op.axis
        (r,) = stage.op.reduce_axis
        s[stage].set_scope("register")
        s[stage].compute_at(s[transformed], t)
        s[stage].reorder(c, t_, j, i, r, ci)
        _register_tile(s[stage], j, i, r, ci)
    return s, [data, weight, bias, out]


def exponential(count: int) -> Scheduled:
    """y = e^x over `count` floats."""
    x = te.placeholder((count,), name="x")
    y = te.compute((count,), lambda i: te.exp(x[i]), name="y")
    s = te.create_schedule(y)
    (i,) = y.op.axis
    _, lane = s[y].split(i, BLOCK)
    s[y].vectorize(lane)
    return s, [x, y]
