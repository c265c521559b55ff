"""Operators that move all elements together: reshape, transpose, concatenate, split, slice, pad, repeat; and shapes."""

from __future__ import annotations

from math import ceil, isfinite

import numpy as np

from sateen.frontends.core.operands import (
    Operand,
    extents_array,
    normal_axis,
    open_dimensions_of,
    require_bound,
    static_extents,
)
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.shapes import filled_shape, squeezed_axes, with_axes, without_axes
from sateen.frontends.core.slices import limited, limited_step
from sateen.frontends.onnx.converters.constants import LARGEST_FILL
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Dim
from sateen.graph_ir.ops import Add, Cast, CumSum, Where
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError, FrontendError
from sateen.topi.computations.broadcast import broadcast_shape
from sateen.topi.dimensions import least, listed, may_be_at_least, product, rounded_up, symbols_of
from sateen.topi.types import MOST_DIMENSIONS


def _reshape_to(node: OnnxNode, extents: tuple[Dim, ...]) -> Operand:
    return node.result(ops.Reshape(shape=extents), node.value(0))


def _reshape(node: OnnxNode) -> Operand:
    return _reshape_to(node, _resolved_shape(node))


def _resolved_shape(node: OnnxNode) -> tuple[Dim, ...]:
    """The shape that Reshape gives, without 0 (as in the input) and -1 (what remains)."""
    wanted = node.required_dimensions("shape", 1)
    source = node.shape(0)
    kept = list(wanted)
    if not node.flag("allowzero"):
        if any(extent == 0 and axis >= len(source) for axis, extent in enumerate(wanted)):
            raise FrontendError(
                f"shape {listed(wanted)} copies an axis that the input of shape {listed(source)} does not have"
            )
        zeros = symbols_of(*(d for d in wanted if not isinstance(d, int) and (least(d) or 0) < 1))
        require_bound(zeros, f"which axes shape {listed(wanted)} copies")
        kept = [source[axis] if extent == 0 else extent for axis, extent in enumerate(wanted)]
    return filled_shape(kept, source)


def _flatten(node: OnnxNode) -> Operand:
    extents = node.shape(0)
    axis = node.integer("axis")
    if not -len(extents) <= axis <= len(extents):
        raise FrontendError(f"expected an axis of {-len(extents)} to {len(extents)}, found {axis}")
    axis += len(extents) if axis < 0 else 0
    return _reshape_to(node, (product(extents[:axis]), product(extents[axis:])))


def _squeeze(node: OnnxNode) -> Operand:
    shape = node.shape(0)
    axes = squeezed_axes(shape, node.setting("axes", 1), node.described(0))
    return _reshape_to(node, without_axes(shape, axes))


def _unsqueeze(node: OnnxNode) -> Operand:
    return _reshape_to(node, with_axes(node.shape(0), node.required_setting("axes", 1)))


def _transpose(node: OnnxNode) -> Operand:
    rank = node.rank(0)
    given = node.optional_integers("perm")
    permutation = tuple(reversed(range(rank))) if given is None else given
    if sorted(permutation) != list(range(rank)):
        raise FrontendError(f"expected a permutation of {rank} axes, found {list(permutation)}")
    return node.result(ops.Transpose(permutation=permutation), node.value(0))


def _concat(node: OnnxNode) -> Operand:
    """The axis is 1 if a model of opset 1 to 3 leaves it out."""
    axis = normal_axis(1 if node.attribute("axis") is None else node.integer("axis"), node.rank(0))
    return node.result(ops.Concat(axis=axis), *node.values())


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
    batch, channels, height, width = _image_shape(node)
    border = node.integers("border")
    if len(border) != 4:
        raise FrontendError(f"expected a border of 4 numbers, found {list(border)}")
    left, top, right, bottom = border
    given = node.optional_integers("scale")
    kept = (top + given[0], left + given[1]) if given is not None else (height - bottom, width - right)
    starts, ends = (0, 0, top, left), (batch, channels, *kept)
    return node.result(ops.Slice(starts=starts, ends=ends, steps=(1,) * 4), node.value(0))


def _image_shape(node: OnnxNode) -> tuple[int, int, int, int]:
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


def _expand(node: OnnxNode) -> Operand:
    wanted, source = node.required_dimensions("shape", 1), node.shape(0)
    if len(wanted) > MOST_DIMENSIONS:
        raise FrontendError(f"expected a shape of at most {MOST_DIMENSIONS} dimensions, found {len(wanted)}")
    try:
        extents = broadcast_shape(source, wanted)
    except ArgumentError:
        require_bound(symbols_of(*source, *wanted), f"whether {listed(source)} broadcasts against {listed(wanted)}")
        raise FrontendError(f"can't broadcast {listed(source)} against {listed(wanted)}") from None
    return node.result(ops.BroadcastTo(shape=extents), node.value(0))


