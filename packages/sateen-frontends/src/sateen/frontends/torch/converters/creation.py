"""Tensors that are made: of one number, ranges, identities."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite

import numpy as np

from sateen.frontends.core.operands import Operand, require_bound, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import symbols_of


def _filled(node: TorchNode, shape: Sequence[Dim], number: float) -> Operand:
    """A tensor of one number, in the type that the program declares."""
    node.ignore("dtype")
    return node.result(ops.BroadcastTo(shape=tuple(shape)), node.literal(number, node.result_dtype()))


def _of_size(number: float) -> Converter:
    def convert(node: TorchNode) -> Operand:
        node.ignore("self")  # of which new_zeros and the like take the type
        return _filled(node, node.dims("size"), number)

    return convert


def _like(number: float) -> Converter:
    return lambda node: _filled(node, node.type("self").shape, number)


def _empty_strided(node: TorchNode) -> Operand:
    node.ignore("self", "stride")
    return _filled(node, node.dims("size"), 0)


def _full(node: TorchNode) -> Operand:
    node.ignore("self")
    return _filled(node, node.dims("size"), node.number("fill_value"))


def _full_like(node: TorchNode) -> Operand:
    return _filled(node, node.type("self").shape, node.number("fill_value"))


def _fill(node: TorchNode) -> Operand:
    """Another tensor's shape and type, filled with a number or a tensor of one element."""
    target = node.type("self")
    if not node.is_tensor("value"):
        return _filled(node, target.shape, node.number("value"))
    value = node.reshaped(node.tensor("value"), ())
    return node.result(ops.BroadcastTo(shape=target.shape), node.cast(value, target.dtype))


def _scalar(node: TorchNode) -> Operand:
    return _filled(node, (), node.number("s"))


def _range(node: TorchNode) -> Operand:
    """start, start + step, … before the end; ceil((end - start) / step) elements."""
    start = node.number("start", 0) if not node.is_tensor("start") else node.dim("start")
    end = node.number("end") if not node.is_tensor("end") else node.dim("end")
    step = node.number("step", 1) if not node.is_tensor("step") else node.dim("step")
    node.ignore("dtype")
    dtype = node.result_dtype()
    if not isinstance(end, (int, float)) and start == 0 and step == 1:
        return _range_to_dimension(node, end, dtype)
    require_bound(symbols_of(*(d for d in (start, end, step) if not isinstance(d, float))), "a range")
    return _known_range(node, start, end, step, dtype)  # type: ignore[arg-type]  # none is open


def _known_range(node: TorchNode, start: float, end: float, step: float, dtype: DType) -> Operand:
    if step == 0 or not all(map(isfinite, (start, end, step))):
        raise FrontendError(f"expected finite numbers and a step other than 0, found {start}, {end}, {step}")
    count = max(ceil((end - start) / step), 0)
    node.require_table(count)
    wide = np.int64 if dtype.is_int else np.float64
    numbers = np.array(start, wide) + np.arange(count).astype(wide) * np.array(step, wide)
    return node.evaluated(numbers.astype(dtype.numpy))


def _range_to_dimension(node: TorchNode, end: Dim, dtype: DType) -> Operand:
    """0, 1, … before an open dimension, as cumulative sums of ones."""
    ones = node.broadcast(node.literal(1, DType.of("int64")), (end,))
    return node.result(ops.Cast(dtype=dtype), node.step(ops.CumSum(exclusive=True), ones))


def _line(node: TorchNode) -> Operand:
    """linspace: so many numbers from start to end, symmetric about the middle (RangeFactories.cpp)."""
    start, end, count = node.number("start"), node.number("end"), node.integer("steps")
    node.ignore("dtype")
    dtype = node.result_dtype()
    node.require_table(count)
    if not dtype.is_float:
        raise UnsupportedError("linspace of integers is not supported")
    step = (end - start) / (count - 1) if count > 1 else 0.0
    places = np.arange(count)
    numbers = np.where(places < count // 2, start + places * step, end - (count - 1 - places) * step)
    return node.evaluated((numbers if count != 1 else np.array([start])).astype(dtype.numpy))


def _identity(node: TorchNode) -> Operand:
    """eye: ones on the diagonal."""
    rows = node.integer("n")
    columns = node.integer("m") if node.gives("m") else rows
    node.require_table(rows, columns)
    node.ignore("dtype")
    return node.evaluated(np.eye(rows, columns, dtype=node.result_dtype().numpy))


def _triangle_indices(upper: bool) -> Converter:
    def convert(node: TorchNode) -> Operand:
        rows, columns, offset = node.integer("row"), node.integer("col"), node.integer("offset", 0)
        node.require_table(rows, columns)
        node.ignore("dtype")
        found = np.triu_indices(rows, offset, columns) if upper else np.tril_indices(rows, offset, columns)
        return node.evaluated(np.stack(found).astype(node.result_dtype().numpy))

    return convert


def _one_hot(node: TorchNode) -> Operand:
    """A new last axis; the number of classes must be known."""
    classes = node.integer("num_classes", -1)
    if classes < 1:
        raise UnsupportedError("one_hot without num_classes is not supported", "give num_classes")
    values = node.parameter(np.array([0, 1], np.int64), "values")
    data = node.tensor("self")
    return node.result(ops.OneHot(depth=classes, axis=data.type.rank), data, values)


def _window(node: TorchNode, terms: Sequence[float]) -> Operand:
    """Sums of cosines over a length: periodic, as they are by default, or symmetric (torch.hann_window)."""
    (length,) = static_extents((node.dim("window_length"),), "a window")
    node.require_table(length)
    periodic = node.flag("periodic", True)
    node.ignore("dtype")
    angles = 2 * np.pi * np.arange(length) / max(length if periodic else length - 1, 1)
    waves = sum(term * (-1) ** i * np.cos(i * angles) for i, term in enumerate(terms))
    found = np.ones(1) if length == 1 else np.asarray(waves)
    return node.evaluated(found.astype(node.result_dtype().numpy))


CREATION: dict[str, Converter] = {
    "arange": _range,
    "blackman_window": lambda node: _window(node, (0.42, 0.5, 0.08)),
    "empty": _of_size(0),
    "empty_like": _like(0),
    "empty_strided": _empty_strided,
    "eye": _identity,
    "fill": _fill,
    "full": _full,
    "full_like": _full_like,
    "hann_window": lambda node: _window(node, (0.5, 0.5)),
    "linspace": _line,
    "new_empty": _of_size(0),
    "new_empty_strided": _empty_strided,
    "new_full": _full,
    "new_ones": _of_size(1),
    "new_zeros": _of_size(0),
    "one_hot": _one_hot,
    "ones": _of_size(1),
    "ones_like": _like(1),
    "scalar_tensor": _scalar,
    "tril_indices": _triangle_indices(upper=False),
    "triu_indices": _triangle_indices(upper=True),
    "zero": _like(0),
    "zeros": _of_size(0),
    "zeros_like": _like(0),
}
