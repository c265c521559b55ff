"""float16 to and from float32 in instructions on integers, for processors without instructions for it: scalars and
vectors alike.

LLVM would call functions of the compiler's library there, one element at a time. Narrowing rounds to nearest even.
Subnormals are treated only as integers or sums, so that flushing them to zero changes nothing.
"""

from __future__ import annotations

from sateen.tensor_ir.codegen.llvm.values import LlvmValue, like
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter

_INFINITY = 0x7C00
_REBASE = (127 - 15) << 23
"""The distance of the exponents' biases, in float32."""


class HalfConversions:
    """Writes the conversions of one function."""

    def __init__(self, writer: FunctionWriter) -> None:
        self.writer = writer

    def widen(self, half: LlvmValue) -> LlvmValue:
        """float16 as float32: the exponent moves; subnormals are counted; infinity and NaN keep theirs."""
        raw = self._as("bitcast", half, "i16")
        bits = self._as("zext", raw, "i32")
        magnitude = self._with("and", bits, 0x7FFF)
        sign = self._with("shl", self._with("and", bits, 0x8000), 16)
        moved = self._with("shl", magnitude, 13)
        quiet = self._choice(self._compare("ugt", magnitude, _INFINITY), like(bits, 1 << 22), like(bits, 0))
        special = self._both("or", self._with("or", moved, 0x7F800000), quiet)
        is_special = self._compare("uge", magnitude, _INFINITY)
        usual = self._choice(is_special, special, self._with("add", moved, _REBASE))
        count = self._as("uitofp", magnitude, "float")
        small = self._as("bitcast", self._with("fmul", count, 2.0**-24), "i32")
        positive = self._choice(self._compare("ult", magnitude, 1 << 10), small, usual)
        return self._as("bitcast", self._both("or", positive, sign), "float")

    def narrow(self, value: LlvmValue) -> LlvmValue:
        """float32 as float16: half of the last bit is added, less where the result would be odd by that; a sum with 0.5
        rounds subnormals."""
        bits = self._as("bitcast", value, "i32")
        magnitude = self._with("and", bits, 0x7FFFFFFF)
        sign = self._with("and", self._with("lshr", bits, 16), 0x8000)
        rebased = self._with("sub", magnitude, _REBASE)
        odd = self._with("and", self._with("lshr", rebased, 13), 1)
        rounded = self._both("add", rebased, self._with("add", odd, 0xFFF))
        normal = self._with("lshr", rounded, 13)
        half = self._with("fadd", self._as("bitcast", magnitude, "float"), 0.5)
        small = self._with("sub", self._as("bitcast", half, "i32"), 0x3F000000)
        finite = self._choice(self._compare("ult", magnitude, 0x38800000), small, normal)
        is_large = self._compare("uge", magnitude, 0x47800000)
        bounded = self._choice(is_large, like(bits, _INFINITY), finite)
        payload = self._with("and", self._with("lshr", magnitude, 13), 0x3FF)
        is_nan = self._compare("ugt", magnitude, 0x7F800000)
        positive = self._choice(is_nan, self._with("or", payload, _INFINITY | 1 << 9), bounded)
        return self._as("bitcast", self._as("trunc", self._both("or", positive, sign), "i16"), "half")

    def _as(self, operation: str, value: LlvmValue, kind: str) -> LlvmValue:
        target = f"<{value.lanes} x {kind}>" if value.lanes else kind
        return self.writer.emit(f"{operation} {value.typed} to {target}", kind, value.lanes)

    def _with(self, operation: str, value: LlvmValue, number: float) -> LlvmValue:
        return self._both(operation, value, like(value, number))

    def _both(self, operation: str, a: LlvmValue, b: LlvmValue) -> LlvmValue:
        return self.writer.emit(f"{operation} {a.typed}, {b.text}", a.kind, a.lanes)

    def _compare(self, order: str, value: LlvmValue, number: int) -> LlvmValue:
        return self.writer.emit(f"icmp {order} {value.typed}, {like(value, number).text}", "i1", value.lanes)

    def _choice(self, condition: LlvmValue, then: LlvmValue, otherwise: LlvmValue) -> LlvmValue:
        return self.writer.emit(f"select {condition.typed}, {then.typed}, {otherwise.typed}", then.kind, then.lanes)
