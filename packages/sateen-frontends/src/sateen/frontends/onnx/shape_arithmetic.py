"""Shapes, and what decides them: the extents that operators take as data, resolved, and data that is moved unchanged.

Exporters write `Reshape(x, Concat(Shape(x)[0], -1))` where a shape is meant. The shape of a value with unknown
dimensions is an array of objects that holds Symbols; it can be taken apart and put together, but not computed with.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, isfinite, prod

import numpy as np
from onnx import TensorProto

from sateen.frontends.onnx.emitter import symbols_of
from sateen.frontends.onnx.node import ImportedNode, UnsupportedError, normal_axes, normal_axis
from sateen.frontends.onnx.tensors import Array, dtype_of
from sateen.graph_ir.types import Dim
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

LARGEST_FILL = 1 << 20
"""Elements of a range or an identity matrix, which are made here whatever becomes of them."""

LARGEST = 4096
"""Elements that a node of known inputs reads or gives while importing; more are work for the compiler."""

Move = Callable[[ImportedNode], Array | list[Array] | None]
"""The outputs of a node that puts the elements of its inputs, all known, into other places; None: they are large."""


def moved(node: ImportedNode) -> list[Array] | None:
    """The outputs of a node that moves known data, which may hold Symbols; None for one that does something else."""
    move = _MOVES.get(node.operator)
    if move is None:
        return None
    try:
        result = move(node)
    except (ValueError, IndexError, TypeError) as error:  # NumPy's words for operands that don't fit
        raise FrontendError(f"the operands don't fit: {error}") from None
    if result is None:
        return None
    return [_as_numbers(np.asarray(array)) for array in (result if isinstance(result, list) else [result])]


def _as_numbers(data: Array) -> Array:
    """Dimensions among which there are no Symbols any more, as int64."""
    return data.astype(np.int64) if data.dtype == object and not symbols_of(data) else data


def shape(node: ImportedNode) -> Array:
    """The shape of a value, from `start` to `end` as of opset 15."""
    extents = node.shape(0)
    end = node.attribute("end")
    return extents_array(extents[node.attribute("start") or 0 : len(extents) if end is None else end])


def extents_array(extents: tuple[Dim, ...]) -> Array:
    """Dimensions as data: int64, or objects where there are Symbols."""
    known = all(isinstance(extent, int) for extent in extents)
    result = np.empty(len(extents), np.int64 if known else object)
    result[:] = extents
    return result


def size(node: ImportedNode) -> Array:
    return np.array(np.prod(node.static_shape(0), dtype=np.int64))


def arange(node: ImportedNode) -> Array:
    """ceil((limit - start) / delta) elements."""
    start, limit, delta = (node.scalar(i) for i in range(3))
    if delta == 0 or not all(map(isfinite, (start, limit, delta))):
        raise FrontendError(f"expected finite numbers and a delta other than 0, found {start}, {limit}, {delta}")
    count = max(ceil((limit - start) / delta), 0)
    if count > LARGEST_FILL:
        raise UnsupportedError(f"a range of {count} elements is more than the {LARGEST_FILL} that importing evaluates")
    dtype = node.constant(0).dtype
    result: Array = (start + np.arange(count).astype(dtype) * np.array(delta, dtype)).astype(dtype)
    return result


def resolved_slice(node: ImportedNode) -> tuple[list[int], list[int], list[int]]:
    """Starts, ends and steps of a Slice for every axis of its input, within the bounds of the axes."""
    rank = node.rank(0)
    starts, ends = node.required_setting("starts", 1), node.required_setting("ends", 2)
    given = node.setting("axes", 3)
    axes = tuple(normal_axis(axis, rank) for axis in (range(len(starts)) if given is None else given))
    strides = node.setting("steps", 4) if node.version >= 10 else None
    steps = (1,) * len(starts) if strides is None else strides
    if not len(starts) == len(ends) == len(axes) == len(steps) == len(set(axes)):
        raise FrontendError(
            f"expected as many starts, ends and steps as different axes, found starts {list(starts)}, "
            f"ends {list(ends)}, axes {list(axes)}, steps {list(steps)}"
        )
    shape = node.static_shape(0)
    full = ([0] * rank, list(shape), [1] * rank)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if step == 0:
            raise FrontendError("expected steps other than 0")
        longest = max(shape[axis], 1)
        full[0][axis], full[1][axis], _ = slice(start, end, step).indices(shape[axis])
        if step < 0 and shape[axis] > 0:  # Python begins before the first element, ONNX at it
            full[0][axis] = max(full[0][axis], 0)
        full[2][axis] = max(-longest, min(step, longest))  # a longer step takes one element, too
    return full


def _slice(node: ImportedNode) -> Array:
    starts, ends, steps = resolved_slice(node)
    index = tuple(
        slice(start, None if end < 0 else end, step) for start, end, step in zip(starts, ends, steps, strict=True)
    )
    return node.extents(0)[index]


def squeezed_axes(node: ImportedNode) -> tuple[int, ...]:
    """The axes that Squeeze removes."""
    shape = node.shape(0)
    given = node.setting("axes", 1)
    single = tuple(axis for axis, extent in enumerate(shape) if extent == 1)
    axes = single if given is None else normal_axes(given, len(shape))
    wrong = [axis for axis in axes if shape[axis] != 1]
    if wrong:
        raise FrontendError(f"expected axis {wrong[0]} to have extent 1, found {shape[wrong[0]]}")
    return axes


def unsqueezed_axes(node: ImportedNode) -> tuple[int, ...]:
    """The axes of the result that Unsqueeze adds."""
    given = node.required_setting("axes", 1)
    return normal_axes(given, node.rank(0) + len(given))


def _squeeze(node: ImportedNode) -> Array:
    return np.squeeze(node.extents(0), squeezed_axes(node))


def _unsqueeze(node: ImportedNode) -> Array:
    return np.expand_dims(node.extents(0), unsqueezed_axes(node))


def resolved_shape(node: ImportedNode) -> tuple[int, ...]:
    """The shape that Reshape gives, without 0 (as in the input) and -1 (what remains)."""
    wanted = list(node.required_setting("shape", 1))
    source = node.shape(0)
    if not node.flag("allowzero"):
        if any(extent == 0 and axis >= len(source) for axis, extent in enumerate(wanted)):
            raise FrontendError(f"shape {wanted} copies an axis that the input of shape {list(source)} does not have")
        kept = [source[axis] if extent == 0 else extent for axis, extent in enumerate(wanted)]
    else:
        kept = list(wanted)
    numbers = [extent for extent in kept if isinstance(extent, int)]
    count = prod(node.static_shape(0))
    known = prod(extent for extent in numbers if extent != -1)
    if numbers.count(-1) > 1 or min(numbers, default=0) < -1:
        raise FrontendError(f"expected a shape with at most one -1, found {wanted}")
    if -1 in numbers:
        if known == 0 or count % known:
            raise FrontendError(f"shape {wanted} can't hold the {count} elements of {list(source)}")
        numbers[numbers.index(-1)] = count // known
    elif known != count:
        raise FrontendError(f"shape {wanted} can't hold the {count} elements of {list(source)}")
    return tuple(numbers)


def split_sizes(node: ImportedNode, axis: int) -> tuple[int, ...]:
    """The extents of the parts that Split makes: given, or even, the last one smaller."""
    extent = node.static_shape(0)[axis]
    given = node.setting("split", 1)
    if given is not None:
        if sum(given) != extent or min(given) < 0 or len(given) != len(node.outputs):
            raise FrontendError(f"can't split extent {extent} into {list(given)} for {len(node.outputs)} outputs")
        return given
    count = node.attribute("num_outputs") or len(node.outputs)
    if count != len(node.outputs):
        raise FrontendError(f"expected {count} outputs, found {len(node.outputs)}")
    part = -(-extent // count)
    sizes = tuple(min(part, max(extent - i * part, 0)) for i in range(count))
    if node.version < 18 and extent % count:
        raise FrontendError(f"can't split extent {extent} into {count} even parts")
    return sizes


def _split(node: ImportedNode) -> list[Array]:
    axis = node.axis(node.rank(0))
    return np.split(node.extents(0), np.cumsum(split_sizes(node, axis))[:-1].tolist(), axis)


def _gather(node: ImportedNode) -> Array | None:
    data, indices = node.extents(0), node.constant(1)
    axis = node.axis(data.ndim)
    taken = prod(extent for i, extent in enumerate(data.shape) if i != axis) * indices.size
    return np.take(data, indices, axis) if taken <= LARGEST else None


def _concat(node: ImportedNode) -> Array:
    axis = node.attribute("axis")
    parts = [node.extents(i) for i in range(len(node.inputs))]
    result = np.concatenate(parts, 1 if axis is None else axis)
    return result.astype(object) if any(part.dtype == object for part in parts) else result


def cast_target(node: ImportedNode) -> DType:
    """The element type that Cast gives; up to opset 5 its name, later its number."""
    if node.version >= 6:
        return dtype_of(node.integer("to"), "Cast")
    codes = dict(TensorProto.DataType.items())
    return dtype_of(codes.get(node.text("to").upper(), -1), f"Cast to {node.text('to')!r}")


def _cast(node: ImportedNode) -> Array | None:
    """Of dimensions, which are int64; numbers are converted by the operator."""
    if not symbols_of(node.operand(0)):
        return None
    target = cast_target(node)
    if str(target) != "int64":
        raise UnsupportedError(f"dimensions without a number can't become {target}", "bind them with dims")
    return node.extents(0)


def reduced_axes(node: ImportedNode) -> tuple[int, ...]:
    """The axes of a reduction: all where none are given, unless it says that this means none."""
    rank = node.rank(0)
    given = node.setting("axes", 1)
    if given:
        return normal_axes(given, rank)
    return () if node.flag("noop_with_empty_axes") else tuple(range(rank))


def _identity(node: ImportedNode) -> Array:
    return node.extents(0)


def _reshape(node: ImportedNode) -> Array:
    return node.extents(0).reshape(resolved_shape(node))


_MOVES: dict[str, Move] = {
    "Cast": _cast,
    "Concat": _concat,
    "Gather": _gather,
    "Identity": _identity,
    "Reshape": _reshape,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
}
