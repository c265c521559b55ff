"""Computations that are written as loops (te.extern)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sateen.runtime.dtype import DType
from sateen.tensor_ir import te
from sateen.tensor_ir.targets import Gpu
from sateen.topi.schedules.computation import Computation
from sateen.topi.types import Layout, View

Body = Callable[[list[te.Buffer], list[te.Buffer]], te.Stmt]
"""The loops over buffers of the inputs and the outputs."""
BodyOfBlocks = Callable[[list[te.Buffer], list[te.Buffer], Gpu], te.Stmt]
"""The same by blocks of threads of a device."""


def written(
    name: str, outputs: Sequence[tuple[Sequence[int], DType | str]], inputs: Sequence[View], body: Body,
    by_blocks: BodyOfBlocks | None = None,
) -> Computation:  # fmt: skip
    """What loops write: row-major outputs, each of a shape and a type. `by_blocks` writes the same on devices whose
    threads run in step."""
    shapes = [tuple(shape) for shape, _ in outputs]
    tensors = te.extern(shapes, [v.tensor for v in inputs], body, name=name, dtype=[dtype for _, dtype in outputs])
    views = tuple(View(t, s, Layout.row_major(len(s))) for t, s in zip(tensors, shapes, strict=True))
    if by_blocks is None:
        return Computation(views)
    return Computation(
        views, by_blocks=lambda gpu: written(name, outputs, inputs, lambda ins, outs: by_blocks(ins, outs, gpu))
    )
