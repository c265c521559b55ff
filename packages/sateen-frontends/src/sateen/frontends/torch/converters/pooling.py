"""Pools over windows, and over as many windows as a result shall have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.topi.computations.windows import Window


def _batched(node: TorchNode, rank: int) -> Value:
    """Data with a batch and channels."""
    data = node.tensor("self")
    missing = rank + 2 - data.type.rank
    return node.reshaped(data, (*(1,) * missing, *data.type.shape)) if missing > 0 else data


def _finished(node: TorchNode, op: ops.MaxPool | ops.AveragePool, data: Value) -> Operand:
    shape = node.type("self").shape
    if len(shape) == data.type.rank:
        return node.result(op, data)
    found = node.step(op, data)
    return node.result(ops.Reshape(shape=found.type.shape[data.type.rank - len(shape) :]), found)


def _settings(node: TorchNode, rank: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Kernel, strides (by default the kernel) and pads on either side."""
    kernel = node.per_axis("kernel_size", rank, 1)
    given = node.argument("stride")
    strides = kernel if given in (None, ()) else node.per_axis("stride", rank, 1)
    return kernel, strides, node.per_axis("padding", rank, 0)


def _pool_max(rank: int, with_indices: bool) -> Converter:
    """max_pool, which has the windows of torch where ceil_mode leaves out those that begin in the padding at the end
    (pooling_output_shape in aten/src/ATen/native/Pool.h)."""

    def convert(node: TorchNode) -> Operand | Sequence[Operand]:
        data = _batched(node, rank)
        kernel, strides, padding = _settings(node, rank)
        dilations, ceil_mode = node.per_axis("dilation", rank, 1), node.flag("ceil_mode")
        op = ops.MaxPool(kernel, strides, (*padding, *padding), dilations, ceil_mode)
        if not with_indices:
            return _finished(node, op, data)
        both = ops.MaxPoolIndices(kernel, strides, (*padding, *padding), dilations, ceil_mode)
        return _with_indices(node, both, data)

    return convert


def _with_indices(node: TorchNode, both: ops.MaxPoolIndices, data: Value) -> Sequence[Operand]:
    """Maxima and where they are in their channel; the graph counts through all of the data."""
    values, places = node.steps(both, data, count=2)
    shape = node.type("self").shape
    size = static_extents(data.type.shape[2:], "a picture whose maxima are searched")
    within = node.step(ops.Modulo(), places, node.literal(int(np.prod(size)), places.type.dtype))
    wanted = values.type.shape[data.type.rank - len(shape) :]
    first = node.result(ops.Reshape(shape=wanted), values)
    return first, node.result(ops.Reshape(shape=wanted), within, output=1)


def _pool_average(rank: int) -> Converter:
    """avg_pool; padding counts unless count_include_pad is false, what ceil_mode adds beyond it never does."""

    def convert(node: TorchNode) -> Operand:
        data = _batched(node, rank)
        kernel, strides, padding = _settings(node, rank)
        include = node.flag("count_include_pad", True)
        ceil_mode = node.flag("ceil_mode")
        pads = (*padding, *padding)
        if not node.gives("divisor_override"):
            op = ops.AveragePool(kernel, strides, pads, (), ceil_mode, include)
            return _finished(node, op, data)
        return _sum_by(node, data, Window(kernel, strides, pads, (1,) * rank), ceil_mode)

    return convert


def _sum_by(node: TorchNode, data: Value, window: Window, ceil_mode: bool) -> Operand:
    """The sum of each window, divided by divisor_override."""
    spatial = static_extents(data.type.shape[2:], "the data of a pool with divisor_override")
    rank = len(spatial)
    if ceil_mode:  # windows beyond the padding at the end are sums of what is there
        counts = window.output(spatial, ceil_mode=True)
        ends = [
            max((n - 1) * s + k - low - extent, high)
            for n, s, k, low, extent, high in zip(
                counts, window.strides, window.kernel, window.pads[:rank], spatial, window.pads[rank:], strict=True
            )
        ]
        window = replace(window, pads=(*window.pads[:rank], *ends))
    if any(window.pads):
        pads = (0, 0, *window.pads[:rank], 0, 0, *window.pads[rank:])
        data = node.step(ops.Pad(pads=pads), data)
    pool = ops.AveragePool(window.kernel, window.strides)
    factor = int(np.prod(window.kernel)) / node.number("divisor_override")
    found = node.step(ops.Multiply(), node.step(pool, data), node.literal(factor, data.type.dtype))
    shape = node.type("self").shape
    return node.result(ops.Reshape(shape=found.type.shape[data.type.rank - len(shape) :]), found)


