"""The common element type of operands, by torch's rules.

A type is raised to a higher category (bool, integers, floating-point numbers) by any operand, within its category only
by one of the same rank of importance: tensors with axes, then tensors without, then Python's numbers.
Sources: "Type promotion" in the documentation of torch.Tensor attributes; c10/core/ScalarType.h; result_type in
aten/src/ATen/native/TypeProperties.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir.ir import TensorType
from sateen.runtime.dtype import DType

FLOAT32, INT64, BOOL = DType.of("float32"), DType.of("int64"), DType.of("bool")


def common_dtype(operands: Sequence[TensorType | float]) -> DType:
    """The type in which operands, types of tensors or Python's numbers, are combined."""
    groups = ([], [], [])  # type: tuple[list[DType], list[DType], list[DType]]
    for operand in operands:
        if isinstance(operand, TensorType):
            groups[0 if operand.rank else 1].append(operand.dtype)
        else:
            groups[2].append(BOOL if isinstance(operand, bool) else INT64 if isinstance(operand, int) else FLOAT32)
    reduced = [reduce(_promoted, group) for group in groups if group]
    return reduce(_combined, reduced)


def floating(dtype: DType) -> DType:
    """The type of functions of real numbers: float32 for integers and bool."""
    return dtype if dtype.is_float else FLOAT32


def _combined(higher: DType, lower: DType) -> DType:
    """The type of operands of which the first are more important."""
    return _promoted(higher, lower) if _category(lower) > _category(higher) else higher


def _category(dtype: DType) -> int:
    return 2 if dtype.is_float else 0 if dtype.is_bool else 1


def _promoted(a: DType, b: DType) -> DType:
    """The type of equally important operands; of float16 and bfloat16 it is float32."""
    if a == b:
        return a
    if _category(a) != _category(b):
        return a if _category(a) > _category(b) else b
    if a.is_float:
        return FLOAT32 if a.bits == b.bits == 16 else a if a.bits > b.bits else b
    found = np.promote_types(a.numpy, b.numpy)
    if found.kind == "f":
        raise UnsupportedError(f"torch promotes {a} and {b} to no type")
    return DType.of(found)
