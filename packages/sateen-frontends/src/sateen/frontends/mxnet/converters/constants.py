"""Tensors that attributes describe."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, prod
from typing import Any

import numpy as np

from sateen.frontends.core.operands import Operand, normal_axis, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.mxnet.description import REQUIRED, OperatorDescription, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.frontends.mxnet.types import dtype_of_name
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_MOST_ELEMENTS = 1 << 20
"""The most elements of a range or an identity."""


def _fill(node: MxnetNode, number: float) -> Operand:
    """A tensor of one number. An extent of 0 stands for one that MXNet infers from the operators that read it, as the
    batch of the first states of recurrent cells; here it is 1, which broadcasts."""
    shape = tuple(extent or 1 for extent in node.integers("shape"))
    if min(shape, default=1) < 1:
        raise FrontendError(f"expected extents of 0 or more, found {list(shape)}")
    is_typed = node.attribute("dtype") not in {None, -1}
    single = node.literal(number, dtype_of_name(node.attribute("dtype")) if is_typed else DType.of("float32"))
    return node.result(ops.BroadcastTo(shape=shape), single)


def _filled(number: float) -> OperatorDescription:
    return operator(lambda node: _fill(node, number), "", shape=(), dtype="float32")


def _filled_like(number: float) -> OperatorDescription:
    return operator(lambda node: node.result(ops.BroadcastTo(shape=node.shape(0)), node.literal(number, node.dtype(0))))


def _data(node: MxnetNode, data: np.ndarray[Any, Any], dtype: DType) -> Operand:
    return node.evaluated(data.astype(dtype.numpy))


def _count(numbers: float) -> int:
    """A number of elements. Raises FrontendError if there are none, or too many."""
    if not 0 < numbers <= _MOST_ELEMENTS:
        raise FrontendError(f"expected 1 to {_MOST_ELEMENTS} elements, found {numbers}")
    return ceil(numbers)


def _range(node: MxnetNode) -> Operand:
    """start, start + step, … before stop, each `repeat` times; without a stop, start is the stop."""
    start, stop, step = node.number("start"), node.attribute("stop"), node.number("step")
    if node.flag("infer_range"):
        raise UnsupportedError("a range whose length is that of its readers is not supported", "give its stop")
    if stop is None:
        start, stop = 0.0, start
    if not step:
        raise FrontendError("expected a step other than 0")
    repeat = node.integer("repeat")
    count = _count((float(stop) - start) / step)
    _count(count * repeat)
    numbers = np.repeat(start + step * np.arange(count), repeat)
    return _data(node, numbers, dtype_of_name(node.attribute("dtype")))


def _linspace(node: MxnetNode) -> Operand:
    """`num` numbers from start to stop, with stop as the last one or behind it."""
    count = _count(node.integer("num"))
    numbers = np.linspace(node.number("start"), node.number("stop"), count, endpoint=node.flag("endpoint"))
    return _data(node, numbers, dtype_of_name(node.attribute("dtype")))


def _range_like(node: MxnetNode) -> Operand:
    """A range as long as an axis of the data; without an axis, of the shape of the data."""
    shape: tuple[Dim, ...] = node.shape(0)
    if node.integer("repeat") < 1:
        raise FrontendError(f"expected repeat of 1 or more, found {node.integer('repeat')}")
    axis, repeat = node.optional_integer("axis"), node.integer("repeat")
    if axis is not None:
        shape = (shape[node.axis(len(shape))],)
    extents = static_extents(shape, "the data of a range")
    count = _count(prod(extents))
    places = np.arange(count) // repeat
    return _data(node, (node.number("start") + node.number("step") * places).reshape(extents), node.dtype(0))


def _identity_matrix(node: MxnetNode) -> Operand:
    rows = node.integer("N")
    columns = node.integer("M") or rows
    if min(rows, columns) < 1:
        raise FrontendError(f"expected a matrix of 1 or more rows and columns, found {rows} and {columns}")
    _count(rows * columns)
    diagonal = max(-rows, min(node.integer("k"), columns))
    return _data(node, np.eye(rows, columns, diagonal), dtype_of_name(node.attribute("dtype")))


def _places(node: MxnetNode) -> Operand:
    """The indices of each element, along the last axis, of all or some axes."""
    shape = node.static_shape(0)
    given = node.attribute("axes")
    axes = range(len(shape)) if given is None else [normal_axis(axis, len(shape)) for axis in node.integers("axes")]
    _count(prod(shape) * len(axes))
    places = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
    return _data(node, places[..., list(axes)], DType.of("int64"))


_RANGE: Mapping[str, Any] = {"step": 1.0, "repeat": 1, "infer_range": False, "dtype": "float32"}

CONSTANTS = {
    "_arange": operator(_range, "", start=REQUIRED, stop=None, **_RANGE),
    "_contrib_arange_like": operator(_range_like, start=0.0, step=1.0, repeat=1, axis=None),
    "_contrib_index_array": operator(_places, axes=None),
    "_eye": operator(_identity_matrix, "", N=REQUIRED, M=0, k=0, dtype="float32"),
    "_full": operator(
        lambda node: _fill(node, node.number("value")), "", shape=REQUIRED, dtype="float32", value=REQUIRED
    ),
    "_linspace": operator(_linspace, "", start=REQUIRED, stop=REQUIRED, num=REQUIRED, endpoint=True, dtype="float32"),
    "_ones": _filled(1.0),
    "_zeros": _filled(0.0),
    "_zeros_without_dtype": operator(lambda node: _fill(node, 0.0), "", shape=(), dtype=-1),
    "ones_like": _filled_like(1.0),
    "zeros_like": _filled_like(0.0),
}
