"""Layers that move data: flattening, reshaping, permuting, joining, splitting, slicing, padding, repeating."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

from sateen.frontends.core.operands import Operand, extents_array, normal_axes, normal_axis, static_extents
from sateen.frontends.coreml.network.converters.windows import border
from sateen.frontends.coreml.network.node import CHANNEL, FLOAT, HEIGHT, WIDTH, Converter, LayerNode
from sateen.frontends.coreml.shapes import reshaped, resolved, stacked, windows_along
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product

CHANNEL_FIRST, CHANNEL_LAST = range(2)
"""Values of FlattenOrder and ReshapeOrder."""
SPACE_TO_DEPTH, DEPTH_TO_SPACE, PIXEL_SHUFFLE = range(3)
"""Values of ReorganizationType."""
MOST_REPEATED = 1 << 20


def _flatten(node: LayerNode) -> Operand:
    images = _in_order(node, node.images())
    _, *rest = images.type.shape
    return node.as_blob(ops.Reshape((images.type.shape[0], product(rest), 1, 1)), [images], node.shape(0)[:-3])


def _in_order(node: LayerNode, images: Value) -> Value:
    """Images with the channels last, if the layer counts elements so."""
    mode = node.parameters.mode
    if mode not in (CHANNEL_FIRST, CHANNEL_LAST):
        raise FrontendError(f"expected a mode of 0 or 1, found {mode}")
    return images if mode == CHANNEL_FIRST else node.step(ops.Transpose((0, 2, 3, 1)), images)


def _reshape(node: LayerNode) -> Operand:
    """A shape of three extents keeps the sequence, one of four has its length first."""
    _require_sequence(node)
    target = tuple(node.parameters.targetShape)
    if len(target) not in (3, 4):
        raise FrontendError(f"expected a targetShape of 3 or 4 extents, found {list(target)}")
    images = node.images()
    sequence, image = (images.type.shape[0], target) if len(target) == 3 else (target[0], target[1:])
    data = _in_order(node, images)
    batch: tuple[Dim, ...] = (sequence, 1) if node.has_batch else (sequence,)
    if node.parameters.mode == CHANNEL_FIRST:
        return node.result(ops.Reshape((*batch, *image)), data)
    channels, height, width = image
    last = node.step(ops.Reshape((sequence, height, width, channels)), data)
    return node.as_blob(ops.Transpose((0, 3, 1, 2)), [last], batch)


def _require_sequence(node: LayerNode) -> None:
    """Raises FrontendError unless the input is [Seq, 1, C, H, W]."""
    shape = node.shape(0)
    if len(shape) != 4 + node.has_batch or (node.has_batch and shape[1] != 1):
        raise FrontendError(f"expected a blob [Seq, 1, C, H, W], found {node.operand_text(0)}")


def _permute(node: LayerNode) -> Operand:
    """The order of [Seq, C, H, W]; Batch stays where it is."""
    if node.rank(0) != 4 + node.has_batch:
        raise FrontendError(f"expected a blob [Seq, Batch, C, H, W], found {node.operand_text(0)}")
    order = tuple(node.parameters.axis) or (0, 1, 2, 3)
    if sorted(order) != [0, 1, 2, 3]:
        raise FrontendError(f"expected an order of four axes, found {list(order)}")
    if node.has_batch:
        axes = [0, 2, 3, 4]
        first, *rest = (axes[axis] for axis in order)
        order = (first, 1, *rest)
    return node.result(ops.Transpose(order), node.value(0))


def _transpose(node: LayerNode) -> Operand:
    axes = tuple(node.parameters.axes)
    if sorted(axes) != list(range(node.rank(0))):
        raise FrontendError(f"expected an order of {node.rank(0)} axes, found {list(axes)}")
    return node.result(ops.Transpose(axes), node.value(0))


def _concat(node: LayerNode) -> Operand:
    if not node.parameters.sequenceConcat:
        node.require_rank(3)
        return node.result(ops.Concat(axis=node.normal(CHANNEL)), *node.values())
    node.require_rank(4 + node.has_batch)
    return node.result(ops.Concat(axis=0), *node.values())


def _concat_nd(node: LayerNode) -> Operand:
    """With `interleave`, slices of the inputs alternate."""
    axis, values = node.normal_parameter(), node.values()
    if not node.parameters.interleave:
        return node.result(ops.Concat(axis=axis), *values)
    if len({value.type for value in values}) > 1:
        raise FrontendError(f"expected inputs of one shape, found {', '.join(str(value.type) for value in values)}")
    shape = list(values[0].type.shape)
    stack = stacked(node, values, axis + 1)
    shape[axis] = shape[axis] * len(values)
    return node.result(ops.Reshape(tuple(shape)), stack)


def _stack(node: LayerNode) -> Operand:
    values = node.values()
    axis = normal_axis(node.parameters.axis, node.rank(0) + 1)
    parts = [node.step(ops.Reshape((*v.type.shape[:axis], 1, *v.type.shape[axis:])), v) for v in values]
    return node.result(ops.Concat(axis=axis), *parts)


def _split(node: LayerNode) -> Sequence[Operand]:
    node.require_rank(3)
    return _pieces(node, node.normal(CHANNEL), node.parameters.nOutputs, ())


def _split_nd(node: LayerNode) -> Sequence[Operand]:
    given = node.parameters
    return _pieces(node, node.normal_parameter(), given.numSplits, tuple(given.splitSizes))


def _pieces(node: LayerNode, axis: int, count: int, sizes: tuple[int, ...]) -> Sequence[Operand]:
    if not sizes:
        extent = node.shape(0)[axis]
        count = count or len(node.outputs)
        if not isinstance(extent, int) or extent % count or count > MOST_REPEATED:
            raise FrontendError(f"expected {count} equal parts of axis {axis}, found {node.operand_text(0)}")
        sizes = (extent // count,) * count
    if len(sizes) != len(node.outputs):
        raise FrontendError(f"expected {len(sizes)} outputs, one per part, found {len(node.outputs)}")
    return node.results(ops.Split(axis=axis, sizes=sizes), node.value(0), count=len(sizes))


def _slice(node: LayerNode) -> Operand:
    given, rank = node.parameters, node.rank(0)
    if given.axis not in (0, 1, 2):
        raise FrontendError(f"expected an axis of 0 to 2, found {given.axis}")
    axis = normal_axis((CHANNEL, HEIGHT, WIDTH)[given.axis], rank)
    full: list[slice] = [slice(None)] * rank
    full[axis] = slice(given.startIndex, given.endIndex, given.stride or 1)
    return node.result(resolved(node, full), node.value(0))


def _slice_static(node: LayerNode) -> Operand:
    given = node.parameters
    return _masked_slice(
        node, given.beginIds, given.endIds, given.strides, given.beginMasks, given.endMasks, given.squeezeMasks
    )


def _slice_dynamic(node: LayerNode) -> Operand:
    """As sliceStatic; inputs, which must be known, take the place of parameters from the second on."""
    given = node.parameters
    names = ("endIds", "strides", "beginMasks", "endMasks", "squeezeMasks")
    found = [
        node.integers_of(index) if len(node.inputs) > index else tuple(getattr(given, name))
        for index, name in enumerate(names, 2)
    ]
    return _masked_slice(node, node.integers_of(1), *found)


def _masked_slice(
    node: LayerNode,
    begins: Sequence[int],
    ends: Sequence[int],
    strides: Sequence[int],
    begin_masks: Sequence[int],
    end_masks: Sequence[int],
    squeeze_masks: Sequence[int],
) -> Operand:
    """A masked begin or end is that of the axis; a squeezed axis is taken at its begin and left out."""
    rank = node.rank(0)
    squeezes = list(squeeze_masks) or [False] * rank
    for name, values in (("begins", begins), ("ends", ends), ("strides", strides), ("squeezeMasks", squeezes)):
        if len(values) != rank:
            raise FrontendError(f"expected {rank} numbers as {name}, one per axis, found {len(values)}")
    begin_masks = list(begin_masks) or [False] * rank
    end_masks = list(end_masks) or [False] * rank
    full = []
    for axis in range(rank):
        if squeezes[axis]:
            begin = begins[axis]
            full.append(slice(begin, begin + 1 if begin != -1 else None, 1))
        else:
            begin_at = None if begin_masks[axis] else begins[axis]
            full.append(slice(begin_at, None if end_masks[axis] else ends[axis], strides[axis]))
    op = resolved(node, full)
    if not any(squeezes):
        return node.result(op, node.value(0))
    part = node.step(op, node.value(0))
    left = tuple(extent for extent, squeezed in zip(part.type.shape, squeezes, strict=True) if not squeezed)
    return node.result(ops.Reshape(left or (1,)), part)


def _slice_by_size(node: LayerNode) -> Operand:
    given = node.parameters
    begin = node.integers_of(1)
    axis = node.normal_parameter()
    if len(begin) != 1:
        raise FrontendError(f"expected one number as the begin, found {list(begin)}")
    full: list[slice] = [slice(None)] * node.rank(0)
    start = begin[0] if begin[0] >= 0 else begin[0] + node.static_shape(0)[axis]
    full[axis] = slice(start, start + given.size, 1)
    return node.result(resolved(node, full), node.value(0))


def _crop(node: LayerNode) -> Operand:
    """By amounts, or to the extents of a second blob from an offset on."""
    given, rank = node.parameters, node.rank(0)
    node.require_rank(3)
    full: list[slice] = [slice(None)] * rank
    height, width = static_extents(node.shape(0)[-2:], "the cropped axes")
    if len(node.inputs) > 1:
        node.require_rank(3, 1)
        offsets = tuple(given.offset) or (0, 0)
        extents = static_extents(node.shape(1)[-2:], "the extents of the second input")
        if len(offsets) != 2:
            raise FrontendError(f"expected two offsets, found {list(offsets)}")
        full[-2:] = [slice(o, o + n, 1) for o, n in zip(offsets, extents, strict=True)]
    else:
        top, left, bottom, right = border(given.cropAmounts)
        full[-2:] = [slice(top, height - bottom, 1), slice(left, width - right, 1)]
    for part, extent in zip(full[-2:], (height, width), strict=True):
        if not 0 <= part.start < part.stop <= extent:
            raise FrontendError(f"expected a part of [0, {extent}), found [{part.start}, {part.stop})")
    return node.result(resolved(node, full), node.value(0))


def _padding(node: LayerNode) -> Operand:
    """Of height and width; reflection does not repeat the outermost element, replication repeats it alone."""
    node.require_rank(3)
    given = node.parameters
    modes = {"constant": "constant", "reflection": "reflect", "replication": "edge"}
    kind = given.WhichOneof("padding_type") or "constant"
    top, left, bottom, right = border(given.paddingAmounts)
    none = (0,) * (node.rank(0) - 2)
    value = given.constant.value if kind == "constant" else 0.0
    return node.result(ops.Pad(modes[kind], (*none, top, left, *none, bottom, right), value), node.value(0))


def _constant_padding(node: LayerNode) -> Operand:
    """Pads (before, after) of each axis, or in their place the wanted extents."""
    given, rank = node.parameters, node.rank(0)
    amounts = node.integers_of(1) if len(node.inputs) > 1 else tuple(given.padAmounts)
    if len(amounts) != 2 * rank:
        raise FrontendError(f"expected {2 * rank} amounts, two per axis, found {len(amounts)}")
    before, after = list(amounts[::2]), list(amounts[1::2])
    if given.padToGivenOutputSizeMode:
        for pads, others in ((before, after), (after, before)):
            for axis, extent in enumerate(node.static_shape(0)):
                if pads[axis] and others[axis]:
                    raise FrontendError(f"expected a wanted extent on one side of axis {axis}, found two")
                pads[axis] = max(pads[axis] - extent, 0)
    return node.result(ops.Pad("constant", (*before, *after), given.value), node.value(0))


def _reorganize(node: LayerNode) -> Operand:
    mode, block = node.parameters.mode, node.parameters.blockSize
    if not 1 < block < 1 << 16 or mode not in (SPACE_TO_DEPTH, DEPTH_TO_SPACE, PIXEL_SHUFFLE):
        raise FrontendError(f"expected a block of 2 or more and a mode of 0 to 2, found {block}, {mode}")
    if mode == SPACE_TO_DEPTH:
        return node.of_images(ops.SpaceToDepth(block=block), node.images())
    order = "DCR" if mode == DEPTH_TO_SPACE else "CRD"
    return node.of_images(ops.DepthToSpace(block=block, mode=order), node.images())


def _sequence_repeat(node: LayerNode) -> Operand:
    node.require_rank(4 + node.has_batch)
    count = node.parameters.nRepetitions or 1
    return node.result(ops.Tile(repeats=(count, *(1,) * (node.rank(0) - 1))), node.value(0))


def _tile(node: LayerNode) -> Operand:
    """Fewer repetitions than axes are those of the last ones."""
    rank = node.rank(0)
    given = node.dimensions_of(1) if len(node.inputs) > 1 else tuple(node.parameters.reps)
    if not 0 < len(given) <= rank or any(isinstance(n, int) and n < 1 for n in given):
        raise FrontendError(f"expected 1 to {rank} repetitions, found {list(given)}")
    return node.result(ops.Tile(repeats=(*(1,) * (rank - len(given)), *given)), node.value(0))


def _to_shape(node: LayerNode, shape: Sequence[Dim]) -> Operand:
    return node.result(ops.Reshape(reshaped(node.shape(0), shape)), node.value(0))


def _rank_preserving(node: LayerNode) -> Operand:
    """A 0 keeps the extent."""
    target, shape = tuple(node.parameters.targetShape), node.shape(0)
    if len(target) != len(shape):
        raise FrontendError(f"expected a targetShape of {len(shape)} extents, found {list(target)}")
    return _to_shape(node, [own if wanted == 0 else wanted for wanted, own in zip(target, shape, strict=True)])


def _expand_dims(node: LayerNode) -> Operand:
    axes = tuple(node.parameters.axes)
    rank = node.rank(0) + len(axes)
    inserted = set(normal_axes(axes, rank))
    remaining = iter(node.shape(0))
    return node.result(ops.Reshape(tuple(1 if d in inserted else next(remaining) for d in range(rank))), node.value(0))


def _squeeze(node: LayerNode) -> Operand:
    """Blobs have an axis: of a blob of one element one axis stays."""
    shape = node.shape(0)
    if node.parameters.squeezeAll:
        removed = {axis for axis, extent in enumerate(shape) if extent == 1}
    else:
        removed = set(normal_axes(tuple(node.parameters.axes), len(shape)))
    wrong = [axis for axis in removed if shape[axis] != 1]
    if wrong:
        raise FrontendError(f"expected extents of 1 along axes {sorted(removed)}, found {node.operand_text(0)}")
    left = tuple(extent for axis, extent in enumerate(shape) if axis not in removed)
    return node.result(ops.Reshape(left or (1,)), node.value(0))


def _flatten_to_2d(node: LayerNode) -> Operand:
    """Axis -1 of a vector is its only one; the rank itself stands for the end."""
    shape, axis = node.shape(0), node.parameters.axis
    if not -len(shape) <= axis <= len(shape):
        raise FrontendError(f"expected an axis of {-len(shape)} to {len(shape)}, found {axis}")
    axis = axis + len(shape) if axis < 0 else axis
    return node.result(ops.Reshape((product(shape[:axis]), product(shape[axis:]))), node.value(0))


def _constant(node: LayerNode) -> Operand:
    shape = tuple(node.parameters.shape)
    if len(shape) != 3:
        raise FrontendError(f"expected a shape [C, H, W], found {list(shape)}")
    return node.weights("data", shape).reshape(node.blob_shape(*shape))


def _constant_nd(node: LayerNode) -> Operand:
    return node.weights("data", tuple(node.parameters.shape))


def _get_shape(node: LayerNode) -> Operand:
    extents = extents_array(node.shape(0))
    return extents if extents.dtype == object else extents.astype(np.float32)


def _filled(node: LayerNode, shape: Sequence[Dim]) -> Operand:
    """A fill stays an operator, however large it is."""
    if not all(not isinstance(extent, int) or extent > 0 for extent in shape):
        raise FrontendError(f"expected extents of 1 or more, found {list(shape)}")
    return node.result(ops.BroadcastTo(tuple(shape)), node.literal(node.parameters.value, FLOAT, (1,)))


def _broadcast(node: LayerNode, shape: Sequence[Dim]) -> Operand:
    return node.result(ops.BroadcastTo(tuple(shape)), node.value(0))


def _range(node: LayerNode) -> Operand:
    """Numbers from a start by steps to before an end, as numpy.arange gives them. Inputs: end, start, step."""
    given = node.parameters
    numbers = [float(node.scalar(index)) for index in range(len(node.inputs))]
    named = [getattr(given, name) for name in ("endValue", "startValue", "stepSizeValue") if hasattr(given, name)]
    given_numbers = [*numbers, *named[len(named) - 3 + len(numbers) :]]
    if len(given_numbers) != 3:
        raise FrontendError(f"expected at most three inputs, found {len(numbers)}")
    end, start, step = given_numbers
    if not np.all(np.isfinite([end, start, step])) or step == 0 or not 0 < (end - start) / step <= MOST_REPEATED:
        raise FrontendError(f"expected a range of 1 to {MOST_REPEATED} numbers, found {start} to {end} by {step}")
    return node.evaluated(np.arange(start, end, step, dtype=np.float32))


def _sliding_windows(node: LayerNode) -> Operand:
    given = node.parameters
    return windows_along(node, node.normal_parameter(), given.windowSize, given.step)


def _reverse(node: LayerNode) -> Operand:
    flags = tuple(node.parameters.reverseDim)
    if len(flags) != node.rank(0):
        raise FrontendError(f"expected {node.rank(0)} flags, one per axis, found {len(flags)}")
    return node.result(resolved(node, [slice(None, None, -1 if flag else 1) for flag in flags]), node.value(0))


def _triangle(*, upper: bool) -> Converter:
    return lambda node: node.result(ops.Trilu(upper=upper, k=_diagonal(node.parameters.k)), node.value(0))


def _diagonal(k: int) -> int:
    """Beyond 2^31 all diagonals are alike."""
    return int(max(-(1 << 31), min(k, 1 << 31)))


def _band(node: LayerNode) -> Operand:
    """numLower diagonals below the main one and numUpper above it; negative numbers keep all."""
    lower, upper = node.parameters.numLower, node.parameters.numUpper
    kinds = [ops.Trilu(upper=True, k=_diagonal(-lower))] * (lower >= 0)
    kinds += [ops.Trilu(upper=False, k=_diagonal(upper))] * (upper >= 0)
    data = node.value(0)
    for op in islice(kinds, max(len(kinds) - 1, 0)):
        data = node.step(op, data)
    return node.result(kinds[-1] if kinds else ops.Identity(), data)


SHAPE: Mapping[str, Converter] = {
    "broadcastToDynamic": lambda node: _broadcast(node, node.dimensions_of(1)),
    "broadcastToLike": lambda node: _broadcast(node, node.shape(1)),
    "broadcastToStatic": lambda node: _broadcast(node, tuple(node.parameters.targetShape)),
    "concat": _concat,
    "concatND": _concat_nd,
    "constantPad": _constant_padding,
    "crop": _crop,
    "expandDims": _expand_dims,
    "fillDynamic": lambda node: _filled(node, node.dimensions_of(0)),
    "fillLike": lambda node: _filled(node, node.shape(0)),
    "fillStatic": lambda node: _filled(node, tuple(node.parameters.targetShape)),
    "flatten": _flatten,
    "flattenTo2D": _flatten_to_2d,
    "getShape": _get_shape,
    "loadConstant": _constant,
    "loadConstantND": _constant_nd,
    "lowerTriangular": _triangle(upper=False),
    "matrixBandPart": _band,
    "padding": _padding,
    "permute": _permute,
    "rangeDynamic": _range,
    "rangeStatic": _range,
    "rankPreservingReshape": _rank_preserving,
    "reorganizeData": _reorganize,
    "reshape": _reshape,
    "reshapeDynamic": lambda node: _to_shape(node, node.dimensions_of(1)),
    "reshapeLike": lambda node: _to_shape(node, node.shape(1)),
    "reshapeStatic": lambda node: _to_shape(node, tuple(node.parameters.targetShape)),
    "reverse": _reverse,
    "sequenceRepeat": _sequence_repeat,
    "slice": _slice,
    "sliceBySize": _slice_by_size,
    "sliceDynamic": _slice_dynamic,
    "sliceStatic": _slice_static,
    "slidingWindows": _sliding_windows,
    "split": _split,
    "splitND": _split_nd,
    "squeeze": _squeeze,
    "stack": _stack,
    "tile": _tile,
    "transpose": _transpose,
    "upperTriangular": _triangle(upper=True),
}
