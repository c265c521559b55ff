"""Element types and tensor data of ONNX as those of sateen.

Data is accepted only if it fits type and dimensions exactly: one data field of the right length, with every number
within its type.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from onnx import TensorProto

from sateen.frontends.core.beside import FilesBeside
from sateen.frontends.onnx.external_data import read_external_data
from sateen.graph_ir.ir import Array
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.types import MOST_DIMENSIONS

DTYPES = {
    TensorProto.FLOAT: "float32",
    TensorProto.DOUBLE: "float64",
    TensorProto.FLOAT16: "float16",
    TensorProto.BFLOAT16: "bfloat16",
    TensorProto.FLOAT8E4M3FN: "float8_e4m3fn",
    TensorProto.FLOAT8E5M2: "float8_e5m2",
    TensorProto.INT8: "int8",
    TensorProto.INT16: "int16",
    TensorProto.INT32: "int32",
    TensorProto.INT64: "int64",
    TensorProto.UINT8: "uint8",
    TensorProto.UINT16: "uint16",
    TensorProto.UINT32: "uint32",
    TensorProto.UINT64: "uint64",
    TensorProto.BOOL: "bool",
}
"""sateen's name of each supported ONNX element type."""

ELEMENT_TYPES = {DType.of(name): code for code, name in DTYPES.items()}

SCHEMA_NAMES = {DType.of(name): f"tensor({TensorProto.DataType.Name(code).lower()})" for code, name in DTYPES.items()}
"""The notation of tensor types in operator schemas."""

_FIELDS = {
    TensorProto.FLOAT: "float_data",
    TensorProto.DOUBLE: "double_data",
    TensorProto.INT64: "int64_data",
    TensorProto.UINT32: "uint64_data",
    TensorProto.UINT64: "uint64_data",
}  # the others lie in int32_data
_DATA_FIELDS = ("float_data", "double_data", "int32_data", "int64_data", "uint64_data", "string_data")
_BIT_PATTERNS = {
    TensorProto.FLOAT16: np.uint16,
    TensorProto.BFLOAT16: np.uint16,
    TensorProto.FLOAT8E4M3FN: np.uint8,
    TensorProto.FLOAT8E5M2: np.uint8,
}  # what int32_data holds of these


def dtype_of(element_type: int, what: str) -> DType:
    """sateen's element type. Raises FrontendError for an unsupported one."""
    if element_type not in DTYPES:
        known = TensorProto.DataType.items()
        name = next((name.lower() for name, code in known if code == element_type), str(element_type))
        raise FrontendError(f"{what}: elements of type {name} are not supported")
    return DType.of(DTYPES[TensorProto.DataType.ValueType(element_type)])


def tensor_bytes(tensor: TensorProto, what: str) -> int:
    """The memory that the data of a tensor takes, from its type and dimensions alone."""
    dtype = dtype_of(tensor.data_type, what)
    if len(tensor.dims) > MOST_DIMENSIONS:
        raise FrontendError(f"{what}: expected at most {MOST_DIMENSIONS} dimensions, found {len(tensor.dims)}")
    if any(extent < 0 for extent in tensor.dims):
        raise FrontendError(f"{what}: expected dimensions of zero or more, found {list(tensor.dims)}")
    if prod(max(extent, 1) for extent in tensor.dims) >= 1 << 48:
        raise FrontendError(f"{what}: {list(tensor.dims)} is more than any memory holds")
    return int(prod(tensor.dims)) * dtype.bytes


def to_array(
    tensor: TensorProto, beside: FilesBeside | None, what: str, limit: int, raw: memoryview | None = None
) -> Array:
    """The data of a tensor, of its own element type; `raw` is raw data that was cut out of the message.

    Raises FrontendError if it does not fit the type.
    """
    size = tensor_bytes(tensor, what)
    if size > limit:
        raise FrontendError(f"{what}: expected constants of at most {limit} bytes, {list(tensor.dims)} takes {size}")
    if tensor.HasField("segment"):
        raise FrontendError(f"{what}: tensors in segments are not supported")
    numpy_dtype = dtype_of(tensor.data_type, what).numpy
    external = tensor.data_location == TensorProto.EXTERNAL
    filled = [name for name in _DATA_FIELDS if len(getattr(tensor, name))]
    in_raw = raw is not None or tensor.HasField("raw_data")
    places = [*filled, *["raw_data"] * in_raw, *["an external file"] * external]
    if len(places) > 1:
        raise FrontendError(f"{what}: expected data in one place, found {' and '.join(places)}")
    if filled:
        return _from_field(tensor, filled[0], numpy_dtype, what)
    data: bytes | memoryview
    if external:
        data = read_external_data(tensor, beside, size)
    else:
        data = tensor.raw_data if raw is None else raw
    if len(data) != size:
        raise FrontendError(f"{what}: {list(tensor.dims)} takes {size} bytes, found {len(data)}")
    if numpy_dtype == np.bool_:
        stored = np.frombuffer(data, np.uint8).reshape(tensor.dims)
        if stored.max(initial=0) > 1:  # `raw_data` of onnx.proto; a copy with others made true would not share memory
            raise FrontendError(f"{what}: expected bools of 0 or 1, found a byte of {stored.max()}")
        return np.asarray(stored.view(np.bool_))
    array = np.frombuffer(data, numpy_dtype.newbyteorder("<")).reshape(tensor.dims)
    native: Array = np.asarray(array, numpy_dtype)
    return native


def _from_field(tensor: TensorProto, field: str, dtype: np.dtype[Any], what: str) -> Array:
    code = TensorProto.DataType.ValueType(tensor.data_type)
    expected = _FIELDS.get(code, "int32_data")
    if field != expected:
        raise FrontendError(f"{what}: expected data of {dtype} in {expected}, found {field}")
    numbers = np.array(getattr(tensor, field))
    if numbers.size != prod(tensor.dims):
        raise FrontendError(f"{what}: {list(tensor.dims)} takes {prod(tensor.dims)} elements, found {numbers.size}")
    stored = np.dtype(_BIT_PATTERNS.get(code, dtype))
    if numbers.dtype.kind in "iu" and stored.kind in "iu":
        bounds = np.iinfo(stored)
        if numbers.min() < bounds.min or numbers.max() > bounds.max:
            raise FrontendError(f"{what}: expected numbers of {stored}, found {numbers.min()} to {numbers.max()}")
    array: Array = numbers.astype(stored).view(dtype) if code in _BIT_PATTERNS else numbers.astype(dtype)
    return array.reshape(tensor.dims)
