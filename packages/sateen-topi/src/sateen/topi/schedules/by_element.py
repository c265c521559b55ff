"""The schedule of devices for computations without one of their own: a thread for each element, or for a few."""

from __future__ import annotations

from math import gcd, prod

from sateen.tensor_ir import Machine, te
from sateen.tensor_ir.targets import Gpu
from sateen.topi.schedules.injective import Accesses
from sateen.topi.schedules.register_tiles import extent_of


def schedule_by_element(s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
    """Fuse the data axes of each stage into one parallel loop; a thread computes an element and its whole reduction.

    Where a stage and all that it reads are neighbours in memory, and elements fill the device with threads, a thread
    computes as many neighbours as it accesses at once. Lowering of networks for devices spreads parallel loops over
    threads. Bodies of loops are as they are.
    """
    del output
    for stage in s.stages:
        axes = [leaf for leaf in stage.leaves if leaf in set(stage.axes)]
        if not stage.op.body or stage.inlined or stage.attach is not None or not axes:
            continue
        lanes = 1 if machine.gpu is None else _lanes(s, stage, machine.gpu)
        if lanes == 1:
            stage.parallel(stage.fuse(*axes))
            continue
        outer, lane = stage.split(stage.fuse(*axes), lanes)
        stage.parallel(outer)
        stage.vectorize(lane)


def _lanes(s: te.Schedule, stage: te.Stage, gpu: Gpu) -> int:
    """The elements of a thread of a stage without reductions: all types of elements are to be accessed at once."""
    op = stage.op
    if op.reduce_axis or any(not extent_of(axis.extent) for axis in op.axis):
        return 1
    accesses = Accesses(s, op)
    widest = max(t.dtype.bytes for t in (*op.outputs, *accesses.tensors))
    total = prod(extent_of(axis.extent) for axis in op.axis)
    lanes = gcd(max(1, gpu.access_bytes // widest), total)
    while lanes > 1:
        group = accesses.fusible(op.axis, lanes)
        is_whole = prod(extent_of(axis.extent) for axis in group) % lanes == 0
        if is_whole and total // lanes >= gpu.units * gpu.unit_threads and accesses.moves_by(op.axis, group, lanes):
            return lanes
        lanes //= 2
    return 1
