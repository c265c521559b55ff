"""Functions of keras.ops that move elements: shapes, axes, parts and copies.

Sources: keras/src/ops/numpy.py and keras/src/backend/tensorflow/numpy.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand, normal_axis, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.shapes import filled_shape, squeezed_axes, with_axes, without_axes
from sateen.frontends.core.slices import turned
from sateen.frontends.keras.converters.operands import axes_of, integer, integers, tensors
from sateen.frontends.keras.converters.reshaping import resize
from sateen.frontends.keras.converters.slices import indexed
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir import ops
from sateen.graph_ir.ops import Concat, Reshape, Split, Transpose
from sateen.runtime.errors import FrontendError


def _reshape(node: KerasNode) -> Operand:
    data = node.raw(0)
    wanted = integers(node.setting("newshape", node.argument(1, "newshape")), "newshape")
    return node.result(Reshape(filled_shape(wanted, data.type.shape)), data)


def _transpose(node: KerasNode) -> Operand:
    rank, given = node.rank(0), node.setting("axes", None)
    return node.result(
        Transpose(tuple(reversed(range(rank))) if given is None else integers(given, "axes")), node.raw(0)
    )


def _swap_axes(node: KerasNode) -> Operand:
    rank = node.rank(0)
    one, other = (normal_axis(integer(node.setting(name, None), name), rank) for name in ("axis1", "axis2"))
    order = list(range(rank))
    order[one], order[other] = other, one
    return node.result(Transpose(tuple(order)), node.raw(0))


def _concatenate(node: KerasNode) -> Operand:
    values = tensors(node, *node.argument(0, "xs"))
    return node.result(Concat(normal_axis(node.setting("axis", 0), values[0].type.rank)), *values)


def _stack(node: KerasNode) -> Operand:
    values = tensors(node, *node.argument(0, "x", node.argument(0, "xs")))
    rank = values[0].type.rank
    axis = normal_axis(node.setting("axis", 0), rank + 1)
    shape = values[0].type.shape
    widened = [node.step(Reshape((*shape[:axis], 1, *shape[axis:])), value) for value in values]
    return node.result(Concat(axis), *widened)


def _split(node: KerasNode) -> tuple[Operand, ...]:
    """Equal parts, or parts that end at indices."""
    data, given = node.raw(0), node.setting("indices_or_sections", None)
    axis = normal_axis(node.setting("axis", 0), data.type.rank)
    (extent,) = static_extents(data.type.shape[axis : axis + 1], node.described(0))
    if isinstance(given, int):
        if given < 1 or extent % given:
            raise FrontendError(f"expected a number of parts that divides {extent}, found {given}")
        sizes = (extent // given,) * given
    else:
        ends = (*integers(given, "indices_or_sections"), extent)
        sizes = tuple(end - start for start, end in zip((0, *ends), ends, strict=False))
    return node.results(Split(axis, sizes), data, count=len(sizes))


def _expand_dims(node: KerasNode) -> Operand:
    data = node.raw(0)
    return node.result(Reshape(with_axes(data.type.shape, integers(node.setting("axis", None), "axis"))), data)


def _squeeze(node: KerasNode) -> Operand:
    data, given = node.raw(0), node.setting("axis", None)
    axes = squeezed_axes(data.type.shape, None if given is None else integers(given, "axis"), node.described(0))
    return node.result(Reshape(without_axes(data.type.shape, axes)), data)


def _pad(node: KerasNode) -> Operand:
    data, rank = node.raw(0), node.rank(0)
    pads, mode = node.setting("pad_width", None), node.setting("mode", "constant")
    pairs = [integers(one, "pad_width") for one in pads] if isinstance(pads, list) else []
    if len(pairs) == 1:
        pairs *= rank
    known = {"constant": "constant", "reflect": "reflect", "symmetric": "symmetric"}
    if len(pairs) != rank or any(len(pair) != 2 for pair in pairs) or mode not in known:
        raise UnsupportedError(f"padding {pads!r} of mode {mode!r} is not supported", "give two numbers for each axis")
    value = node.argument(1, "constant_values") or 0
    if not isinstance(value, (int, float)):
        raise UnsupportedError("padding with a computed number is not supported", "give a number")
    margins = (*(begin for begin, _ in pairs), *(end for _, end in pairs))
    return node.result(ops.Pad(known[mode], margins, float(value)), data)


def _tile(node: KerasNode) -> Operand:
    repeats = integers(node.setting("repeats", None), "repeats")
    data, rank = node.raw(0), max(node.rank(0), len(repeats))
    if data.type.rank < rank:
        data = node.step(Reshape((*(1,) * (rank - data.type.rank), *data.type.shape)), data)
    return node.result(ops.Tile((*(1,) * (rank - len(repeats)), *repeats)), data)


def _repeat(node: KerasNode) -> Operand:
    """Each element along an axis, several times."""
    data, count, axis = node.raw(0), node.setting("repeats", None), node.setting("axis", None)
    if type(count) is not int or type(axis) is not int:
        raise UnsupportedError("repeating without one number and an axis is not supported", "use tile or a reshape")
    axis = normal_axis(axis, data.type.rank)
    shape = data.type.shape
    widened = node.step(Reshape((*shape[: axis + 1], 1, *shape[axis + 1 :])), data)
    spread = node.step(ops.BroadcastTo((*shape[: axis + 1], count, *shape[axis + 1 :])), widened)
    return node.result(Reshape((*shape[:axis], shape[axis] * count, *shape[axis + 1 :])), spread)


def _flip(node: KerasNode) -> Operand:
    data = node.raw(0)
    *before, last = axes_of(node.setting("axis", None), data.type.rank)
    for axis in before:
        data = node.step(turned(data.type.shape, (axis,)), data)
    return node.result(turned(data.type.shape, (last,)), data)


def _broadcast_to(node: KerasNode) -> Operand:
    shape = integers(node.setting("shape", None), "shape")
    return node.result(ops.BroadcastTo(shape), node.raw(0))


def _get_item(node: KerasNode) -> Operand:
    return indexed(node, node.raw(0), node.argument(1, "key"))


def _ravel(node: KerasNode) -> Operand:
    data = node.raw(0)
    return node.result(Reshape(filled_shape((-1,), data.type.shape)), data)


def _side_by_side(axis: int) -> Converter[KerasNode]:
    """Tensors of two axes or more joined along one."""

    def convert(node: KerasNode) -> Operand:
        values = tensors(node, *node.argument(0, "xs"))
        if min(value.type.rank for value in values) < 2:
            raise UnsupportedError("joining vectors like this is not supported", "use concatenate or stack")
        return node.result(Concat(axis), *values)

    return convert


def _move_axes(node: KerasNode) -> Operand:
    rank = node.rank(0)
    given = [integers(node.setting(name, None), name) for name in ("source", "destination")]
    source, destination = ([normal_axis(axis, rank) for axis in axes] for axes in given)
    order = [axis for axis in range(rank) if axis not in source]
    for place, axis in sorted(zip(destination, source, strict=True)):
        order.insert(place, axis)
    return node.result(Transpose(tuple(order)), node.raw(0))


def _roll(node: KerasNode) -> Operand:
    """Elements moved on along an axis; those beyond the end come first."""
    data, shift, given = node.raw(0), node.setting("shift", None), node.setting("axis", None)
    if type(shift) is not int or type(given) is not int:
        raise UnsupportedError("rolling flattened data, or several axes, is not supported", "give one axis")
    axis = normal_axis(given, data.type.rank)
    (extent,) = static_extents(data.type.shape[axis : axis + 1], node.described(0))
    if not extent or not shift % extent:
        return node.operand(0)
    parts = node.steps(Split(axis, (extent - shift % extent, shift % extent)), data, count=2)
    return node.result(Concat(axis), *reversed(parts))


def _slice(node: KerasNode) -> Operand:
    data, starts = node.raw(0), node.argument(1, "start_indices")
    begins, extents = integers(starts, "start_indices"), integers(node.setting("shape", None), "shape")
    if len(begins) != data.type.rank or len(extents) != data.type.rank:
        raise FrontendError(f"expected a start and an extent of each axis, found {list(begins)} and {list(extents)}")
    ends = tuple(begin + extent for begin, extent in zip(begins, extents, strict=True))
    known = static_extents(data.type.shape, node.described(0))
    if any(begin < 0 or not begin <= end <= n for begin, end, n in zip(begins, ends, known, strict=True)):
        raise UnsupportedError("a slice beyond its data is not supported", "keep it within")
    return node.result(ops.Slice(begins, ends, (1,) * len(begins)), data)


def _unstack(node: KerasNode) -> tuple[Operand, ...]:
    data = node.raw(0)
    axis = normal_axis(integer(node.setting("axis", 0), "axis"), data.type.rank)
    (extent,) = static_extents(data.type.shape[axis : axis + 1], node.described(0))
    shape = without_axes(data.type.shape, (axis,))
    parts = node.steps(Split(axis, (1,) * extent), data, count=extent)
    return tuple(node.result(Reshape(shape), part, output=i) for i, part in enumerate(parts))


def _triangle(upper: bool) -> Converter[KerasNode]:
    return lambda node: node.result(ops.Trilu(upper, integer(node.setting("k", 0), "k")), node.raw(0))


def _reversed_axis(axis: int) -> Converter[KerasNode]:
    def convert(node: KerasNode) -> Operand:
        data = node.raw(0)
        return node.result(turned(data.type.shape, (axis,)), data)

    return convert


SHAPE: Mapping[str, Converter[KerasNode]] = {
    "ops.BroadcastTo": _broadcast_to,
    "ops.Concatenate": _concatenate,
    "ops.ExpandDims": _expand_dims,
    "ops.Flip": _flip,
    "ops.Fliplr": _reversed_axis(1),
    "ops.Flipud": _reversed_axis(0),
    "ops.GetItem": _get_item,
    "ops.Hstack": _side_by_side(1),
    "ops.Moveaxis": _move_axes,
    "ops.Pad": _pad,
    "ops.Ravel": _ravel,
    "ops.Repeat": _repeat,
    "ops.Reshape": _reshape,
    "ops.Resize": resize,
    "ops.Roll": _roll,
    "ops.Slice": _slice,
    "ops.Split": _split,
    "ops.Squeeze": _squeeze,
    "ops.Stack": _stack,
    "ops.Swapaxes": _swap_axes,
    "ops.Tile": _tile,
    "ops.Transpose": _transpose,
    "ops.Tril": _triangle(upper=False),
    "ops.Triu": _triangle(upper=True),
    "ops.Unstack": _unstack,
    "ops.Vstack": _side_by_side(0),
}
