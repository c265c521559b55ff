"""Convolution by Winograd's minimal filtering, for 3x3 kernels of stride 1 and 2.

F(m x m) computes tiles of m x m outputs from n rows and columns of input with n² multiplications per channel pair
instead of 9·m². With stride 1, n is m + 2. With stride 2 the taps fall into two phases: the outer two, over inputs that
are two apart, are an F(2, 2) of three products, the middle one takes a product per output: n is 5 for m = 2. Input and
output are transformed by small constant matrices, whose zeros take no part; the weight is transformed beforehand.
Rounding errors grow with m.

Source: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.tensor_ir import Machine, te
from weft.tensor_ir.ir.expr import Expr, IterVar
from weft.topi.injective import schedule_injective
from weft.topi.layout import Block, Layout, View
from weft.topi.operator import Computation
from weft.topi.tiling import (
    balanced,
    elements,
    host_of,
    register_tile,
    share_among_threads,
)
from weft.topi.window import Window

Array = np.ndarray[Any, Any]
Matrix = tuple[tuple[float, ...], ...]

KERNEL = 3
LEAST_BLOCK = 8
"""Tiles that a part of a row has at least."""
MOST_BLOCK = 256
"""Tiles that a block of rows has at most."""


@dataclass(frozen=True, slots=True)
class Transform:
    """The matrices of F(m x m, 3x3) for a stride. Trailing rows of `weight` that are equal are stored once."""

    m: int
    stride: int
    data: Matrix
    weight: Matrix
    output: Matrix

    @property
    def n(self) -> int:
        """Rows and columns of a transformed tile."""
        return len(self.data)

    @property
    def step(self) -> int:
        """Rows and columns of the input from one tile to the next."""
        return self.m * self.stride

    @property
    def weights(self) -> int:
        """Rows and columns of a transformed weight."""
        return len(dict.fromkeys(self.weight))


F2 = Transform(
    2, 1,
    ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),
    ((1, 0, 0), (1 / 2, 1 / 2, 1 / 2), (1 / 2, -1 / 2, 1 / 2), (0, 0, 1)),
    ((1, 1, 1, 0), (0, 1, -1, -1)),
)  # fmt: skip
F4 = Transform(
    4, 1,
    (
        (4, 0, -5, 0, 1, 0), (0, -4, -4, 1, 1, 0), (0, 4, -4, -1, 1, 0),
        (0, -2, -1, 2, 1, 0), (0, 2, -1, -2, 1, 0), (0, 4, 0, -5, 0, 1),
    ),
    (
        (1 / 4, 0, 0), (-1 / 6, -1 / 6, -1 / 6), (-1 / 6, 1 / 6, -1 / 6),
        (1 / 24, 1 / 12, 1 / 6), (1 / 24, -1 / 12, 1 / 6), (0, 0, 1),
    ),
    ((1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 0), (0, 1, 1, 4, 4, 0), (0, 1, -1, 8, -8, 1)),
)  # fmt: skip
F2_STRIDE_2 = Transform(
    2, 2,
    ((1, 0, -1, 0, 0), (0, 0, 1, 0, 0), (0, 0, 1, 0, -1), (0, 1, 0, 0, 0), (0, 0, 0, 1, 0)),
    ((1, 0, 0), (1, 0, 1), (0, 0, 1), (0, 1, 0), (0, 1, 0)),
    ((1, 1, 0, 1, 0), (0, 1, -1, 0, 1)),
)  # fmt: skip
TRANSFORMS = {(f.m, f.stride): f for f in (F2, F4, F2_STRIDE_2)}
"""By outputs per tile, m, and stride."""


def fits(weight: Sequence[int], window: Window) -> bool:
    """Whether there is a transform for a weight [O, C, 3, 3] and a window, in one group."""
    square = tuple(weight[2:]) == (KERNEL, KERNEL) and all(d == 1 for d in window.dilations)
    return square and any(window.strides == (f.stride, f.stride) for f in TRANSFORMS.values())


def blocks(output: Sequence[int], f: Transform) -> Iterator[tuple[int, int]]:
    """Rows and columns of tiles that may be computed at a time: all, whole rows, or parts of one row."""
    down, across = (-(-extent // f.m) for extent in output)
    yield down, across
    yield from ((rows, across) for rows in range(1, down) if down % rows == 0 and rows * across <= MOST_BLOCK)
    yield from ((1, columns) for columns in range(LEAST_BLOCK, across) if across % columns == 0)


def tiles_at_a_time(count: int, vectors: int, machine: Machine) -> int:
    """Tiles whose products registers hold, for a number of vectors of output channels."""
    return balanced(count, (machine.vector_registers - 1 - vectors) // vectors)


def transformed(weight: Array, f: Transform) -> Array:
    """A weight [O, C, 3, 3] as [O, C, k, k]: G w Gᵀ without rows and columns that repeat, computed in float64."""
    g = np.array(list(dict.fromkeys(f.weight)))
    both = np.kron(g, g).T  # [9, k²]
    result = np.empty((*weight.shape[:2], len(g), len(g)), weight.dtype)
    for taps, tile in zip(weight, result, strict=True):  # one output channel at a time, to keep float64 copies small
        tile[...] = (taps.reshape(-1, KERNEL**2).astype(np.float64) @ both).reshape(tile.shape)
    return result


def weight_layout(lanes: int, vectors: int) -> Layout:
    """The layout of a transformed weight: panels of as many output channels as a register tile has."""
    return Layout((0, 2, 3, 1, Block(0, lanes * vectors)))


def winograd_conv(
    data: View, weight: View, bias: View | None, f: Transform, window: Window, block: Sequence[int] = ()
) -> Computation:
    """data [N, C, H, W] * transformed weight [O, C, k, k] + bias [O], in the layout of data.

    `block` are rows and columns of tiles that are computed at a time, by default all. Blocked by channels is the layout
    for speed; row-major is computed as it is defined, element by element.
    """
    return _Winograd(data, weight, bias, f, window, tuple(block)).computation()


def _product(matrix: te.Tensor, row: Expr, r: IterVar, e: Expr, where: Expr | None = None) -> Expr:
    """Σ matrix[row, r]·e over r, without zeros."""
    some = matrix(row, r).not_equal(0.0)
    return te.sum(matrix(row, r) * e, axis=r, where=some if where is None else te.all(some, where))


class _Winograd:
    """The stages, along a tile's rows and columns i and j, channel blocks, tiles t and channels of a block."""

    def __init__(
        self, data: View, weight: View, bias: View | None, f: Transform, window: Window, block: tuple[int, ...]
    ) -> None:
        self.data, self.weight, self.bias, self.f, self.window = data, weight, bias, f, window
        batch, self.channels, *spatial = data.shape
        self.outputs = weight.shape[0]
        height, width = window.output(spatial)
        self.shape = (batch, self.outputs, height, width)
        self.lanes = data.layout.block_of(1)
        self.down, self.across = -(-height // f.m), -(-width // f.m)
        self.count = batch * self.down * self.across
        self.block = block or (self.down, self.across)

    def computation(self) -> Computation:
        f, n, m, lanes, count, weights = self.f, self.f.n, self.f.m, self.lanes, self.count, self.f.weights
        bt, at = te.constant(np.array(f.data, np.float32), "BT"), te.constant(np.array(f.output, np.float32), "AT")
        blocks, output_blocks = self.channels // lanes, self.outputs // lanes
        self.padded: te.Tensor = self._padded(blocks)
        p, q = te.reduce_axis(n, "p"), te.reduce_axis(n, "q")
        self.columns: te.Tensor = te.compute(
            (n, n, blocks, count, lanes), lambda i, j, cb, t, ci: _product(bt, i, p, self._input(cb, ci, t, p, j)),
            name="columns",
        )  # fmt: skip
        self.transformed: te.Tensor = te.compute(
            (n, n, blocks, count, lanes),
            lambda i, j, cb, t, ci: _product(bt, j, q, self.columns(i, q, cb, t, ci)), name="transformed",
        )  # fmt: skip
        c = te.reduce_axis(self.channels, "c")
        self.products: te.Tensor = te.compute(
            (n, n, output_blocks, count, lanes),
            lambda i, j, ob, t, oi: te.sum(
                self.transformed(i, j, c // lanes, t, c % lanes)
                * self.weight(ob * lanes + oi, c, te.minimum(i, weights - 1), te.minimum(j, weights - 1)),
                axis=c,
            ),
            name="products",
        )
        u, v = te.reduce_axis(n, "u"), te.reduce_axis(n, "v")
        self.rows: te.Tensor = te.compute(
            (m, n, output_blocks, count, lanes),
            lambda i, j, ob, t, oi: _product(at, i, u, self.products(u, j, ob, t, oi)), name="rows",
        )  # fmt: skip
        self.tiles: te.Tensor = te.compute(
            (m, m, output_blocks, count, lanes),
            lambda i, j, ob, t, oi: _product(at, j, v, self.rows(i, v, ob, t, oi)), name="tiles",
        )  # fmt: skip
        layout = self.data.layout

        def element(*physical: Expr) -> Expr:
            b, o, y, x = layout.logical_index(physical)
            tile = (b * self.down + y // m) * self.across + x // m
            value = self.tiles(y % m, x % m, o // lanes, tile, o % lanes)
            return value if self.bias is None else value + self.bias(o)

        self.result: te.Tensor = te.compute(layout.physical_shape(self.shape), element, name="winograd")
        return Computation((View(self.result, self.shape, layout),), self.schedule)

    def _padded(self, blocks: int) -> te.Tensor:
        """The input with its padding and with what the last tiles reach beyond it."""
        f, (batch, _, height, width), (top, left, *_) = self.f, self.data.shape, self.window.pads
        rows, columns = (self.down - 1) * f.step + f.n, (self.across - 1) * f.step + f.n

        def element(b: Expr, cb: Expr, y: Expr, x: Expr, ci: Expr) -> Expr:
            inside = te.all(y >= top, y < top + height, x >= left, x < left + width)
            value = self.data(b, cb * self.lanes + ci, y - top, x - left)
            return te.if_then_else(inside, value, te.const(0, self.data.dtype))

        padded: te.Tensor = te.compute((batch, blocks, rows, columns, self.lanes), element, name="padded")
        return padded

    def _input(self, cb: Expr, ci: Expr, t: Expr, p: Expr, j: Expr) -> Expr:
        """The input under row p and column j of a tile."""
        y, x = t // self.across % self.down * self.f.step + p, t % self.across * self.f.step + j
        return self.padded(t // (self.across * self.down), cb, y, x, ci)

    def schedule(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """Per block of tiles: transform the input; per group of output channels, multiply and transform the output.

        The weight is read in its order, once per block.
        """
        if self.data.layout.is_row_major:
            if output is not self.result:
                s[self.result].compute_inline()
            s[self.padded].compute_inline()
            schedule_injective(s, output, machine)
            return
        m = self.f.m
        host = host_of(s, self.result, output, machine)
        if host is not self.result:
            s[self.result].compute_inline()
        rows, columns = self.block
        stage = s[host]
        b, ob, y, x, oi = stage.axes
        og, ob = stage.split(ob, self.vectors)
        yo, yi = stage.split(y, m, tail="guard")
        xo, xi = stage.split(x, m, tail="guard")
        yb, yo = stage.split(yo, rows)
        xb, xo = stage.split(xo, columns)
        stage.reorder(b, yb, xb, og, ob, yo, xo, yi, xi, oi)
        register_tile(stage, yi, xi, oi)
        for tensor in (self.tiles, self.rows):
            _transform(s[tensor], stage, xo)
        work = elements(self.products) * self.channels // 8
        place = None
        if (rows, columns) == (self.down, self.across):
            stage.fuse(yb, xb)
            share_among_threads(stage, [og], work)
        else:
            place = (stage, share_among_threads(stage, [b, yb, xb], work))
        self._schedule_products(s, machine, stage, og, rows * columns)
        self._schedule_input(s, place, columns, work)

    @property
    def vectors(self) -> int:
        """Vectors of output channels in a panel of the weight."""
        return max(1, self.weight.layout.block_of(0) // self.lanes)

    def _schedule_products(self, s: te.Schedule, machine: Machine, host: te.Stage, og: IterVar, count: int) -> None:
        tile = s.cache_write(self.products, "register")
        stage = s[self.products]
        i, j, ob, t, oi = stage.axes
        to, ti = stage.split(t, tiles_at_a_time(count, self.vectors, machine), tail="shift")
        stage.reorder(i, j, to, ti, ob, oi)
        register_tile(stage, ti, ob, oi)
        stage.compute_at(host, og)
        s[tile].compute_at(stage, to)
        i, j, ob, t, oi = s[tile].axes
        co, ci = s[tile].split(s[tile].op.reduce_axis[0], self.lanes)
        cs, cu = s[tile].split(ci, 4 if self.lanes % 4 == 0 else 1)
        s[tile].reorder(i, j, co, cs, cu, t, ob, oi)
        register_tile(s[tile], cu, t, ob, oi)

    def _schedule_input(self, s: te.Schedule, place: tuple[te.Stage, IterVar] | None, columns: int, work: int) -> None:
        """At a place in the nest of blocks, or as a nest of its own; a strip of padded input serves a row of tiles."""
        tile = s.cache_write(self.transformed, "register")
        stage = s[self.transformed]
        i, j, cb, t, ci = stage.axes
        row, tx = stage.split(t, columns)
        stage.reorder(cb, row, tx, i, j, ci)
        if place is None:
            row = share_among_threads(stage, [cb, row], work)
        else:
            stage.compute_at(*place)
        register_tile(stage, i, j, ci)
        for tensor in (tile, self.columns):
            _transform(s[tensor], stage, tx)
        strip = s[self.padded]
        strip.compute_at(stage, row)
        strip.vectorize(strip.axes[-1])


def _transform(stage: te.Stage, host: te.Stage, place: IterVar) -> None:
    """One side of a transform, in registers: all of its small loops are written out."""
    i, j, block, t, lane = stage.axes
    (r,) = stage.op.reduce_axis
    stage.set_scope("register")
    stage.compute_at(host, place)
    stage.reorder(block, t, j, i, r, lane)
    register_tile(stage, j, i, r, lane)
