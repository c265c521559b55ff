"""Operators that put elements to places. Indices count from the end if they are negative."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.converters.gather import as_torch, at_front, indices_of, is_mask, with_axis
from sateen.frontends.torch.converters.operands import operand
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.promotion import INT64
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.dtype import DType
from sateen.tensor_ir.ir import int_range
from sateen.topi.computations.broadcast import broadcast_shape
from sateen.topi.dimensions import product

_REDUCTIONS = {"sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min"}


def _put(node: TorchNode) -> Operand:
    """index_put: what `indices` choose becomes, or with accumulate is increased by, `values`."""
    data, values = node.tensor("self"), node.tensor("values")
    argument = node.argument("indices")
    items = argument if isinstance(argument, tuple) else ()
    if len(items) == 1 and is_mask(node, items):
        return _put_by_mask(node, data, values, node.value_of(items[0], "indices"))
    indices = indices_of(node)
    axes = [axis for axis, index in enumerate(indices) if index is not None]
    moved, places, order = at_front(node, data, axes, [index for index in indices if index is not None])
    indexed, rest = places.type.rank - 1, data.type.rank - len(axes)
    layout = as_torch(axes, indexed, rest)
    first_shape = (*places.type.shape[:-1], *moved.type.shape[len(axes) :])
    wanted = tuple(first_shape[axis] for axis in layout)
    spread = node.broadcast(values, wanted)
    back = tuple(layout.index(axis) for axis in range(len(layout)))
    updates = node.step(ops.Transpose(permutation=back), spread)
    op = ops.ScatterND(reduction="add" if node.flag("accumulate") else "none")
    found = node.step(op, moved, places, updates)
    return node.result(ops.Transpose(permutation=tuple(order.index(axis) for axis in range(len(order)))), found)


def _put_by_mask(node: TorchNode, data: Value, values: Value, mask: Value) -> Operand:
    """`values` has a slice for each place that the mask chooses, in order, or one for all."""
    rest = data.type.shape[mask.type.rank :]
    wide = node.reshaped(mask, (*mask.type.shape, *(1,) * len(rest)))
    if values.type.rank <= len(rest) or values.type.shape[0] == 1:
        if values.type.rank > len(rest):
            values = node.reshaped(values, values.type.shape[1:])
        chosen = node.broadcast(values, data.type.shape)
    else:
        chosen = _in_places(node, node.broadcast(values, (values.type.shape[0], *rest)), mask)
    if node.flag("accumulate"):
        chosen = node.step(ops.Add(), data, chosen)
    return node.result(ops.Where(), wide, chosen, data)


def _in_places(node: TorchNode, values: Value, mask: Value) -> Value:
    """The slices of `values` one after the other at the places that the mask chooses, and any at the others."""
    count = product(mask.type.shape)
    flags = node.cast(node.reshaped(mask, (count,)), INT64)
    order = node.step(ops.CumSum(exclusive=True), flags)
    return node.reshaped(node.step(ops.Gather(axis=0), values, order), (*mask.type.shape, *values.type.shape[1:]))


def _masked_scatter(node: TorchNode) -> Operand:
    """The first elements of `source` at the places that the mask chooses."""
    data, mask, source = node.tensor("self"), node.tensor("mask"), node.tensor("source")
    shape = broadcast_shape(data.type.shape, mask.type.shape)
    wide = node.broadcast(mask, shape)
    chosen = _in_places(node, node.reshaped(source, (product(source.type.shape),)), wide)
    return node.result(ops.Where(), wide, chosen, node.broadcast(data, shape))


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
        data, source = with_axis(node, data), with_axis(node, source)
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
    data, index = with_axis(node, node.tensor("self")), node.tensor("index")
    axis = node.one_axis(data.type.rank)
    value = operand(node, "value", data.type.dtype)
    shape = [product(index.type.shape) if d == axis else n for d, n in enumerate(data.type.shape)]
    return _put_slices(node, data, index, node.broadcast(node.reshaped(value, ()), shape), axis, "none")


SCATTER: dict[str, Converter] = {
    "_unsafe_index_put": _put,
    "index_add": _along_axis("add"),
    "index_copy": _along_axis("none"),
    "index_fill": _index_fill,
    "index_put": _put,
    "masked_scatter": _masked_scatter,
    "scatter": _scatter,
    "scatter_add": _scatter_add,
    "scatter_reduce": _scatter_reduce,
}
