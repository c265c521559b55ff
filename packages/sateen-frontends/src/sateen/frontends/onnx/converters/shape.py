"""Operators that move all elements together: reshape, transpose, concatenate, repeat; and shapes."""

from __future__ import annotations

from math import ceil, isfinite

import numpy as np

from sateen.frontends.core.operands import (
    Operand,
    extents_array,
    normal_axis,
    open_dimensions_of,
    require_bound,
)
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.shapes import filled_shape, squeezed_axes, with_axes, without_axes
from sateen.frontends.onnx.converters.constants import LARGEST_FILL
from sateen.frontends.onnx.converters.parts import image_shape
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Dim
from sateen.graph_ir.ops import Add, CumSum
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
    batch, channels, height, width = image_shape(node)
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
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "Flatten": _flatten,
    "Range": _range,
    "Reshape": _reshape,
    "Shape": _shape,
    "Size": _size,
    "SpaceToDepth": _space_to_depth,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Trilu": _triangle,
    "Unsqueeze": _unsqueeze,
}
