"""Convolutions of float16 and bfloat16 on tensor cores: products of the weights and of the input under each tap.

A step of a block is some channels under one tap. The part of the input that lies there is gathered for the positions of
the block, of all items of a batch one behind the other, with zeros for padding.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Expr
from sateen.tensor_ir.targets import Gpu
from sateen.topi.computations.convolution.shapes import ConvolutionShapes
from sateen.topi.computations.products import ProductShapes, Warped, warp_candidates
from sateen.topi.computations.windows import Window
from sateen.topi.methods import Candidate
from sateen.topi.schedules import (
    Computation,
    Factor,
    access_lanes,
    extent_of,
    flattened,
    host_on_device,
    on_devices,
    schedule_warp_tiles,
    store_lanes,
    unflattened,
    whole_terms,
)
from sateen.topi.types import FLOAT32, Layout, View


def candidates(p: ConvolutionShapes, gpu: Gpu) -> list[Candidate]:
    """Tiles of warps of output channels by positions, best first; none for convolutions in groups."""
    if p.groups > 1:
        return []
    outputs, channels, *kernel = p.weight
    shapes = ProductShapes(1, outputs, p.data[0] * prod(p.output), channels, p.dtype)
    is_product = _is_product(p.window, p.data[2:])
    has_vectors = is_product and access_lanes(gpu, p.dtype, p.output[-1]) > 1
    costs = None if is_product else gpu.gathered_cost, None if has_vectors else gpu.gathered_cost
    return warp_candidates(shapes, gpu, prod(kernel), costs)


def _is_product(window: Window, spatial: tuple[int, ...]) -> bool:
    """Whether each position is the input's own."""
    return prod(window.kernel) == 1 and window.output(spatial) == tuple(spatial) and set(window.strides) == {1}


def conv_on_warps(data: View, weight: View, bias: View | None, window: Window, method: Warped) -> Computation:
    """data [N, C, …] * weight [O, C, …] + bias [O], row-major, of float16 or bfloat16."""
    n, channels, *spatial = data.shape
    outputs = weight.shape[0]
    out = window.output(spatial)
    terms = whole_terms(channels)
    channel = te.reduce_axis(terms, "c")
    taps = [te.reduce_axis(extent, f"k{d}") for d, extent in enumerate(window.kernel)]
    zero = te.const(0, data.dtype)

    def present(inside: Expr, value: Expr) -> Expr:
        return te.if_then_else(inside, value, zero)

    def of_weights(o: Expr, c: Expr, *tap: Expr) -> Expr:
        if terms == channels:
            return weight(o, c, *tap)
        return present(c < channels, weight(o, te.minimum(c, channels - 1), *tap))

    def of_data(c: Expr, *index: Expr) -> Expr:
        *tap, place = index
        item, *position = unflattened(place, (n, *out))
        read = [window.position(d, y, k) for d, (y, k) in enumerate(zip(position, tap, strict=True))]
        # loads of places that are there need no branch, so that a thread waits for several of them at once
        near = [te.minimum(te.maximum(i, 0), extent - 1) for i, extent in zip(read, spatial, strict=True)]
        if terms == channels:
            return present(window.inside(spatial, out, read), data(item, c, *near))
        inside = te.all(window.inside(spatial, out, read), c < channels)
        return present(inside, data(item, te.minimum(c, channels - 1), *near))

    left: te.Tensor = te.compute((outputs, terms, *window.kernel), of_weights, name="weights")
    right: te.Tensor = te.compute((terms, *window.kernel, n * prod(out)), of_data, name="inputs")

    def element(o: Expr, place: Expr) -> Expr:
        factors = left(o, channel, *taps), right(channel, *taps, place)
        return te.sum(factors[0].astype(FLOAT32) * factors[1].astype(FLOAT32), axis=[channel, *taps])

    master: te.Tensor = te.compute((outputs, n * prod(out)), element, name="conv")

    def finished(item: Expr, o: Expr, *position: Expr) -> Expr:
        value = master(o, flattened((item, *position), (n, *out)))
        return (value if bias is None else value + bias(o).astype(FLOAT32)).astype(data.dtype)

    shape = (n, outputs, *out)
    result: te.Tensor = te.compute(shape, finished, name="biased")
    plan = _Plan(data, window, left, right, master, result, method)
    return Computation((View(result, shape, Layout.row_major(len(shape))),), on_devices(plan.schedule))


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """The stages of a convolution on tensor cores."""

    data: View
    window: Window
    left: te.Tensor
    right: te.Tensor
    master: te.Tensor
    result: te.Tensor
    method: Warped

    def schedule(self, s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        """Tiles of warps, of output channels by positions."""
        gpu = machine.gpu
        assert gpu is not None
        host = host_on_device(s, self.result, output)
        tile, stage = self.method.tile, s[host]
        n, o, *position = stage.axes
        stage.reorder(o, n, *position)
        width = extent_of(position[-1].extent)  # rows of positions are cut into whole lanes
        is_product = _is_product(self.window, self.data.shape[2:])
        row, channel, *taps = s[self.left].axes
        lanes = access_lanes(gpu, self.left.dtype, self.data.shape[1], tile.terms) if is_product else 1
        left = Factor(self.left, (row, *taps), channel, row, lanes)
        channel, *taps, place = s[self.right].axes
        lanes = access_lanes(gpu, self.right.dtype, width, tile.width) if is_product else 1
        right = Factor(self.right, (channel, *taps), place, channel, lanes)
        columns = stage.fuse(n, *position)
        lanes = store_lanes(host, width, gpu)
        schedule_warp_tiles(s, host, [], o, columns, self.master, (left, right), tile, lanes)
