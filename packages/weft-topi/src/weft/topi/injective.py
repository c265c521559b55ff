"""The schedule of injective groups: one loop nest over the output's memory, everything inlined into it."""

from __future__ import annotations

from weft.tensor_ir import Machine, te
from weft.tensor_ir.ir.expr import Const, IterVar

SERIAL_ELEMENTS = 1 << 14
"""Below this many elements a loop isn't worth the launch of a parallel region."""


def schedule_injective(s: te.Schedule, output: te.Tensor, machine: Machine) -> None:
    """Vectorize along memory, share the outer loops among threads where there is enough work."""
    stage = s[output]
    axes = list(stage.axes)
    if not axes:
        return
    total = 1
    for axis in axes:
        assert isinstance(axis.extent, Const)
        total *= int(axis.extent.value)
    vectorize_innermost(stage, axes, machine.lanes(output.dtype))
    if total >= SERIAL_ELEMENTS:
        parallelize_outer(stage)


def vectorize_innermost(stage: te.Stage, axes: list[IterVar], lanes: int) -> None:
    """Vectorize the last axis; where it is shorter than a vector, as much of the axes before it as memory allows."""
    last = axes[-1]
    assert isinstance(last.extent, Const)
    while int(last.extent.value) % lanes and len(axes) > 1 and int(last.extent.value) < 8 * lanes:
        axes.pop()
        last = stage.fuse(axes[-1], last)
        axes[-1] = last
        assert isinstance(last.extent, Const)
    if int(last.extent.value) >= lanes:
        _, last = stage.split(last, factor=lanes, tail="partition")
    stage.vectorize(last)


def parallelize_outer(stage: te.Stage) -> None:
    """Share the outermost loop among threads, fused with the next ones while it is short."""
    loops = [leaf for leaf in stage.leaves if leaf not in stage.kinds]
    if not loops:
        return
    outer = loops[0]
    for inner in loops[1:]:
        if isinstance(outer.extent, Const) and int(outer.extent.value) >= 16:
            break
        if stage.pragmas.get(inner):
            break
        outer = stage.fuse(outer, inner)
    stage.parallel(outer)
