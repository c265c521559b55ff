"""Conversions between element types: in registers, and between registers and memory."""

from __future__ import annotations

import numpy as np

from sateen.runtime.dtype import DType, TypeCode
from sateen.tensor_ir.codegen.llvm.half import HalfConversions
from sateen.tensor_ir.codegen.llvm.values import (
    LlvmValue,
    intrinsic_suffix,
    like,
    scalar_type,
    storage_type,
)
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter
from sateen.tensor_ir.ir.types import int_range, wrap


class Conversions:
    """Values of one element type as values of another."""

    def __init__(self, writer: FunctionWriter) -> None:
        self.writer = writer
        self.half = None if writer.module.converts_half else HalfConversions(writer)

    def widen(self, raw: LlvmValue, dtype: DType) -> LlvmValue:
        """From the type in memory to the type in registers."""
        if dtype.is_bool:
            zero = like(raw, 0)
            return self.writer.emit(f"icmp ne {raw.typed}, {zero.text}", "i1", raw.lanes)
        if dtype.code is TypeCode.BFLOAT:
            wide = self._convert("zext", raw, "i32")
            shifted = self.writer.emit(f"shl {wide.typed}, {like(wide, 16).text}", "i32", raw.lanes)
            return self._convert("bitcast", shifted, "float")
        if dtype.is_float and dtype.bits == 16:
            return self._convert("fpext", raw, "float") if self.half is None else self.half.widen(raw)
        return raw

    def narrow(self, value: LlvmValue, dtype: DType) -> LlvmValue:
        """From the type in registers to the type in memory; bfloat16 rounds to nearest, ties to even."""
        if dtype.is_bool:
            return self._convert("zext", value, "i8")
        if dtype.code is TypeCode.BFLOAT:
            bits = self._convert("bitcast", value, "i32")
            odd = self.writer.emit(f"lshr {bits.typed}, {like(bits, 16).text}", "i32", value.lanes)
            odd = self.writer.emit(f"and {odd.typed}, {like(odd, 1).text}", "i32", value.lanes)
            bias = self.writer.emit(f"add {odd.typed}, {like(odd, 0x7FFF).text}", "i32", value.lanes)
            rounded = self.writer.emit(f"add {bits.typed}, {bias.text}", "i32", value.lanes)
            nan = self.writer.emit(f"fcmp uno {value.typed}, {value.text}", "i1", value.lanes)
            quiet = self.writer.emit(f"or {bits.typed}, {like(bits, 0x400000).text}", "i32", value.lanes)
            chosen = self.writer.emit(f"select {nan.typed}, {quiet.typed}, {rounded.typed}", "i32", value.lanes)
            high = self.writer.emit(f"lshr {chosen.typed}, {like(chosen, 16).text}", "i32", value.lanes)
            return self._convert("trunc", high, "i16")
        if dtype.is_float and dtype.bits == 16:
            return self._convert("fptrunc", value, "half") if self.half is None else self.half.narrow(value)
        return value

    def cast(self, value: LlvmValue, source: DType, target: DType) -> LlvmValue:
        """A value of type `source` as one of type `target`."""
        kind = self.writer.value_type(target)
        if target.is_float and target.bits == 16:
            wide = self._to_float(value, source, "float")
            return self.widen(self.narrow(wide, target), target)
        if target.is_float:
            return self._to_float(value, source, kind)
        if target.is_bool:
            test = "fcmp une" if source.is_float else "icmp ne"
            return self.writer.emit(f"{test} {value.typed}, {like(value, 0).text}", "i1", value.lanes)
        if source.is_float:
            return self._truncated(value, target)
        if value.literal is not None:
            return like(LlvmValue("", kind, value.lanes), wrap(int(value.literal), target))
        if source.is_bool or int_range(source)[0] == 0:
            widen = "zext"
        else:
            widen = "sext"
        if kind == value.kind:
            return value
        return self._convert("trunc" if int(kind[1:]) < int(value.kind[1:]) else widen, value, kind)

    def _truncated(self, value: LlvmValue, target: DType) -> LlvmValue:
        """To an integer, saturated; NaN gives 0 (docs/semantics.md, conversions).

        LLVM's own saturating conversion splits vectors, so values in range are converted and the others selected.
        """
        low, high = int_range(target)
        kind = scalar_type(target)
        word = "fptoui" if low == 0 else "fptosi"
        if not value.lanes:
            name = f"@llvm.{word}.sat.{kind}.{intrinsic_suffix(value)}"
            self.writer.module.declarations[f"declare {kind} {name}({value.type})"] = None
            return self.writer.emit(f"call {kind} {name}({value.typed})", kind)
        lanes, least, most = (
            value.lanes,
            like(value, float(low)),
            like(value, _float_below(high, value.kind)),
        )
        inside = value
        for order, bound in (("ogt", least), ("olt", most)):
            fits = self.writer.emit(f"fcmp {order} {inside.typed}, {bound.text}", "i1", lanes)
            inside = self.writer.emit(f"select {fits.typed}, {inside.typed}, {bound.typed}", value.kind, lanes)
        result = self._convert(word, inside, kind)
        for order, bound, number in (("ogt", most, high), ("uno", value, 0)):
            found = self.writer.emit(f"fcmp {order} {value.typed}, {bound.text}", "i1", lanes)
            result = self.writer.emit(
                f"select {found.typed}, {like(result, number).typed}, {result.typed}", kind, lanes
            )
        return result

    def _to_float(self, value: LlvmValue, source: DType, kind: str) -> LlvmValue:
        if value.literal is not None:
            return like(LlvmValue("", kind, value.lanes), float(value.literal))
        if source.is_float:
            if value.kind == kind:
                return value
            return self._convert("fpext" if kind == "double" else "fptrunc", value, kind)
        signed = not source.is_bool and int_range(source)[0] < 0
        return self._convert("sitofp" if signed else "uitofp", value, kind)

    def reinterpret(self, value: LlvmValue, source: DType, target: DType) -> LlvmValue:
        """The bits of a value as a value of another type of the same width."""
        bits = value if source.is_int else self._convert("bitcast", self.narrow(value, source), f"i{source.bits}")
        if target.is_int:
            return bits
        raw = bits if storage_type(target) == bits.kind else self._convert("bitcast", bits, storage_type(target))
        return self.widen(raw, target)

    def _convert(self, operation: str, value: LlvmValue, kind: str) -> LlvmValue:
        target = f"<{value.lanes} x {kind}>" if value.lanes else kind
        return self.writer.emit(f"{operation} {value.typed} to {target}", kind, value.lanes)


def _float_below(number: int, kind: str) -> float:
    """The largest floating-point number that is at most an integer."""
    type_ = np.float64 if kind == "double" else np.float32
    nearest = type_(number)
    return float(nearest if int(nearest) <= number else np.nextafter(nearest, type_(0)))
