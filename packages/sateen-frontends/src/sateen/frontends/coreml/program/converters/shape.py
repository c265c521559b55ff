"""Operations that move data: reshaping, joining, splitting, slicing, padding, repeating."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sateen.frontends.core.operands import Operand, extents_array, normal_axes, normal_axis, static_extents
from sateen.frontends.coreml.program.node import Converter, OperationNode, defaulting
from sateen.frontends.coreml.shapes import reshaped, resolved, stacked, windows_along
from sateen.graph_ir import ops
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product

MOST_NUMBERS = 1 << 20
"""The most numbers of a range."""
_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}


def _reshape(node: OperationNode) -> Operand:
    """A 0 keeps the extent of the axis that is as far from the last one; beyond the first it is 1 (iOS 17)."""
    x, wanted = node.take("x"), node.dimensions_of("shape")
    own = x.type.shape
    beyond = (1,) * max(len(wanted) - len(own), 0)
    kept = (*beyond, *own)[len(beyond) + len(own) - len(wanted) :]
    target = [kept[i] if isinstance(n, int) and n == 0 and 0 not in own else n for i, n in enumerate(wanted)]
    return node.result(ops.Reshape(reshaped(own, target)), x)


def _reshape_like(node: OperationNode) -> Operand:
    """The extents of parts of other tensors, one after the other."""
    shapes = [node.shape(index) for index in node.places("ref_tensors")]
    settings = [_listed(node, name, len(shapes)) for name in ("begins", "ends", "end_masks")]
    target = [
        extent
        for shape, begin, end, masked in zip(shapes, *settings, strict=True)
        for extent in shape[int(begin) : None if masked else int(end)]
    ]
    return node.result(ops.Reshape(reshaped(node.shape(node.at("x")), target)), node.take("x"))


def _listed(node: OperationNode, name: str, count: int) -> Sequence[object]:
    numbers = [node.scalar(index) for index in node.places(name)]
    if len(numbers) != count:
        raise FrontendError(f"expected {count} numbers as {name}, found {len(numbers)}")
    return numbers


def _expand_dims(node: OperationNode) -> Operand:
    x = node.take("x")
    given = (node.integer("axes"),) if isinstance(node.attribute("axes"), int) else node.integers("axes")
    inserted = set(normal_axes(given, x.type.rank + len(given)))
    remaining = iter(x.type.shape)
    shape = tuple(1 if axis in inserted else next(remaining) for axis in range(x.type.rank + len(given)))
    return node.result(ops.Reshape(shape), x)


def _squeeze(node: OperationNode) -> Operand:
    x = node.take("x")
    ones = tuple(axis for axis, extent in enumerate(x.type.shape) if extent == 1)
    removed = ones if node.attribute("axes") is None else normal_axes(node.integers("axes"), x.type.rank)
    if not set(removed) <= set(ones):
        raise FrontendError(f"expected extents of 1 along axes {list(removed)}, found {x.type}")
    return node.result(ops.Reshape(tuple(n for axis, n in enumerate(x.type.shape) if axis not in removed)), x)


def _transpose(node: OperationNode) -> Operand:
    x, order = node.take("x"), node.integers("perm")
    axes = tuple(normal_axis(axis, x.type.rank) for axis in order)
    if sorted(axes) != list(range(x.type.rank)):
        raise FrontendError(f"expected an order of {x.type.rank} axes, found {list(order)}")
    return node.result(ops.Transpose(axes), x)


def _concat(node: OperationNode) -> Operand:
    values = node.take_all("values")
    if not values:
        raise FrontendError("expected values, found none")
    axis = node.axis_of(values[0].type.rank)
    if not node.flag("interleave"):
        return node.result(ops.Concat(axis=axis), *values)
    if len({value.type for value in values}) > 1:
        raise FrontendError(f"expected values of one shape, found {', '.join(str(value.type) for value in values)}")
    shape = list(values[0].type.shape)
    shape[axis] = shape[axis] * len(values)
    return node.result(ops.Reshape(tuple(shape)), stacked(node, values, axis + 1))


def _stack(node: OperationNode) -> Operand:
    values = node.take_all("values")
    if not values:
        raise FrontendError("expected values, found none")
    return node.result(ops.Identity(), stacked(node, values, node.axis_of(values[0].type.rank + 1)))


def _split(node: OperationNode) -> Sequence[Operand]:
    x = node.take("x")
    axis = node.axis_of(x.type.rank)
    if node.given("split_sizes"):
        sizes = node.dimensions_of("split_sizes")
    else:
        count, extent = node.integer("num_splits"), x.type.shape[axis]
        if not isinstance(extent, int) or count < 1 or extent % count:
            raise FrontendError(f"expected {count} equal parts of axis {axis}, found {x.type}")
        sizes = (extent // count,) * count
    if len(sizes) != len(node.outputs):
        raise FrontendError(f"expected {len(sizes)} results, one per part, found {len(node.outputs)}")
    return node.results(ops.Split(axis=axis, sizes=sizes), x, count=len(sizes))


def _masks(node: OperationNode, name: str, rank: int) -> Sequence[bool]:
    return node.attribute(name) if node.given(name) else [False] * rank


def _slice_by_index(node: OperationNode) -> Operand:
    """A masked begin or end is that of the axis; a squeezed axis is taken at its begin and left out."""
    x = node.take("x")
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
    op = resolved(node, parts, node.at("x"))
    if not any(squeezes):
        return node.result(op, x)
    part = node.step(op, x)
    left = tuple(extent for extent, squeezed in zip(part.type.shape, squeezes, strict=True) if not squeezed)
    return node.result(ops.Reshape(left), part)


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


def _pad(node: OperationNode) -> Operand:
    """Pads of the last axes, before and after by turns."""
    x, amounts, mode = node.take("x"), node.dimensions_of("pad"), node.text("mode")
    missing = x.type.rank - len(amounts) // 2
    if len(amounts) % 2 or missing < 0 or mode not in _MODES:
        raise FrontendError(
            f"expected pads of the last axes and a mode of {', '.join(_MODES)}, found {len(amounts)}, {mode!r}"
        )
    before, after = (*(0,) * missing, *amounts[::2]), (*(0,) * missing, *amounts[1::2])
    value = node.number("constant_val") if mode == "constant" else 0.0
    return node.result(ops.Pad(_MODES[mode], (*before, *after), value), x)


def _tile(node: OperationNode) -> Operand:
    return node.result(ops.Tile(repeats=node.dimensions_of("reps")), node.take("x"))


def _reverse(node: OperationNode) -> Operand:
    x = node.take("x")
    axes = node.axes("axes", x.type.rank)
    parts = [slice(None, None, -1) if axis in axes else slice(None) for axis in range(x.type.rank)]
    return node.result(resolved(node, parts, node.at("x")), x)


def _band(node: OperationNode) -> Operand:
    lower, upper, data = node.integer("lower"), node.integer("upper"), node.take("x")
    kinds = [ops.Trilu(upper=True, k=-lower)] * (lower >= 0) + [ops.Trilu(upper=False, k=upper)] * (upper >= 0)
    for op in kinds[:-1]:
        data = node.step(op, data)
    return node.result(kinds[-1] if kinds else ops.Identity(), data)


def _shape(node: OperationNode) -> Operand:
    extents = extents_array(node.shape(node.at("x")))
    return extents if extents.dtype == object else extents.astype(np.int32)


def _fill(node: OperationNode) -> Operand:
    value = node.data(node.at("value")) if node.given("value") else np.zeros((), np.float32)
    return node.result(ops.BroadcastTo(node.dimensions_of("shape")), node.parameter(value.reshape(1), "value"))


def _fill_like(node: OperationNode) -> Operand:
    value = node.data(node.at("value")) if node.given("value") else np.zeros((), np.float32)
    return node.result(ops.BroadcastTo(node.shape(node.at("ref_tensor"))), node.parameter(value.reshape(1), "value"))


def _range(node: OperationNode) -> Operand:
    start, end, step = (node.constant(node.at(name)).reshape(()) for name in ("start", "end", "step"))
    count = (float(end) - float(start)) / float(step) if step else 0.0
    if not 0 < count <= MOST_NUMBERS:
        raise FrontendError(f"expected a range of 1 to {MOST_NUMBERS} numbers, found {start} to {end} by {step}")
    return node.evaluated(np.arange(start.item(), end.item(), step.item(), dtype=start.dtype))


def _flatten_2d(node: OperationNode) -> Operand:
    x, axis = node.take("x"), node.integer("axis")
    if not -x.type.rank <= axis <= x.type.rank:
        raise FrontendError(f"expected an axis of {-x.type.rank} to {x.type.rank}, found {axis}")
    at = axis + x.type.rank if axis < 0 else axis
    return node.result(ops.Reshape((product(x.type.shape[:at]), product(x.type.shape[at:]))), x)


def _sliding_windows(node: OperationNode) -> Operand:
    x = node.take("x")
    return windows_along(node, node.axis_of(x.type.rank), node.integer("size"), node.integer("stride"), node.at("x"))


def _blocks(node: OperationNode, name: str) -> int:
    block = node.integer(name)
    if not 0 < block < 1 << 16:
        raise FrontendError(f"expected {name} of 1 or more, found {block}")
    return block


def _pixel_unshuffle(node: OperationNode) -> Operand:
    """The inverse of pixel_shuffle: the channels of a block follow each other."""
    x, block = node.take_of_rank("x", 4), _blocks(node, "downscale_factor")
    batch, channels, height, width = static_extents(x.type.shape, "x")
    if height % block or width % block:
        raise FrontendError(f"expected extents that {block} divides, found {x.type}")
    cells = node.step(ops.Reshape((batch, channels, height // block, block, width // block, block)), x)
    turned = node.step(ops.Transpose((0, 1, 3, 5, 2, 4)), cells)
    return node.result(ops.Reshape((batch, channels * block * block, height // block, width // block)), turned)


def _space_to_batch(node: OperationNode) -> Operand:
    """Blocks of height and width become images: those of one place in the block follow each other."""
    x, (rows, columns) = node.take_of_rank("x", 4), node.integers_of("block_shape", 2, 1)
    pads = node.integers_of("paddings", 4, 0)
    wide = node.step(ops.Pad("constant", (0, 0, pads[0], pads[2], 0, 0, pads[1], pads[3])), x)
    batch, channels, height, width = static_extents(wide.type.shape, "x")
    if height % rows or width % columns:
        raise FrontendError(f"expected padded extents that {rows} and {columns} divide, found {wide.type}")
    cells = node.step(ops.Reshape((batch, channels, height // rows, rows, width // columns, columns)), wide)
    turned = node.step(ops.Transpose((3, 5, 0, 1, 2, 4)), cells)
    return node.result(ops.Reshape((batch * rows * columns, channels, height // rows, width // columns)), turned)


def _batch_to_space(node: OperationNode) -> Operand:
    """The inverse of space_to_batch; the paddings are cropped."""
    x, (rows, columns) = node.take_of_rank("x", 4), node.integers_of("block_shape", 2, 1)
    crops = node.integers_of("crops", 4, 0)
    batch, channels, height, width = static_extents(x.type.shape, "x")
    if batch % (rows * columns):
        raise FrontendError(f"expected a batch that {rows * columns} divides, found {x.type}")
    cells = node.step(ops.Reshape((rows, columns, batch // (rows * columns), channels, height, width)), x)
    turned = node.step(ops.Transpose((2, 3, 4, 0, 5, 1)), cells)
    whole = node.step(ops.Reshape((batch // (rows * columns), channels, height * rows, width * columns)), turned)
    top, bottom, left, right = crops
    ends = (*whole.type.shape[:2], height * rows - bottom, width * columns - right)
    return node.result(ops.Slice((0, 0, top, left), ends, (1, 1, 1, 1)), whole)


def _classify(node: OperationNode) -> Operand:
    """The probabilities, in the order of the labels."""
    return node.result(ops.Identity(), node.take("probabilities"))


SHAPE: Mapping[str, Converter] = {
    "band_part": defaulting(_band, lower=-1, upper=-1),
    "batch_to_space": _batch_to_space,
    "classify": _classify,
    "concat": defaulting(_concat, interleave=False),
    "crop": _crop,
    "depth_to_space": lambda node: node.result(ops.DepthToSpace(_blocks(node, "block_size"), "DCR"), node.take("x")),
    "expand_dims": _expand_dims,
    "fill": _fill,
    "fill_like": _fill_like,
    "flatten2d": defaulting(_flatten_2d, axis=1),
    "pad": defaulting(_pad, mode="constant", constant_val=0.0),
    "pixel_shuffle": lambda node: node.result(ops.DepthToSpace(_blocks(node, "upscale_factor"), "CRD"), node.take("x")),
    "pixel_unshuffle": _pixel_unshuffle,
    "range_1d": _range,
    "reshape": _reshape,
    "reshape_like": _reshape_like,
    "reverse": _reverse,
    "shape": _shape,
    "slice_by_index": _slice_by_index,
    "slice_by_size": _slice_by_size,
    "sliding_windows": defaulting(_sliding_windows, stride=1),
    "space_to_batch": _space_to_batch,
    "space_to_depth": lambda node: node.result(ops.SpaceToDepth(_blocks(node, "block_size")), node.take("x")),
    "split": _split,
    "squeeze": _squeeze,
    "stack": _stack,
    "tile": _tile,
    "transpose": _transpose,
}
