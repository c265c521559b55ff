"""Operators that take elements from places, or put them there. Indices count from the end if they are negative."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.converters.arithmetic import operand
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.program import Reference
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.tensor_ir.ir import int_range
from sateen.topi.computations.broadcast import broadcast_shape
from sateen.topi.dimensions import product

_REDUCTIONS = {"sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min"}
_INT64 = DType.of("int64")


def _indices(node: TorchNode) -> list[Value | None]:
    """An index per axis, None for a whole one. A mask that is known is the indices of what it chooses."""
    found: list[Value | None] = []
    argument = node.argument("indices")
    for item in argument if isinstance(argument, tuple) else ():
        if not isinstance(item, Reference):
            found.append(None)
            continue
        value = node.value_of(item, "indices")
        if not (value.type.dtype.is_bool or str(value.type.dtype) == "uint8"):
            found.append(value)
            continue
        position = node.position(item.name)
        if not node.is_known(position):
            raise UnsupportedError(
                "how many elements a mask chooses is known at run time only",
                "write torch.where instead, or bind what decides the mask",
            )
        found += [node.parameter(np.asarray(places), "places") for places in np.nonzero(node.constant(position))]
    return found


def _index(node: TorchNode) -> Operand:
    """index: several indices broadcast; their axes take the place of the first one, or come first if indexed axes are
    apart (NumPy's advanced indexing)."""
    data, indices = node.tensor("self"), _indices(node)
    axes = [axis for axis, index in enumerate(indices) if index is not None]
    given = [index for index in indices if index is not None]
    if len(axes) == 1:
        return node.result(ops.Gather(axis=axes[0]), data, given[0])
    moved, places, order = _at_front(node, data, axes, given)
    found = node.step(ops.GatherND(), moved, places)
    return node.result(ops.Transpose(permutation=_as_torch(axes, places.type.rank - 1, len(order) - len(axes))), found)


def _at_front(
    node: TorchNode, data: Value, axes: Sequence[int], given: Sequence[Value]
) -> tuple[Value, Value, tuple[int, ...]]:
    """Data with the indexed axes first, indices stacked in a last axis, and the order of axes."""
    order = (*axes, *(axis for axis in range(data.type.rank) if axis not in axes))
    moved = data if order == tuple(range(len(order))) else node.step(ops.Transpose(permutation=order), data)
    shape = broadcast_shape(*(index.type.shape for index in given))
    wide = [node.cast(index, _INT64) for index in given]
    spread = [node.reshaped(node.broadcast(index, shape), (*shape, 1)) for index in wide]
    return moved, node.step(ops.Concat(axis=len(shape)), *spread) if len(spread) > 1 else spread[0], order


def _as_torch(axes: Sequence[int], indexed: int, rest: int) -> tuple[int, ...]:
    """The permutation from [indices…, others…] to torch's order of axes."""
    adjacent = list(axes) == list(range(axes[0], axes[0] + len(axes)))
    before = axes[0] if adjacent else 0
    places, others = list(range(indexed)), list(range(indexed, indexed + rest))
    return (*others[:before], *places, *others[before:])


def _put(node: TorchNode) -> Operand:
    """index_put: what `indices` choose becomes, or with accumulate is increased by, `values`."""
    data, values = node.tensor("self"), node.tensor("values")
    argument = node.argument("indices")
    items = argument if isinstance(argument, tuple) else ()
    if len(items) == 1 and _is_mask(node, items) and product(values.type.shape) == 1:
        return _put_by_mask(node, data, values, node.value_of(items[0], "indices"))
    indices = _indices(node)
    axes = [axis for axis, index in enumerate(indices) if index is not None]
    moved, places, order = _at_front(node, data, axes, [index for index in indices if index is not None])
    indexed, rest = places.type.rank - 1, data.type.rank - len(axes)
    layout = _as_torch(axes, indexed, rest)
    first_shape = (*places.type.shape[:-1], *moved.type.shape[len(axes) :])
    wanted = tuple(first_shape[axis] for axis in layout)
    spread = node.broadcast(values, wanted)
    back = tuple(layout.index(axis) for axis in range(len(layout)))
    updates = node.step(ops.Transpose(permutation=back), spread)
    op = ops.ScatterND(reduction="add" if node.flag("accumulate") else "none")
    found = node.step(op, moved, places, updates)
    return node.result(ops.Transpose(permutation=tuple(order.index(axis) for axis in range(len(order)))), found)


def _is_mask(node: TorchNode, items: Sequence[object]) -> bool:
    (item,) = items
    return isinstance(item, Reference) and node.value_of(item, "indices").type.dtype.is_bool


def _put_by_mask(node: TorchNode, data: Value, values: Value, mask: Value) -> Operand:
    wide = node.reshaped(mask, (*mask.type.shape, *(1,) * (data.type.rank - mask.type.rank)))
    one = node.reshaped(values, ())
    if node.flag("accumulate"):
        one = node.step(ops.Add(), data, one)
    return node.result(ops.Where(), wide, one, data)


def _index_select(node: TorchNode) -> Operand:
    data, index = node.tensor("self"), node.tensor("index")
    axis = node.one_axis(data.type.rank)
    if not data.type.rank:
        return node.result(ops.Reshape(shape=()), data)
    return node.result(ops.Gather(axis=axis), data, node.reshaped(index, (product(index.type.shape),)))


def _embedding(node: TorchNode) -> Operand:
    node.ignore("padding_idx", "scale_grad_by_freq", "sparse")  # these concern gradients
    return node.result(ops.Gather(axis=0), node.tensor("weight"), node.tensor("indices"))


def _with_axis(node: TorchNode, value: Value) -> Value:
    """A number counts as one that has an axis."""
    return value if value.type.rank else node.reshaped(value, (1,))


def _gather(node: TorchNode) -> Operand:
    node.ignore("sparse_grad")
    data, index = _with_axis(node, node.tensor("self")), _with_axis(node, node.tensor("index"))
    axis = node.one_axis(data.type.rank)
    if node.type("index").rank == data.type.rank:
        return node.result(ops.GatherElements(axis=axis), data, index)
    return node.result(
        ops.Reshape(shape=node.type("index").shape), node.step(ops.GatherElements(axis=axis), data, index)
    )


def _take(node: TorchNode) -> Operand:
    """Elements of all axes as one row."""
    data = node.tensor("self")
    return node.result(ops.Gather(axis=0), node.reshaped(data, (product(data.type.shape),)), node.tensor("index"))


def _take_along(node: TorchNode) -> Operand:
    """take_along_dim: gather after broadcasting the other axes."""
    data, index = node.tensor("self"), node.tensor("indices")
    if not node.gives("dim"):
        data, index = (node.reshaped(v, (product(v.type.shape),)) for v in (data, index))
        return node.result(ops.GatherElements(axis=0), data, index)
    rank = data.type.rank
    axis = node.one_axis(rank)
    shape = broadcast_shape(*([1 if d == axis else n for d, n in enumerate(v.type.shape)] for v in (data, index)))
    data, index = (
        node.broadcast(v, [v.type.shape[axis] if d == axis else n for d, n in enumerate(shape)]) for v in (data, index)
    )
    return node.result(ops.GatherElements(axis=axis), data, index)


def _scatter(node: TorchNode) -> Operand:
    """scatter: `src` or a number, put or combined at places along an axis."""
    reduction = _REDUCTIONS.get(node.text("reduce"), "") if node.gives("reduce") else "none"
    data, index = node.tensor("self"), node.tensor("index")
    if node.gives("value"):
        updates = node.broadcast(operand(node, "value", data.type.dtype), index.type.shape)
    else:
        updates = _cut(node, node.tensor("src"), index.type.shape)
    return _scattered(node, data, index, updates, reduction)


def _scatter_add(node: TorchNode) -> Operand:
    data, index = node.tensor("self"), node.tensor("index")
    return _scattered(node, data, index, _cut(node, node.tensor("src"), index.type.shape), "add")


def _cut(node: TorchNode, source: Value, shape: Sequence[Dim]) -> Value:
    """The part of the source for which there are indices."""
    if source.type.shape == tuple(shape):
        return source
    rank = source.type.rank
    return node.step(ops.Slice((0,) * rank, tuple(shape), (1,) * rank), source)


def _scattered(node: TorchNode, data: Value, index: Value, updates: Value, reduction: str) -> Operand:
    if not reduction:
        raise UnsupportedError(f"the reduction {node.text('reduce')!r} is not supported")
    axis = node.one_axis(data.type.rank)
    op = ops.ScatterElements(axis=axis, reduction=reduction)
    if data.type.rank:
        return node.result(op, data, index, updates)
    found = node.step(op, *(node.reshaped(v, (1,)) for v in (data, index, updates)))
    return node.result(ops.Reshape(shape=()), found)


def _scatter_reduce(node: TorchNode) -> Operand:
    """Without include_self, elements that take part begin at the neutral element."""
    data, index = node.tensor("self"), node.tensor("index")
    reduce, dtype = node.text("reduce"), data.type.dtype
    updates = _cut(node, node.tensor("src"), index.type.shape)
    if reduce == "mean" and data.type.rank:
        return _scattered_mean(node, data, index, updates)
    if reduce not in _REDUCTIONS or not data.type.rank:
        raise UnsupportedError(f"the reduction {reduce!r} is not supported")
    axis = node.one_axis(data.type.rank)
    if not node.flag("include_self", True):
        neutral = node.broadcast(node.literal(_neutral(reduce, dtype), dtype), index.type.shape)
        data = node.step(ops.ScatterElements(axis=axis), data, index, neutral)
    return node.result(ops.ScatterElements(axis=axis, reduction=_REDUCTIONS[reduce]), data, index, updates)


def _scattered_mean(node: TorchNode, data: Value, index: Value, updates: Value) -> Operand:
    """Sums divided by how many elements they have; of integers rounded down."""
    axis, dtype = node.one_axis(data.type.rank), data.type.dtype
    zero, one = (node.broadcast(node.literal(n, dtype), index.type.shape) for n in (0, 1))
    counts = node.broadcast(node.literal(1, dtype), data.type.shape)
    if not node.flag("include_self", True):
        data, counts = (node.step(ops.ScatterElements(axis=axis), v, index, zero) for v in (data, counts))
    add = ops.ScatterElements(axis=axis, reduction="add")
    total, count = node.step(add, data, index, updates), node.step(add, counts, index, one)
    return node.result(ops.Divide() if dtype.is_float else ops.FloorDivide(), total, count)


def _neutral(reduce: str, dtype: DType) -> float:
    if reduce in {"sum", "prod"}:
        return 0 if reduce == "sum" else 1
    low, high = (float("-inf"), float("inf")) if dtype.is_float else int_range(dtype)
    return low if reduce == "amax" else high


def _along_axis(reduction: str) -> Converter:
    """index_add and index_copy: slices along an axis, at indices."""

    def convert(node: TorchNode) -> Operand:
        data, index, source = (node.tensor(name) for name in ("self", "index", "source"))
        data, source = _with_axis(node, data), _with_axis(node, source)
        axis = node.one_axis(data.type.rank)
        alpha = node.number("alpha", 1)
        if alpha != 1:
            source = node.step(ops.Multiply(), source, node.literal(alpha, source.type.dtype))
        return _put_slices(node, data, index, source, axis, reduction)

    return convert


def _put_slices(node: TorchNode, data: Value, index: Value, source: Value, axis: int, reduction: str) -> Operand:
    rank = data.type.rank
    order = (axis, *(d for d in range(rank) if d != axis))
    moved, updates = (node.step(ops.Transpose(permutation=order), v) for v in (data, source))
    count = product(index.type.shape)
    places = node.reshaped(index, (count, 1))
    found = node.step(ops.ScatterND(reduction=reduction), moved, places, updates)
    if not node.type("self").rank:
        return node.result(ops.Reshape(shape=()), found)
    return node.result(ops.Transpose(permutation=tuple(order.index(d) for d in range(rank))), found)


def _index_fill(node: TorchNode) -> Operand:
    data, index = _with_axis(node, node.tensor("self")), node.tensor("index")
    axis = node.one_axis(data.type.rank)
    value = operand(node, "value", data.type.dtype)
    shape = [product(index.type.shape) if d == axis else n for d, n in enumerate(data.type.shape)]
    return _put_slices(node, data, index, node.broadcast(node.reshaped(value, ()), shape), axis, "none")


def _grid_sample(node: TorchNode) -> Operand:
    """Modes and paddings by their numbers (aten/src/ATen/native/GridSamplerUtils.h)."""
    modes, paddings = ("linear", "nearest", "cubic"), ("zeros", "border", "reflection")
    mode, padding = node.integer("interpolation_mode", 0), node.integer("padding_mode", 0)
    if not 0 <= mode < 3 or not 0 <= padding < 3:
        raise FrontendError(f"expected modes of 0 to 2, found {mode} and {padding}")
    op = ops.GridSample(mode=modes[mode], padding=paddings[padding], align_corners=node.flag("align_corners"))
    return node.result(op, node.tensor("input"), node.tensor("grid"))


def _put_diagonal(node: TorchNode) -> Operand:
    """diagonal_scatter: a copy with `src` on a diagonal of two axes."""
    data, source = node.tensor("self"), node.tensor("src")
    rank, offset = data.type.rank, node.integer("offset", 0)
    first, second = (node.one_axis(rank, name, default) for name, default in (("dim1", 0), ("dim2", 1)))
    rows, columns = static_extents([data.type.shape[first], data.type.shape[second]], "a matrix with a diagonal")
    count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    node.require_table(count, 2)
    steps = np.arange(count)
    places = np.stack([steps - min(offset, 0), steps + max(offset, 0)], -1)
    order = (first, second, *(d for d in range(rank) if d not in (first, second)))
    moved = node.step(ops.Transpose(permutation=order), data)
    updates = node.step(ops.Transpose(permutation=(rank - 2, *range(rank - 2))), source)
    found = node.step(ops.ScatterND(), moved, node.parameter(places, "places"), updates)
    return node.result(ops.Transpose(permutation=tuple(order.index(d) for d in range(rank))), found)


def _diagonal_matrix(node: TorchNode) -> Operand:
    """diag_embed, and diag of a vector: a matrix with the last axis on a diagonal."""
    data = node.tensor("self")
    offset = node.integer("offset", 0) if node.gives("offset") else node.integer("diagonal", 0)
    rank = data.type.rank + 1
    first, second = (node.one_axis(rank, name, default) for name, default in (("dim1", -2), ("dim2", -1)))
    if (first, second) != (rank - 2, rank - 1):
        raise UnsupportedError("a diagonal of other axes than the last ones is not supported")
    (count,) = static_extents(data.type.shape[-1:], "a diagonal")
    size = count + abs(offset)
    node.require_table(size, size)
    places = np.full((size, size), count)
    steps = np.arange(count)
    places[steps - min(offset, 0), steps + max(offset, 0)] = steps
    zeros = (0,) * data.type.rank
    padded = node.step(ops.Pad(pads=(*zeros, *zeros[:-1], 1)), data)
    return node.result(ops.Gather(axis=data.type.rank - 1), padded, node.parameter(places, "places"))


def _diag(node: TorchNode) -> Operand:
    if node.type("self").rank == 1:
        return _diagonal_matrix(node)
    raise UnsupportedError("diag of a matrix is a view of it", "write diagonal")


GATHER: dict[str, Converter] = {
    "_unsafe_index": _index,
    "_unsafe_index_put": _put,
    "diag": _diag,
    "diag_embed": _diagonal_matrix,
    "diagonal_scatter": _put_diagonal,
    "embedding": _embedding,
    "gather": _gather,
    "grid_sampler": _grid_sample,
    "grid_sampler_2d": _grid_sample,
    "grid_sampler_3d": _grid_sample,
    "index": _index,
    "index_add": _along_axis("add"),
    "index_copy": _along_axis("none"),
    "index_fill": _index_fill,
    "index_put": _put,
    "index_select": _index_select,
    "scatter": _scatter,
    "scatter_add": _scatter_add,
    "scatter_reduce": _scatter_reduce,
    "take": _take,
    "take_along_dim": _take_along,
}
