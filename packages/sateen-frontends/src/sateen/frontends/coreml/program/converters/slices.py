"""Operations that take parts of tensors: slices, crops, windows, axes in reverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sateen.frontends.core.operands import Operand, require_few, static_extents
from sateen.frontends.core.slices import turned
from sateen.frontends.coreml.program.node import Converter, OperationNode, defaulting
from sateen.frontends.coreml.shapes import resolved, windows_along
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError


def _masks(node: OperationNode, name: str, rank: int) -> Sequence[bool]:
    return node.attribute(name) if node.given(name) else [False] * rank


def _slice_by_index(node: OperationNode) -> Operand:
    """A masked begin or end is that of the axis; a squeezed axis is taken at its begin and left out."""
    x = node.take("x")
    parts, squeezes = _parts(node, x)
    op = resolved(node, parts, node.at("x"))
    if not any(squeezes):
        return node.result(op, x)
    part = node.step(op, x)
    left = tuple(extent for extent, squeezed in zip(part.type.shape, squeezes, strict=True) if not squeezed)
    return node.result(ops.Reshape(left), part)


def _parts(node: OperationNode, x: Value) -> tuple[Sequence[slice], Sequence[bool]]:
    """What is taken along each axis, and which axes are squeezed."""
    rank = x.type.rank
    begin_masks, end_masks, squeezes = (_masks(node, f"{name}_mask", rank) for name in ("begin", "end", "squeeze"))
    begins, ends = node.dimensions_of("begin"), node.dimensions_of("end")
    strides = node.integers("stride") if node.given("stride") else (1,) * rank
    for name, values in (("begin", begins), ("end", ends), ("stride", strides), ("begin_mask", begin_masks),
                         ("end_mask", end_masks), ("squeeze_mask", squeezes)):  # fmt: skip
        if len(values) != rank:
            raise FrontendError(f"expected {rank} numbers as {name}, one per axis, found {len(values)}")
    parts = []
    for axis in range(rank):
        begin, end = begins[axis], ends[axis]
        is_whole = (begin_masks[axis] or begin == 0) and (end_masks[axis] or end == x.type.shape[axis])
        if squeezes[axis]:
            (at,) = static_extents((begin,), f"the begin of axis {axis}")
            parts.append(slice(at, at + 1 if at != -1 else None, 1))
        elif is_whole and strides[axis] == 1:
            parts.append(slice(None))
        else:
            known = static_extents((0 if begin_masks[axis] else begin, 0 if end_masks[axis] else end), f"axis {axis}")
            parts.append(
                slice(None if begin_masks[axis] else known[0], None if end_masks[axis] else known[1], strides[axis])
            )
    return parts, squeezes


def _update_slice(node: OperationNode) -> Operand:
    """x, with a part of it exchanged: that of slice_by_index. Rows of the axes up to the last cut one are scattered."""
    x, update = node.take("x"), node.take("update")
    parts, _ = _parts(node, x)
    part = resolved(node, parts, node.at("x"))
    cut = [axis for axis, (n, p) in enumerate(zip(x.type.shape, part.infer(x.type)[0].shape, strict=True)) if n != p]
    cut += [axis for axis, step in enumerate(part.steps) if step != 1]
    if not cut:
        return node.result(ops.Reshape(x.type.shape), update)
    extents = static_extents(x.type.shape[: max(cut) + 1], "the axes up to the last one that is cut")
    starts, steps = (static_extents(values[: len(extents)], "the cut axes") for values in (part.starts, part.steps))
    counts = static_extents(part.infer(x.type)[0].shape[: len(extents)], "the cut axes")
    require_few(*counts, len(extents))
    along = [start + step * node.counted(n) for start, step, n in zip(starts, steps, counts, strict=True)]
    rows = np.stack(np.meshgrid(*along, indexing="ij"), axis=-1)
    exchanged = node.step(ops.Reshape((*counts, *x.type.shape[len(extents) :])), update)
    return node.result(ops.ScatterND(reduction="none"), x, node.parameter(rows, "rows"), exchanged)


def _slice_by_size(node: OperationNode) -> Operand:
    """A size of -1 takes what remains."""
    x = node.take("x")
    begins, sizes = node.integers("begin"), node.integers("size")
    if not len(begins) == len(sizes) == x.type.rank:
        raise FrontendError(f"expected {x.type.rank} begins and sizes, found {len(begins)} and {len(sizes)}")
    parts = []
    for axis, (begin, size) in enumerate(zip(begins, sizes, strict=True)):
        extent = x.type.shape[axis]
        start = begin if begin >= 0 else begin + static_extents((extent,), f"axis {axis}")[0]
        parts.append(slice(None) if (start, size) == (0, -1) else slice(start, None if size == -1 else start + size, 1))
    return node.result(resolved(node, parts, node.at("x")), x)


def _crop(node: OperationNode) -> Operand:
    """Amounts at the begin and end of height and width."""
    x = node.take_of_rank("x", 2, 3, 4, 5)
    (top, bottom), (left, right) = node.integers_of("crop_height", 2, 0), node.integers_of("crop_width", 2, 0)
    height, width = static_extents(x.type.shape[-2:], "the cropped axes")
    parts = [slice(None)] * (x.type.rank - 2) + [slice(top, height - bottom, 1), slice(left, width - right, 1)]
    return node.result(resolved(node, parts, node.at("x")), x)


def _reverse(node: OperationNode) -> Operand:
    x = node.take("x")
    return node.result(turned(x.type.shape, node.axes("axes", x.type.rank)), x)


def _sliding_windows(node: OperationNode) -> Operand:
    x = node.take("x")
    return windows_along(node, node.axis(x.type.rank), node.integer("size"), node.integer("stride"), node.at("x"))


SLICES: Mapping[str, Converter] = {
    "crop": _crop,
    "reverse": _reverse,
    "slice_by_index": _slice_by_index,
    "slice_by_size": _slice_by_size,
    "slice_update": _update_slice,
    "sliding_windows": defaulting(_sliding_windows, stride=1),
}
