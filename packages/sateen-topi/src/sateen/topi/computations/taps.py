"""Axes whose places are each made of a few elements, given by tables: interpolation, adaptive pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.ir import Expr
from sateen.topi.computations.arguments import require_axes, require_views
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


@dataclass(frozen=True, slots=True, eq=False)
class Taps:
    """The elements along an axis for each place of the result, [places, taps], and their weights.

    Without weights the result is their maximum.
    """

    axis: int
    places: Array
    weights: Array | None = None


def in_passes(
    x: View,
    taps: Sequence[Taps],
    name: str,
    layout: Layout,
    kind: DType,
    finish: Callable[[Expr, Sequence[Expr]], Expr] | None = None,
) -> Computation:
    """One axis after the other, in numbers of type `kind`: those that shrink most first.

    `finish` makes an element from the last pass's and its index.
    """
    require_views(name, x=x)
    require_axes(name, [one.axis for one in taps], x.ndim)
    passes: list[te.Tensor] = []
    last = x
    for one in sorted(taps, key=lambda t: t.places.shape[0] / x.shape[t.axis]):
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
        for tensor in passes[:-1]:
            _schedule_pass(s, tensor, tensor, machine)
        _schedule_pass(s, passes[-1], host_of(s, result.tensor, output, machine), machine)

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


def _schedule_pass(s: te.Schedule, reduction: te.Tensor, host: te.Tensor, machine: Machine) -> None:
    """Vectors along memory, all taps of an element at once; along the axis of the taps each vector by itself."""
    tile = in_registers(s, reduction, host)
    stage = s[host]
    *loops, last = stage.axes
    outer, lane = stage.split(last, min(machine.lanes(reduction.dtype), extent_of(last.extent)), tail="partition")
    stage.vectorize(lane)
    look_ups = Accesses(s, reduction.op).look_ups(reduction.op.axis[-1]) * extent_of(reduction.op.reduce_axis[0].extent)
    unrolled = loops and unroll_look_ups(stage, outer, look_ups, machine)
    place = share_among_threads(stage, [*loops, *([] if unrolled else [outer])], elements(host) * 4, machine)
    s[tile].compute_at(stage, outer if unrolled else place)
    part = s[tile]
    *data, lane = part.axes
    (tap,) = part.op.reduce_axis
    part.reorder(tap, *data, lane)
    register_tile(part, tap, *data, lane)
