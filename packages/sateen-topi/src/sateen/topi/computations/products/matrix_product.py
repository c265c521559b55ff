"""Matrix products of stacked matrices, by NumPy's rules for batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import IterVar
from sateen.tensor_ir.targets import Gpu
from sateen.topi.computations.arguments import require_numbers, require_views, require_weight
from sateen.topi.computations.products.by_thread_tiles import Tiled, device_method
from sateen.topi.computations.products.by_warp_tiles import Warped, matmul_on_warps
from sateen.topi.computations.products.packed import Packed, best_packed
from sateen.topi.computations.products.shapes import PANEL_WIDTH, ProductShapes, is_one_matrix, matmul_shape
from sateen.topi.computations.strips import Strips, bind_strips
from sateen.topi.methods import Method
from sateen.topi.schedules import (
    Computation,
    access_lanes,
    accumulator_type,
    ask_ahead,
    between,
    bind_tile,
    elements,
    extent_of,
    flattened,
    for_machines,
    host_of,
    host_on_device,
    in_registers,
    largest_divisor,
    load_together,
    pad_banks,
    reduce_in_vectors,
    register_tile,
    share_among_threads,
    unflattened,
)
from sateen.topi.types import Layout, View, compute

UNROLLED_TERMS = 512
"""The most multiply-adds of a thread of a device that are written out."""
PANEL_ROWS = 16
"""The least rows of the left operand for which the right one is packed, since each row uses all its elements."""


def matmul(a: View, b: View, layout: Layout | None = None, method: Method | None = None) -> Computation:
    """a [..., m, k] · b [..., k, n], batches broadcast. Sums are in float32 if operands are shorter floats.

    If k is 0, sums are 0. If one b serves the whole batch, all rows of a are taken together as one matrix.
    `method` gives the tiles of a device, by default those that suit the shapes; panels for a processor are the layout
    of b.
    """
    require_views("matmul", a=a, b=b)
    require_weight("matmul", "b", b, a)
    require_numbers("matmul", a=a)
    shape = matmul_shape(a.shape, b.shape)
    layout = layout or Layout.row_major(len(shape))
    if a.shape[-1] == 0:
        return Computation((compute(shape, lambda *_: te.const(0, a.dtype), "zeros", layout),))
    if isinstance(method, Warped) and layout.is_row_major:
        return matmul_on_warps(a, b, method)
    kind = accumulator_type(a.dtype)
    k = te.reduce_axis(a.shape[-1], "k")
    right = _Right(b, kind)
    flat = is_one_matrix(a.shape, b.shape) and layout.is_row_major
    rows = prod(shape[:-1]) if flat else shape[-2]

    left = _by_terms(a, rows, flat)
    panels = right.by_terms()

    def element(*physical: te.Expr) -> te.Expr:
        *batch, i, j = physical if flat else layout.logical_index(physical)
        place = _place(b, unflattened(physical[0], shape[:-1])[:-1] if flat else batch)
        factor = left(k, i) if flat else left(*_place(a, batch), k, i)
        return te.sum(factor.astype(kind) * panels(*place, k, j).astype(kind), axis=k)

    def finished(*physical: te.Expr) -> te.Expr:
        place = (flattened(physical[:-1], shape[:-1]), physical[-1]) if flat else physical
        return master(*place).astype(a.dtype)

    physical = layout.physical_shape(shape)
    master: te.Tensor = te.compute((rows, shape[-1]) if flat else physical, element, name="matmul")
    result = master if not flat and kind == a.dtype else te.compute(physical, finished, name="product")
    plan = _Plan(rows, shape[-1], k, flat, left, right, panels, master, result, method)
    return Computation((View(result, shape, layout),), for_machines(plan.schedule, plan.schedule_on_device))


def _by_terms(a: View, rows: int, flat: bool) -> te.Tensor:
    """The left operand [..., k, row], with the rows of all matrices as those of one if it is `flat`.

    Schedules of processors inline it. On a device it is the copy of a block, whose rows are neighbours.
    """
    *batch, _, depth = a.shape

    def element(*index: te.Expr) -> te.Expr:
        *place, k, row = index
        return a(*unflattened(row, a.shape[:-1]), k) if flat else a(*place, row, k)

    left: te.Tensor = te.compute((depth, rows) if flat else (*batch, depth, rows), element, name="left")
    return left


def _place(x: View, batch: Sequence[te.Expr]) -> tuple[te.Expr, ...]:
    """The index of the operand's matrix for a matrix of the result."""
    extents = x.shape[:-2]
    own = batch[len(batch) - len(extents) :]
    return tuple(te.const(0) if extent == 1 else i for i, extent in zip(own, extents, strict=True))