def _adaptive(rank: int, largest: bool) -> Converter:
    """As many windows as the result has extents: from floor(i·n/m) to ceil((i+1)·n/m) (AdaptivePooling.h)."""

    def convert(node: TorchNode) -> Operand | Sequence[Operand]:
        data = _batched(node, rank)
        wanted = _wanted(node, data, rank)
        spatial = data.type.shape[2:]
        if all(extent == 1 for extent in wanted) and not largest:
            return _reduced(node, data)
        sizes = static_extents(spatial, "the data of a pool of adaptive windows")
        if all(n % m == 0 for n, m in zip(sizes, wanted, strict=True)):
            kernel = tuple(n // m for n, m in zip(sizes, wanted, strict=True))
            if largest and len(node.outputs) > 1:
                return _with_indices(node, ops.MaxPoolIndices(kernel, kernel), data)
            return _finished(node, (ops.MaxPool if largest else ops.AveragePool)(kernel, kernel), data)
        if largest:
            return _unequal_maxima(node, data, sizes, wanted)
        return _unequal(node, data, sizes, wanted)

    return convert


def _wanted(node: TorchNode, data: Value, rank: int) -> tuple[int, ...]:
    """The extents of the result; -1, which None becomes, keeps that of the data."""
    given = node.dims("output_size")
    given = given * rank if len(given) == 1 else given
    spatial = data.type.shape[2:]
    kept: list[Dim] = [n if m == -1 else m for n, m in zip(spatial, given, strict=True)]
    return static_extents(kept, "the result of a pool of adaptive windows")


def _reduced(node: TorchNode, data: Value) -> Operand:
    found = node.step(ops.GlobalAveragePool(), data)
    shape = node.type("self").shape
    return node.result(ops.Reshape(shape=found.type.shape[data.type.rank - len(shape) :]), found)


def _unequal(node: TorchNode, data: Value, sizes: Sequence[int], wanted: Sequence[int]) -> Operand:
    """Averages of windows of unequal extents, as a matrix product along each axis."""
    for axis, (n, m) in enumerate(zip(sizes, wanted, strict=True), start=2):
        node.require_table(n, m)
        weights = np.zeros((n, m))
        for i in range(m):
            start, end = i * n // m, -(-(i + 1) * n // m)
            weights[start:end, i] = 1 / (end - start)
        matrix = node.parameter(weights.astype(data.type.dtype.numpy), f"weights.{axis}")
        order = [d for d in range(data.type.rank) if d != axis] + [axis]
        moved = node.step(ops.MatMul(), node.step(ops.Transpose(permutation=tuple(order)), data), matrix)
        back = tuple(order.index(d) for d in range(len(order)))
        data = node.step(ops.Transpose(permutation=back), moved)
    shape = node.type("self").shape
    return node.result(ops.Reshape(shape=data.type.shape[data.type.rank - len(shape) :]), data)


def _unequal_maxima(
    node: TorchNode, data: Value, sizes: Sequence[int], wanted: Sequence[int]
) -> Operand | Sequence[Operand]:
    """Maxima of windows of unequal extents, and where they are in their channel. The elements of each window are
    gathered to a last axis, those of a shorter one with its last element again."""
    flat = node.reshaped(data, (*data.type.shape[:2], int(np.prod(sizes))))
    places = np.zeros((1, 1), np.int64)
    for n, m in zip(sizes, wanted, strict=True):
        node.require_table(places.size, m, -(-n // m) + 1)
        starts, ends = np.arange(m) * n // m, -(-(np.arange(m) + 1) * n // m)
        along = np.minimum(starts[:, None] + np.arange((ends - starts).max()), ends[:, None] - 1)
        places = (places[:, None, :, None] * n + along[None, :, None, :]).reshape(len(places) * m, -1)
    table = node.parameter(places, "windows")
    windows = node.step(ops.Gather(axis=2), flat, table)
    found = (*data.type.shape[:2], *wanted)
    wanted_shape = found[data.type.rank - node.type("self").rank :]
    maxima = node.step(ops.ReduceMax(axes=(3,), keepdims=False), windows)
    values = node.result(ops.Reshape(shape=wanted_shape), maxima)
    if len(node.outputs) == 1:
        return values
    chosen = node.step(ops.ArgMax(axis=3), windows)
    spread = node.broadcast(table, windows.type.shape)
    where = node.step(ops.GatherElements(axis=3), spread, chosen)
    return values, node.result(ops.Reshape(shape=wanted_shape), where, output=1)


def _by_rank(make: Callable[..., Converter], name: str, *settings: bool) -> dict[str, Converter]:
    return {f"{name}{rank}d": make(rank, *settings) for rank in (1, 2, 3)}


POOLING: dict[str, Converter] = {
    **_by_rank(_adaptive, "adaptive_avg_pool", False),
    **_by_rank(_adaptive, "_adaptive_avg_pool", False),
    **_by_rank(_adaptive, "adaptive_max_pool", True),
    **_by_rank(_pool_average, "avg_pool"),
    **_by_rank(_pool_max, "max_pool", False),
    **{f"max_pool{rank}d_with_indices": _pool_max(rank, True) for rank in (1, 2, 3)},
}
