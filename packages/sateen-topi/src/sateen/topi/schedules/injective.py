"""The schedule of injective groups: one loop nest over the output's memory, everything inlined into it.

The loop along memory is vectorized. Axes that every access crosses as one are fused first, so that short ones fill
vectors. If an input is crossed against its memory order, a square tile is transposed in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sateen.runtime.device import DeviceKind
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import (
    INDEX,
    Const,
    Expr,
    FloorMod,
    IterVar,
    Read,
    Var,
    children,
    is_among,
    position,
    substitute,
    walk,
)
from sateen.tensor_ir.lowering import Inliner
from sateen.tensor_ir.te import Operation

UNROLLED_LOOK_UPS = 256
"""The most vectors of elements at places from a table that are unrolled: more fill any instruction cache."""


def schedule_injective(s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
    """Vectorize along memory, and share the outer loops among threads if there is enough work."""
    stage = s[output]
    axes = list(stage.axes)
    if not axes or not all(map(_extent, axes)):
        return
    lanes = machine.lanes(output.dtype)
    accesses = Accesses(s, stage.op)
    group = accesses.fusible(axes, lanes)
    partner = accesses.partner(axes, group, lanes)
    column = stage.fuse(*group)
    inner = _transposing(stage, column, stage.fuse(*partner), lanes) if partner else [column]
    period = accesses.period(group, lanes)
    if period and not partner:
        _, column = stage.split(column, factor=period)
    if not partner and _extent(column) >= lanes:
        vectors, inner[0] = stage.split(column, factor=lanes, tail="partition")
        if len(axes) > len(group) and unroll_look_ups(stage, vectors, accesses.look_ups(axes[-1]), machine):
            inner.insert(0, vectors)
    stage.vectorize(inner[-1])
    if prod(map(_extent, axes)) >= machine.rates.serial_elements:
        _parallelize(stage, [leaf for leaf in stage.leaves if not is_among(leaf, inner)], machine)


def unroll_look_ups(
    stage: te.Stage, vectors: IterVar, look_ups: int, machine: Machine, most: int = UNROLLED_LOOK_UPS
) -> bool:
    """Unroll a loop over vectors whose elements are at places that tables give, `look_ups` in each iteration, unless
    that is too much code; whether it is. At places that are known each becomes a load and a shuffle, no gather."""
    known = machine.lanes() > 1 and 0 < look_ups * _extent(vectors) <= most
    if known:
        stage.unroll(vectors)
    return known


INJECTIVE = {DeviceKind.CPU: schedule_injective}
"""The schedule of groups without a master, by the kind of machine."""


def _transposing(stage: te.Stage, column: IterVar, row: IterVar, lanes: int) -> list[IterVar]:
    """The loops of a square tile with unrolled rows; generated code reads an input's rows and writes columns.

    Tiles at the ends of the axes overlap their neighbours. The loop over fewer tiles is
    the inner one, so that the lines of memory that tiles share stay in the cache.
    """
    edge = 1 << (min(lanes, _extent(column), _extent(row)).bit_length() - 1)
    column_tiles, columns = stage.split(column, edge, tail="shift")
    row_tiles, rows = stage.split(row, edge, tail="shift")
    tile = (column_tiles, columns, row_tiles, rows)
    around = [leaf for leaf in stage.leaves if not is_among(leaf, tile)]
    tiles = sorted((row_tiles, column_tiles), key=_extent, reverse=True)
    stage.reorder(*around, *tiles, rows, columns)
    stage.unroll(rows)
    return [rows, columns]


def _parallelize(stage: te.Stage, loops: Sequence[IterVar], machine: Machine) -> None:
    """Share the outermost loop among threads, fused with the next ones as long as it is short."""
    if not loops:
        return
    outer, *rest = loops
    for loop in rest:
        if _extent(outer) >= machine.even_iterations or stage.pragmas.get(loop):
            break
        outer = stage.fuse(outer, loop)
    stage.parallel(outer)


def _extent(axis: IterVar) -> int:
    assert isinstance(axis.extent, Const)
    return int(axis.extent.value)


class Accesses:
    """The addresses that a stage reads, over its axes, and the axes that it uses otherwise (in conditions)."""

    def __init__(self, s: te.Schedule, op: Operation) -> None:
        inliner = Inliner(s)
        bodies = [inliner.inlined(b) for b in op.body]
        reads = {n for b in bodies for n in walk(b) if isinstance(n, Read)}
        self.tensors = {read.tensor for read in reads}
        self.addresses = [_address(read) for read in reads]
        self.conditions = {n for b in bodies for n in _walk_values(b) if isinstance(n, IterVar)}
        self.analyzer = Analyzer()
        for axis in op.axis:
            self.analyzer.bind(axis, 0, axis.extent)

    def fusible(self, axes: Sequence[IterVar], lanes: int) -> list[IterVar]:
        """The last axes that every access crosses as one, as many as vectors need."""
        group = [axes[-1]]
        for axis in reversed(axes[:-1]):
            size = prod(map(_extent, group))
            if (size % lanes == 0 or size >= 8 * lanes) and size > 1:
                break
            if not self._continues(axis, group, size):
                break
            group.insert(0, axis)
        return group

    def _continues(self, axis: IterVar, group: Sequence[IterVar], size: int) -> bool:
        """Whether a step of `axis` equals `size` steps of the group's last axis for every access."""
        if size <= 1 or _extent(axis) <= 1:
            return True
        if axis in self.conditions or any(member in self.conditions for member in group):
            return False
        last = next(member for member in reversed(group) if _extent(member) > 1)
        steps = [(self._step(a, axis), self._step(a, last)) for a in self.addresses]
        return all(far is not None and near is not None and far == near * size for far, near in steps)

    def moves_by(self, axes: Sequence[IterVar], group: Sequence[IterVar], lanes: int) -> bool:
        """Whether no access moves with the group's last axis but those that move with it element by element, and with
        all others in multiples of lanes, from a multiple on: so that lanes are neighbours at a multiple of their
        number. Conditions on the group would be those of a lane."""
        if any(member in self.conditions for member in group):
            return False
        last = next((axis for axis in reversed(group) if _extent(axis) > 1), None)
        others = [axis for axis in axes[: len(axes) - len(group)] if _extent(axis) > 1]
        if last is None:
            return False
        steps = [(self._step(a, last), [self._step(a, axis) for axis in others]) for a in self.addresses]
        firsts = [self.analyzer.form(a).constant for a in self.addresses]
        return all(
            near == 0 or (near == 1 and all(far is not None and far % lanes == 0 for far in (first, *rest)))
            for first, (near, rest) in zip(firsts, steps, strict=True)
        )

    def partner(self, axes: Sequence[IterVar], group: Sequence[IterVar], lanes: int) -> list[IterVar]:
        """The axes, taken as one, along which an input is contiguous that the last ones, `group`, cross in strides;
        none: there is no such input."""
        others = [axis for axis in axes[: len(axes) - len(group)] if _extent(axis) > 1]
        last = next((axis for axis in reversed(group) if _extent(axis) > 1), None)
        if last is None:
            return []
        for address in self.addresses:
            step = self._step(address, last, lanes)
            if step is None or abs(step) <= lanes // 2:  # few loads and shuffles serve a short step
                continue
            for axis in reversed(others):
                if self._step(address, axis, lanes) == 1:
                    place = position(axis, axes)
                    return self.fusible(axes[: place + 1], lanes)
        return []

    def look_ups(self, axis: IterVar) -> int:
        """The number of reads at a place that a table of constants gives for an element of the axis."""
        return sum(any(_is_table_at(inner, axis) for inner in walk(address)) for address in self.addresses)

    def period(self, group: Sequence[IterVar], lanes: int) -> int | None:
        """The number of steps after which an address restarts along the last axis, if vectors would straddle that."""
        axis = group[-1]
        found = {
            int(node.b.value)
            for address in self.addresses
            for node in walk(address)
            if isinstance(node, FloorMod)
            and isinstance(node.b, Const)
            and node.dtype == INDEX
            and self.analyzer.form(node.a).terms.get(axis) == 1
        }
        periods = [p for p in found if p > lanes and p % lanes and _extent(axis) % p == 0 and p < _extent(axis)]
        return min(periods, default=None) if len(group) == 1 else None

    def _step(self, address: Expr, axis: IterVar, block: int = 1) -> int | None:
        """The distance that the address moves with one step of the axis, within a block; None if it varies."""
        form = self.analyzer.form(address)
        if not any(axis in set(walk(atom)) for atom in form.terms if atom is not axis):
            return form.terms.get(axis, 0)
        inner, outer = Var("inner"), Var("outer")
        self.analyzer.bind(inner, 0, block)
        self.analyzer.bind(outer, 0, -(-_extent(axis) // block))
        moved = outer if block == 1 else outer * block + inner
        unit = outer if block == 1 else inner
        form = self.analyzer.form(substitute(address, {axis: moved}))
        if any(unit in set(walk(atom)) for atom in form.terms if atom is not unit):
            return None
        return form.terms.get(unit, 0)


def _is_table_at(node: object, axis: IterVar) -> bool:
    if not isinstance(node, Read) or node.tensor.op.data is None:
        return False
    return any(axis in set(walk(index)) for index in node.indices)


def _address(read: Read[te.Tensor]) -> Expr:
    """The row-major position of an element of a tensor."""
    position: Expr = te.const(0)
    for index, extent in zip(read.indices, read.tensor.shape, strict=True):
        position = position * extent + index
    return position


def _walk_values(e: Expr) -> list[Expr]:
    """The nodes of an expression outside of the indices of its reads."""
    seen: dict[Expr, None] = {}
    pending: list[Expr] = [e]
    while pending:
        node = pending.pop()
        if node not in seen:
            seen[node] = None
            if not isinstance(node, Read):
                pending += [child for child in children(node) if isinstance(child, Expr)]
    return list(seen)
