"""Register tiles: contractions and window operators are computed tile by tile, with the epilogue on each tile.

A schedule of such an operator splits the loops of the stage that writes the result, the host, and computes the
reduction in registers at each tile. The host is the output of the fused group if that reads the reduction in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import Call, Const, Expr, IterVar, Read, is_const, walk
from sateen.tensor_ir.te import reads
from sateen.topi.schedules.injective import schedule_injective
from sateen.topi.types import FLOAT32

LONGEST_CHAIN = 128
"""The number of terms that a long reduction in vectors adds to an accumulator before it starts a new one, to bound its
error."""

MOST_LINES = 16
"""The most cache lines that an iteration of a sum asks for ahead: those of four terms of four vectors of 64 bytes."""


def accumulator_type(dtype: DType) -> DType:
    """The type in which terms are added: float32 for shorter floats, which are storage only."""
    return FLOAT32 if dtype.is_float and dtype.bits < 32 else dtype


def sum_lanes(dtype: DType, machine: Machine) -> int:
    """The lanes of a vector that holds sums of a type: each takes 4 bytes or more."""
    return machine.lanes() * 4 // max(4, dtype.bytes)


def shape_of(tensor: te.Tensor) -> tuple[int, ...]:
    """The extents of a tensor of constant shape."""
    return tuple(extent_of(e) for e in tensor.shape)


def extent_of(e: Expr) -> int:
    """The value of a constant extent."""
    assert isinstance(e, Const), e
    return int(e.value)


def host_of(s: te.Schedule, result: te.Tensor, output: te.Tensor, machine: Machine) -> te.Tensor:
    """The tensor whose loops to tile for an operator that ends in `result`: the output, if it reads that in place.

    Otherwise (a transposed or broadcast read) the result goes to memory first and the output is one injective nest.
    The stages between the two are inlined.
    """
    for tensor in between(result, output):
        s[tensor].compute_inline()
    if reads_in_place(output, result):
        return output
    schedule_injective(s, output, machine)
    return result


def in_registers(s: te.Schedule, reduction: te.Tensor, host: te.Tensor) -> te.Tensor:
    """The reduction as a stage in registers that the host reads; compute it at one of the host's loops."""
    for tensor in between(reduction, host):
        s[tensor].compute_inline()
    if host is reduction:
        tile: te.Tensor = s.cache_write(reduction, "register")
        return tile
    s[reduction].set_scope("register")
    return reduction


@dataclass(frozen=True, slots=True, eq=False)
class ReductionTile:
    """A reduction in registers that its host reads, for a host that may compute a costly function of it.

    Written out for each vector of a tile, such an epilogue would fill the instruction cache and the registers. Then the
    tile goes through a buffer on the stack, and the host's loops stay loops.
    """

    part: te.Stage
    buffer: te.Stage | None

    @staticmethod
    def of(s: te.Schedule, reduction: te.Tensor, host: te.Tensor) -> ReductionTile:
        if host is reduction or not _calls_functions(reduction, host):
            return ReductionTile(s[in_registers(s, reduction, host)], None)
        in_registers(s, reduction, host)
        part = s.cache_write(reduction, "register")
        s[reduction].set_scope("local")
        return ReductionTile(s[part], s[reduction])

    def place(self, host: te.Stage, loop: IterVar, inner: Sequence[IterVar], lanes: int) -> None:
        """Compute at a loop of the host, which has the loops `inner` over the tile; the last of them is vectorized."""
        self.part.compute_at(host, loop)
        if self.buffer is None:
            register_tile(host, *inner)
            return
        self.buffer.compute_at(host, loop)
        *outer, last = self.buffer.axes
        register_tile(self.buffer, *outer, *self.buffer.split(last, lanes, tail="round_up"))
        host.vectorize(inner[-1])


def _calls_functions(reduction: te.Tensor, host: te.Tensor) -> bool:
    """Whether the host computes a function of the reduction such as exp."""
    bodies = (b for t in (*between(reduction, host), host) for b in t.op.body)
    return any(isinstance(e, Call) for b in bodies for e in walk(b))


def reads_in_place(reader: te.Tensor, source: te.Tensor) -> bool:
    """Whether element i of `reader` needs only element i of `source`."""
    if reader is source:
        return True
    op = reader.op
    if not op.body or op.reduce_axis:
        return False
    return all(
        _is_identity(read, op.axis) and reads_in_place(read.tensor, source)
        for body in op.body
        for read in reads(body)
        if depends_on(read.tensor, source)
    )


def depends_on(tensor: te.Tensor, source: te.Tensor) -> bool:
    """Whether `tensor` is computed from `source`, directly or not."""
    return tensor is source or any(depends_on(t, source) for t in tensor.op.inputs)


def _is_identity(read: Read[te.Tensor], axes: Sequence[IterVar]) -> bool:
    if shape_of(read.tensor) != tuple(extent_of(axis.extent) for axis in axes):
        return False
    analyzer = Analyzer()
    for axis in axes:
        analyzer.bind(axis, 0, axis.extent)
    indices = [analyzer.simplify(index) for index in read.indices]
    return all(
        index is axis or (is_const(axis.extent, 1) and is_const(index, 0))
        for index, axis in zip(indices, axes, strict=True)
    )


