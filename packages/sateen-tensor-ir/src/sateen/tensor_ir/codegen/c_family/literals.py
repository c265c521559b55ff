"""Pieces of C text: code with its precedence, literals, types in memory, arrays of data."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import NamedTuple

import numpy as np

from sateen.runtime.dtype import DType
from sateen.tensor_ir.codegen.c_family.routines import integer_literal
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer

BITWISE, CHOOSE, OR, AND, EQUAL, RELATE, ADD, MULTIPLY, UNARY, ATOM, NAME = range(11)
"""Levels of precedence, the loosest first. Bitwise operators and shifts are loosest: as operands they are put in
parentheses."""


class Code(NamedTuple):
    """C text and the level of its outermost operator."""

    text: str
    level: int = ATOM

    def within(self, level: int) -> str:
        """The text as an operand of an operator of `level`."""
        return self.text if self.level >= level else f"({self.text})"


def literal(value: ex.Scalar, dtype: DType) -> Code:
    """A literal of the type in which `dtype` is computed (docs/semantics.md, 1.2: 16-bit floats are not rounded)."""
    if dtype.is_bool:
        return Code("true" if value else "false")
    if dtype.is_int:
        text = integer_literal(int(value), dtype)
        return Code(text, UNARY if text.startswith("-") else ATOM)
    number = float(value)
    if isnan(number):
        return Code("NAN")
    text = repr(number) if dtype.bits == 64 else f"{np.float32(number)!s}"
    if text in {"inf", "-inf"}:
        text = text.replace("inf", "INFINITY")
    elif dtype.bits < 64:
        text += "f"
    return Code(text, UNARY if text.startswith("-") else ATOM)


def stored_as(dtype: DType) -> DType:
    """The type of an element in memory: a bool is a byte, a 16-bit float its bits."""
    if dtype.is_bool:
        return DType.of("uint8")
    return DType.of("uint16") if dtype.is_float and dtype.bits == 16 else dtype


def storage_type(dtype: DType, types: Mapping[str, str]) -> str:
    """The name of the type of an element in memory."""
    return types[str(stored_as(dtype))]


def array(qualifiers: str, name: str, buffer: Buffer, types: Mapping[str, str]) -> str:
    """The definition of a constant buffer; 16-bit floats are given as their bits."""
    assert buffer.data is not None
    data, dtype = np.ascontiguousarray(buffer.data), buffer.dtype
    if dtype.is_float and dtype.bits == 16:
        values = [f"{bits:#06x}" for bits in data.view(np.uint16).ravel().tolist()]
    elif dtype.is_bool:
        values = [str(int(value)) for value in data.ravel()]
    else:
        values = [literal(value, dtype).text for value in data.ravel().tolist()]
    rows = ",\n".join(f"  {', '.join(values[i : i + 8])}" for i in range(0, len(values), 8)) or "  0"
    return f"{qualifiers} {storage_type(dtype, types)} {name}[{max(len(values), 1)}] = {{\n{rows}\n}};"
