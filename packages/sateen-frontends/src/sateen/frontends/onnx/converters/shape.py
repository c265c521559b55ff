"""Operators that move elements: reshape, transpose, concatenate, split, slice, pad, repeat, gather and scatter."""

from __future__ import annotations

from math import prod

import numpy as np

from sateen.frontends.onnx.emitter import Operand
from sateen.frontends.onnx.node import Converter, ImportedNode, normal_axis, static_extents
from sateen.frontends.onnx.shape_arithmetic import (
    arange,
    resolved_shape,
    resolved_slice,
    shape,
    size,
    split_sizes,
    squeezed_axes,
    unsqueezed_axes,
)
from sateen.graph_ir.ops import shape as ops
from sateen.graph_ir.ops.broadcast import Less, Subtract, Where
from sateen.graph_ir.ops.element_wise import Cast
from sateen.graph_ir.ops.gather import Gather, GatherElements, GatherND, ScatterElements, ScatterND, TensorScatter
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.types import MOST_DIMENSIONS


def _reshape_to(node: ImportedNode, extents: tuple[int, ...]) -> Operand:
    return node.result(ops.Reshape(shape=extents), node.value(0))


def _reshape(node: ImportedNode) -> Operand:
    return _reshape_to(node, resolved_shape(node))


def _flatten(node: ImportedNode) -> Operand:
    extents = node.static_shape(0)
    axis = node.integer("axis")
    if not -len(extents) <= axis <= len(extents):
        raise FrontendError(f"expected an axis of {-len(extents)} to {len(extents)}, found {axis}")
    axis += len(extents) if axis < 0 else 0
    return _reshape_to(node, (prod(extents[:axis]), prod(extents[axis:])))


def _squeeze(node: ImportedNode) -> Operand:
    axes = squeezed_axes(node)
    return _reshape_to(node, tuple(extent for i, extent in enumerate(node.static_shape(0)) if i not in axes))


def _unsqueeze(node: ImportedNode) -> Operand:
    extents = iter(node.static_shape(0))
    axes = unsqueezed_axes(node)
    return _reshape_to(node, tuple(1 if i in axes else next(extents) for i in range(node.rank(0) + len(axes))))


def _transpose(node: ImportedNode) -> Operand:
    rank = node.rank(0)
    given = node.optional_integers("perm")
    permutation = tuple(reversed(range(rank))) if given is None else given
    if sorted(permutation) != list(range(rank)):
        raise FrontendError(f"expected a permutation of {rank} axes, found {list(permutation)}")
    return node.result(ops.Transpose(permutation=permutation), node.value(0))


def _concat(node: ImportedNode) -> Operand:
    """The axis is 1 where opset 1 to 3 leave it out."""
    axis = normal_axis(1 if node.attribute("axis") is None else node.integer("axis"), node.rank(0))
    return node.result(ops.Concat(axis=axis), *node.values())


def _split(node: ImportedNode) -> tuple[Operand, ...]:
    axis = node.axis(node.rank(0)) if node.attribute("axis") is not None else 0
    sizes = split_sizes(node, axis)
    return node.results(ops.Split(axis=axis, sizes=sizes), node.value(0), count=len(sizes))


def _slice(node: ImportedNode) -> Operand:
    starts, ends, steps = resolved_slice(node)
    return node.result(ops.Slice(starts=tuple(starts), ends=tuple(ends), steps=tuple(steps)), node.value(0))


def _crop(node: ImportedNode) -> Operand:
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


def _image_shape(node: ImportedNode) -> tuple[int, int, int, int]:
    extents = node.static_shape(0)
    if len(extents) != 4:
        raise FrontendError(f"expected an input of 4 dimensions, NCHW, found {list(extents)}")
    return extents[0], extents[1], extents[2], extents[3]