def between(first: te.Tensor, last: te.Tensor) -> list[te.Tensor]:
    """The tensors strictly between two, through which the last depends on the first."""
    found: dict[te.Tensor, None] = {}
    pending = [t for t in last.op.inputs if last is not first]
    while pending:
        tensor = pending.pop()
        if tensor is not first and tensor not in found and depends_on(tensor, first):
            found[tensor] = None
            pending.extend(tensor.op.inputs)
    return list(found)


def register_tile(stage: te.Stage, *axes: IterVar) -> None:
    """Unroll all of these loops except the last, which is vectorized."""
    for axis in axes[:-1]:
        stage.unroll(axis)
    stage.vectorize(axes[-1])


def is_asked_for(uses: int, machine: Machine) -> bool:
    """Whether it pays to ask ahead for parameters, each vector of which is used in so many multiply-adds."""
    return machine.rates.asks_ahead and uses >= machine.rates.least_uses


def ask_ahead(stage: te.Stage, tensor: te.Tensor, axis: IterVar, leading: int, uses: int, machine: Machine) -> None:
    """Ask memory for the next block of a parameter, of the same `leading` indices, in a loop of the sum that reads the
    present one, if that pays. Blocks lie in the order in which they are read."""
    if is_asked_for(uses, machine):
        stage.prefetch_next(tensor, axis, leading, machine.rates.streams, MOST_LINES)


def balanced(extent: int, most: int) -> int:
    """The tile of at most `most` that cuts `extent` into the fewest tiles of nearly equal size."""
    tiles = -(-extent // max(1, most))
    return -(-extent // tiles)


def tile_rows(rows: int, vectors: int, machine: Machine) -> int:
    """Rows of a register tile of `vectors` per row that the registers hold with its operands."""
    return balanced(rows, max(1, machine.tile_positions(vectors)))


def largest_divisor(extent: int, most: int) -> int:
    """The largest divisor of `extent` that is at most `most`."""
    return max(d for d in range(1, max(1, min(extent, most)) + 1) if extent % d == 0)


def largest_power_of_two(most: int) -> int:
    """The largest power of two that is at most `most`, which is 1 or more."""
    return 1 << (most.bit_length() - 1)


def share_among_threads(stage: te.Stage, loops: Sequence[IterVar], work: int, machine: Machine) -> IterVar:
    """Run outer loops in parallel if the work, counted in elements touched, is worth a launch.

    `loops` are adjacent, outermost first; they are fused until threads have enough iterations. A loop that is to be
    partitioned is not fused, since its tail would be lost; it stays serial if it has no iteration for each core.
    Returns the innermost remaining loop, at which to compute stages.
    """
    outer, *rest = loops
    if work < machine.rates.serial_elements:
        return loops[-1]
    while rest and extent_of(outer.extent) < machine.even_iterations:
        inner = rest[0]
        if stage.pragmas.get(inner) or stage.pragmas.get(outer):
            if extent_of(outer.extent) >= machine.cores:
                break
            outer = rest.pop(0)
        else:
            outer = stage.fuse(outer, rest.pop(0))
    stage.parallel(outer)
    return rest[-1] if rest else outer


def elements(tensor: te.Tensor) -> int:
    """The number of elements of a tensor of constant shape."""
    return prod(shape_of(tensor))


def owns_its_memory(host: te.Tensor, reduction: te.Tensor) -> bool:
    """Whether the host reads no other tensor so large that the host may be stored in its place.

    Only then can the output keep partial results: an operand of the epilogue in the same memory would be lost.
    """
    operands = [t for t in (*between(reduction, host), host) for t in t.op.inputs if not depends_on(t, reduction)]
    return all(elements(t) < elements(host) for t in operands)


def reduce_in_vectors(
    s: te.Schedule, reduction: te.Tensor, lanes: int, host: te.Stage, place: IterVar, accumulators: int
) -> None:
    """Compute a reduction along contiguous memory in registers, at a loop of the host.

    Terms go to `accumulators` vectors in turn, which are then added pair by pair. A long reduction combines those of
    its parts, so that rounding errors grow with the length of a part only. This reassociates, in the same way for any
    number of threads.
    """
    stage = s[reduction]
    axis = stage.fuse(*stage.op.reduce_axis)
    extent = extent_of(axis.extent)
    in_memory, width = True, 1
    while 2 * width <= min(extent, lanes * accumulators):
        width *= 2
    stage.set_scope("register")
    stage.compute_at(host, place)
    if extent > 2 * LONGEST_CHAIN * width:
        parts, _ = stage.split(axis, LONGEST_CHAIN * width)
        partial = s.rfactor(reduction, parts, len(stage.axes))
        (parts,) = stage.op.reduce_axis
        stage.pragma(parts, "partition")
        reduce_in_vectors(s, partial[0] if isinstance(partial, tuple) else partial, lanes, stage, parts, accumulators)
        return
    while width > 1:
        _, inner = stage.split(axis, width)
        partial = s.rfactor(reduction, inner, len(stage.axes))
        part = s[partial[0] if isinstance(partial, tuple) else partial]
        part.set_scope("register")
        part.compute_at(host, place)
        *data, last = part.axes
        vector, lane = part.split(last, min(width, lanes))
        terms = list(part.op.reduce_axis)
        part.reorder(*terms, *data, vector, lane)
        register_tile(part, *data, vector, lane)
        if in_memory:
            part.pragma(terms[0], "partition")
        else:
            part.unroll(terms[0])
        in_memory = False
        width = lanes if width > lanes else width // 2
        (axis,) = stage.op.reduce_axis
    for loop in stage.leaves:
        stage.unroll(loop)
