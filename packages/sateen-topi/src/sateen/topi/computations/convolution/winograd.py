"""Convolution by Winograd's minimal filtering: tiles of m x m outputs, and their schedule.

Source: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015; winograd_transforms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Expr, IterVar
from sateen.topi.computations.arguments import (
    require,
    require_rank,
    require_same_type,
    require_shape,
    require_views,
    require_window,
)
from sateen.topi.computations.convolution.winograd_by_threads import WinogradStages, schedule_by_threads
from sateen.topi.computations.convolution.winograd_methods import Blocks
from sateen.topi.computations.convolution.winograd_transforms import (
    Matrix,
    Transform,
    factors,
    fits,
    transposed,
)
from sateen.topi.computations.products.by_thread_tiles import Tiled
from sateen.topi.computations.windows import Window
from sateen.topi.schedules import (
    Computation,
    ask_ahead,
    elements,
    for_machines,
    host_of,
    on_cpu,
    register_tile,
    schedule_injective,
    share_among_threads,
    tile_rows,
)
from sateen.topi.types import View


def winograd_conv(
    data: View, weight: View, bias: View | None, f: Transform, window: Window,
    method: Blocks | Tiled | None = None, pool: int = 1,
) -> Computation:  # fmt: skip
    """data [N, C, H, W] * transformed weight [O, C, k, k] + bias [O], in the layout of data.

    `method` says how many tiles are computed at a time, by default all, or how devices compute their products. With
    `pool`, a divisor of a tile's rows, squares of that many rows and columns give their maxima. On processors the
    layout blocked by channels is fast; row-major is computed by definition, element by element.
    """
    name = "winograd_conv"
    require_views(name, data=data, weight=weight, **({} if bias is None else {"bias": bias}))
    require_rank(name, "data [N, C, H, W]", data, 4)
    require_same_type(name, data=data, weight=weight)
    require(str(data.dtype) == "float32", name, "float32", data.dtype)
    require_shape(name, "weight", weight, (*weight.shape[:1], data.shape[1], f.weights, f.weights))
    if bias is not None:
        require_shape(name, "bias", bias, weight.shape[:1])
    require_window(name, window, data.shape[2:])
    fitting = fits((0, 0, *window.kernel), window) and window.strides == (f.stride, f.stride)
    require(fitting, name, f"a window of 3x3 with strides {f.stride} and no dilations", window)
    require(f.m % pool == 0, name, f"a pool that divides {f.m}", pool)
    return _Winograd(data, weight, bias, f, window, method, pool).computation()


def _sandwich(
    matrices: Sequence[Matrix], source: Callable[..., Expr], shape: tuple[int, ...], name: str
) -> list[te.Tensor]:
    """M d Mᵀ for tiles d[i, j, …], with M the product of matrices that are applied one by one; gives the result of
    each, in order."""
    found: list[te.Tensor] = []
    for along in (0, 1):
        for matrix in matrices:
            shape = (*shape[:along], len(matrix), *shape[along + 1 :])
            source = _applied(matrix, along, source, shape, name)
            found.append(source)
    return found


def _applied(matrix: Matrix, along: int, source: Callable[..., Expr], shape: tuple[int, ...], name: str) -> te.Tensor:
    """Σ matrix[i, r]·source(…, r, …) over r, without zeros, where i and r are index number `along`.

    A sum begins at the end with more terms of factor 1, which saves a multiplication for each.
    """
    entries, k = te.constant(np.array(matrix, np.float32), "M"), te.reduce_axis(len(matrix[0]), "k")
    rows = [[entry for entry in row if entry] for row in matrix]
    r = k if sum(row[0] == 1 for row in rows) >= sum(row[-1] == 1 for row in rows) else len(matrix[0]) - 1 - k

    def element(*index: Expr) -> Expr:
        entry = entries(index[along], r)
        term = source(*index[:along], r, *index[along + 1 :])
        return te.sum(entry * term, axis=k, where=entry.not_equal(0.0))

    result: te.Tensor = te.compute(shape, element, name=name)
    return result


class _Winograd:
    """The stages, along a tile's rows and columns i and j, channel blocks, tiles t and channels of a block."""

    def __init__(
        self,
        data: View,
        weight: View,
        bias: View | None,
        f: Transform,
        window: Window,
        method: Blocks | Tiled | None,
        pool: int,
    ) -> None:
        self.data, self.weight, self.bias, self.f, self.window, self.pool = data, weight, bias, f, window, pool
        batch, self.channels, *spatial = data.shape
        self.outputs = weight.shape[0]
        height, width = window.output(spatial)
        self.shape = (batch, self.outputs, height // pool, width // pool)
        self.side = f.m // pool
        self.lanes = data.layout.block_of(1)
        self.down, self.across = -(-height // f.m), -(-width // f.m)
        self.count = batch * self.down * self.across
        self.block = (method.rows, method.columns) if isinstance(method, Blocks) else (self.down, self.across)
        self.products_method = method if isinstance(method, Tiled) else None

    def computation(self) -> Computation:
        f, n, lanes, count, weights = self.f, self.f.n, self.lanes, self.count, self.f.weights
        blocks, output_blocks = self.channels // lanes, self.outputs // lanes
        self.padded: te.Tensor = self._padded(blocks)
        inputs = factors(f.data)[::-1]
        *self.inner, self.transformed = _sandwich(inputs, self._input, (n, n, blocks, count, lanes), "transformed")
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
        outputs = [transposed(matrix) for matrix in factors(transposed(f.output))]
        self.results = _sandwich(outputs, self.products, (n, n, output_blocks, count, lanes), "tiles")
        layout = self.data.layout
        self.maxima: te.Tensor | None = None
        if self.pool > 1:
            self.maxima = te.compute(layout.physical_shape(self.shape), self._maximum, name="maxima")

        def element(*physical: Expr) -> Expr:
            index = layout.logical_index(physical)
            value = self._output(*index) if self.maxima is None else self.maxima(*physical)
            return value if self.bias is None else value + self.bias(index[1])

        self.result: te.Tensor = te.compute(layout.physical_shape(self.shape), element, name="winograd")
        view = View(self.result, self.shape, layout)
        if not layout.is_row_major:
            return Computation((view,), on_cpu(self.schedule))
        stages = WinogradStages(
            self.padded, self.inner, self.transformed, self.weight, self.products, self.results, self.maxima,
            self.result, self.side, self.products_method,
        )  # fmt: skip
        return Computation((view,), for_machines(self.schedule, partial(schedule_by_threads, stages)))

    def _output(self, b: Expr, o: Expr, y: Expr, x: Expr) -> Expr:
        """The convolution's results in the tiles."""
        m, lanes = self.f.m, self.lanes
        tile = (b * self.down + y // m) * self.across + x // m
        value: Expr = self.results[-1](y % m, x % m, o // lanes, tile, o % lanes)
        return value

    def _maximum(self, *physical: Expr) -> Expr:
        """The maximum of a square of the convolution."""
        b, o, y, x = self.data.layout.logical_index(physical)
        rows, columns = (te.reduce_axis(self.pool, name) for name in "pq")
        tile = (b * self.down + y // self.side) * self.across + x // self.side
        row, column = y % self.side * self.pool + rows, x % self.side * self.pool + columns
        value = self.results[-1](row, column, o // self.lanes, tile, o % self.lanes)
        return te.max(value, axis=[rows, columns])

    def _padded(self, blocks: int) -> te.Tensor:
        """The input with its padding, and with zeros for the part of the last tiles beyond it."""
        f, (batch, _, height, width), (top, left, *_) = self.f, self.data.shape, self.window.pads
        rows, columns = (self.down - 1) * f.step + f.n, (self.across - 1) * f.step + f.n

        def element(b: Expr, cb: Expr, y: Expr, x: Expr, ci: Expr) -> Expr:
            inside = te.all(y >= top, y < top + height, x >= left, x < left + width)
            value = self.data(b, cb * self.lanes + ci, y - top, x - left)
            return te.if_then_else(inside, value, te.const(0, self.data.dtype))

        padded: te.Tensor = te.compute((batch, blocks, rows, columns, self.lanes), element, name="padded")
        return padded

    def _input(self, i: Expr, j: Expr, cb: Expr, t: Expr, ci: Expr) -> Expr:
        """The input under row i and column j of a tile."""
        y, x = t // self.across % self.down * self.f.step + i, t % self.across * self.f.step + j
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
        host = host_of(s, self.result, output, machine)
        if host is not self.result:
            s[self.result].compute_inline()
        rows, columns = self.block
        stage = s[host]
        b, ob, y, x, oi = stage.axes
        og, ob = stage.split(ob, self.vectors)
        yo, yi = stage.split(y, self.side, tail="guard")
        xo, xi = stage.split(x, self.side, tail="guard")
        yb, yo = stage.split(yo, rows)
        xb, xo = stage.split(xo, columns)
        stage.reorder(b, yb, xb, og, ob, yo, xo, yi, xi, oi)
        register_tile(stage, xi, oi)
        if self.maxima is not None:
            _in_registers(s[self.maxima], stage, yi)
        _two_passes(s, self.results, len(self.results) // 2, stage, xo, yi)
        work = elements(self.products) * self.channels // 8
        place = None
        if (rows, columns) == (self.down, self.across):
            stage.fuse(yb, xb)
            share_among_threads(stage, [og], work, machine)
        else:
            place = (stage, share_among_threads(stage, [b, yb, xb], work, machine))
        self._schedule_products(s, machine, stage, og, rows * columns)
        self._schedule_input(s, machine, place, columns, work)

    @property
    def vectors(self) -> int:
        """Vectors of output channels in a panel of the weight."""
        return max(1, self.weight.layout.block_of(0) // self.lanes)

    def _schedule_products(self, s: te.Schedule, machine: Machine, host: te.Stage, og: IterVar, count: int) -> None:
        tile = s.cache_write(self.products, "register")
        stage = s[self.products]
        i, j, ob, t, oi = stage.axes
        to, ti = stage.split(t, tile_rows(count, self.vectors, machine), tail="shift")
        stage.reorder(i, j, to, ti, ob, oi)
        register_tile(stage, ti, ob, oi)
        stage.compute_at(host, og)
        s[tile].compute_at(stage, to)
        i, j, ob, t, oi = s[tile].axes
        co, ci = s[tile].split(s[tile].op.reduce_axis[0], self.lanes)
        cs, cu = s[tile].split(ci, 4 if self.lanes % 4 == 0 else 1)
        s[tile].reorder(i, j, co, cs, cu, t, ob, oi)
        ask_ahead(s[tile], self.weight.tensor, cs, 3, count, machine)  # a plane of the transform
        register_tile(s[tile], cu, t, ob, oi)

    def _schedule_input(
        self, s: te.Schedule, machine: Machine, place: tuple[te.Stage, IterVar] | None, columns: int, work: int
    ) -> None:
        """Schedule the input at a place in the nest of blocks, or as a separate nest; a strip of padded input serves a
        row of tiles."""
        tile = s.cache_write(self.transformed, "register")
        stage = s[self.transformed]
        i, j, cb, t, ci = stage.axes
        stage.storage_align(j, 2 * self.lanes, self.lanes)  # the planes that a tile is stored to are in different sets
        row, tx = stage.split(t, columns)
        stage.reorder(cb, row, tx, i, j, ci)
        if place is None:
            row = share_among_threads(stage, [cb, row], work, machine)
        else:
            stage.compute_at(*place)
        register_tile(stage, j, ci)
        _two_passes(s, [*self.inner, tile], len(factors(self.f.data)), stage, tx, i)
        strip = s[self.padded]
        strip.compute_at(stage, row)
        strip.vectorize(strip.axes[-1])


def _two_passes(
    s: te.Schedule, tensors: Sequence[te.Tensor], per_pass: int, host: te.Stage, tile: IterVar, row: IterVar
) -> None:
    """Both sides of a transform, at loops of the host over tiles and over a tile's rows.

    The first pass goes column by column to a buffer on the stack, since registers don't hold a tile, the second row by
    row from there to the host.
    """
    first, second = tensors[:per_pass], tensors[per_pass:]
    columns = s.cache_write(first[-1], "register")
    buffer = s[first[-1]]
    i, j, block, t, lane = buffer.axes
    buffer.set_scope("local")
    buffer.compute_at(host, tile)
    buffer.reorder(block, t, j, i, lane)
    register_tile(buffer, i, lane)
    for tensor in (*first[:-1], columns):
        _in_registers(s[tensor], buffer, j)
    for tensor in second:
        _in_registers(s[tensor], host, row)


def _in_registers(stage: te.Stage, host: te.Stage, place: IterVar) -> None:
    """A small reduction with all loops unrolled."""
    *data, lane = stage.axes
    loops = [*data, *stage.op.reduce_axis, lane]
    stage.set_scope("register")
    stage.compute_at(host, place)
    stage.reorder(*loops)
    register_tile(stage, *loops)
