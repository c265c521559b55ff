"""Prefetches of the block of a tensor behind the one that is read (`Stage.prefetch_next`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.expr import Expr, IterVar, Var
from sateen.tensor_ir.ir.visit import substitute, walk
from sateen.tensor_ir.lowering.stage_plan import StagePlan
from sateen.tensor_ir.schedule.relations import Fuse
from sateen.tensor_ir.schedule.state import NextBlockRequest
from sateen.tensor_ir.targets import LINE_BYTES

Leaves = Sequence[tuple[IterVar, StagePlan]]
"""Loops, outermost first, with the plans that have their extents."""


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop around a prefetch, or one of those that were fused into it: its value over variables of loops."""

    axis: IterVar
    value: Expr
    extent: Expr


def next_block(
    buffer: Buffer, leading: Sequence[Expr], leaves: Leaves, request: NextBlockRequest, analyzer: Analyzer
) -> list[tuple[Expr, ...]]:
    """The indices of the elements to prefetch in an iteration of the leaves, where the block at the `leading` indices
    is read.

    The loops inside of the last one that these depend on share the lines evenly; each takes a whole number of them.
    Raises ScheduleError for sizes without a known bound.
    """
    inside = _inside(leading, leaves)
    size = analyzer.upper(analyzer.form(buffer.stride_exprs()[len(leading) - 1] * buffer.dtype.bytes))
    extents = [n for n in (analyzer.upper(analyzer.form(loop.extent)) for loop in inside) if n is not None]
    if size is None or len(extents) < len(inside):
        raise ScheduleError(
            f"prefetch_next at axis {request.axis.name!r}: expects known sizes of {buffer.name!r} and of the loops "
            f"{', '.join(loop.axis.name for loop in inside)}"
        )
    lines, streams = -(-size // LINE_BYTES), request.streams
    part = -(-lines // streams)
    place, own = _share(inside, extents, lines)
    if own > request.most:
        return []
    if own == 1:
        found = [place if streams == 1 else place // streams + place % streams * part]
    else:
        place, own = _share(inside, extents, part)
        found = [place + (stream * part + i) for i in range(own) for stream in range(streams)]
    *outer, last = leading
    inner = [ex.const(0)] * (len(buffer.shape) - len(leading) - 1)
    return [
        (*outer, analyzer.simplify(last + 1), *inner, analyzer.simplify(line * (LINE_BYTES // buffer.dtype.bytes)))
        for line in found
    ]


def _share(loops: Sequence[Loop], extents: Sequence[int], lines: int) -> tuple[Expr, int]:
    """The first line of an iteration, and how many it has."""
    place: Expr = ex.const(0)
    for loop, extent in zip(loops, extents, strict=True):
        lines = -(-lines // max(1, extent))
        place = place + loop.value * lines
    return place, lines


def _inside(leading: Sequence[Expr], leaves: Leaves) -> Sequence[Loop]:
    """The loops inside of the last one that the leading indices depend on."""
    loops: list[Loop] = []
    whole: dict[Var, Expr] = {}
    analyzer = Analyzer()
    for leaf, plan in leaves:
        parts = list(_parts(leaf, leaf, plan))
        total: Expr = ex.const(0)
        for part in parts:
            analyzer.bind(part.axis, 0, part.extent)
            total = total * part.extent + part.axis
        whole[leaf] = total
        loops += parts
    used = {v for index in leading for v in walk(analyzer.simplify(substitute(index, whole)))}
    outside = [i for i, loop in enumerate(loops, start=1) if loop.axis in used]
    return loops[max(outside, default=0) :]


def _parts(axis: IterVar, value: Expr, plan: StagePlan) -> Iterator[Loop]:
    """A loop as those that were fused into it, outermost first."""
    fused = next((r for r in plan.stage.relations if isinstance(r, Fuse) and r.fused is axis), None)
    if fused is None:
        yield Loop(axis, value, plan.extents.get(axis, axis.extent))
        return
    inner = plan.extents[fused.inner]
    yield from _parts(fused.outer, value // inner, plan)
    yield from _parts(fused.inner, value % inner, plan)
