"""The method of resizes and adaptive pools, which reduce one axis after the other: how much of a pass is kept for the
next one, with an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine
from sateen.topi.cost import bytes_per_cycle, mean_cycles, reduction_cycles
from sateen.topi.methods import Candidate, Method
from sateen.topi.schedules import balanced, largest_divisor
from sateen.topi.types import FLOAT32, Layout

MOST = 8
"""The most candidates."""


@dataclass(frozen=True, slots=True)
class Passes(Method):
    """One axis after the other. Of each pass as many whole rows as fit into `vectors` vectors are kept for the next
    one, at least one row."""

    vectors: int


@dataclass(frozen=True, slots=True)
class Pass:
    """An axis that is reduced: its extent after that, and the elements that make up one of the result."""

    axis: int
    after: int
    taps: int


@dataclass(frozen=True, slots=True)
class PassShapes:
    """Passes over data of a shape, in their order."""

    data: tuple[int, ...]
    dtype: DType
    passes: tuple[Pass, ...]
    is_maximum: bool

    def fills_blocks(self, lanes: int) -> bool:
        """Whether blocks of channels are filled, and no pass is along channels."""
        return len(self.data) > 2 and self.data[1] >= lanes and all(one.axis > 1 for one in self.passes)


def pass_candidates(shapes: PassShapes, machine: Machine) -> list[Candidate]:
    """The methods for float32 on a processor, best first, in blocks of channels if these are filled; none for one pass,
    whose result nothing waits for."""
    lanes = machine.lanes()
    fits = machine.gpu is None and lanes > 1 and shapes.dtype == FLOAT32 and 0 not in shapes.data
    if not fits or len(shapes.passes) < 2 or shapes.passes[-1].axis == 0:
        return []
    rank = len(shapes.data)
    layout = Layout.blocked(rank, 1, lanes) if shapes.fills_blocks(lanes) else Layout.row_major(rank)
    stages = [layout.physical_shape(shape) for shape in _results(shapes)]
    around = shapes.passes[-1].axis
    extent, row = stages[-2][around - 1], vectors_of(stages[-2][around:], lanes)
    budgets = [row << n for n in reversed(range(extent.bit_length() + 1))]
    least = {rows_at_once(stages[-2], around, vectors, lanes): vectors for vectors in budgets}
    cycles = {Passes(vectors): _cycles(rows, stages, shapes, machine) for rows, vectors in least.items()}
    return [Candidate(way, cycles[way]) for way in sorted(cycles, key=lambda way: (cycles[way], way.vectors))][:MOST]


def rows_at_once(kept: Sequence[int], around: int, vectors: int, lanes: int) -> int:
    """The iterations of the loop around the last pass, inside of `around` - 1 others, for which the pass before it is
    kept, whose shape in memory is given.

    They leave no rest if so many are at least half of what fits: threads share loops without a rest more evenly.
    """
    extent = kept[around - 1]
    most = min(extent, max(1, vectors // max(1, vectors_of(kept[around:], lanes))))
    even = largest_divisor(extent, most)
    return even if 2 * even >= most else balanced(extent, most)


def vectors_of(shape: Sequence[int], lanes: int) -> int:
    """The vectors that hold an array, each a part of a row."""
    return prod(shape[:-1]) * -(-shape[-1] // lanes)


def _results(shapes: PassShapes) -> list[tuple[int, ...]]:
    """The shapes of the data and of what each pass gives."""
    found = [shapes.data]
    for one in shapes.passes:
        last = found[-1]
        found.append((*last[: one.axis], one.after, *last[one.axis + 1 :]))
    return found


def _cycles(rows: int, stages: Sequence[Sequence[int]], shapes: PassShapes, machine: Machine) -> float:
    """The cycles of all passes, of their beginnings and ends, and of the cache that holds what is kept."""
    lanes, size = machine.lanes(), machine.vector_bytes
    operations = machine.maximum_operations if shapes.is_maximum else 1.0
    reducing = sum(
        vectors_of(shape, lanes) * reduction_cycles(1, one.taps, one.taps, machine, operations)
        for one, shape in zip(shapes.passes, stages[1:], strict=True)
    )
    source, kept, result = stages[-3:]
    around = shapes.passes[-1].axis
    parts = prod(kept[: around - 1]) * -(-kept[around - 1] // rows)
    read = rows * source[around - 1] / kept[around - 1] * vectors_of(source[around:], lanes)
    own = rows * (vectors_of(kept[around:], lanes) + vectors_of(result[around:], lanes))
    moved = 2 * vectors_of(kept, lanes) * size / bytes_per_cycle(int((read + own) * size), machine)
    beginning = parts * len(shapes.passes) * machine.rates.tile_cycles
    image = FLOAT32.bytes * prod(shapes.data)
    traffic = image / bytes_per_cycle(image, machine) * machine.rates.exposed
    return mean_cycles(reducing + moved + beginning + traffic, 0, 1, parts, machine)
