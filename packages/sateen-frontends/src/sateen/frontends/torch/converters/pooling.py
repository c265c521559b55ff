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
from sateen.topi.operators import Operator


def _batched(node: TorchNode, rank: int) -> Value:
    """Data with a batch and channels."""
    data = node.tensor("self")
    missing = rank + 2 - data.type.rank
    return node.reshaped(data, (*(1,) * missing, *data.type.shape)) if missing > 0 else data


def _finished(node: TorchNode, op: Operator, data: Value) -> Operand:
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
    """As many windows as the result has extents (aten/src/ATen/native/AdaptivePooling.h); -1 keeps that of the data."""

    def convert(node: TorchNode) -> Operand | Sequence[Operand]:
        data = _batched(node, rank)
        given = node.dims("output_size")
        given = given * rank if len(given) == 1 else given
        wanted = tuple(n if m == -1 else m for n, m in zip(data.type.shape[2:], given, strict=True))
        if largest and len(node.outputs) > 1:
            return _maxima(node, data, wanted)
        if all(extent == 1 for extent in wanted) and not largest:
            return _finished(node, ops.GlobalAveragePool(), data)
        op = ops.AdaptiveMaxPool(wanted) if largest else ops.AdaptiveAveragePool(wanted)
        return _finished(node, op, data)

    return convert


def _maxima(node: TorchNode, data: Value, wanted: Sequence[Dim]) -> Sequence[Operand]:
    """Maxima of adaptive windows, and where they are in their channel. The elements of each window are gathered to a
    last axis, those of a shorter one with its last element again."""
    found = (*data.type.shape[:2], *wanted)
    shape = found[data.type.rank - node.type("self").rank :]
    values = node.result(ops.Reshape(shape=shape), node.step(ops.AdaptiveMaxPool(tuple(wanted)), data))
    if not node.outputs[1]:
        return values, values
    sizes = static_extents(data.type.shape[2:], "the data of a pool with positions")
    places = np.zeros((1, 1), np.int64)
    for n, m in zip(sizes, static_extents(wanted, "the windows of a pool with positions"), strict=True):
        node.require_table(places.size, m, -(-n // m) + 1)
        starts, ends = np.arange(m) * n // m, -(-(np.arange(m) + 1) * n // m)
        along = np.minimum(starts[:, None] + np.arange((ends - starts).max()), ends[:, None] - 1)
        places = (places[:, None, :, None] * n + along[None, :, None, :]).reshape(len(places) * m, -1)
    table = node.parameter(places, "windows")
    flat = node.reshaped(data, (*data.type.shape[:2], int(np.prod(sizes))))
    windows = node.step(ops.Gather(axis=2), flat, table)
    chosen = node.step(ops.ArgMax(axis=3), windows)
    where = node.step(ops.GatherElements(axis=3), node.broadcast(table, windows.type.shape), chosen)
    return values, node.result(ops.Reshape(shape=shape), where, output=1)


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
