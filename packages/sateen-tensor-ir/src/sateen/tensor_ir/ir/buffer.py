"""Buffers: named memory that loop IR loads from and stores to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import gcd
from types import MappingProxyType
from typing import Any

import numpy as np

from sateen.runtime.device import Device, DeviceKind
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ExpressionError, ScheduleError
from sateen.tensor_ir.ir.choices import subscript
from sateen.tensor_ir.ir.expr import Const, Expr, Var, as_expr, const, minimum
from sateen.tensor_ir.ir.types import UINT64, element_type


class Scope(Enum):
    """The scope of a buffer. With higher rank more threads share it."""

    REGISTER = "register"
    LOCAL = "local"
    WARP = "warp"
    SHARED = "shared"
    GLOBAL = "global"

    @property
    def rank(self) -> int:
        return _RANK[self]

    @staticmethod
    def of(value: Scope | str, where: str) -> Scope:
        """The scope of that name, for the caller `where`. Raises ScheduleError for any other name."""
        try:
            return Scope(value)
        except ValueError:
            known = ", ".join(scope.value for scope in Scope)
            raise ScheduleError(f"{where}: expects one of {known}, found {value!r}") from None


_RANK = {Scope.REGISTER: 0, Scope.LOCAL: 0, Scope.WARP: 1, Scope.SHARED: 2, Scope.GLOBAL: 3}


def tagged_scope(value: Scope | str, where: str) -> tuple[Scope, str]:
    """The scope and the tag of a text such as `local.acc`, for the caller `where`; a tag begins with a point.

    Raises ScheduleError for a name that no scope has.
    """
    name, point, tag = value.partition(".") if isinstance(value, str) else (value, "", "")
    return Scope.of(name, where), point + tag


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Buffer:
    """Memory of `shape` elements of `dtype`; element (i, j, …) is at offset Σ index·stride.

    `strides` are in elements (None: compact row-major). `alignment` of the first element is in bytes. A buffer with
    `data` is constant: its loads fold if their indices are constant. `device` is the device of the memory; None: that
    of the code that uses it. In the declaration of an argument `is_broadcast` says that along an extent of 1 each index
    means the only element; lowering writes that into indices.
    """

    name: str
    shape: tuple[Expr, ...]
    dtype: DType
    scope: Scope = Scope.GLOBAL
    strides: tuple[Expr, ...] | None = None
    alignment: int = 64
    data: np.ndarray[Any, Any] | None = None
    device: Device | None = None
    is_broadcast: bool = False

    def __repr__(self) -> str:
        return f"Buffer({self.name}: {self.type} {self.scope.value})"

    @property
    def type(self) -> str:
        """Element type and shape, such as float32[1, n]."""
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    @property
    def on_device(self) -> Device | None:
        """The device of its memory; None for the memory of the code's own processor."""
        return None if self.device is None or self.device.kind is DeviceKind.CPU else self.device

    def stride_exprs(self) -> tuple[Expr, ...]:
        """The stride of each dimension, in elements."""
        if self.strides is not None:
            return self.strides
        strides: list[Expr] = []
        step: Expr = const(1)
        for extent in reversed(self.shape):
            strides.append(step)
            step = step * extent
        return tuple(reversed(strides))

    def offset(self, indices: tuple[Expr, ...]) -> Expr:
        """The flat offset of an element, in elements."""
        total: Expr = const(0)
        for index, stride in zip(indices, self.stride_exprs(), strict=True):
            total = total + index * stride
        return total

    def span_bytes(self) -> Expr:
        """The bytes from the first element to the end of the last one; 0 without elements."""
        some: Expr = const(1)
        if self.strides is None:
            for extent in self.shape:
                some = some * extent
            return some * self.dtype.bytes
        last: Expr = const(1)
        for extent, stride in zip(self.shape, self.stride_exprs(), strict=True):
            last, some = last + (extent - 1) * stride, some * minimum(extent, 1)
        return last * some * self.dtype.bytes

    def has_places(self) -> bool:
        """Whether each stride goes beyond what the smaller ones reach, so that no elements share a place; also true if
        a size is symbolic, which a call decides, and if there are no elements."""
        if any(isinstance(extent, Const) and extent.value == 0 for extent in self.shape):
            return True
        steps = sorted(
            (int(stride.value), int(extent.value))
            for extent, stride in zip(self.shape, self.stride_exprs(), strict=True)
            if isinstance(stride, Const) and isinstance(extent, Const) and extent.value > 1
        )
        reach = 0
        for stride, extent in steps:
            if stride <= reach:
                return False
            reach += stride * (extent - 1)
        return True

    def vload(self, begin: Any, dtype: DType | str | None = None) -> Expr:
        """The elements from `begin` on along the last dimension, as lanes: `dtype` is that of the buffer with their
        number, such as float32x4. Operations on it are lane by lane; `vstore` stores it. Without `dtype` it is one
        element.

        Raises ExpressionError for another element type, another number of lanes than 2, 4, 8, 16, 32 or 64, and another
        number of indices than dimensions.
        """
        kind = DType.of(self.dtype if dtype is None else dtype)
        if kind == self.dtype:
            return Load(self, self._indices("vload", begin), self.dtype)
        lane = LANES.get(kind.lanes)
        if lane is None or (kind.code, kind.bits) != (self.dtype.code, self.dtype.bits):
            counts = ", ".join(f"{self.dtype}x{n}" for n in LANES)
            raise ExpressionError(f"vload of {self.name!r} expects one of {counts}, found {kind}")
        *outer, last = self._indices("vload", begin)
        return Load(self, (*outer, last + lane), self.dtype)

    def vstore(self, begin: Any, value: Any, lanes: int | None = None) -> VectorStore:
        """A store of the lanes of a value from `begin` on along the last dimension, for `ib.emit`.

        `lanes` is their number if the value is the same in all, or 1 for one element. Raises ExpressionError for
        another number of indices than dimensions.
        """
        return VectorStore(self, self._indices("vstore", begin), as_expr(value, self.dtype), lanes)

    def _indices(self, what: str, begin: Any) -> tuple[Expr, ...]:
        """The indices of a first element."""
        indices = tuple(begin) if isinstance(begin, (tuple, list)) else (begin,)
        if not indices or len(indices) != len(self.shape):
            raise ExpressionError(f"{what} of {self.name!r} expects {len(self.shape)} indices, found {len(indices)}")
        return tuple(subscript(as_expr(i)) for i in indices)

    def access_ptr(
        self,
        access_mask: str | int,
        ptr_type: str = "handle",  # noqa: ARG002 - TVM's
        content_lanes: int = 1,  # noqa: ARG002 - TVM's
        offset: Any = 0,
    ) -> Address:
        """The address `offset` elements after the first one, for an external function (`te.call_extern`).

        `access_mask` says what the function does with the elements from there on: "r", "w" or "rw", or 1, 2 or 3.
        `ptr_type` and `content_lanes` are those of TVM; all addresses are untyped here, so they say nothing. Raises
        ExpressionError for another mask, and an offset that is no integer.
        """
        masks: dict[str | int, str] = {"r": "r", "w": "w", "rw": "rw", "wr": "rw", 1: "r", 2: "w", 3: "rw"}
        if access_mask not in masks:
            raise ExpressionError(
                f"access_ptr of {self.name!r} expects a mask of {', '.join(ACCESSES)}, found {access_mask!r:.80}"
            )
        place = as_expr(offset)
        if not place.dtype.is_int:
            raise ExpressionError(f"access_ptr of {self.name!r} expects an integer as offset, found {place.dtype}")
        return Address(self, subscript(place), masks[access_mask])

    def size(self) -> int | None:
        """The number of elements that storage must hold; None if an extent is symbolic."""
        if not self.shape:
            return 1
        last = self.offset(tuple(extent - 1 for extent in self.shape))
        return int(last.value) + 1 if isinstance(last, Const) else None


