"""Orders: positions of extrema, sorting, and places in a sorted sequence."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.converters.operands import common, operand
from sateen.frontends.torch.converters.reductions import reduced
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.topi.dimensions import product


def _extremum(largest: bool) -> Converter:
    """max and min: of all elements; or along an axis, with positions, of equal ones the first."""

    def convert(node: TorchNode) -> Operand | Sequence[Operand]:
        data = node.tensor("self")
        if not node.gives("dim"):
            op = ops.ReduceMax if largest else ops.ReduceMin
            data, axes, _ = reduced(node, data)
            return node.result(op(axes=axes, keepdims=False), data)
        shape = data.type.shape
        axis, keepdims = node.one_axis(len(shape)), node.flag("keepdim")
        if data.type.dtype.is_bool:
            raise UnsupportedError("positions of extrema of bool are not supported")
        data = data if shape else node.reshaped(data, (1,))
        keepdims = keepdims and bool(shape)
        reduce, arg = (ops.ReduceMax, ops.ArgMax) if largest else (ops.ReduceMin, ops.ArgMin)
        values = node.result(reduce(axes=(axis,), keepdims=keepdims), data)
        return values, node.result(arg(axis=axis, keepdims=keepdims), data, output=1)

    return convert


def _position(largest: bool) -> Converter:
    """argmax and argmin: along an axis, or of all elements as one row."""

    def convert(node: TorchNode) -> Operand:
        data, kind = node.tensor("self"), ops.ArgMax if largest else ops.ArgMin
        shape, keepdims = data.type.shape, node.flag("keepdim")
        if node.gives("dim") and shape:
            return node.result(kind(axis=node.one_axis(len(shape)), keepdims=keepdims), data)
        flat = node.reshaped(data, (product(shape),))
        if not keepdims or not shape:
            return node.result(kind(axis=0, keepdims=False), flat)
        return node.result(ops.Reshape(shape=(1,) * len(shape)), node.step(kind(axis=0), flat))

    return convert


def _top_k(node: TorchNode) -> Sequence[Operand]:
    """The k largest or smallest along an axis, in order; of equal ones the first."""
    data = node.tensor("self")
    rank, k = data.type.rank, node.integer("k")
    axis = node.one_axis(rank, default=-1)
    op = ops.TopK(k=k, axis=axis, largest=node.flag("largest", True), sorted=node.flag("sorted", True))
    return node.results(op, data if rank else node.reshaped(data, (1,)), count=2)


def _sorted(node: TorchNode) -> Sequence[Operand]:
    """All elements along an axis in order, and where they were; equal ones stay in theirs."""
    data = node.tensor("self")
    node.ignore("stable")
    axis, descending = node.one_axis(data.type.rank, default=-1), node.flag("descending")
    return node.results(_whole_order(data, axis, descending), data, count=2)


def _whole_order(data: Value, axis: int, descending: bool) -> ops.TopK:
    if not data.type.rank:
        raise UnsupportedError("the order of a number is not supported")
    (count,) = static_extents(data.type.shape[axis : axis + 1], "an axis that is sorted")
    return ops.TopK(k=count, axis=axis, largest=descending)


def _order(node: TorchNode) -> Operand:
    """argsort."""
    data = node.tensor("self")
    node.ignore("stable")
    axis, descending = node.one_axis(data.type.rank, default=-1), node.flag("descending")
    return node.steps(_whole_order(data, axis, descending), data, count=2)[1]


def _smallest(node: TorchNode) -> Sequence[Operand]:
    """kthvalue: the k-th smallest element along an axis and its position."""
    data, k = node.tensor("self"), node.integer("k")
    axis, keepdims = node.one_axis(data.type.rank, default=-1), node.flag("keepdim")
    found = _one_of_order(node, data, axis, k - 1, keepdims)
    return [node.result(ops.Identity(), v, output=i) for i, v in enumerate(found)]


def _median(node: TorchNode) -> Operand | Sequence[Operand]:
    """The lower one of the two elements in the middle; NaN if an element is. Along an axis also its position, of equal
    ones any (torch.median)."""
    given = node.tensor("self")
    along = node.gives("dim")
    data = given if along and given.type.rank else node.reshaped(given, (product(given.type.shape),))
    axis = node.one_axis(given.type.rank) if along else 0
    keepdims = along and node.flag("keepdim") and given.type.rank > 0
    (count,) = static_extents(data.type.shape[axis : axis + 1], "the elements of a median")
    found = _one_of_order(node, data, axis, (count - 1) // 2, keepdims)
    if data.type.dtype.is_float:
        unknown = node.step(ops.IsNaN(), data)
        is_any = node.step(ops.ReduceMax(axes=(axis,), keepdims=keepdims), unknown)
        first = node.step(ops.ArgMax(axis=axis, keepdims=keepdims), node.cast(unknown, DType.of("int32")))
        others = (node.literal(float("nan"), data.type.dtype), first)
        found = [node.step(ops.Where(), is_any, other, v) for other, v in zip(others, found, strict=True)]
    results = [node.result(ops.Identity(), v, output=i) for i, v in enumerate(found[: len(node.outputs)])]
    return results if along else results[0]


def _one_of_order(node: TorchNode, data: Value, axis: int, place: int, keepdims: bool) -> list[Value]:
    """The element at a place of the order along an axis, and its position."""
    both = node.steps(ops.TopK(k=place + 1, axis=axis, largest=False), data, count=2)
    results: list[Value] = []
    for found in both:
        shape = found.type.shape
        starts = tuple(place if d == axis else 0 for d in range(len(shape)))
        one = node.step(ops.Slice(starts=starts, ends=tuple(shape), steps=(1,) * len(shape)), found)
        kept = [1 if d == axis else extent for d, extent in enumerate(shape) if keepdims or d != axis]
        results.append(node.reshaped(one, kept))
    return results


def _search_sorted(node: TorchNode) -> Operand:
    """searchsorted and bucketize: where values belong in an ascending sequence."""
    is_buckets = node.gives("boundaries")
    sequence = node.tensor("boundaries" if is_buckets else "sorted_sequence")
    right = node.flag("right") or node.argument("side") == "right"
    values = operand(node, "self", common(node, "self", "boundaries" if is_buckets else "sorted_sequence"))
    if node.gives("sorter"):
        sequence = node.step(ops.GatherElements(axis=sequence.type.rank - 1), sequence, node.tensor("sorter"))
    op = ops.SearchSorted(right=right)
    wide = node.cast(sequence, values.type.dtype)
    if not node.flag("out_int32"):
        return node.result(op, wide, values)
    return node.result(ops.Cast(dtype=DType.of("int32")), node.step(op, wide, values))


SORTING: dict[str, Converter] = {
    "argmax": _position(largest=True),
    "argmin": _position(largest=False),
    "argsort": _order,
    "bucketize": _search_sorted,
    "kthvalue": _smallest,
    "max": _extremum(largest=True),
    "median": _median,
    "min": _extremum(largest=False),
    "searchsorted": _search_sorted,
    "sort": _sorted,
    "topk": _top_k,
}