def _pad(node: ImportedNode) -> Operand:
    """Pads are an attribute up to opset 10, called paddings in opset 1; the value likewise."""
    rank = node.rank(0)
    pads = node.required_setting("paddings" if node.version == 1 else "pads", 1)
    given = node.setting("axes", 3) if node.version >= 18 else None
    axes = tuple(range(rank)) if given is None else tuple(normal_axis(axis, rank) for axis in given)
    if len(pads) != 2 * len(axes) or len(set(axes)) < len(axes):
        raise FrontendError(f"expected {2 * len(axes)} pads of different axes, found {list(pads)} of axes {list(axes)}")
    full = [0] * (2 * rank)
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


def _padded_with(node: ImportedNode, op: ops.Pad) -> Operand:
    """Data padded with a number that is computed at run time, which goes to where a padded mask of ones has zeros."""
    ones = node.step(ops.BroadcastTo(shape=node.static_shape(0)), node.literal(1, DType.of("uint8")))
    inside = node.step(Cast(dtype=DType.of("bool")), node.step(op, ones))
    value = node.value(2) if not node.rank(2) else node.step(ops.Reshape(shape=()), node.value(2))
    return node.result(Where(), inside, node.step(op, node.value(0)), value)


def _expand(node: ImportedNode) -> Operand:
    wanted = node.required_setting("shape", 1)
    if len(wanted) > MOST_DIMENSIONS:
        raise FrontendError(f"expected a shape of at most {MOST_DIMENSIONS} dimensions, found {len(wanted)}")
    try:
        extents = np.broadcast_shapes(node.static_shape(0), wanted)
    except ValueError:
        raise FrontendError(f"can't broadcast {list(node.shape(0))} against {list(wanted)}") from None
    return node.result(ops.BroadcastTo(shape=extents), node.value(0))


def _constant_of_shape(node: ImportedNode) -> Operand:
    extents = node.required_setting("input", 0)
    if min(extents, default=1) < 0:
        raise FrontendError(f"expected dimensions of zero or more, found {list(extents)}")
    filled = node.tensor("value")
    data = np.zeros(1, np.float32) if filled is None else filled
    if data.size != 1:
        raise FrontendError(f"expected one number as value, found shape {list(data.shape)}")
    return node.result(ops.BroadcastTo(shape=extents), node.parameter(data.reshape(()), "element"))


def _tile(node: ImportedNode) -> Operand:
    """Opset 1 repeats one axis, named by an input; later each axis has a number of repeats."""
    rank = node.rank(0)
    if node.version < 6:
        axis = normal_axis(int(node.scalar(2)), rank)
        repeats = tuple(int(node.scalar(1)) if i == axis else 1 for i in range(rank))
    else:
        repeats = node.required_setting("repeats", 1)
    if len(repeats) != rank or min(repeats, default=1) < 0:
        raise FrontendError(f"expected {rank} repeats of zero or more, found {list(repeats)}")
    return node.result(ops.Tile(repeats=repeats), node.value(0))


def _depth_to_space(node: ImportedNode) -> Operand:
    mode = node.text("mode") if node.knows("mode") else "DCR"
    if mode not in {"DCR", "CRD"}:
        raise FrontendError(f"expected mode DCR or CRD, found {mode!r}")
    return node.result(ops.DepthToSpace(block=node.integer("blocksize"), mode=mode), node.value(0))


def _space_to_depth(node: ImportedNode) -> Operand:
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


def _reverse_sequence(node: ImportedNode) -> Operand:
    """The first elements along time, as many as each sequence of the batch has, in reverse order."""
    rank, extents = node.rank(0), node.static_shape(0)
    time, batch = node.axis(rank, "time_axis"), node.axis(rank, "batch_axis")
    if time == batch or node.shape(1) != (extents[batch],):
        raise FrontendError(f"expected lengths of {extents[batch]} sequences, found {list(node.shape(1))}")
    order = (batch, time, *(d for d in range(rank) if d not in (batch, time)))
    lengths = node.step(ops.Reshape(shape=(extents[batch], 1, 1)), node.value(1))
    steps = node.parameter(np.arange(extents[time])[:, None], "steps")
    reversed_steps = node.step(Subtract(), node.step(Subtract(), lengths, node.literal(1, DType.of("int64"))), steps)
    places = node.step(Where(), node.step(Less(), steps, lengths), reversed_steps, steps)
    moved = node.step(ops.Transpose(permutation=order), node.value(0))
    taken = node.step(GatherND(batch_dims=1), moved, places)
    return node.result(ops.Transpose(permutation=tuple(order.index(d) for d in range(rank))), taken)


