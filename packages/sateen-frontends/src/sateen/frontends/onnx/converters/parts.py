"""Parts of values, and values with borders: split, slice, crop, pad."""

from __future__ import annotations

from sateen.frontends.core.operands import (
    Operand,
    normal_axis,
    require_bound,
    static_extents,
)
from sateen.frontends.core.slices import limited, limited_step
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim
from sateen.graph_ir.ops import Cast, Where
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import listed, may_be_at_least, symbols_of


def _split(node: OnnxNode) -> tuple[Operand, ...]:
    axis = node.axis(node.rank(0)) if node.attribute("axis") is not None else 0
    sizes = _split_sizes(node, axis)
    return node.results(ops.Split(axis=axis, sizes=sizes), node.value(0), count=len(sizes))


def _split_sizes(node: OnnxNode, axis: int) -> tuple[Dim, ...]:
    """The extents of the parts that Split makes: given, or even, the last one smaller."""
    extent = node.shape(0)[axis]
    given = node.dimensions("split", 1)
    if given is not None:
        if sum(given) != extent or len(given) != len(node.outputs) or not all(may_be_at_least(n, 0) for n in given):
            require_bound(symbols_of(extent, *given), f"whether extent {extent} is split into {listed(given)}")
            raise FrontendError(f"can't split extent {extent} into {list(given)} for {len(node.outputs)} outputs")
        return given
    count = node.attribute("num_outputs") or len(node.outputs)
    if count != len(node.outputs):
        raise FrontendError(f"expected {count} outputs, found {len(node.outputs)}")
    if extent % count == 0:
        return (extent // count,) * count
    (extent,) = static_extents((extent,), node.described(0))
    if node.version < 18:
        raise FrontendError(f"can't split extent {extent} into {count} even parts")
    part = -(-extent // count)
    return tuple(min(part, max(extent - i * part, 0)) for i in range(count))


def _slice(node: OnnxNode) -> Operand:
    starts, ends, steps = _resolved_slice(node)
    return node.result(ops.Slice(starts=tuple(starts), ends=tuple(ends), steps=tuple(steps)), node.value(0))


def _resolved_slice(node: OnnxNode) -> tuple[list[Dim], list[Dim], list[int]]:
    """Starts, ends and steps of a Slice for every axis of its input, within the bounds of the axes."""
    rank = node.rank(0)
    starts, ends = node.required_dimensions("starts", 1), node.required_dimensions("ends", 2)
    given = node.setting("axes", 3)
    axes = tuple(normal_axis(axis, rank) for axis in (range(len(starts)) if given is None else given))
    strides = node.setting("steps", 4) if node.version >= 10 else None
    steps = (1,) * len(starts) if strides is None else strides
    if not len(starts) == len(ends) == len(axes) == len(steps) == len(set(axes)):
        raise FrontendError(
            f"expected as many starts, ends and steps as different axes, found starts {listed(starts)}, "
            f"ends {listed(ends)}, axes {list(axes)}, steps {list(steps)}"
        )
    shape = node.shape(0)
    full: tuple[list[Dim], list[Dim], list[int]] = ([0] * rank, list(shape), [1] * rank)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if step == 0:
            raise FrontendError("expected steps other than 0")
        extent = shape[axis]
        high = extent if step > 0 else extent - 1
        full[0][axis] = limited(start, extent, 0 if step > 0 or extent != 0 else -1, high)
        full[1][axis] = limited(end, extent, 0 if step > 0 else -1, high)
        full[2][axis] = limited_step(step, extent)
    return full


def _crop(node: OnnxNode) -> Operand:
    """Left, top, right and bottom borders of NCHW come off; or from left and top on, `scale` (height, width) stays."""
    batch, channels, height, width = image_shape(node)
    border = node.integers("border")
    if len(border) != 4:
        raise FrontendError(f"expected a border of 4 numbers, found {list(border)}")
    left, top, right, bottom = border
    given = node.optional_integers("scale")
    kept = (top + given[0], left + given[1]) if given is not None else (height - bottom, width - right)
    starts, ends = (0, 0, top, left), (batch, channels, *kept)
    return node.result(ops.Slice(starts=starts, ends=ends, steps=(1,) * 4), node.value(0))


def image_shape(node: OnnxNode) -> tuple[int, int, int, int]:
    extents = node.static_shape(0)
    if len(extents) != 4:
        raise FrontendError(f"expected an input of 4 dimensions, NCHW, found {list(extents)}")
    return extents[0], extents[1], extents[2], extents[3]


def _pad(node: OnnxNode) -> Operand:
    """Pads are an attribute up to opset 10, called paddings in opset 1; the value likewise."""
    rank = node.rank(0)
    pads = node.required_dimensions("paddings" if node.version == 1 else "pads", 1)
    given = node.setting("axes", 3) if node.version >= 18 else None
    axes = tuple(range(rank)) if given is None else tuple(normal_axis(axis, rank) for axis in given)
    if len(pads) != 2 * len(axes) or len(set(axes)) < len(axes):
        found = f"{listed(pads)} of axes {list(axes)}"
        raise FrontendError(f"expected {2 * len(axes)} pads of different axes, found {found}")
    full: list[Dim] = [0] * (2 * rank)
    for i, axis in enumerate(axes):
        full[axis], full[rank + axis] = pads[i], pads[len(axes) + i]
    is_computed = not node.knows("value") and node.is_value(2) and node.text("mode") == "constant"
    if node.knows("value"):
        value = node.number("value")
    else:
        value = node.scalar(2) if node.has(2) and not is_computed else 0
    if isinstance(value, bool):
        value = int(value)
    mode = node.text("mode")
    if mode not in {"constant", "reflect", "edge", "wrap"}:
        raise FrontendError(f"expected mode constant, reflect, edge or wrap, found {mode!r}")
    if is_computed:
        return _padded_with(node, ops.Pad(mode=mode, pads=tuple(full)))
    return node.result(ops.Pad(mode=mode, pads=tuple(full), value=value), node.value(0))


def _padded_with(node: OnnxNode, op: ops.Pad) -> Operand:
    """Data padded with a number that is computed at run time, which goes where a padded mask of ones has zeros."""
    ones = node.step(ops.BroadcastTo(shape=node.shape(0)), node.literal(1, DType.of("uint8")))
    inside = node.step(Cast(dtype=DType.of("bool")), node.step(op, ones))
    value = node.value(2) if not node.rank(2) else node.step(ops.Reshape(shape=()), node.value(2))
    return node.result(Where(), inside, node.step(op, node.value(0)), value)


PARTS: dict[str, Converter] = {
    "Crop": _crop,
    "Pad": _pad,
    "Slice": _slice,
    "Split": _split,
}
