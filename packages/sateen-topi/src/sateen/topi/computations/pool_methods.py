"""The methods of pools in blocks of channels: tiles of windows, or of their lines first, with an estimate of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import prod

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine
from sateen.topi.computations.windows import Window
from sateen.topi.cost import bytes_per_cycle, mean_cycles, reduction_cycles
from sateen.topi.methods import Candidate, Method, best_of_each
from sateen.topi.schedules import balanced, largest_divisor
from sateen.topi.types import FLOAT32

UNROLLED_TAPS = 16
"""The most columns, or rows times columns, of a kernel that is unrolled; longer ones stay loops."""
ROWS = (1, 2, 4)
"""The rows of tiles of averages whose windows share rows of the input; maxima share lines."""
EACH, MOST = 3, 16
"""The most candidates of a kind with so many rows, and for a pool."""


@dataclass(frozen=True, slots=True)
class Windows(Method):
    """Register tiles of rows x columns of the output, each of which goes through its window."""

    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class Lines(Method):
    """Maxima of lines of the windows first, for as many rows of the input as `rows` of the output take, then of these
    lines; both in register tiles of `columns`. Windows above each other share lines, those side by side their elements.
    """

    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class Channels(Method):
    """Whole channels, in register tiles of so many `blocks` of them."""

    blocks: int


@dataclass(frozen=True, slots=True)
class PoolShapes:
    """A pool: the shape and the type of data [N, C, …], its window, and how it reduces."""

    data: tuple[int, ...]
    window: Window
    ceil_mode: bool
    dtype: DType
    is_maximum: bool

    @property
    def output(self) -> tuple[int, ...]:
        """The spatial extents of the result."""
        return self.window.output(self.data[2:], self.ceil_mode)


def writes_rows_out(window: Window, *, is_maximum: bool) -> bool:
    """Whether the rows of windows are no loop.

    Those of maxima of windows that overlap side by side are one: what such windows share takes more registers for all
    of their rows than there are.
    """
    overlaps = window.strides[-1] < window.kernel[-1]
    return window.rank > 1 and prod(window.kernel[-2:]) <= UNROLLED_TAPS and not (is_maximum and overlaps)


def pool_candidates(shapes: PoolShapes, machine: Machine) -> list[Candidate]:
    """The methods for float32 and windows of two dimensions on a processor, best first; none for others, or if channels
    fill no vector. Those of averages leave sums in their order."""
    lanes = machine.lanes()
    fits = machine.gpu is None and lanes > 1 and shapes.dtype == FLOAT32 and shapes.window.rank == 2
    if not fits or shapes.data[1] < lanes or 0 in shapes.data:
        return []
    ways = [*_windows(shapes, machine), *(_lines(shapes, machine) if shapes.is_maximum else ())]
    cycles = {way: _cycles(way, shapes, machine) for way in ways}
    best = best_of_each(ways, cycles.__getitem__, lambda way: (type(way), way.rows), EACH, MOST)
    return [Candidate(way, cycles[way]) for way in best]


def global_candidates(data: tuple[int, ...], dtype: DType, machine: Machine, *, is_maximum: bool) -> list[Candidate]:
    """The methods of pools over whole channels of data [N, C, …], best first; for float32 on a processor, if channels
    fill a vector."""
    lanes = machine.lanes()
    if machine.gpu is not None or lanes == 1 or dtype != FLOAT32 or data[1] < lanes or 0 in data:
        return []
    blocks = -(-data[1] // lanes)
    most = _most_positions(machine, is_maximum=is_maximum)
    ways = {Channels(largest_divisor(blocks, n)) for n in range(1, most + 1)}
    cycles = {way: _channels_cycles(way.blocks, data, machine, is_maximum=is_maximum) for way in ways}
    return [Candidate(way, cycles[way]) for way in sorted(ways, key=lambda way: (cycles[way], way.blocks))][:EACH]


def _channels_cycles(blocks: int, data: tuple[int, ...], machine: Machine, *, is_maximum: bool) -> float:
    """The cycles of all tiles of so many blocks, whose accumulators wait for each other's terms, and what the cache
    exposes of the data."""
    rates, terms = machine.rates, prod(data[2:])
    operations = machine.maximum_operations if is_maximum else 1.0
    tiles = data[0] * -(-data[1] // (blocks * machine.lanes()))
    step = reduction_cycles(blocks, 1, blocks, machine, operations) - rates.store_cycles * blocks
    tile = terms * max(step, operations * rates.addition_latency) + rates.store_cycles * blocks + rates.tile_cycles
    image = FLOAT32.bytes * prod(data)
    traffic = image / bytes_per_cycle(image, machine) * rates.exposed
    return mean_cycles(tiles * tile + traffic, 0, 1, tiles, machine)


def _windows(shapes: PoolShapes, machine: Machine) -> Iterator[Windows]:
    height, width = shapes.output
    most = _most_positions(machine, is_maximum=shapes.is_maximum)
    few = prod(shapes.window.kernel) <= UNROLLED_TAPS
    shares = shapes.window.strides[0] < shapes.window.kernel[0] and few and not shapes.is_maximum
    for rows in dict.fromkeys(balanced(height, n) for n in (ROWS if shares else (1,))):
        for columns in _columns(width, most // rows):
            yield Windows(rows, columns)


def _lines(shapes: PoolShapes, machine: Machine) -> Iterator[Lines]:
    """Tiles whose lines the first cache holds."""
    height, width = shapes.output
    for rows in sorted({balanced(height, 1 << n) for n in range(height.bit_length() + 1)}):
        if _lines_of(rows, shapes) * width * machine.vector_bytes <= machine.l1_bytes:
            for columns in _columns(width, _most_positions(machine, is_maximum=True)):
                yield Lines(rows, columns)


def _columns(width: int, most: int) -> Iterable[int]:
    """The columns of tiles that divide a row evenly, up to so many."""
    return dict.fromkeys(balanced(width, n) for n in range(1, most + 1))


def _most_positions(machine: Machine, *, is_maximum: bool) -> int:
    """The accumulators of a tile. Beside each of them, registers hold an element of the input, and, where a maximum
    takes several operations, what they leave."""
    several = is_maximum and machine.maximum_operations > 1
    return max(1, machine.vector_registers // (4 if several else 2))


def _lines_of(rows: int, shapes: PoolShapes) -> int:
    """The lines that some rows of the output take."""
    return min(shapes.data[2], _span(rows, 0, shapes.window))


def _span(outputs: int, d: int, window: Window) -> int:
    """The different elements of the input along a dimension that neighbours of the output read."""
    kernel, apart = window.kernel[d], window.strides[d] // window.dilations[d]
    shares = window.strides[d] % window.dilations[d] == 0 and 0 < apart < kernel
    return (outputs - 1) * apart + kernel if shares else outputs * kernel


def _cycles(way: Windows | Lines, shapes: PoolShapes, machine: Machine) -> float:
    """The cycles of all tiles, and what the cache exposes of the data."""
    tile = _windows_cycles if isinstance(way, Windows) else _lines_cycles
    height, width = shapes.output
    whole, rest = divmod(height, way.rows)
    blocks = shapes.data[0] * -(-shapes.data[1] // machine.lanes())
    cycles = whole * tile(way.rows, way.columns, width, shapes, machine)
    if rest:
        cycles += tile(rest, way.columns, width, shapes, machine)
    image = FLOAT32.bytes * prod(shapes.data)
    traffic = image / bytes_per_cycle(image, machine) * machine.rates.exposed
    return mean_cycles(blocks * cycles + traffic, 0, 1, blocks * (whole + (rest > 0)), machine)


def _windows_cycles(rows: int, columns: int, width: int, shapes: PoolShapes, machine: Machine) -> float:
    window, taps = shapes.window, prod(shapes.window.kernel)
    written_out = writes_rows_out(window, is_maximum=shapes.is_maximum)

    def tile(columns: int) -> float:
        across = _span(columns, 1, window)
        loads = _span(rows, 0, window) * across if written_out else rows * window.kernel[0] * across
        operations = machine.maximum_operations if shapes.is_maximum else 1.0
        return reduction_cycles(rows * columns, taps, loads, machine, operations)

    return _along(width, columns, tile)


def _lines_cycles(rows: int, columns: int, width: int, shapes: PoolShapes, machine: Machine) -> float:
    high, wide = shapes.window.kernel

    def line(columns: int) -> float:
        return reduction_cycles(columns, wide, _span(columns, 1, shapes.window), machine, machine.maximum_operations)

    def row(columns: int) -> float:
        return reduction_cycles(columns, high, columns * high, machine, machine.maximum_operations)

    return _lines_of(rows, shapes) * _along(width, columns, line) + rows * _along(width, columns, row)


def _along(width: int, columns: int, tile: Callable[[int], float]) -> float:
    """The cycles of tiles along a row, the last of which may be smaller."""
    whole, rest = divmod(width, columns)
    return whole * tile(columns) + (tile(rest) if rest else 0.0)
