"""LLVM values while text is being written: an operand, its type, and its literal value if it has one."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sateen.runtime.dtype import DType, TypeCode
from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.ir.expr import Scalar


@dataclass(frozen=True, slots=True, eq=False)
class LlvmValue:
    """An operand of LLVM text. `lanes` 0 is a scalar; `literal` is its value if it is one constant in every lane,
    `elements` are the constants of its lanes if they differ."""

    text: str
    kind: str
    lanes: int = 0
    literal: Scalar | None = None
    elements: tuple[Scalar, ...] | None = None
    is_global: bool = False
    """Whether all functions of the module know it by this name."""
    is_undefined: bool = False
    """Whether no lane has a value."""

    @property
    def type(self) -> str:
        return f"<{self.lanes} x {self.kind}>" if self.lanes else self.kind

    @property
    def typed(self) -> str:
        return f"{self.type} {self.text}"


def scalar_type(dtype: DType) -> str:
    """The LLVM type of a value in registers: half-width floats are widened to float, a bool is one bit."""
    if dtype.is_bool:
        return "i1"
    if dtype.is_float:
        return "double" if dtype.bits == 64 else "float"
    return f"i{dtype.bits}"


def storage_type(dtype: DType) -> str:
    """The LLVM type of an element in memory. Raises CodegenError for a float of 8 bits."""
    if dtype.is_bool:
        return "i8"
    if dtype.code is TypeCode.BFLOAT:
        return "i16"
    if dtype.is_float:
        if dtype.bits == 8:
            raise CodegenError(
                f"expected elements of another type than {dtype}, which the code generator can't convert"
            )
        return {16: "half", 32: "float", 64: "double"}[dtype.bits]
    return f"i{dtype.bits}"


def pointer_type(space: int) -> str:
    """The LLVM type of a pointer to memory of an address space."""
    return f"ptr addrspace({space})" if space else "ptr"


def literal(value: Scalar, kind: str) -> LlvmValue:
    """A scalar constant of an LLVM type."""
    if kind == "float":
        rounded = float(np.float32(value))
        return LlvmValue(_hexadecimal(rounded), kind, 0, rounded)
    if kind == "double":
        return LlvmValue(_hexadecimal(float(value)), kind, 0, float(value))
    if kind == "i1":
        return LlvmValue("true" if value else "false", kind, 0, bool(value))
    return LlvmValue(str(int(value)), kind, 0, int(value))


def splat_literal(value: LlvmValue, lanes: int) -> LlvmValue:
    """A scalar constant repeated in every lane."""
    return LlvmValue(f"splat ({value.typed})", value.kind, lanes, value.literal)


def undefined_value(kind: str, lanes: int = 0) -> LlvmValue:
    """A value that is not set yet."""
    return LlvmValue("poison", kind, lanes, is_undefined=True)


def like(shape: LlvmValue, number: Scalar) -> LlvmValue:
    """A literal of the type and width of `shape`."""
    scalar = literal(number, shape.kind)
    return splat_literal(scalar, shape.lanes) if shape.lanes else scalar


def vector_literal(values: Sequence[LlvmValue]) -> LlvmValue:
    """A constant per lane."""
    first = values[0]
    if all(v.text == first.text for v in values):
        return splat_literal(first, len(values))
    numbers = tuple(v.literal for v in values if v.literal is not None)
    return LlvmValue(f"<{', '.join(v.typed for v in values)}>", first.kind, len(values), None, numbers)


def _hexadecimal(value: float) -> str:
    if math.isnan(value):
        return "0x7FF8000000000000"
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def intrinsic_suffix(value: LlvmValue) -> str:
    """The name of the type in overloaded intrinsics: `v16f32`, `i64`, `p0`; pointers of other memory are `p3`."""
    short = {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}.get(value.kind, value.kind)
    short = short.replace("ptr addrspace(", "p").rstrip(")")
    return f"v{value.lanes}{short}" if value.lanes else short
