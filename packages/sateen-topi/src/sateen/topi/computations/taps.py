"""Axes whose places are each made of a few elements, given by tables: interpolation, adaptive pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Expr, IterVar, is_among
from sateen.topi.computations.arguments import require_axes, require_views
from sateen.topi.computations.pass_methods import Pass, Passes, rows_at_once
from sateen.topi.schedules import (
    Accesses,
    Computation,
    elements,
    extent_of,
    for_machines,
    host_of,
    host_on_device,
    in_registers,
    reduce_by_threads,
    register_tile,
    shape_of,
    share_among_threads,
    unroll_look_ups,
)
from sateen.topi.types import Layout, View, compute

Array = np.ndarray[Any, Any]
KEPT = Passes(vectors=32)
"""What is kept where no method says so: so much that what is read was not written just before."""
UNROLLED_VECTORS = 512
"""The most vectors at places of a table that are written out where each is loaded as it is: neighbours share loads."""
WORK = 4
"""The elements that count as touched for each of a pass."""


@dataclass(frozen=True, slots=True, eq=False)
class Taps:
    """The elements along an axis for each place of the result, [places, taps], and their weights.

    Without weights the result is their maximum.
    """

    axis: int
    places: Array
    weights: Array | None = None


def ordered(taps: Sequence[Taps], shape: Sequence[int]) -> list[Taps]:
    """Those along axes of a shape that shrink most first."""
    return sorted(taps, key=lambda one: one.places.shape[0] / shape[one.axis])


def passes_of(taps: Sequence[Taps], shape: Sequence[int]) -> tuple[Pass, ...]:
    """What methods are told of them, in their order."""
    return tuple(Pass(one.axis, *one.places.shape) for one in ordered(taps, shape))


def in_passes(
    x: View,
    taps: Sequence[Taps],
    name: str,
    layout: Layout,
    kind: DType,
    method: Passes | None = None,
    finish: Callable[[Expr, Sequence[Expr]], Expr] | None = None,
) -> Computation:
    """One axis after the other, in numbers of type `kind`, in the order of `ordered`.

    `finish` makes an element from the last pass's and its index.
    """
    require_views(name, x=x)
    require_axes(name, [one.axis for one in taps], x.ndim)
    passes: list[te.Tensor] = []
    last = x
    for one in ordered(taps, x.shape):
        last = _applied(last, one, layout, kind)
        passes.append(last.tensor)
    if not passes:
        return Computation((compute(x.shape, x, name, layout),))

    def element(*index: Expr) -> Expr:
        value = last(*index)
        return (value if finish is None else finish(value, index)).astype(x.dtype)

    result = last
    if kind != x.dtype or finish is not None:
        result = compute(last.shape, element, name, layout)

    def schedule(s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        host = host_of(s, result.tensor, output, machine)
        _schedule_passes(s, passes, host, KEPT if method is None else method, machine)

    def on_device(s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
        assert machine.gpu is not None
        for tensor in passes[:-1]:
            reduce_by_threads(s, tensor, tensor, shape_of(tensor)[-1], machine.gpu)
        host = host_on_device(s, result.tensor, output)
        reduce_by_threads(s, passes[-1], host, shape_of(passes[-1])[-1], machine.gpu)

    return Computation((result,), for_machines(schedule, on_device))


def _applied(x: View, taps: Taps, layout: Layout, kind: DType) -> View:
    places = te.constant(taps.places, "places")
    weights = None if taps.weights is None else te.constant(taps.weights.astype(kind.numpy), "weights")
    after, count = taps.places.shape
    tap = te.reduce_axis(count, "tap")
    shape = (*x.shape[: taps.axis], after, *x.shape[taps.axis + 1 :])

    def element(*physical: Expr) -> Expr:
        index = list(layout.logical_index(physical))
        i = index[taps.axis]
        index[taps.axis] = places(i, tap)
        value = x(*index).astype(kind)
        return te.max(value, axis=tap) if weights is None else te.sum(value * weights(i, tap), axis=tap)

    return View(te.compute(layout.physical_shape(shape), element, name="combined"), shape, layout)


def _schedule_passes(
    s: te.Schedule, passes: Sequence[te.Tensor], host: te.Tensor, method: Passes, machine: Machine
) -> None:
    """The last pass in the loops of the host. The passes before it are computed there for some rows at a time, so that
    their results stay in the first cache; apart from that loop where too few iterations would be left for threads."""
    along = [_first_looked_up(s, tensor) for tensor in passes]
    outside = [min(along[i:]) for i in range(1, len(along))]
    apart = sum(around == 0 or prod(shape_of(host)[:around]) < machine.cores for around in outside)
    for tensor in passes[:apart]:
        _vectors_of(s, tensor, tensor, machine).share(elements(tensor), machine)
    vectors = _vectors_of(s, passes[-1], host, machine, along[-1])
    if apart == len(outside):
        vectors.share(elements(host), machine)
        return
    loops = vectors.loops
    rows = rows_at_once(shape_of(passes[-2]), along[-1], method.vectors, machine.lanes(passes[-2].dtype))
    if rows > 1:
        loops[along[-1] - 1], _ = vectors.stage.split(loops[along[-1] - 1], rows, tail="partition")
    outermost = vectors.share(elements(host), machine, outside[apart])
    for tensor, around in zip(passes[apart:-1], outside[apart:], strict=True):
        part = _vectors_of(s, tensor, tensor, machine, around)
        part.tile.compute_at(part.stage, part.loop)
        part.stage.set_scope("local")
        part.stage.compute_at(vectors.stage, outermost if around == outside[apart] else loops[around - 1])


def _first_looked_up(s: te.Schedule, reduction: te.Tensor) -> int:
    """The first axis of a pass that its tables are along."""
    accesses = Accesses(s, reduction.op)
    return next(d for d, axis in enumerate(reduction.op.axis) if accesses.look_ups(axis))


@dataclass(frozen=True, slots=True, eq=False)
class _Vectors:
    """A pass in the loops of the stage that writes it, a vector along memory at a time in registers."""

    stage: te.Stage
    tile: te.Stage
    loop: IterVar
    """The loop over vectors."""
    loops: list[IterVar]
    """All loops that are not written out, outermost first."""

    def share(self, work: int, machine: Machine, outermost: int | None = None) -> IterVar:
        """Share loops among threads, by default all, and compute the tile in them; the last of those that are left."""
        place = share_among_threads(self.stage, self.loops[:outermost], work * WORK, machine)
        self.tile.compute_at(self.stage, self.loop if is_among(self.loop, self.stage.leaves) else place)
        return place


def _vectors_of(s: te.Schedule, reduction: te.Tensor, host: te.Tensor, machine: Machine, around: int = 0) -> _Vectors:
    """A pass of which the host's first loops, `around` of them, take a part at a time. Vectors along its tables are
    written out, so that their places are known."""
    tile = s[in_registers(s, reduction, host)]
    stage = s[host]
    *loops, last = stage.axes
    vector, lane = stage.split(last, min(machine.lanes(reduction.dtype), extent_of(last.extent)), tail="partition")
    stage.vectorize(lane)
    accesses, taps = Accesses(s, reduction.op), extent_of(reduction.op.reduce_axis[0].extent)
    in_vector, *in_column = (accesses.look_ups(axis) * taps for axis in reversed(reduction.op.axis))
    if not (loops and unroll_look_ups(stage, vector, in_vector, machine)):
        whole = extent_of(vector.extent) == 1 and len(loops) > max(around, 1)
        if whole and unroll_look_ups(stage, loops[-1], in_column[0], machine, UNROLLED_VECTORS):
            loops.pop()
        else:
            loops.append(vector)
    *data, lane = tile.axes
    (tap,) = tile.op.reduce_axis
    tile.reorder(tap, *data, lane)
    register_tile(tile, tap, *data, lane)
    return _Vectors(stage, tile, vector, loops)
