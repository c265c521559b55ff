"""Winograd's convolution on devices: three kernels, of the transformed input, the products, and the result.

A thread transforms a tile of one channel in registers. The products of all places of tiles are matrix products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from math import prod
from typing import ClassVar

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import IterVar
from sateen.tensor_ir.targets import Gpu
from sateen.topi.computations.convolution.shapes import ConvolutionShapes
from sateen.topi.computations.convolution.winograd_transforms import TRANSFORMS, Transform, fits
from sateen.topi.computations.products.by_thread_tiles import Tiled, device_candidates, device_method
from sateen.topi.computations.products.shapes import ProductShapes
from sateen.topi.computations.strips import Strips, bind_strips
from sateen.topi.methods import Candidate, Method
from sateen.topi.schedules import (
    access_lanes,
    bind_elements,
    bind_tile,
    extent_of,
    host_on_device,
    load_together,
    register_tile,
    shape_of,
)
from sateen.topi.types import FLOAT32, Layout, View

MOST_PRODUCTS = 8
"""The most ways to compute the products of a transform that are candidates."""
TRANSFORM_OPERATIONS = 4
"""The operations for an element of a transformed tile."""
WEIGHT_LAYOUT = Layout((2, 3, 1, 0))
"""The layout of a transformed weight: a matrix of input by output channels for each row and column of a tile."""


@dataclass(frozen=True, slots=True)
class WinogradTiles(Method):
    """F(tile x tile) in three kernels, the products by blocks of threads as `Tiled` has them."""

    numerics: ClassVar[str] = "default"
    tile: int
    threads_y: int
    rows: int
    threads_x: int
    columns: int
    terms: int

    @property
    def of_tiles(self) -> Tiled:
        """The method once the tile is chosen."""
        return Tiled(self.threads_y, self.rows, self.threads_x, self.columns, self.terms)


def candidates(problem: ConvolutionShapes, gpu: Gpu) -> Iterator[Candidate]:
    """The tiles for the window that a thread can keep in registers, with what it makes of them, each with the best ways
    to compute the products."""
    if problem.groups > 1 or problem.dtype != FLOAT32 or not fits(problem.weight, problem.window):
        return
    for f in TRANSFORMS.values():
        if (f.stride, f.stride) == problem.window.strides and 2 * f.n**2 <= gpu.thread_registers * 3 // 4:
            yield from _candidates(problem, f, gpu)


def _candidates(problem: ConvolutionShapes, f: Transform, gpu: Gpu) -> Iterator[Candidate]:
    """The cycles are those of the products and the transforms, and of what the direct method does not need: tiles are
    written and read, the weight is larger, which may be worth something (`Gpu.enlargement`), and two kernels more are
    launched."""
    outputs, channels = problem.weight[:2]
    count = problem.data[0] * prod(-(-extent // f.m) for extent in problem.output)
    elements = f.n**2 * count * (channels + outputs)
    transforms = TRANSFORM_OPERATIONS * elements / gpu.units
    weights = outputs * channels * (f.weights**2 - prod(problem.window.kernel))
    moved = gpu.memory_cycles(FLOAT32.bytes * (2 * elements + weights))
    extra = moved + gpu.enlargement_cycles(FLOAT32.bytes * weights) + 2 * gpu.launch_cycles
    products = device_candidates(ProductShapes(f.n**2, outputs, count, channels, FLOAT32), gpu)
    for product in products[:MOST_PRODUCTS]:
        assert isinstance(product.method, Tiled)
        method = WinogradTiles(f.m, *astuple(product.method))
        yield Candidate(method, product.cycles + transforms + extra)


@dataclass(frozen=True, slots=True, eq=False)
class WinogradStages:
    """The stages of a row-major convolution, in the order of their computation.

    `transformed` and `products` are indexed by a tile's row and column, the channel, the tile, and 0.
    """

    padded: te.Tensor
    inner: Sequence[te.Tensor]
    transformed: te.Tensor
    weight: View
    products: te.Tensor
    results: Sequence[te.Tensor]
    maxima: te.Tensor | None
    result: te.Tensor
    side: int
    """Rows and columns of the result in a tile."""
    method: Tiled | None


def schedule_by_threads(w: WinogradStages, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
    """The stages that are kernels lie in memory, the others in registers of the threads that use them."""
    gpu = machine.gpu
    assert gpu is not None
    _schedule_input(w, s, gpu)
    _schedule_products(w, s, gpu)
    _schedule_result(w, s, output, gpu)


def _schedule_input(w: WinogradStages, s: te.Schedule, gpu: Gpu) -> None:
    """A thread for each tile of a channel; neighbouring threads have neighbouring tiles."""
    own = s.cache_write(w.transformed, "register")
    stage = s[w.transformed]
    i, j, channel, tile, one = stage.axes
    stage.reorder(channel, tile, one, i, j)
    thread = bind_elements(stage, [channel, tile, one], gpu)
    stage.unroll(i)
    stage.unroll(j)
    for tensor in (w.padded, *w.inner, own):
        _in_registers(s[tensor], stage, thread)


def _schedule_products(w: WinogradStages, s: te.Schedule, gpu: Gpu) -> None:
    """Products of output channels by tiles, for each row and column of a tile."""
    part = s.cache_write(w.products, "register")
    stage, sums = s[w.products], s[part]
    i, j, output, column, one = stage.axes
    (channel,) = sums.op.reduce_axis
    n, _, outputs, count, _ = shape_of(w.products)
    method = device_method(ProductShapes(n * n, outputs, count, extent_of(channel.extent), FLOAT32), gpu, w.method)
    height, width = _sides(method)
    down, rows = stage.split(output, height, tail="shift")
    across, columns = stage.split(column, width, tail="shift")
    grid = [i, j, one, down, across]
    stage.reorder(*grid, rows, columns)
    *outer, column, one = sums.axes
    if isinstance(method, Strips):
        sums.compute_at(stage, bind_strips(stage, grid, rows, columns))
        sums.reorder(channel, *outer, one, column)
    else:
        lanes = access_lanes(gpu, FLOAT32, method.tile.columns, count)
        sums.compute_at(stage, bind_tile(stage, grid, rows, columns, method.tile, lanes))
        step, term = sums.split(channel, method.terms)
        sums.reorder(step, term, *outer, one, column)
        _load_step(w, s, part, step, method, gpu)
    register_tile(sums, *outer, one, column)


def _load_step(w: WinogradStages, s: te.Schedule, part: te.Tensor, step: IterVar, method: Tiled, gpu: Gpu) -> None:
    """The input channels of a step in shared memory: tiles, and weights where output channels are neighbours."""
    tile, terms = method.tile, method.terms
    tiles, weights = (s[s.cache_read(source, "shared", [part])] for source in (w.transformed, w.weight.tensor))
    for copy in (tiles, weights):
        copy.compute_at(s[part], step)
    *place, count, one = tiles.axes
    lanes = access_lanes(gpu, FLOAT32, extent_of(count.extent), tile.width)
    load_together(tiles, tile, [*place, one], count, lanes, terms * tile.width)
    *place, last = weights.axes
    are_neighbours = w.weight.layout == WEIGHT_LAYOUT
    lanes = access_lanes(gpu, FLOAT32, extent_of(last.extent), tile.height) if are_neighbours else 1
    load_together(weights, tile, place, last, lanes, terms * tile.height)


def _sides(method: Tiled | Strips) -> tuple[int, int]:
    """The rows and columns that a block computes."""
    return (method.rows, method.columns) if isinstance(method, Strips) else (method.tile.height, method.tile.width)


def _schedule_result(w: WinogradStages, s: te.Schedule, output: te.Tensor, gpu: Gpu) -> None:
    """A thread for each tile of an output channel."""
    host = host_on_device(s, w.result, output)
    if host is not w.result:
        s[w.result].compute_inline()
    stage = s[host]
    n, channel, y, x = stage.axes
    down, row = stage.split(y, w.side, tail="guard")
    across, column = stage.split(x, w.side, tail="guard")
    tiles = [n, channel, down, across]
    stage.reorder(*tiles, row, column)
    thread = bind_elements(stage, tiles, gpu)
    stage.unroll(row)
    stage.unroll(column)
    for tensor in w.results if w.maxima is None else (*w.results, w.maxima):
        _in_registers(s[tensor], stage, thread)


def _in_registers(stage: te.Stage, host: te.Stage, place: IterVar) -> None:
    """The part of a stage that a thread uses, with all loops unrolled."""
    stage.set_scope("register")
    stage.compute_at(host, place)
    for loop in stage.leaves:
        stage.unroll(loop)
