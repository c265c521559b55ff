"""Reductions, and running sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from sateen.frontends.core.operands import Operand, normal_axis, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.converters.operands import truth
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.promotion import INT64, floating
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.topi.dimensions import product
from sateen.topi.operators import Operator

MOST_DIFFERENCES = 64
"""The highest order of differences."""

Make = Callable[[tuple[int, ...], bool], Operator]


def reduced(node: TorchNode, data: Value) -> tuple[Value, tuple[int, ...], bool]:
    """Data of one axis or more, the axes to reduce, and whether to keep them."""
    rank, keepdims = data.type.rank, node.flag("keepdim")
    axes = node.axes(rank)
    return (data, axes, keepdims) if rank else (node.reshaped(data, (1,)), (0,), False)


def _reduction(make: Make) -> Converter:
    """Any type, which the result has."""

    def convert(node: TorchNode) -> Operand:
        data, axes, keepdims = reduced(node, node.tensor("self"))
        return node.result(make(axes, keepdims), data)

    return convert


def _sum_of(make: Make) -> Converter:
    """Sums and products of integers and bool are int64, unless another type is asked for."""

    def convert(node: TorchNode) -> Operand:
        data = node.tensor("self")
        dtype = node.element_type() or (data.type.dtype if data.type.dtype.is_float else INT64)
        data, axes, keepdims = reduced(node, node.cast(data, dtype))
        return node.result(make(axes, keepdims), data)

    return convert


def _mean(node: TorchNode) -> Operand:
    data, axes, keepdims = reduced(node, node.cast(node.tensor("self"), node.element_type() or node.type("self").dtype))
    return node.result(ops.ReduceMean(axes=axes, keepdims=keepdims), data)


def _truth_of(make: Make) -> Converter:
    """any and all: of bool; of uint8 the result is, too (torch.any)."""

    def convert(node: TorchNode) -> Operand:
        given = node.tensor("self")
        data, axes, keepdims = reduced(node, truth(node, given))
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
    data, axes, keepdims = reduced(node, node.tensor("self"))
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
    data, axes, keepdims = reduced(node, node.cast(given, dtype))
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


def _matrix_norm(node: TorchNode) -> Operand:
    """linalg_norm: of vectors, or of matrices where an order is given for two axes: the largest or smallest sum of
    sizes along columns (1, -1) or rows (inf, -inf), or that of all elements as one vector (fro). Without an order, of
    all elements, or of vectors along one axis and of matrices along two (torch.linalg.norm)."""
    given = node.tensor("self")
    data = node.cast(given, node.element_type() or floating(given.type.dtype))
    rank, keepdims = data.type.rank, node.flag("keepdim")
    order = node.argument("ord")
    axes = tuple(normal_axis(a, rank) for a in node.integers("dim")) if node.gives("dim") else tuple(range(rank))
    if not rank:
        return node.result(ops.Abs(), data)
    if order is None or order == "fro" or len(axes) == 1:
        return _norm_of(node, data, 2.0 if order in (None, "fro") else node.number("ord"), axes, keepdims)
    if len(axes) != 2 or not isinstance(order, (int, float)) or abs(order) not in (1, inf):
        raise UnsupportedError(f"the norm {order!r} of a matrix, which needs its singular values, is not supported")
    rows, columns = axes if abs(order) == 1 else axes[::-1]
    sums = node.step(ops.ReduceSum(axes=(rows,)), node.step(ops.Abs(), data))
    extremum = (ops.ReduceMax if order > 0 else ops.ReduceMin)(axes=(columns,))
    found = node.step(extremum, sums)
    kept = [d for axis, d in enumerate(found.type.shape) if keepdims or axis not in axes]
    return node.result(ops.Reshape(shape=tuple(kept)), found)


def _both_extrema(node: TorchNode) -> tuple[Operand, Operand]:
    data = node.tensor("self")
    axes = node.axes(data.type.rank)
    keepdims = node.flag("keepdim")
    low = node.result(ops.ReduceMin(axes=axes, keepdims=keepdims), data)
    return low, node.result(ops.ReduceMax(axes=axes, keepdims=keepdims), data, output=1)


def _log_sum_exp(node: TorchNode) -> Operand:
    data, axes, keepdims = reduced(node, node.cast(node.tensor("self"), floating(node.type("self").dtype)))
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


def _distances(node: TorchNode) -> Operand:
    """cdist: the p-norms of the differences of all pairs of rows."""
    node.ignore("compute_mode")  # exact, or by a product of matrices
    one, other = node.tensor("x1"), node.tensor("x2")
    rows = node.reshaped(one, (*one.type.shape[:-1], 1, one.type.shape[-1]))
    columns = node.reshaped(other, (*other.type.shape[:-2], 1, *other.type.shape[-2:]))
    apart = node.step(ops.Subtract(), rows, columns)
    return _norm_of(node, apart, node.number("p", 2.0), (apart.type.rank - 1,), False)


def _distance_of_all(node: TorchNode) -> Operand:
    """dist: the p-norm of a difference."""
    apart = node.step(ops.Subtract(), node.tensor("self"), node.tensor("other"))
    data = apart if apart.type.rank else node.reshaped(apart, (1,))
    return _norm_of(node, data, node.number("p", 2.0), tuple(range(data.type.rank)), False)


def _count_nonzero(node: TorchNode) -> Operand:
    data, axes, _ = reduced(node, truth(node, node.tensor("self")))
    return node.result(ops.ReduceSum(axes=axes, keepdims=False), node.cast(data, INT64))


def _nan_free(make: Make) -> Converter:
    """nansum: NaN counts as 0."""

    def convert(node: TorchNode) -> Operand:
        given = node.tensor("self")
        dtype = node.element_type() or (given.type.dtype if given.type.dtype.is_float else INT64)
        if given.type.dtype.is_float:
            zero = node.literal(0, given.type.dtype)
            given = node.step(ops.Where(), node.step(ops.IsNaN(), given), zero, given)
        data, axes, keepdims = reduced(node, node.cast(given, dtype))
        return node.result(make(axes, keepdims), data)

    return convert


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


REDUCTIONS: dict[str, Converter] = {
    "_cdist_forward": _distances,
    "all": _truth_of(lambda axes, keepdims: ops.ReduceMin(axes=axes, keepdims=keepdims)),
    "amax": _reduction(lambda axes, keepdims: ops.ReduceMax(axes=axes, keepdims=keepdims)),
    "amin": _reduction(lambda axes, keepdims: ops.ReduceMin(axes=axes, keepdims=keepdims)),
    "aminmax": _both_extrema,
    "any": _truth_of(lambda axes, keepdims: ops.ReduceMax(axes=axes, keepdims=keepdims)),
    "cdist": _distances,
    "count_nonzero": _count_nonzero,
    "cumprod": _cumulative(lambda axis: ops.CumProd(axis=axis)),
    "cumsum": _cumulative(lambda axis: ops.CumSum(axis=axis)),
    "diff": _difference,
    "dist": _distance_of_all,
    "linalg_norm": _matrix_norm,
    "linalg_vector_norm": _norm,
    "logsumexp": _log_sum_exp,
    "mean": _mean,
    "nansum": _nan_free(lambda axes, keepdims: ops.ReduceSum(axes=axes, keepdims=keepdims)),
    "norm": _norm,
    "pairwise_distance": _distance,
    "prod": _sum_of(lambda axes, keepdims: ops.ReduceProd(axes=axes, keepdims=keepdims)),
    "special_logsumexp": _log_sum_exp,
    "std": _deviation,
    "std_mean": _variance_and_mean(deviation=True),
    "sum": _sum_of(lambda axes, keepdims: ops.ReduceSum(axes=axes, keepdims=keepdims)),
    "sum_to_size": _summed_to,
    "var": _variance,
    "var_mean": _variance_and_mean(deviation=False),
}
