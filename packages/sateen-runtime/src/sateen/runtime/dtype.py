"""Element types as values: the type code, bits and lanes of DLPack, with a text form such as `float32x4`."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np

from sateen.runtime.errors import ArgumentError


class TypeCode(IntEnum):
    """The type codes of DLPack 1.1 (`DLDataTypeCode`) that sateen knows."""

    INT = 0
    UINT = 1
    FLOAT = 2
    BFLOAT = 4
    BOOL = 6
    FLOAT8_E4M3FN = 10
    FLOAT8_E5M2 = 12


_NAMES = {
    **{(TypeCode.INT, bits): f"int{bits}" for bits in (8, 16, 32, 64)},
    **{(TypeCode.UINT, bits): f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{(TypeCode.FLOAT, bits): f"float{bits}" for bits in (16, 32, 64)},
    (TypeCode.BFLOAT, 16): "bfloat16",
    (TypeCode.BOOL, 8): "bool",
    (TypeCode.FLOAT8_E4M3FN, 8): "float8_e4m3fn",
    (TypeCode.FLOAT8_E5M2, 8): "float8_e5m2",
}
_SCALARS = {name: scalar for scalar, name in _NAMES.items()}
_INTEGERS = (TypeCode.INT, TypeCode.UINT)
_EXACT = (*_INTEGERS, TypeCode.BOOL)
_OF_ML_DTYPES = (TypeCode.BFLOAT, TypeCode.FLOAT8_E4M3FN, TypeCode.FLOAT8_E5M2)
_TEXT = re.compile(r"(.+?)(?:x([1-9]\d{0,4}))?")


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """An element type. `bits` is the storage of one lane; a bool is stored in a byte. It equals its text, as NumPy's
    types do, and NumPy takes it for a type."""

    code: TypeCode
    bits: int
    lanes: int = 1

    def __post_init__(self) -> None:
        if (self.code, self.bits) not in _NAMES:
            raise ArgumentError(
                f"expected an element type of {', '.join(_SCALARS)}; found {self.code!r}, {self.bits} bits"
            )
        if not 1 <= self.lanes < 1 << 16:
            raise ArgumentError(f"expected 1 to 65535 lanes in an element type, found {self.lanes}")

    @staticmethod
    def of(value: DType | str | np.dtype[Any] | type) -> DType:
        """The type that `value` names. Raises ArgumentError if sateen has no such type."""
        if isinstance(value, DType):
            return value
        return _parse(value) if isinstance(value, str) else _from_numpy(value)

    def __str__(self) -> str:
        name = _NAMES[self.code, self.bits]
        return name if self.lanes == 1 else f"{name}x{self.lanes}"

    def __repr__(self) -> str:
        return f"DType({self})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            own = self.code, self.bits, self.lanes
            return self.__class__ is other.__class__ and own == (other.code, other.bits, other.lanes)
        return str(self) == other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def is_float(self) -> bool:
        return self.code not in _EXACT

    @property
    def is_int(self) -> bool:
        return self.code in _INTEGERS

    @property
    def is_bool(self) -> bool:
        return self.code is TypeCode.BOOL

    @property
    def bytes(self) -> int:
        """Storage of one element, all lanes, in bytes."""
        return self.bits * self.lanes // 8

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type of one lane. bfloat16 and float8 need ml_dtypes. Raises ArgumentError if that is not
        installed."""
        return _to_numpy(self.code, self.bits)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The same, under the name by which NumPy finds it: `x.astype(tensor.dtype)`. Raises ArgumentError for several
        lanes, which no NumPy type has."""
        if self.lanes > 1:
            raise ArgumentError(f"expected a type of one lane for NumPy, found {self}; .numpy is that of a lane")
        return self.numpy


@lru_cache(maxsize=256)
def _parse(text: str) -> DType:
    match = _TEXT.fullmatch(text)
    if match is None or match[1] not in _SCALARS:
        raise ArgumentError(f"expected an element type such as 'float32' or 'int8x4', found {text!r}")
    return DType(*_SCALARS[match[1]], int(match[2] or 1))


@lru_cache(maxsize=256)
def _from_numpy(value: np.dtype[Any] | type) -> DType:
    try:
        dtype = np.dtype(value) if value is not None else None  # of None, NumPy makes float64
    except TypeError:
        dtype = None
    if dtype is None:
        raise ArgumentError(f"expected an element type such as 'float32' or 'int8x4', found {value!r}")
    if not dtype.isnative:
        raise ArgumentError(
            f"expected numbers in the byte order of this machine, found the NumPy type {dtype.str!r}; "
            "runtime.array makes a copy in it"
        )
    return _parse(dtype.name)


@lru_cache(maxsize=64)
def _to_numpy(code: TypeCode, bits: int) -> np.dtype[Any]:
    name = _NAMES[code, bits]
    if code not in _OF_ML_DTYPES:
        return np.dtype(name)
    try:
        scalar: type[np.generic] = getattr(importlib.import_module("ml_dtypes"), name)
    except ImportError:
        raise ArgumentError(f"{name} in NumPy needs the package ml_dtypes: pip install ml_dtypes") from None
    return np.dtype(scalar)
