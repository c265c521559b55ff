"""Constants of programs: in the message, or in a file of weights beside it (MIL.proto; MILBlob's storage format).

A file of weights has a header of 64 bytes, and records aligned to 64 bytes: a mark, the element type, the number of
bytes, where these begin, and how many bits at their end are not used.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from sateen.frontends.core.beside import FilesBeside
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.loading import Message
from sateen.graph_ir.ir import Array, Dim, Symbol, TensorType
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.types import MOST_DIMENSIONS

STRING = 2
_DTYPES: Mapping[int, str] = {
    1: "bool", 10: "float16", 11: "float32", 12: "float64", 21: "int8", 22: "int16", 23: "int32", 24: "int64",
    31: "uint8", 32: "uint16", 33: "uint32", 34: "uint64",
}  # fmt: skip
"""Element types by DataType of MIL.proto."""
_BITS: Mapping[int, int] = {25: 4, 35: 4, 36: 2, 37: 1, 38: 6, 39: 3}
"""The bits of types narrower than a byte; only the first of them has a sign."""
_INT4 = 25
_BLOB_TYPES: Mapping[int, int] = {
    10: 1, 11: 2, 31: 3, 21: 4, 22: 6, 32: 7, 25: 8, 37: 9, 36: 10, 35: 11, 39: 12, 38: 13, 23: 14, 33: 15,
}  # fmt: skip
"""The number of a type in files of weights, by DataType."""
_RECORD = struct.Struct("<IIQQQ")
_MARK = 0xDEADBEEF
_MODEL_PATH = "@model_path/"


@dataclass(frozen=True, slots=True)
class Storage:
    """The files of weights in the folder of a model; None: it has none. No constant takes more than `tensor_bytes`."""

    beside: FilesBeside | None
    tensor_bytes: int

    def read(self, location: str, offset: int, dtype: int, length: int, what: str) -> memoryview:
        """The bytes of a record. Raises FrontendError if it is another than the model says."""
        if self.beside is None:
            raise FrontendError(f"{what}: its data is in {location!r}; give the path of the package, not its bytes")
        plain = location.removeprefix(_MODEL_PATH)
        head = self.beside.read(plain, offset, _RECORD.size, what)
        mark, kind, size, begin, _ = _RECORD.unpack(head)
        expected = (_MARK, _BLOB_TYPES.get(dtype), length)
        if (mark, kind, size) != expected:
            raise FrontendError(
                f"{what}: expected a record of type {expected[1]} with {length} bytes at {offset} of {plain!r}, found "
                f"type {kind} with {size} bytes"
            )
        return self.beside.read(plain, begin, length, what)


def type_of_proto(type_: Message, name: str) -> TensorType | None:
    """The type of a value, whose unknown dimensions are Symbols; None for what is no tensor, or of unknown rank.

    Raises FrontendError for an unknown element type, UnsupportedError for one that the graph does not have.
    """
    if type_.WhichOneof("type") != "tensorType":
        return None
    tensor = type_.tensorType
    if tensor.dataType == STRING or tensor.rank < 0:
        return None
    if tensor.dataType not in _DTYPES:
        raise UnsupportedError(f"{name!r}: element type {tensor.dataType} is not supported")
    if len(tensor.dimensions) > MOST_DIMENSIONS:
        raise FrontendError(f"{name!r}: expected at most {MOST_DIMENSIONS} dimensions, found {len(tensor.dimensions)}")
    dims: list[Dim] = []
    for axis, dimension in enumerate(tensor.dimensions):
        if dimension.WhichOneof("dimension") == "constant":
            dims.append(int(dimension.constant.size))
        elif dimension.unknown.variadic:
            return None
        else:
            dims.append(Symbol(f"{name}.{axis}"))
    if any(isinstance(extent, int) and extent >= 1 << 48 for extent in dims):
        raise FrontendError(f"{name!r}: expected dimensions below 2^48, found {dims}")
    return TensorType.of(DType.of(_DTYPES[tensor.dataType]), dims)


def is_text(value: Message) -> bool:
    return bool(value.type.WhichOneof("type") == "tensorType" and value.type.tensorType.dataType == STRING)


def is_tensor_value(value: Message) -> bool:
    """Whether a constant is a tensor of numbers."""
    return value.type.WhichOneof("type") == "tensorType" and not is_text(value)


def text_of(value: Message, what: str) -> str:
    strings = value.immediateValue.tensor.strings.values
    if len(strings) != 1:
        raise FrontendError(f"{what}: expected one text, found {len(strings)}")
    return str(strings[0])


def is_list(value: Message) -> bool:
    return bool(value.type.WhichOneof("type") == "listType")


def texts_of(value: Message, what: str) -> tuple[str, ...]:
    """A list of texts or whole numbers, as texts."""
    found = []
    for item in value.immediateValue.list.values:
        tensor = item.immediateValue.tensor
        field = tensor.WhichOneof("value")
        numbers: Sequence[Any] = getattr(tensor, field).values if field in ("strings", "ints", "longInts") else ()
        if len(numbers) != 1:
            raise FrontendError(f"{what}: expected a list of texts or whole numbers, found {field or 'nothing'} in it")
        found.append(str(numbers[0]))
    return tuple(found)


def array_of(value: Message, storage: Storage, what: str) -> Array:
    """A constant as an array; numbers of less than a byte as int8 or uint8.

    Raises FrontendError unless it has as many elements as its type says.
    """
    tensor = value.type.tensorType
    shape = tuple(dimension.constant.size for dimension in tensor.dimensions)
    if any(dimension.WhichOneof("dimension") != "constant" for dimension in tensor.dimensions):
        raise FrontendError(f"{what}: expected a constant of known dimensions")
    count, kind = prod(shape), tensor.dataType
    if kind not in _DTYPES and kind not in _BITS:
        raise UnsupportedError(f"{what}: element type {kind} is not supported")
    bits = _BITS.get(kind) or np.dtype(_DTYPES[kind]).itemsize * 8
    length = -(-count * bits // 8)
    if length > storage.tensor_bytes:
        raise FrontendError(f"{what}: expected at most {storage.tensor_bytes} bytes, found {length}")
    match value.WhichOneof("value"):
        case "blobFileValue":
            blob = value.blobFileValue
            data = storage.read(blob.fileName, blob.offset, kind, length, what)
            return _decoded(data, kind, count).reshape(shape)
        case "immediateValue":
            return _immediate(value.immediateValue.tensor, kind, count, length, what).reshape(shape)
    raise FrontendError(f"{what}: expected a value, found none")


def _decoded(data: bytes | memoryview, kind: int, count: int) -> Array:
    if kind in _DTYPES:
        return np.frombuffer(data, np.dtype(_DTYPES[kind]).newbyteorder("<")).astype(_DTYPES[kind], copy=False)
    codes = unpacked(np.frombuffer(data, np.uint8), _BITS[kind], count)
    return np.where(codes > 7, codes.astype(np.int8) - 16, codes).astype(np.int8) if kind == _INT4 else codes


def unpacked(packed: Array, bits: int, count: int) -> Array:
    """Numbers of some bits as uint8; each has its lowest bit first, and numbers follow without gaps."""
    digits = np.unpackbits(packed, bitorder="little")[: count * bits].reshape(count, bits)
    return (digits @ (1 << np.arange(bits))).astype(np.uint8)


def _immediate(tensor: Message, kind: int, count: int, length: int, what: str) -> Array:
    """Types without a field of their own are bytes."""
    field = tensor.WhichOneof("value")
    if field == "bytes":
        data = tensor.bytes.values
        if len(data) != length:
            raise FrontendError(f"{what}: expected {length} bytes, found {len(data)}")
        return _decoded(data, kind, count)
    if field is None and count == 0:
        return np.empty(0, _DTYPES.get(kind, "uint8"))
    if field not in ("floats", "ints", "bools", "longInts", "doubles"):
        raise FrontendError(f"{what}: expected numbers, found {field or 'none'}")
    numbers = getattr(tensor, field).values
    if len(numbers) != count:
        raise FrontendError(f"{what}: expected {count} numbers, found {len(numbers)}")
    dtype = _DTYPES.get(kind, "uint8")
    wide = np.asarray(numbers)
    with np.errstate(over="ignore", invalid="ignore"):
        found = wide.astype(dtype)
    if found.dtype.kind in "iu" and not np.array_equal(found, wide):
        raise FrontendError(f"{what}: expected numbers of {dtype}, found {wide.tolist()[:4]}")
    return found
