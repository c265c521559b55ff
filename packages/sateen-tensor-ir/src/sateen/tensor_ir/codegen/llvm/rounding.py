"""Rounding to integral values for processors without an instruction for it, where LLVM calls the C library lane by
lane."""

from __future__ import annotations

from sateen.tensor_ir.codegen.llvm.values import LlvmValue, like
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter

ROUNDINGS = frozenset({"floor", "ceil", "trunc", "roundeven"})
"""The functions, by the names of LLVM's intrinsics."""

_INTEGRAL = {"float": 2.0**23, "double": 2.0**52}
"""From here on all values are integral."""


def has_rounding(writer: FunctionWriter) -> bool:
    """Whether the processor has the instruction."""
    feature = writer.module.architecture.rounding_feature
    return not feature or feature in writer.module.features


def rounded(writer: FunctionWriter, name: str, x: LlvmValue) -> LlvmValue:
    """The value that a function of ROUNDINGS gives: exact, with the sign of x; infinities and NaN are as they are.

    A sum of at least 2^23 (2^52) has no bits for a fraction, so it is rounded to nearest, ties to even. What that moved
    too far goes back by 1.
    """
    limit, one = like(x, _INTEGRAL[x.kind]), like(x, 1.0)
    size = _emit(writer, writer.intrinsic("fabs", x.type, x), x)
    raised = _emit(writer, f"fadd {size.typed}, {limit.text}", x)
    nearest = _emit(writer, f"fsub {raised.typed}, {limit.text}", x)
    if name == "trunc":
        nearest = _back(writer, "ogt", nearest, size, "fsub", one)
    result = _emit(writer, writer.intrinsic("copysign", x.type, nearest, x), x)
    if name == "floor":
        result = _back(writer, "ogt", result, x, "fsub", one)
    if name == "ceil":
        result = _back(writer, "olt", result, x, "fadd", one)
    if name in ("floor", "ceil"):  # -0 where a negative number went up to 0
        result = _emit(writer, writer.intrinsic("copysign", x.type, result, x), x)
    has_fraction = writer.emit(f"fcmp olt {size.typed}, {limit.text}", "i1", x.lanes)
    return _emit(writer, f"select {has_fraction.typed}, {result.typed}, {x.typed}", x)


def _emit(writer: FunctionWriter, operation: str, like_: LlvmValue) -> LlvmValue:
    return writer.emit(operation, like_.kind, like_.lanes)


def _back(
    writer: FunctionWriter, order: str, value: LlvmValue, bound: LlvmValue, step: str, one: LlvmValue
) -> LlvmValue:
    """The value, or the one a step away where it is on the wrong side of a bound."""
    is_beyond = writer.emit(f"fcmp {order} {value.typed}, {bound.text}", "i1", value.lanes)
    moved = _emit(writer, f"{step} {value.typed}, {one.text}", value)
    return _emit(writer, f"select {is_beyond.typed}, {moved.typed}, {value.typed}", value)
