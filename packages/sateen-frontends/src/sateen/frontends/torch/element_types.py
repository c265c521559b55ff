"""Element types by the numbers and names that files give them.

Sources: torch/_export/serde/schema.py (ScalarType); the format description of safetensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sateen.frontends.core.report import UnsupportedError
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_NAMES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64", 12: "bool",
    13: "bfloat16", 28: "uint16", 34: "uint32", 35: "uint64",
}  # fmt: skip
_REFUSED = {
    9: "complex32", 10: "complex64", 11: "complex128", 29: "float8_e4m3fn", 30: "float8_e5m2", 31: "float8_e4m3fnuz",
    32: "float8_e5m2fnuz", 33: "float8_e8m0fnu",
}  # fmt: skip
_SAFETENSORS = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
}  # fmt: skip


def require_size(shape: Sequence[int], dtype: DType, limit: int, what: str) -> None:
    """Raises FrontendError for a tensor that takes more than `limit` bytes, counting extents of 0 as 1: NumPy has no
    shape whose other extents are too large."""
    size = prod(extent or 1 for extent in shape) * dtype.bytes
    if size > limit:
        raise FrontendError(f"{what}: expected a tensor of at most {limit} bytes, found {dtype}{list(shape)}")


def dtype_of(number: int) -> DType:
    """The element type of a number. Raises UnsupportedError for those that sateen does not have."""
    if number not in _NAMES:
        raise UnsupportedError(f"elements of type {_REFUSED.get(number, number)} are not supported")
    return DType.of(_NAMES[number])


def dtype_named(name: str) -> DType:
    """The element type of a name in safetensors. Raises UnsupportedError for those that sateen does not have."""
    if name not in _SAFETENSORS:
        raise UnsupportedError(f"elements of type {name!r} are not supported")
    return DType.of(_SAFETENSORS[name])