def _constant_of_shape(node: OnnxNode) -> Operand:
    extents = node.required_dimensions("input", 0)
    if not all(may_be_at_least(extent, 0) for extent in extents):
        raise FrontendError(f"expected dimensions of zero or more, found {listed(extents)}")
    filled = node.tensor("value")
    data = np.zeros(1, np.float32) if filled is None else filled
    if data.size != 1:
        raise FrontendError(f"expected one number as value, found shape {list(data.shape)}")
    return node.result(ops.BroadcastTo(shape=extents), node.parameter(data.reshape(()), "element"))


def _tile(node: OnnxNode) -> Operand:
    """Opset 1 repeats one axis, named by an input; later each axis has a number of repeats."""
    rank = node.rank(0)
    repeats: tuple[Dim, ...]
    if node.version < 6:
        axis = normal_axis(int(node.scalar(2)), rank)
        repeats = tuple(int(node.scalar(1)) if i == axis else 1 for i in range(rank))
    else:
        repeats = node.required_dimensions("repeats", 1)
    if len(repeats) != rank or not all(may_be_at_least(times, 0) for times in repeats):
        raise FrontendError(f"expected {rank} repeats of zero or more, found {listed(repeats)}")
    return node.result(ops.Tile(repeats=repeats), node.value(0))


def _depth_to_space(node: OnnxNode) -> Operand:
    mode = node.text("mode") if node.knows("mode") else "DCR"
    if mode not in {"DCR", "CRD"}:
        raise FrontendError(f"expected mode DCR or CRD, found {mode!r}")
    return node.result(ops.DepthToSpace(block=node.integer("blocksize"), mode=mode), node.value(0))


def _space_to_depth(node: OnnxNode) -> Operand:
    """Opset 28 can put the channels outermost (CRD), which is a transposition."""
    block = node.integer("blocksize")
    mode = node.text("mode") if node.knows("mode") else "DCR"
    if mode == "DCR":
        return node.result(ops.SpaceToDepth(block=block), node.value(0))
    batch, channels, height, width = _image_shape(node)
    if mode != "CRD" or block < 1 or height % block or width % block:
        raise FrontendError(f"expected mode DCR or CRD and blocks that fit {height} x {width}, found {mode!r}, {block}")
    rows, columns = height // block, width // block
    blocks = node.step(ops.Reshape(shape=(batch, channels, rows, block, columns, block)), node.value(0))
    moved = node.step(ops.Transpose(permutation=(0, 1, 3, 5, 2, 4)), blocks)
    return node.result(ops.Reshape(shape=(batch, channels * block * block, rows, columns)), moved)


def _triangle(node: OnnxNode) -> Operand:
    k = int(node.scalar(1)) if node.has(1) else 0
    return node.result(ops.Trilu(upper=node.flag("upper"), k=k), node.value(0))


def _shape(node: OnnxNode) -> Array:
    """The shape of a value, from `start` to `end` as of opset 15."""
    extents = node.shape(0)
    end = node.attribute("end")
    return extents_array(extents[node.attribute("start") or 0 : len(extents) if end is None else end])


def _size(node: OnnxNode) -> Array:
    return extents_array([product(node.shape(0))]).reshape(())


def _range(node: OnnxNode) -> Operand:
    """ceil((limit - start) / delta) elements."""
    if open_dimensions_of(node.data(1)):
        return _range_to_dimension(node)
    start, limit, delta = (node.scalar(i) for i in range(3))
    if delta == 0 or not all(map(isfinite, (start, limit, delta))):
        raise FrontendError(f"expected finite numbers and a delta other than 0, found {start}, {limit}, {delta}")
    count = max(ceil((limit - start) / delta), 0)
    if count > LARGEST_FILL:
        raise UnsupportedError(f"a range of {count} elements is more than the {LARGEST_FILL} that importing evaluates")
    dtype = node.constant(0).dtype
    return node.evaluated((start + np.arange(count).astype(dtype) * np.array(delta, dtype)).astype(dtype))


def _range_to_dimension(node: OnnxNode) -> Operand:
    """Integers up to an open limit, as cumulative sums of deltas. Raises InferenceError if sizes decide whether there
    are any."""
    start, delta = node.scalar(0), node.scalar(2)
    room = node.data(1).reshape(()).item() - start
    if delta < 1 or room < 0:
        require_bound(open_dimensions_of(node.data(1)), node.described(1))
    deltas = node.step(ops.BroadcastTo(shape=(rounded_up(room, delta),)), node.literal(delta, DType.of("int64")))
    return node.result(Add(), node.step(CumSum(exclusive=True), deltas), node.literal(start, DType.of("int64")))


SHAPE: dict[str, Converter] = {
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "Crop": _crop,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "Flatten": _flatten,
    "Pad": _pad,
    "Range": _range,
    "Reshape": _reshape,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Trilu": _triangle,
    "Unsqueeze": _unsqueeze,
}
