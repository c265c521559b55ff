"""Operators that fill blobs with the data of their arguments."""

from __future__ import annotations

from math import prod

import numpy as np

from sateen.frontends.caffe2.node import Caffe2Node, Converter
from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

MOST_ELEMENTS = 1 << 28
"""The most elements of a constant that a few bytes of a file ask for."""
DTYPES = {
    1: "float32", 2: "int32", 3: "uint8", 5: "bool", 6: "uint8", 7: "int8", 8: "uint16", 9: "int16", 10: "int64",
    12: "float16", 13: "float64",
}  # fmt: skip
"""Element types by number (caffe2.proto, TensorProto.DataType)."""


def _given(dtype: str) -> Converter:
    """The values of an argument in their shape (given_tensor_fill_op.h)."""

    def convert(node: Caffe2Node) -> Operand:
        values = node.attribute("values")
        numbers = [values] if isinstance(values, (int, float)) else [] if values is None else values
        try:
            data = np.array(numbers, dtype)
        except (ValueError, TypeError, OverflowError):
            raise FrontendError(f"expected numbers of {dtype} as values, found others") from None
        shape = node.wholes("shape") if node.given("shape") else data.shape
        if min(shape, default=1) < 0 or prod(shape) != data.size:
            raise FrontendError(f"expected the numbers of shape {list(shape)}, found {data.size}")
        return data.reshape(shape)

    return convert


def _given_bytes(node: Caffe2Node) -> Operand:
    """The bytes of one text in the shape (given_tensor_byte_string_to_uint8_fill_op.h)."""
    values, shape = node.attribute("values"), node.wholes("shape")
    if isinstance(values, bytes):
        values = [values]
    if values is None or len(values) != 1 or not isinstance(values[0], bytes):
        raise FrontendError("expected one text of bytes as values")
    data = np.frombuffer(values[0], np.uint8)
    if min(shape, default=1) < 0 or prod(shape) != data.size:
        raise FrontendError(f"expected the bytes of shape {list(shape)}, found {data.size}")
    return data.reshape(shape)


def _constant(node: Caffe2Node) -> Operand:
    """A number, of the type that `dtype` or else its own kind says, in a shape: that of the argument, of the input, or
    the one that the input holds (filler_op.h, ConstantFillOp)."""
    node.require_inputs(0, 1)
    if node.inputs and node.whole("input_as_shape", 0):
        shape = tuple(int(extent) for extent in node.constant(0).ravel())
    else:
        shape = node.static_shape(0) if node.inputs else node.wholes("shape")
    shape = (*shape, *node.wholes("extra_shape"))
    if min(shape, default=1) < 0 or prod(shape) > MOST_ELEMENTS:
        raise UnsupportedError(f"a constant of shape {list(shape)} is too large", "give it as data")
    return _filled(node, shape)


def _filled(node: Caffe2Node, shape: tuple[int, ...]) -> Array:
    value = node.attribute("value")
    default = "int64" if isinstance(value, int) else "float32"
    dtype = DTYPES.get(node.whole("dtype", 0), default) if node.given("dtype") else default
    if value is not None and not isinstance(value, (int, float)):
        raise FrontendError(f"expected a number as value, found {value!r}")
    try:
        return node.evaluated(np.full(shape, 0 if value is None else value, dtype))
    except (OverflowError, ValueError):
        raise FrontendError(f"expected a number of {dtype} as value, found {value!r}") from None


FILLS: dict[str, Converter] = {
    "ConstantFill": _constant,
    "GivenTensorBoolFill": _given("bool"),
    "GivenTensorByteStringToUInt8Fill": _given_bytes,
    "GivenTensorDoubleFill": _given("float64"),
    "GivenTensorFill": _given("float32"),
    "GivenTensorInt16Fill": _given("int16"),
    "GivenTensorInt64Fill": _given("int64"),
    "GivenTensorIntFill": _given("int32"),
}
