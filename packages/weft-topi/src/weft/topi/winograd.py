"""Convolution by Winograd's minimal filtering, for 3x3 kernels of stride 1.

F(m x m) computes tiles of m x m outputs from m + 2 rows and columns of input with (m + 2)² multiplications per
channel pair instead of 9·m². Input and output are transformed by small constant matrices, whose zeros take no part; the
weight is transformed beforehand. Rounding errors grow with m.

Source: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    extent_of,
    host_of,
    largest_divisor,
    register_tile,
    share_among_threads,
)
from weft.topi.window import Window

Array = np.ndarray[Any, Any]
Matrix = tuple[tuple[float, ...], ...]

KERNEL = 3
TERMS_PER_BYTE = 2.5
"""Multiply-adds that a core does in the time in which it reads a byte of weights from memory."""
GAIN = 0.8
"""Winograd is worth its transforms where it costs at most this part of the direct method."""


@dataclass(frozen=True, slots=True)
class Transform:
    """The matrices of F(m x m, 3x3)."""

    m: int
    data: Matrix
    weight: Matrix
    output: Matrix

    @property
    def n(self) -> int:
        """Rows and columns of a transformed tile."""
        return self.m + KERNEL - 1


F2 = Transform(
    2,
    ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),
    ((1, 0, 0), (1 / 2, 1 / 2, 1 / 2), (1 / 2, -1 / 2, 1 / 2), (0, 0, 1)),
    ((1, 1, 1, 0), (0, 1, -1, -1)),
)
F4 = Transform(
    4,
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
TRANSFORMS = {f.m: f for f in (F2, F4)}


def best_tile(data: Sequence[int], weight: Sequence[int], window: Window, groups: int, lanes: int) -> int | None:
    """The m with which F(m x m) is the fastest way to convolve, by an estimate; None where the direct method is.

    `data` [N, C, H, W] and `weight` [O, C, 3, 3] are shapes.
    """
    outputs, channels, *kernel = weight
    plain = all(s == 1 for s in window.strides) and all(d == 1 for d in window.dilations)
    if tuple(kernel) != (KERNEL, KERNEL) or not plain or groups != 1 or lanes == 1:
        return None
    if channels < 2 * lanes or channels % lanes or outputs % lanes:
        return None
    n, height, width = data[0], *window.output(data[2:])

    def cost(terms: int, weights: int) -> float:
        return terms + TERMS_PER_BYTE * 4 * weights

    def cost_of(f: Transform) -> float:
        tiles = n * -(-height // f.m) * -(-width // f.m)
        return cost(f.n**2 * tiles, f.n**2)

    best = min(TRANSFORMS.values(), key=cost_of)
    return best.m if cost_of(best) <= GAIN * cost(KERNEL**2 * n * height * width, KERNEL**2) else None


def transformed(weight: Array, f: Transform) -> Array:
    """A weight [O, C, 3, 3] as [O, C, n, n]: G w Gᵀ, computed in float64."""
    g = np.array(f.weight)
    result: Array = np.einsum("ip,ocpq,jq->ocij", g, weight.astype(np.float64), g, optimize=True)
    return result.astype(weight.dtype)


def weight_layout(outputs: int, lanes: int) -> Layout:
    """The layout of a transformed weight: panels of as many output channels as a register tile has."""
    vectors = next((v for v in (2, 3) if outputs // lanes % v == 0), 1)
    return Layout((0, 2, 3, 1, Block(0, lanes * vectors)))


def winograd_conv(data: View, weight: View, bias: View | None, f: Transform, window: Window) -> Computation:
    """data [N, C, H, W] * transformed weight [O, C, n, n] + bias [O], in the layout of data.

    Blocked by channels is the layout for speed; row-major is computed as it is defined, element by element.
    """
    return _Winograd(data, weight, bias, f, window).computation()


def _product(matrix: te.Tensor, row: Expr, r: IterVar, e: Expr, where: Expr | None = None) -> Expr:
    """Σ matrix[row, r]·e over r, without zeros."""
    some = matrix(row, r).not_equal(0.0)
    return te.sum(matrix(row, r) * e, axis=r, where=some if where is None else te.all(some, where))


class _Winograd:
    """The stages, along a tile's rows and columns i and j, channel blocks, tiles t and channels of a block."""

    def __init__(self, data: View, weight: View, bias: View | None, f: Transform, window: Window) -> None:
        self.data, self.weight, self.bias, self.f, self.window = data, weight, bias, f, window
        batch, self.channels, *spatial = data.shape
        self.outputs = weight.shape[0]
        height, width = window.output(spatial)
        self.shape = (batch, self.outputs, height, width)
        self.lanes = data.layout.block_of(1)
        self.down, self.across = -(-height // f.m), -(-width // f.m)
        self.count = batch * self.down * self.across

    def computation(self) -> Computation:
        f, n, m, lanes, count = self.f, self.f.n, self.f.m, self.lanes, self.count
        bt, at = te.constant(np.array(f.data, np.float32), "BT"), te.constant(np.array(f.output, np.float32), "AT")
        blocks, output_blocks = self.channels // lanes, self.outputs // lanes
        p, q = te.reduce_axis(n, "p"), te.reduce_axis(n, "q")
        self.columns: te.Tensor = te.compute(
            (n, n, blocks, count, lanes),
            lambda i, j, cb, t, ci: _product(bt, i, p, *self._input(cb * lanes + ci, t, p, j)), name="columns",
        )  # fmt: skip
        self.transformed: te.Tensor = te.compute(
            (n, n, blocks, count, lanes),
            lambda i, j, cb, t, ci: _product(bt, j, q, self.columns(i, q, cb, t, ci)), name="transformed",
        )  # fmt: skip
        c = te.reduce_axis(self.channels, "c")
        self.products: te.Tensor = te.compute(
            (n, n, output_blocks, count, lanes),
            lambda i, j, ob, t, oi: te.sum(
                self.transformed(i, j, c // lanes, t, c % lanes) * self.weight(ob * lanes + oi, c, i, j), axis=c
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

    def _input(self, channel: Expr, t: Expr, p: Expr, j: Expr) -> tuple[Expr, Expr]:
        """The input under row p and column j of a tile, and whether it is there."""
        m, window, spatial = self.f.m, self.window, self.data.shape[2:]
        y = t // self.across % self.down * m + p - window.pads[0]
        x = t % self.across * m + j - window.pads[1]
        inside = te.all(y >= 0, y < spatial[0], x >= 0, x < spatial[1])
        return self.data(t // (self.across * self.down), channel, y, x), inside

    def schedule(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """Three passes: transform the input, multiply, transform the output.

        Where the weight stays in the L2 cache they run per block of rows of tiles, which stays there too; else over
        everything, so that the weight is read once.
        """
        if self.data.layout.is_row_major:
            if output is not self.result:
                s[self.result].compute_inline()
            schedule_injective(s, output, machine)
            return
        m = self.f.m
        host = host_of(s, self.result, output, machine)
        if host is not self.result:
            s[self.result].compute_inline()
        stage = s[host]
        b, ob, y, x, oi = stage.axes
        yo, yi = stage.split(y, m, tail="partition")
        xo, xi = stage.split(x, m, tail="partition")
        rows = self._rows_of_block(machine)
        work = elements(self.products) * self.channels // 8
        if rows is None:
            loops = [b, ob, yo, xo]
            stage.reorder(*loops, yi, xi, oi)
            share_among_threads(stage, loops[:2], work)
        else:
            block, yo = stage.split(yo, rows)
            stage.reorder(b, block, ob, yo, xo, yi, xi, oi)
        register_tile(stage, yi, xi, oi)
        for tensor in (self.tiles, self.rows):
            _transform(s[tensor], stage, xo)
        place = None if rows is None else (stage, share_among_threads(stage, [b, block], work))
        self._schedule_products(s, machine, place, work)
        self._schedule_input(s, place, work)

    def _rows_of_block(self, machine: Machine) -> int | None:
        """Rows of tiles per block; None: no blocks."""
        weight_bytes = self.f.n**2 * self.channels * self.outputs * 4
        row_bytes = self.f.n**2 * self.across * (self.channels + self.outputs) * 4
        rows = largest_divisor(self.down, machine.l2_bytes // 2 // row_bytes)
        fits = weight_bytes <= machine.l2_bytes and row_bytes * rows <= machine.l2_bytes // 2
        return rows if fits and rows < self.down and rows * self.across >= 8 else None

    def _schedule_products(self, s: te.Schedule, machine: Machine, place: Any, work: int) -> None:
        tile = s.cache_write(self.products, "register")
        stage = s[self.products]
        i, j, ob, t, oi = stage.axes
        vectors = max(1, self.weight.layout.block_of(0) // self.lanes)
        count = self.count if place is None else extent_of(t.extent)
        og, ob = stage.split(ob, vectors)
        to, ti = stage.split(t, balanced(count, (machine.vector_registers - 1 - vectors) // vectors), tail="partition")
        stage.reorder(og, i, j, to, ti, ob, oi)
        register_tile(stage, ti, ob, oi)
        if place is None:
            share_among_threads(stage, [og, i, j], work)
        else:
            stage.compute_at(*place)
        s[tile].compute_at(stage, to)
        i, j, ob, t, oi = s[tile].axes
        co, ci = s[tile].split(s[tile].op.reduce_axis[0], self.lanes)
        cs, cu = s[tile].split(ci, 4 if self.lanes % 4 == 0 else 1)
        s[tile].reorder(i, j, co, cs, cu, t, ob, oi)
        register_tile(s[tile], cu, t, ob, oi)

    def _schedule_input(self, s: te.Schedule, place: Any, work: int) -> None:
        tile = s.cache_write(self.transformed, "register")
        stage = s[self.transformed]
        i, j, cb, t, ci = stage.axes
        row, tx = stage.split(t, self.across)
        stage.reorder(cb, row, tx, i, j, ci)
        loops = [cb, row, tx]
        if place is None:
            row, ty = stage.split(row, self.down)
            loops = [cb, row, ty, tx]
            share_among_threads(stage, [cb, row], work)
        else:
            stage.compute_at(*place)
        for loop in loops[-2:]:
            stage.pragma(loop, "partition")
        register_tile(stage, i, j, ci)
        for tensor in (tile, self.columns):
            _transform(s[tensor], stage, tx)


def _transform(stage: te.Stage, host: te.Stage, place: IterVar) -> None:
    """One side of a transform, in registers: all of its small loops are written out."""
    i, j, block, t, lane = stage.axes
    (r,) = stage.op.reduce_axis
    stage.set_scope("register")
    stage.compute_at(host, place)
    stage.reorder(block, t, j, i, r, lane)
    register_tile(stage, j, i, r, lane)