class _Right:
    """The right operand that the reduction reads: packed beforehand, or in panels [..., panel, k, column] made here."""

    def __init__(self, b: View, kind: DType) -> None:
        *batch, k, n = b.shape
        self.b, self.kind = b, kind
        self.is_packed = not b.layout.is_row_major
        self.width = b.layout.block_of(b.ndim - 1) if self.is_packed else PANEL_WIDTH
        self.panels: te.Tensor | None = None
        if self.is_packed or n == 1:
            return

        def element(*index: te.Expr) -> te.Expr:
            *place, panel, r, j = index
            column = panel * self.width + j
            value = b(*place, r, column).astype(kind)
            return value if n % self.width == 0 else te.if_then_else(column < n, value, te.const(0, kind))

        self.panels = te.compute((*batch, -(-n // self.width), k, self.width), element, name="panels")

    def by_terms(self) -> te.Tensor:
        """The operand [..., k, column] that the reduction reads: inlined, or the copy of a device's block."""

        def element(*index: te.Expr) -> te.Expr:
            *place, k, column = index
            if self.panels is None:
                return self.b(*place, k, column)
            return self.panels(*place, column // self.width, k, column % self.width)

        right: te.Tensor = te.compute(self.b.shape, element, name="right")
        return right

    def schedule(self, s: te.Schedule, rows: int, lanes: int, machine: Machine) -> bool:
        """Place the panels, if there are any. Returns whether all panels are whole."""
        if self.panels is None:
            return self.is_packed
        if rows < PANEL_ROWS:
            s[self.panels].compute_inline()
            return False
        stage = s[self.panels]
        *outer, _, column = stage.axes
        register_tile(stage, *stage.split(column, min(lanes, self.width)))
        share_among_threads(stage, outer, elements(self.panels), machine)
        return True


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """The stages of a product and their schedule."""

    rows: int
    columns: int
    k: IterVar
    flat: bool
    left: te.Tensor
    right: _Right
    by_terms: te.Tensor
    """The right operand, as the reduction reads it."""
    master: te.Tensor
    result: te.Tensor
    method: Method | None

    @property
    def terms(self) -> int:
        return extent_of(self.k.extent)

    def schedule(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """Register tiles of rows x vectors of columns; a panel of B stays in the cache while all rows use it."""
        for operand in (self.left, self.by_terms):
            s[operand].compute_inline()
        if self.columns == 1:
            self._schedule_dot_products(s, output, machine)
            return
        lanes = gcd(machine.lanes(self.master.dtype), self.right.width)
        whole = self.right.schedule(s, self.rows, lanes, machine)
        method = self._packed(lanes, machine)
        width = self.right.width if self.right.is_packed else lanes * method.vectors
        host = host_of(s, self.result, output, machine)
        if method.terms < self.terms:
            self._schedule_in_parts(s, host, method, width, lanes, machine)
            return
        tile = in_registers(s, self.master, host)
        loops = self._tiles(s[host], method, width, lanes)
        s[tile].compute_at(s[host], share_among_threads(s[host], loops, self._work, machine))
        self._reduce(s[tile], method, lanes, whole, machine)

    def _schedule_in_parts(
        self, s: te.Schedule, host: te.Tensor, method: Packed, width: int, lanes: int, machine: Machine
    ) -> None:
        """All rows of a panel add some terms, then the next ones, so that their part of the panel stays in the second
        cache. The sums go through memory of their own, whatever the host computes of them."""
        if host is self.master:
            sums = s.cache_write(self.master, "global")
        else:
            for tensor in between(self.master, host):
                s[tensor].compute_inline()
            sums = self.master
        tile = s.cache_write(sums, "register")
        batch, i, j = self._axes(s[host])
        jo, ji = s[host].split(j, width, tail="partition")
        jv, lane = s[host].split(ji, lanes)
        s[host].reorder(*batch, jo, i, jv, lane)
        register_tile(s[host], jv, lane)
        s[sums].compute_at(s[host], share_among_threads(s[host], [*batch, jo], self._work, machine))
        *batch, i, j = s[sums].axes
        io, ii = s[sums].split(i, method.rows, tail="partition")
        jv, lane = s[sums].split(j, lanes, tail="round_up")
        s[sums].reorder(*batch, io, ii, jv, lane)
        register_tile(s[sums], ii, jv, lane)
        s[tile].compute_at(s[sums], io)
        s[sums].reorder(self._reduce(s[tile], method, lanes, True, machine), io)

    def _tiles(self, stage: te.Stage, method: Packed, width: int, lanes: int) -> list[IterVar]:
        """Cut rows and columns into tiles of registers for panels of a width; returns the loops over tiles."""
        batch, i, j = self._axes(stage)
        jo, ji = stage.split(j, width * method.panels, tail="partition")
        io, ii = stage.split(i, method.rows, tail="partition")
        jv, lane = stage.split(ji, lanes)
        stage.reorder(*batch, jo, io, ii, jv, lane)
        register_tile(stage, ii, jv, lane)
        return [*batch, jo, io]

    @property
    def _work(self) -> int:
        return elements(self.master) * max(1, self.terms // 8)

    def schedule_on_device(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """Tiles of threads, or strips."""
        gpu = machine.gpu
        assert gpu is not None
        host = host_on_device(s, self.result, output)
        part = in_registers(s, self.master, host)
        match device_method(self._shapes, gpu, self.method):
            case Tiled() as method:
                self._schedule_tiled(s, s[host], s[part], method, gpu)
            case Strips() as method:
                self._schedule_strips(s, s[host], s[part], method)

    def _schedule_tiled(self, s: te.Schedule, stage: te.Stage, sums: te.Stage, method: Tiled, gpu: Gpu) -> None:
        """A tile for each block, which reads the terms of a step from shared copies of both operands."""
        tile, terms = method.tile, method.terms
        if self.right.panels is not None:
            s[self.right.panels].compute_inline()
        batch, i, j = self._axes(stage)
        io, rows = stage.split(i, tile.height, tail="shift")
        jo, columns = stage.split(j, tile.width, tail="shift")
        lanes = access_lanes(gpu, self.master.dtype, tile.columns, self.columns)
        sums.compute_at(stage, bind_tile(stage, [*batch, io, jo], rows, columns, tile, lanes))
        step, term = sums.split(sums.op.reduce_axis[0], terms)
        sums.reorder(step, term, *sums.axes)
        if tile.rows * tile.columns * terms <= UNROLLED_TERMS:
            sums.unroll(term)
        register_tile(sums, *sums.axes)
        for operand in (self.left, self.by_terms):
            s[operand].set_scope("shared")
            s[operand].compute_at(sums, step)
        *place, k, row = s[self.left].axes
        pad_banks(s[self.left], k, tile.height, gpu)
        lanes = access_lanes(gpu, self.left.dtype, self.terms, terms)
        load_together(s[self.left], tile, [*place, row], k, lanes, terms * tile.height)
        *place, column = s[self.by_terms].axes
        lanes = access_lanes(gpu, self.by_terms.dtype, self.columns, tile.width)
        load_together(s[self.by_terms], tile, place, column, lanes, terms * tile.width)

    def _schedule_strips(self, s: te.Schedule, stage: te.Stage, sums: te.Stage, method: Strips) -> None:
        """A strip for each thread, which reads both operands where they are."""
        for tensor in (self.left, self.by_terms, *([] if self.right.panels is None else [self.right.panels])):
            s[tensor].compute_inline()
        batch, i, j = self._axes(stage)
        io, ii = stage.split(i, method.rows, tail="shift")
        jo, ji = stage.split(j, method.columns, tail="shift")
        sums.compute_at(stage, bind_strips(stage, [*batch, jo, io], ii, ji))
        sums.reorder(sums.op.reduce_axis[0], *sums.axes)
        for axis in sums.axes:
            sums.unroll(axis)

    def _packed(self, lanes: int, machine: Machine) -> Packed:
        """The tiles of the method, which is for panels that were packed beforehand; without one the tiles of the least
        cycles, as wide as such a panel or a part of one that is made here."""
        if isinstance(self.method, Packed) and self.right.is_packed:
            return self.method
        widest = self.right.width // lanes
        widths = [widest] if self.right.is_packed else [n for n in range(1, widest + 1) if widest % n == 0]
        return best_packed(self._shapes, widths, lanes, machine)

    @property
    def _shapes(self) -> ProductShapes:
        batch = elements(self.master) // (self.rows * self.columns)
        return ProductShapes(batch, self.rows, self.columns, self.terms, self.left.dtype)

    def _axes(self, stage: te.Stage) -> tuple[list[IterVar], IterVar, IterVar]:
        """The loops over batches, rows and columns."""
        *batch, i, j = stage.axes
        return ([], stage.fuse(*batch, i), j) if self.flat else (batch, i, j)

    def _reduce(self, stage: te.Stage, method: Packed, lanes: int, whole: bool, machine: Machine) -> IterVar:
        """The loops of a tile; returns the outermost of the reduction."""
        *batch, i, j = stage.axes
        whole = whole and -(-self.columns // self.right.width) % method.panels == 0
        outer, k = stage.split(stage.op.reduce_axis[0], method.terms)
        ks, ku = stage.split(k, largest_divisor(method.terms, 4))
        jv, lane = stage.split(j, lanes, tail="round_up" if whole else "guard")
        stage.reorder(outer, ks, ku, *batch, i, jv, lane)
        register_tile(stage, ku, *batch, i, jv, lane)
        if self.right.is_packed and self.right.width > 1 and method.panels == 1:
            ask_ahead(stage, self.right.b.tensor, ks, 1, self.rows, machine)
        return outer

    def _schedule_dot_products(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """One column: vectors along k."""
        host = host_of(s, self.result, output, machine)
        tile = in_registers(s, self.master, host)
        stage = s[host]
        batch, i, j = self._axes(stage)
        io, ii = stage.split(i, largest_divisor(self.rows, 4))
        stage.unroll(ii)
        stage.unroll(j)
        place = share_among_threads(stage, [*batch, io], self.rows * self.terms, machine)
        reduce_in_vectors(s, tile, machine.lanes(self.master.dtype), stage, place, accumulators=2)
