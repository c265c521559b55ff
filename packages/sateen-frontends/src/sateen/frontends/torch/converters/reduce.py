"""Reductions, positions of extrema, running sums and orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.converters.arithmetic import common, operand
from sateen.frontends.torch.converters.element_wise import truth
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.promotion import floating
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.dtype import DType
from sateen.topi.dimensions import product
from sateen.topi.operators import Operator

MOST_DIFFERENCES = 64
"""The highest order of differences."""
INT64 = DType.of("int64")
Make = Callable[[tuple[int, ...], bool], Operator]


def _scope(node: TorchNode, data: Value) -> tuple[Value, tuple[int, ...], bool]:
    """Data of one axis or more, the axes to reduce, and whether to keep them."""
    rank, keepdims = data.type.rank, node.flag("keepdim")
    axes = node.axes(rank)
    return (data, axes, keepdims) if rank else (node.reshaped(data, (1,)), (0,), False)


def _reduction(make: Make) -> Converter:
    """Any type, which the result has."""

    def convert(node: TorchNode) -> Operand:
        data, axes, keepdims = _scope(node, node.tensor("self"))
        return node.result(make(axes, keepdims), data)

    return convert


def _sum_of(make: Make) -> Converter:
    """Sums and products of integers and bool are int64, unless another type is asked for."""

    def convert(node: TorchNode) -> Operand:
        data = node.tensor("self")
        dtype = node.element_type() or (data.type.dtype if data.type.dtype.is_float else INT64)
        data, axes, keepdims = _scope(node, node.cast(data, dtype))
        return node.result(make(axes, keepdims), data)

    return convert


def _mean(node: TorchNode) -> Operand:
    data, axes, keepdims = _scope(node, node.cast(node.tensor("self"), node.element_type() or node.type("self").dtype))
    return node.result(ops.ReduceMean(axes=axes, keepdims=keepdims), data)


def _truth_of(make: Make) -> Converter:
    """any and all: of bool; of uint8 the result is, too (torch.any)."""

    def convert(node: TorchNode) -> Operand:
        given = node.tensor("self")
        data, axes, keepdims = _scope(node, truth(node, given))
        if str(given.type.dtype) == "uint8":
            return node.result(ops.Cast(dtype=given.type.dtype), node.step(make(axes, keepdims), data))
        return node.result(make(axes, keepdims), data)

    return convert


def moments(node: TorchNode, data: Value, axes: Sequence[int], correction: float) -> tuple[Value, Value]:
    """Mean and variance over axes, which are kept: Σ(x - mean)² / (n - correction)."""
    mean = node.step(ops.ReduceMean(axes=tuple(axes)), data)
    apart = node.step(ops.Subtract(), data, mean)
    total = node.step(ops.ReduceSum(axes=tuple(axes)), node.step(ops.Multiply(), apart, apart))
    (count,) = static_extents([product(data.type.shape[axis] for axis in axes)], "the number of elements of a variance")
    divisor = max(count - correction, 0)
    return mean, node.step(ops.Divide(), total, node.literal(divisor, data.type.dtype))


def _spread(node: TorchNode) -> tuple[Value, Value, Sequence[Dim]]:
    """Mean and variance, with the shape of the result. The correction is 1, or as `unbiased` says."""
    correction = 1.0
    if node.gives("correction"):
        correction = node.number("correction")
    elif node.gives("unbiased"):
        correction = 1.0 if node.flag("unbiased", True) else 0.0
    data, axes, keepdims = _scope(node, node.tensor("self"))
    mean, variance = moments(node, data, axes, correction)
    shape = [1 if axis in axes else d for axis, d in enumerate(data.type.shape) if keepdims or axis not in axes]
    return mean, variance, shape


def _variance(node: TorchNode) -> Operand:
    _, variance, shape = _spread(node)
    return node.result(ops.Reshape(shape=tuple(shape)), variance)


def _deviation(node: TorchNode) -> Operand:
    _, variance, shape = _spread(node)
    return node.result(ops.Sqrt(), node.reshaped(variance, shape))


def _variance_and_mean(deviation: bool) -> Converter:
    def convert(node: TorchNode) -> tuple[Operand, Operand]:
        mean, variance, shape = _spread(node)
        spread = node.step(ops.Sqrt(), variance) if deviation else variance
        first = node.result(ops.Reshape(shape=tuple(shape)), spread)
        return first, node.result(ops.Reshape(shape=tuple(shape)), mean, output=1)

    return convert


def _norm(node: TorchNode) -> Operand:
    """The p-norm of all elements, or along axes; p may be 0 (how many are not 0) or infinite."""
    name = "ord" if node.gives("ord") else "p"
    p = node.number(name, 2) if node.gives(name) else 2.0
    given = node.tensor("self")
    dtype = node.element_type() or floating(given.type.dtype)
    data, axes, keepdims = _scope(node, node.cast(given, dtype))
    return _norm_of(node, data, p, axes, keepdims)


def _norm_of(node: TorchNode, data: Value, p: float, axes: tuple[int, ...], keepdims: bool) -> Operand:
    dtype = data.type.dtype
    if p in (1, 2):
        return node.result((ops.ReduceL1 if p == 1 else ops.ReduceL2)(axes=axes, keepdims=keepdims), data)
    if p == 0:
        counted = node.step(ops.Cast(dtype=dtype), truth(node, data))
        return node.result(ops.ReduceSum(axes=axes, keepdims=keepdims), counted)
    sizes = node.step(ops.Abs(), data)
    if abs(p) == inf:
        return node.result((ops.ReduceMax if p > 0 else ops.ReduceMin)(axes=axes, keepdims=keepdims), sizes)
    powers = node.step(ops.Power(), sizes, node.literal(p, dtype))
    total = node.step(ops.ReduceSum(axes=axes, keepdims=keepdims), powers)
    return node.result(ops.Power(), total, node.literal(1 / p, dtype))


def _extremum(largest: bool) -> Converter:
    """max and min: of all elements; or along an axis, with positions, of equal ones the first."""

    def convert(node: TorchNode) -> Operand | Sequence[Operand]:
        data = node.tensor("self")
        if not node.gives("dim"):
            op = ops.ReduceMax if largest else ops.ReduceMin
            data, axes, _ = _scope(node, data)
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


def _both_extrema(node: TorchNode) -> tuple[Operand, Operand]:
    data = node.tensor("self")
    axes = node.axes(data.type.rank)
    keepdims = node.flag("keepdim")
    low = node.result(ops.ReduceMin(axes=axes, keepdims=keepdims), data)
    return low, node.result(ops.ReduceMax(axes=axes, keepdims=keepdims), data, output=1)


def _log_sum_exp(node: TorchNode) -> Operand:
    data, axes, keepdims = _scope(node, node.cast(node.tensor("self"), floating(node.type("self").dtype)))
    return node.result(ops.ReduceLogSumExp(axes=axes, keepdims=keepdims), data)


def _cumulative(make: Callable[[int], Operator]) -> Converter:
    def convert(node: TorchNode) -> Operand:
        data = node.tensor("self")
        dtype = node.element_type() or (data.type.dtype if data.type.dtype.is_float else INT64)
        axis, data = node.one_axis(data.type.rank), node.cast(data, dtype)
        if not data.type.rank:
            return node.result(ops.Identity(), data)
        return node.result(make(axis), data)

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
    return _one_of_order(node, data, axis, k - 1, keepdims)


def _median(node: TorchNode) -> Operand | Sequence[Operand]:
    """The lower one of the two elements in the middle; NaN if an element is."""
    data = node.tensor("self")
    if node.gives("dim"):
        raise UnsupportedError("medians along an axis are not supported")
    flat = node.reshaped(data, (product(data.type.shape),))
    (count,) = static_extents(flat.type.shape, "the elements of a median")
    middle = (count - 1) // 2
    values, _ = node.steps(ops.TopK(k=middle + 1, axis=0, largest=False), flat, count=2)
    one = node.step(ops.Slice(starts=(middle,), ends=(middle + 1,), steps=(1,)), values)
    if not data.type.dtype.is_float:
        return node.result(ops.Reshape(shape=()), one)
    number = node.reshaped(one, ())
    unknown = node.step(ops.ReduceMax(axes=(0,), keepdims=False), node.step(ops.IsNaN(), flat))
    return node.result(ops.Where(), unknown, node.literal(float("nan"), data.type.dtype), number)


def _one_of_order(node: TorchNode, data: Value, axis: int, place: int, keepdims: bool) -> list[Operand]:
    both = node.steps(ops.TopK(k=place + 1, axis=axis, largest=False), data, count=2)
    results: list[Operand] = []
    for index, found in enumerate(both):
        shape = found.type.shape
        starts = tuple(place if d == axis else 0 for d in range(len(shape)))
        one = node.step(ops.Slice(starts=starts, ends=tuple(shape), steps=(1,) * len(shape)), found)
        kept = [1 if d == axis else extent for d, extent in enumerate(shape) if keepdims or d != axis]
        results.append(node.result(ops.Reshape(shape=tuple(kept)), one, output=index))
    return results


def _summed_to(node: TorchNode) -> Operand:
    """sum_to_size: sums over the axes in front, and those where the result has an extent of 1."""
    data, wanted = node.tensor("self"), node.dims("size")
    missing = data.type.rank - len(wanted)
    axes = [
        axis for axis, d in enumerate(data.type.shape) if axis < missing or (wanted[axis - missing] == 1 and d != 1)
    ]
    return node.result(ops.Reshape(shape=wanted), node.step(ops.ReduceSum(axes=tuple(axes)), data) if axes else data)


def _distance(node: TorchNode) -> Operand:
    """pairwise_distance: the p-norm of x1 - x2 + eps along the last axis."""
    apart = node.step(ops.Subtract(), node.tensor("x1"), node.tensor("x2"))
    shifted = node.step(ops.Add(), apart, node.literal(node.number("eps", 1e-6), apart.type.dtype))
    axes, keepdims = (shifted.type.rank - 1,), node.flag("keepdim")
    return _norm_of(node, shifted, node.number("p", 2.0), axes, keepdims)


def _count_nonzero(node: TorchNode) -> Operand:
    data, axes, _ = _scope(node, truth(node, node.tensor("self")))
    return node.result(ops.ReduceSum(axes=axes, keepdims=False), node.cast(data, INT64))


def _nan_free(make: Make) -> Converter:
    """nansum: NaN counts as 0."""

    def convert(node: TorchNode) -> Operand:
        given = node.tensor("self")
        dtype = node.element_type() or (given.type.dtype if given.type.dtype.is_float else INT64)
        if given.type.dtype.is_float:
            zero = node.literal(0, given.type.dtype)
            given = node.step(ops.Where(), node.step(ops.IsNaN(), given), zero, given)
        data, axes, keepdims = _scope(node, node.cast(given, dtype))
        return node.result(make(axes, keepdims), data)

    return convert


def _search_sorted(node: TorchNode) -> Operand:
    """searchsorted and bucketize: where values belong in an ascending sequence."""
    is_buckets = node.gives("boundaries")
    sequence = node.tensor("boundaries" if is_buckets else "sorted_sequence")
    right = node.flag("right") or node.argument("side") == "right"
    values = operand(node, "self", common(node, "self", "boundaries" if is_buckets else "sorted_sequence"))
    if node.gives("sorter"):
        raise UnsupportedError("a sequence that is sorted by indices is not supported")
    op = ops.SearchSorted(right=right)
    wide = node.cast(sequence, values.type.dtype)
    if not node.flag("out_int32"):
        return node.result(op, wide, values)
    return node.result(ops.Cast(dtype=DType.of("int32")), node.step(op, wide, values))


def _difference(node: TorchNode) -> Operand:
    """diff: each element minus the one before it, n times."""
    data = node.tensor("self")
    rank = data.type.rank
    axis, parts = node.one_axis(rank, default=-1), [node.optional("prepend"), data, node.optional("append")]
    present = [part for part in parts if part is not None]
    data = node.step(ops.Concat(axis=axis), *present) if len(present) > 1 else data
    if data.type.dtype.is_bool:
        raise UnsupportedError("differences of bool are not supported")
    times = node.integer("n", 1)
    if not 0 <= times <= MOST_DIFFERENCES:
        raise UnsupportedError(f"differences of order {times} are not supported")
    for _ in range(times):
        shape = data.type.shape
        ends = tuple(d - 1 if a == axis else d for a, d in enumerate(shape))
        after = ops.Slice(tuple(int(a == axis) for a in range(rank)), tuple(shape), (1,) * rank)
        before = ops.Slice((0,) * rank, ends, (1,) * rank)
        data = node.step(ops.Subtract(), node.step(after, data), node.step(before, data))
    return node.result(ops.Identity(), data)


REDUCE: dict[str, Converter] = {
    "all": _truth_of(lambda axes, keepdims: ops.ReduceMin(axes=axes, keepdims=keepdims)),
    "amax": _reduction(lambda axes, keepdims: ops.ReduceMax(axes=axes, keepdims=keepdims)),
    "amin": _reduction(lambda axes, keepdims: ops.ReduceMin(axes=axes, keepdims=keepdims)),
    "aminmax": _both_extrema,
    "any": _truth_of(lambda axes, keepdims: ops.ReduceMax(axes=axes, keepdims=keepdims)),
    "argmax": _position(largest=True),
    "argmin": _position(largest=False),
    "argsort": _order,
    "bucketize": _search_sorted,
    "count_nonzero": _count_nonzero,
    "cumprod": _cumulative(lambda axis: ops.CumProd(axis=axis)),
    "cumsum": _cumulative(lambda axis: ops.CumSum(axis=axis)),
    "diff": _difference,
    "kthvalue": _smallest,
    "linalg_vector_norm": _norm,
    "logsumexp": _log_sum_exp,
    "max": _extremum(largest=True),
    "mean": _mean,
    "median": _median,
    "min": _extremum(largest=False),
    "nansum": _nan_free(lambda axes, keepdims: ops.ReduceSum(axes=axes, keepdims=keepdims)),
    "norm": _norm,
    "pairwise_distance": _distance,
    "prod": _sum_of(lambda axes, keepdims: ops.ReduceProd(axes=axes, keepdims=keepdims)),
    "searchsorted": _search_sorted,
    "sort": _sorted,
    "special_logsumexp": _log_sum_exp,
    "std": _deviation,
    "std_mean": _variance_and_mean(deviation=True),
    "sum": _sum_of(lambda axes, keepdims: ops.ReduceSum(axes=axes, keepdims=keepdims)),
    "sum_to_size": _summed_to,
    "topk": _top_k,
    "var": _variance,
    "var_mean": _variance_and_mean(deviation=False),
}
