"""Matrix products of stacked matrices, by NumPy's rules for batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from weft.tensor_ir import Machine, te
from weft.tensor_ir.ir.expr import IterVar
from weft.tensor_ir.te.tensor import ComputeOp
from weft.topi.broadcast import broadcast_shape
from weft.topi.injective import schedule_injective
from weft.topi.layout import Block, Layout, View
from weft.topi.operator import Computation
from weft.topi.tiling import (
    accumulator_type,
    balanced,
    elements,
    extent_of,
    host_of,
    in_registers,
    largest_divisor,
    register_tile,
    shape_of,
    share_among_threads,
)

PANEL_ROWS = 16
"""With at least this many rows of A each element of B is used often enough to be packed first."""


def matmul_shape(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The shape of a product by NumPy's rules, vectors included. Raises ValueError where operands don't fit."""
    if not a or not b:
        raise ValueError("expected operands of rank 1 or more, found a scalar")
    inner = b[-2] if len(b) > 1 else b[0]
    if a[-1] != inner:
        raise ValueError(f"the operands' inner dimensions are {a[-1]} and {inner}")
    batch = broadcast_shape(a[:-2], b[:-2])
    return (*batch, *a[-2:-1], *b[-1:][: 1 if len(b) > 1 else 0])


def weight_layout(rows: int, columns: int, rank: int, lanes: int) -> Layout | None:
    """The layout of a constant right operand: panels of as many columns as a register tile has. None: row-major.

    `rows` is the number of rows of the left operand, `columns` that of the right one's columns.
    """
    if columns < lanes or lanes == 1:
        return None
    panel = lanes * _vectors(rows, -(-columns // lanes), 32)
    return Layout((*range(rank - 2), rank - 1, rank - 2, Block(rank - 1, panel)))


def _tile_rows(rows: int, vectors: int, registers: int) -> int:
    """Rows of a register tile: accumulators, a row of B and one element of A have to fit."""
    return balanced(rows, max(1, (registers - 1 - vectors) // vectors))


def _vectors(rows: int, blocks: int, registers: int) -> int:
    """Vectors per row of a register tile: where a load serves most multiply-adds, and little of a panel is empty."""

    def value(vectors: int) -> float:
        tile = _tile_rows(rows, vectors, registers)
        reuse = tile * vectors / (tile + vectors)
        return reuse * blocks / (-(-blocks // vectors) * vectors)

    return max((n for n in (2, 3, 4, 6, 8) if n <= max(2, blocks)), key=value)


def matmul(a: View, b: View, layout: Layout | None = None) -> Computation:
    """a [..., m, k] · b [..., k, n], batches broadcast; a vector on the left is a row, on the right a column.

    Sums in float32 where operands are shorter floats.
    """
    shape = matmul_shape(a.shape, b.shape)
    layout = layout or Layout.row_major(len(shape))
    kind = accumulator_type(a.dtype)
    k = te.reduce_axis(a.shape[-1], "k")
    batch = len(shape) - (a.ndim > 1) - (b.ndim > 1)
    packed = not b.layout.is_row_major
    panels = None if packed or b.ndim < 2 else _Panels(b, kind)

    def element(*physical: te.Expr) -> te.Expr:
        index = layout.logical_index(physical)
        row = index[batch : batch + (a.ndim > 1)]
        column = index[len(shape) - (b.ndim > 1) :]
        left = a(*_batch_index(a, index[:batch]), *row, k).astype(kind)
        place = _batch_index(b, index[:batch])
        right = b(*place, k, *column).astype(kind) if panels is None else panels.read(place, k, column[0])
        return te.sum(left * right, axis=k)

    master = te.compute(layout.physical_shape(shape), element, name="matmul")
    result = master
    if kind != a.dtype:
        result = te.compute(master.shape, lambda *i: master(*i).astype(a.dtype), name="rounded")
    plan = _Plan(a, b, master, result, panels)
    return Computation((View(result, shape, layout),), plan.schedule)


def _batch_index(x: View, index: Sequence[te.Expr]) -> tuple[te.Expr, ...]:
    extents = x.shape[:-2]
    own = index[len(index) - len(extents) :] if extents else ()
    return tuple(te.const(0) if extent == 1 else i for i, extent in zip(own, extents, strict=True))


class _Panels:
    """The right operand in panels of WIDTH columns, each row of a panel together: [..., panel, k, column]."""

    WIDTH = 32

    def __init__(self, b: View, kind: te.DType) -> None:
        *batch, k, n = b.shape
        width = min(self.WIDTH, n)
        self.width = width

        def element(*index: te.Expr) -> te.Expr:
            *place, panel, r, j = index
            column = panel * width + j
            value = b(*place, r, column).astype(kind)
            return value if n % width == 0 else te.if_then_else(column < n, value, te.const(0, kind))

        self.tensor: te.Tensor = te.compute((*batch, -(-n // width), k, width), element, name="panels")

    def read(self, place: Sequence[te.Expr], r: te.Expr, column: te.Expr) -> te.Expr:
        return self.tensor(*place, column // self.width, r, column % self.width)


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """A product's stages and how to schedule them."""

    a: View
    b: View
    master: te.Tensor
    result: te.Tensor
    panels: _Panels | None

    def schedule(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """Register tiles of rows x vectors of columns; a panel of B stays in the cache while all rows use it."""
        host = host_of(s, self.result, output, machine)
        tile = in_registers(s, self.master, host)
        stage = s[host]
        axes = list(stage.axes)
        lanes = machine.lanes(self.master.dtype)
        width = self._panel_width(s, machine)
        columns = self.b.ndim > 1
        rows = self.a.ndim > 1
        j = axes.pop() if columns else None
        i = axes.pop() if rows else None
        m = extent_of(i.extent) if i is not None else 1
        inner: list[IterVar] = []
        loops = axes
        if j is not None:
            width = min(width, extent_of(j.extent))
            jo, ji = stage.split(j, width, tail="partition")
            loops, inner = [*loops, jo], [ji]
        if i is not None:
            io, ii = stage.split(i, _tile_rows(m, max(1, width // lanes), machine.vector_registers), tail="partition")
            loops, inner = [*loops, io], [ii, *inner]
        if j is not None:
            jv, lane = stage.split(inner.pop(), min(lanes, width))
            inner += [jv, lane]
        stage.reorder(*loops, *inner)
        for loop in inner[:-1] if j is not None else inner:
            stage.unroll(loop)
        if j is not None:
            stage.vectorize(inner[-1])
        block = self._k_block(host, width, machine)
        work = elements(self.master) * max(1, extent_of(self._k.extent) // 8)
        if not loops:
            loops = [stage.split(stage.leaves[0], 1)[0]] if stage.leaves else []
        place = share_among_threads(stage, loops if block is None else loops[:-1] or loops, work)
        at = place if block is None else loops[-1]
        s[tile].compute_at(stage, at)
        outer = self._reduce(s[tile], lanes, width, block, vectorized=j is not None)
        if outer is not None:
            stage.reorder(*outer, at)

    @property
    def _k(self) -> IterVar:
        return self.master.op.reduce_axis[0]