LANES: Mapping[int, Var] = MappingProxyType({n: Var(f"lane{n}") for n in (2, 4, 8, 16, 32, 64)})
"""The lane of a vector, by the number of lanes. A vectorized loop over it stores the vector."""


@dataclass(frozen=True, slots=True, eq=False)
class VectorStore:
    """A store of the lanes of a value from `indices` on; with `lanes` None their number is that of its variable of
    LANES."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    lanes: int | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Load(Expr):
    """An element of a buffer."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    dtype: DType


ACCESSES = ("r", "w", "rw")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Address(Expr):
    """Where the element lies that is `offset` elements after the first one of a buffer, for a function that is called.

    `access` says what the function does from there on: r, w or rw. As a number it is the address.
    """

    buffer: Buffer
    offset: Expr
    access: str
    dtype: DType = UINT64


def shape_of(shape: Any) -> tuple[Expr, ...]:
    """A shape, given as one extent or a sequence of extents, as expressions. Raises ExpressionError for anything
    else."""
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    result = tuple(as_expr(extent) for extent in extents)
    for extent in result:
        if not extent.dtype.is_int or (isinstance(extent, Const) and extent.value < 0):
            raise ExpressionError(f"a shape expects integers of at least 0, found {extent} ({extent.dtype})")
    return tuple(subscript(extent) for extent in result)


