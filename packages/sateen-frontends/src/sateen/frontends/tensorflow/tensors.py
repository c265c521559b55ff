"""Element types, shapes and data of TensorFlow as those of sateen.

Data is accepted only if it fits type and shape (tensorflow/core/framework/tensor.proto): the bytes of all elements, or
the first elements in the field of the type, of which the last is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from sateen.frontends.tensorflow.schemas.tensorflow_pb2 import DataType, TensorProto, TensorShapeProto
from sateen.graph_ir.ir import Array
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.types import MOST_DIMENSIONS

DTYPES: Mapping[int, DType] = {
    code: DType.of(name)
    for code, name in {
        1: "float32",
        2: "float64",
        3: "int32",
        4: "uint8",
        5: "int16",
        6: "int8",
        9: "int64",
        10: "bool",
        11: "int8",  # qint8, and the others that only quantising operators give a meaning
        12: "uint8",
        13: "int32",
        14: "bfloat16",
        15: "int16",
        16: "uint16",
        17: "uint16",
        19: "float16",
        22: "uint32",
        23: "uint64",
        24: "float8_e5m2",
        25: "float8_e4m3fn",
    }.items()
}
"""sateen's type of each element type that it has."""
REFERENCE = 100
"""The distance from a type to that of a reference to a variable of it, in graphs of TensorFlow 1."""
_MOST_REPEATED = 1 << 28
"""The most bytes of data of which a file stores only the first elements."""
_MOST_ELEMENTS = 1 << 48
_FIELDS = {
    "float32": "float_val",
    "float64": "double_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "float16": "half_val",
    "bfloat16": "half_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
}  # the others lie in int_val


def dtype_of(code: int, what: str) -> DType:
    """The element type. Raises FrontendError for one that sateen does not have."""
    found = DTYPES.get(code - REFERENCE if code > REFERENCE else code)
    if found is None:
        raise FrontendError(f"{what}: elements of type {type_name(code)} are not supported")
    return found


def type_name(code: int) -> str:
    """TensorFlow's name of an element type, such as DT_STRING."""
    return str(DataType.Name(code)) if code in DataType.values() else str(code)


def shape_of(shape: TensorShapeProto) -> tuple[int, ...] | None:
    """The extents, -1 where one is unknown; None if their number is unknown."""
    return None if shape.unknown_rank else tuple(max(int(dim.size), -1) for dim in shape.dim)


def extents_of(shape: TensorShapeProto, what: str) -> tuple[int, ...]:
    """The extents of data. Raises FrontendError if one is unknown, or if there are too many or too large ones; without
    elements, too, they have to be those of an array."""
    extents = shape_of(shape)
    if extents is None or min(extents, default=0) < 0 or len(extents) > MOST_DIMENSIONS:
        found = "an unknown rank" if extents is None else list(extents[: MOST_DIMENSIONS + 1])
        raise FrontendError(f"{what}: expected at most {MOST_DIMENSIONS} known extents, found {found}")
    if prod(extent for extent in extents if extent) > _MOST_ELEMENTS:
        raise FrontendError(f"{what}: expected extents of at most {_MOST_ELEMENTS} elements, found {list(extents)}")
    return extents


def to_array(tensor: TensorProto, what: str, most_bytes: int) -> Array:
    """The data of a tensor. Raises FrontendError if it does not fit type and shape, or takes more than `most_bytes`."""
    dtype = dtype_of(tensor.dtype, what)
    extents = extents_of(tensor.tensor_shape, what)
    size = prod(extents) * dtype.numpy.itemsize
    if size > most_bytes:
        raise FrontendError(f"{what}: expected at most {most_bytes} bytes of constants, found {size} more")
    if tensor.tensor_content:
        if len(tensor.tensor_content) != size:
            raise FrontendError(
                f"{what}: expected {size} bytes of {dtype}{list(extents)}, found {len(tensor.tensor_content)}"
            )
        return _plain(np.frombuffer(tensor.tensor_content, dtype.numpy).reshape(extents), what)
    return _of_field(tensor, dtype, extents, what)


def single_element(tensor: TensorProto, what: str) -> Array | None:
    """The number that all elements are, as a scalar, if the tensor stores only one; None if it stores more."""
    count = max(len(getattr(tensor, field)) for field in (*_FIELDS.values(), "int_val"))
    if tensor.tensor_content or count > 1:
        return None
    scalar = TensorProto()
    scalar.CopyFrom(tensor)
    del scalar.tensor_shape.dim[:]
    return to_array(scalar, what, _MOST_REPEATED)


def _of_field(tensor: TensorProto, dtype: DType, extents: tuple[int, ...], what: str) -> Array:
    """The elements in the field of the type, the last of them repeated; zeros if there are none."""
    field = _FIELDS.get(str(dtype), "int_val")
    given = np.array(getattr(tensor, field))
    count = prod(extents)
    if len(given) > count:
        raise FrontendError(f"{what}: expected {count} elements of {dtype}{list(extents)}, found {len(given)}")
    if not len(given):
        return np.zeros(extents, dtype.numpy)
    if field == "half_val":
        stored = given.astype(np.uint16)
        data = stored.view(dtype.numpy)
    else:
        stored = given
        data = given.astype(dtype.numpy)
    if field in {"half_val", "int_val"} and not np.array_equal(stored.astype(np.int64), given):
        raise FrontendError(f"{what}: expected numbers of {dtype} in {field}, found others")
    if dtype.is_int and not np.array_equal(data.astype(given.dtype), given):
        raise FrontendError(f"{what}: expected numbers of {dtype} in {field}, found others")
    if len(data) == count:
        return data.reshape(extents)
    if len(data) == 1:
        return np.broadcast_to(data.reshape(()), extents)
    if count * data.itemsize > _MOST_REPEATED:
        raise FrontendError(f"{what}: expected {count} elements, found {len(data)}, of which the last is repeated")
    return np.concatenate([data, np.broadcast_to(data[-1:], count - len(data))]).reshape(extents)


def _plain(data: Array, what: str) -> Array:
    """The data. Raises FrontendError for a bool that is neither 0 nor 1."""
    if data.dtype == np.bool_ and data.view(np.uint8).max(initial=0) > 1:
        raise FrontendError(f"{what}: expected bools of 0 or 1, found other bytes")
    return data


def from_bytes(data: bytes | memoryview, dtype: DType, extents: tuple[int, ...], what: str) -> Array:
    """Elements in little-endian order. Raises FrontendError for bools that are neither 0 nor 1."""
    return _plain(np.frombuffer(data, dtype.numpy).reshape(extents), what)
