"""Reductions on devices: blocks of threads share the terms of some neighbouring results.

Neighbouring threads read neighbours in memory: the threads of a result take turns at terms along memory, and those of
a block first differ by their results where terms lie across it. They combine what they have in the same order always.
Few results of many terms are computed by two kernels: parts of each first.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from sateen.tensor_ir import te
from sateen.tensor_ir.ir import IterVar
from sateen.tensor_ir.targets import Gpu
from sateen.topi.schedules.register_tiles import (
    between,
    elements,
    extent_of,
    largest_power_of_two,
    reduce_in_vectors,
    register_tile,
    shape_of,
)
from sateen.topi.schedules.thread_tiles import ELEMENT_THREADS, own_columns

ALONE_TERMS = 16
"""The terms along memory that a thread adds alone, and the fewest that are worth another thread of a result."""
PART_TERMS = 32
"""The fewest terms of each thread in a part, which a second kernel combines with the others."""
WHOLE_TERMS = 128
"""The terms of a thread up to which a second kernel costs more than it saves."""
LONGEST_SUM = 1024
"""The most terms that a thread combines one after the other: this bounds its time, and the error of a sum."""


@dataclass(frozen=True, slots=True)
class Shares:
    """The results of a block, the threads of each, and the parts that the terms are cut into for a kernel of their own.

    On a processor a block is one thread: it computes the results one after the other where terms lie along memory, by
    vectors of terms, and otherwise at once, by vectors of results.
    """

    results: int
    threads: int
    parts: int = 1

    @staticmethod
    def of(results: int, terms: int, neighbours: int, columns: int, gpu: Gpu) -> Shares:
        """Those of reductions to `results` of `terms` each. `neighbours` results have terms that are neighbours in
        memory; 1 if the terms of one are. `columns` are the most that a thread with vectors has at a time."""
        if not gpu.runs_in_step and neighbours == 1:
            alone = min(-(-results // gpu.units), -(-LONGEST_SUM // terms))
            return Shares(alone, 1, parts_of(-(-results // alone), terms, columns, gpu))
        if not gpu.runs_in_step:
            width = min(neighbours, columns)
            return Shares(width, 1, parts_of(-(-results // width), terms, 1, gpu))
        most = min(gpu.block_threads, ELEMENT_THREADS)
        narrow = min(neighbours, gpu.warp)
        capacity = gpu.units * gpu.unit_threads
        threads = 1
        if neighbours == 1 and terms > ALONE_TERMS:
            threads = min(gpu.warp, most, largest_power_of_two(terms))
        while 2 * threads * narrow <= most and results * threads < capacity and terms >= 2 * threads * ALONE_TERMS:
            threads *= 2
        block = most // threads
        whole = results if neighbours == 1 else min(results, block // neighbours * neighbours)
        of_block = min(block, whole or block)
        return Shares(of_block, threads, parts_of(results * threads, terms, threads, gpu))


def parts_of(busy: int, terms: int, turns: int, gpu: Gpu) -> int:
    """The parts of a reduction for `busy` threads that work at once and take `turns` terms in a step."""
    if terms <= turns * WHOLE_TERMS:
        return 1
    wanted = min(gpu.units * gpu.unit_threads // busy, terms // (turns * PART_TERMS))
    return max(1, wanted, -(-terms // (turns * LONGEST_SUM)))


def reduce_by_threads(s: te.Schedule, reduction: te.Tensor, host: te.Tensor, neighbours: int, gpu: Gpu) -> None:
    """Bind a reduction and the loops of its host, which is the reduction or reads it element by element.

    `neighbours` are those of `Shares.of`. Requires results and terms.
    """
    for tensor in between(reduction, host):
        s[tensor].compute_inline()
    if not gpu.runs_in_step and neighbours > 1:
        neighbours = shape_of(host)[_column(host)]
    op = s[reduction].op
    terms, columns = prod(extent_of(axis.extent) for axis in op.reduce_axis), own_columns(t.dtype for t in op.inputs)
    shares = Shares.of(elements(reduction), terms, neighbours, columns, gpu)
    if shares.parts > 1:
        turns = columns if neighbours == 1 and not gpu.runs_in_step else shares.threads
        partial = _cut(s, reduction, -(-terms // (shares.parts * turns)) * turns, neighbours)
        reduce_by_threads(s, partial, partial, neighbours, gpu)
        reduce_by_threads(s, reduction, host, neighbours, gpu)
    elif gpu.runs_in_step:
        _share(s, reduction, host, shares, neighbours)
    elif neighbours == 1:
        _along_alone(s, reduction, host, shares.results, columns)
    else:
        _across_alone(s, reduction, host, shares.results)


def _share(s: te.Schedule, reduction: te.Tensor, host: te.Tensor, shares: Shares, neighbours: int) -> None:
    stage, part = s[host], s[reduction]
    across = neighbours > 1 or shares.threads == 1
    block, own = stage.split(stage.fuse(*stage.axes), shares.results)
    stage.bind(block, te.thread_axis("blockIdx.x"))
    stage.bind(own, te.thread_axis("threadIdx.x" if across else "threadIdx.y"))
    if host is not reduction or shares.threads == 1:
        part = s[_own(s, reduction, host)]
        part.compute_at(stage, own)
    share_terms(part, shares.threads, "threadIdx.y" if across else "threadIdx.x")


def share_terms(reduction: te.Stage, threads: int, axis: str) -> None:
    """Let so many threads, along an axis of the device, take turns at the terms of each result."""
    if threads > 1:
        terms = reduction.fuse(*reduction.op.reduce_axis)
        reduction.bind(reduction.split(terms, threads)[1], te.thread_axis(axis))


def _along_alone(s: te.Schedule, reduction: te.Tensor, host: te.Tensor, results: int, columns: int) -> None:
    own = _own(s, reduction, host)
    stage = s[host]
    block, result = stage.split(stage.fuse(*stage.axes), results)
    stage.bind(block, te.thread_axis("blockIdx.x"))
    reduce_in_vectors(s, own, columns, stage, result, 1)


def _across_alone(s: te.Schedule, reduction: te.Tensor, host: te.Tensor, results: int) -> None:
    own = s[_own(s, reduction, host)]
    stage, column = s[host], _column(host)
    loops = list(stage.axes)
    loops[column], columns = stage.split(loops[column], results, tail="shift")
    stage.reorder(*loops, columns)
    block = stage.fuse(*loops)
    stage.bind(block, te.thread_axis("blockIdx.x"))
    stage.vectorize(columns)
    compute_across(own, stage, block)


def compute_across(reduction: te.Stage, host: te.Stage, place: IterVar) -> None:
    """Compute neighbouring results at once, in the vectors of a thread."""
    reduction.compute_at(host, place)
    reduction.reorder(*reduction.op.reduce_axis, *reduction.axes)
    register_tile(reduction, *reduction.axes)


def _column(tensor: te.Tensor) -> int:
    """The last axis of more than one element; the last one if all have one."""
    return max((d for d, extent in enumerate(shape_of(tensor)) if extent > 1), default=len(tensor.shape) - 1)


def _cut(s: te.Schedule, reduction: te.Tensor, size: int, neighbours: int) -> te.Tensor:
    """Partial results of `size` terms each, beside each other where those of one result are to be read along memory."""
    stage = s[reduction]
    part, _ = stage.split(stage.fuse(*stage.op.reduce_axis), size)
    return _last(s.rfactor(reduction, part, len(stage.axes) if neighbours == 1 else 0))


def _own(s: te.Schedule, reduction: te.Tensor, host: te.Tensor) -> te.Tensor:
    """The reduction as a stage in the registers of a thread, which the host reads."""
    if host is reduction:
        return _last(s.cache_write(reduction, "register"))
    s[reduction].set_scope("register")
    return reduction


def _last(tensors: te.Tensor | tuple[te.Tensor, ...]) -> te.Tensor:
    """One of the results of an operation."""
    return tensors[-1] if isinstance(tensors, tuple) else tensors