_BUFFER_TYPES = ("", "auto_broadcast")


def decl_buffer(
    shape: Any,
    dtype: DType | str = "float32",
    name: str = "buffer",
    *,
    strides: Sequence[Any] | None = None,
    elem_offset: Any = None,
    offset_factor: int = 0,
    scope: Scope | str = Scope.GLOBAL,
    alignment: int = 64,
    device: Device | str | None = None,
    buffer_type: str = "",
) -> Buffer:
    """A buffer to be bound to an argument or an extern operand: shape and strides in elements, alignment in bytes.

    A stride may be a variable, which a call binds to that of the array. `elem_offset`, a variable or a number, says
    that the first element is somewhere in memory of that alignment, at a multiple of `offset_factor` elements;
    `offset_factor` alone says so, too. The address of an argument's first element always counts its byte offset.

    With the `buffer_type` "auto_broadcast" an argument may have extents of 1 in a call where the computation reads more
    elements: all of these are the only one.

    `device` is the device of its memory, None that of the code. An argument on "cpu()" of code for another device is
    copied there, and back if it is an output. Raises ArgumentError for an unknown device, ScheduleError for an unknown
    scope, and ExpressionError for a shape or strides that are not integers, for another number of strides than of
    extents, for an offset that is no integer, for an alignment or a factor that is no power of two, and for another
    `buffer_type`.
    """
    if buffer_type not in _BUFFER_TYPES:
        raise ExpressionError(
            f"decl_buffer of {name!r}: expected a buffer_type of {' or '.join(map(repr, _BUFFER_TYPES))}, found "
            f"{buffer_type!r:.80}"
        )
    extents = shape_of(shape)
    steps = None if strides is None else shape_of(tuple(strides))
    if steps is not None and len(steps) != len(extents):
        raise ExpressionError(f"decl_buffer of {name!r}: expected {len(extents)} strides, found {len(steps)}")
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        found = f"{alignment!r:.80}"
        raise ExpressionError(f"decl_buffer of {name!r}: expected an alignment of a power of two, found {found}")
    if elem_offset is not None or offset_factor:
        alignment = _offset_alignment(name, elem_offset, offset_factor, alignment, element_type(dtype).bytes)
    place = None if device is None else Device.of(device)
    kind = Scope.of(scope, f"decl_buffer of {name!r}")
    is_broadcast = buffer_type == "auto_broadcast"
    return Buffer(name, extents, element_type(dtype), kind, steps, alignment, device=place, is_broadcast=is_broadcast)


def _offset_alignment(name: str, offset: Any, factor: int, alignment: int, size: int) -> int:
    """The alignment of the first element at an offset into aligned memory."""
    place = Var("offset") if offset is None else as_expr(offset)
    if not place.dtype.is_int:
        raise ExpressionError(f"decl_buffer of {name!r}: expected an integer as elem_offset, found {place.dtype}")
    if not isinstance(factor, int) or factor < 0 or factor & (factor - 1):
        found = f"{factor!r:.80}"
        raise ExpressionError(f"decl_buffer of {name!r}: expected an offset_factor of a power of two, found {found}")
    if isinstance(place, Const):
        return gcd(alignment, int(place.value) * size)
    return min(alignment, max(factor, 1) * size)