def _compress(node: ImportedNode) -> Operand:
    """The slices for which a known condition holds, which may be shorter than the axis."""
    chosen = np.flatnonzero(node.constant(1))
    given = node.attribute("axis")
    data = node.value(0)
    axis = 0 if given is None else normal_axis(given, node.rank(0))
    if given is None:
        data = node.step(ops.Reshape(shape=(prod(node.static_shape(0)),)), data)
    extent = static_extents(data.type.shape, "the input")[axis]
    if len(chosen) and chosen[-1] >= extent:
        raise FrontendError(f"expected a condition of at most {extent} elements, found {list(node.shape(1))}")
    return node.result(Gather(axis=axis), data, node.parameter(chosen, "places"))


def _tensor_scatter(node: ImportedNode) -> Operand:
    mode = node.text("mode")
    if mode not in {"linear", "circular"}:
        raise FrontendError(f"expected mode linear or circular, found {mode!r}")
    op = TensorScatter(axis=node.axis(node.rank(0)), circular=mode == "circular")
    return node.result(op, *(node.value(i) for i in range(2 + node.has(2))))


def _triangle(node: ImportedNode) -> Operand:
    k = int(node.scalar(1)) if node.has(1) else 0
    return node.result(ops.Trilu(upper=node.flag("upper"), k=k), node.value(0))


def _one_hot(node: ImportedNode) -> Operand:
    axis = normal_axis(node.integer("axis"), node.rank(0) + 1)
    return node.result(ops.OneHot(depth=int(node.scalar(1)), axis=axis), node.value(0), node.value(2))


def _non_zero(node: ImportedNode) -> Operand:
    """The places of what is not zero, an axis a row; how many there are must be known."""
    return node.evaluated(np.array(np.nonzero(np.atleast_1d(node.constant(0))), np.int64))


def _gather(node: ImportedNode) -> Operand:
    return node.result(Gather(axis=node.axis(node.rank(0))), node.value(0), node.value(1))


def _gather_elements(node: ImportedNode) -> Operand:
    return node.result(GatherElements(axis=node.axis(node.rank(0))), node.value(0), node.value(1))


def _gather_nd(node: ImportedNode) -> Operand:
    batch_dims = node.integer("batch_dims") if node.knows("batch_dims") else 0
    return node.result(GatherND(batch_dims=batch_dims), node.value(0), node.value(1))


def _scatter_elements(node: ImportedNode) -> Operand:
    op = ScatterElements(axis=node.axis(node.rank(0)), reduction=_reduction(node))
    return node.result(op, node.value(0), node.value(1), node.value(2))


def _scatter_nd(node: ImportedNode) -> Operand:
    return node.result(ScatterND(reduction=_reduction(node)), node.value(0), node.value(1), node.value(2))


def _reduction(node: ImportedNode) -> str:
    return node.text("reduction") if node.knows("reduction") else "none"


SHAPE: dict[str, Converter] = {
    "Compress": _compress,
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "Crop": _crop,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "NonZero": _non_zero,
    "OneHot": _one_hot,
    "Pad": _pad,
    "Range": lambda node: node.evaluated(arange(node)),
    "Reshape": _reshape,
    "ReverseSequence": _reverse_sequence,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "Shape": shape,
    "Size": size,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "TensorScatter": _tensor_scatter,
    "Tile": _tile,
    "Transpose": _transpose,
    "Trilu": _triangle,
    "Unsqueeze": _unsqueeze,
}
