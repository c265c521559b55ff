"""Shapes and parts of data, as both dialects state them, in the graph's terms."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.operands import require_few, static_extents
from sateen.frontends.core.shapes import with_axes
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.errors import FrontendError


def resolved(node: ModelNode, parts: Sequence[slice], index: int = 0) -> ops.Slice:
    """The Slice of an input that Python's slices give, one per axis: numbers below 0 count from the end."""
    starts: list[Dim] = []
    ends: list[Dim] = []
    steps: list[int] = []
    for axis, (extent, part) in enumerate(zip(node.shape(index), parts, strict=True)):
        if part.step == 0:
            raise FrontendError("expected steps other than 0")
        if part == slice(None) or (part.start is None and part.stop is None and part.step == 1):
            start, end, step = 0, extent, 1
        else:
            (known,) = static_extents((extent,), f"axis {axis} of {node.described(index)}")
            start, end, step = part.indices(known)
        starts.append(start)
        ends.append(end)
        steps.append(step)
    return ops.Slice(tuple(starts), tuple(ends), tuple(steps))


def stacked(node: ModelNode, values: Sequence[Value], axis: int) -> Value:
    """Values along a new axis, on the way to the node's result."""
    parts = [node.step(ops.Reshape(with_axes(v.type.shape, (axis,))), v) for v in values]
    return node.step(ops.Concat(axis=axis), *parts)


def windows_along(node: ModelNode, axis: int, size: int, step: int, index: int = 0) -> Value:
    """The node's result: all windows of a size along an axis, (extent - size) / step + 1 of them, in two axes."""
    (extent,) = static_extents((node.shape(index)[axis],), node.described(index))
    if not 0 < size <= extent or not 0 < step < 1 << 31:
        raise FrontendError(f"expected windows of 1 to {extent} elements and a step of 1 or more, found {size}, {step}")
    count = (extent - size) // step + 1
    require_few(count, size)
    places = node.parameter(step * node.counted(count)[:, None] + node.counted(size), "places")
    return node.result(ops.Gather(axis=axis), node.value(index), places)


def last_pixel_pads(
    amounts: Sequence[int], spatial: Sequence[int], kernel: Sequence[int], strides: Sequence[int]
) -> tuple[tuple[int, ...], bool]:
    """Pads (begin…, end…) with which the last window includes the last pixel, and whether they exceed the amounts.

    Outputs are ceil((n + 2p - k) / s) + 1, but with padding no window may begin in that at the end: Caffe's rule, and
    PyTorch's ceil_mode. Raises FrontendError if a window is larger than the padded data.
    """
    ends = []
    for n, k, s, p in zip(spatial, kernel, strides, amounts, strict=True):
        if n + 2 * p < k:
            raise FrontendError(f"expected at least {k} elements, the size of the window, found {n + 2 * p}")
        count = -(-(n + 2 * p - k) // s) + 1
        if any(amounts) and (count - 1) * s >= n + p:
            count -= 1
        ends.append((count - 1) * s + k - n - p)
    return (*amounts, *ends), any(end > amount for end, amount in zip(ends, amounts, strict=True))
