"""Arithmetic, comparisons and choices of operands: the meaning of docs/semantics.md in instructions of LLVM."""

from __future__ import annotations

from sateen.runtime.dtype import DType
from sateen.tensor_ir.codegen.llvm.values import LlvmValue, like
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.types import int_range

_FLOAT_COMPARE = {ex.EQ: "oeq", ex.NE: "une", ex.LT: "olt", ex.LE: "ole", ex.GT: "ogt", ex.GE: "oge"}
_SIGNED_COMPARE = {ex.EQ: "eq", ex.NE: "ne", ex.LT: "slt", ex.LE: "sle", ex.GT: "sgt", ex.GE: "sge"}
_UNSIGNED_COMPARE = {ex.EQ: "eq", ex.NE: "ne", ex.LT: "ult", ex.LE: "ule", ex.GT: "ugt", ex.GE: "uge"}


class Arithmetic:
    """Results of operands of one type; those that are the same in all lanes are widened where others are not."""

    def __init__(self, writer: FunctionWriter) -> None:
        self.writer = writer

    def multiply_add(self, a: LlvmValue, b: LlvmValue, c: LlvmValue) -> LlvmValue:
        """a·b + c, with factors ±1 and a zero addend left out (docs/semantics.md: contraction)."""
        for x, y in ((a, b), (b, a)):
            if x.literal == 1.0:
                return y if c.literal == 0.0 else self.writer.binary("fadd contract", c, y)
            if x.literal == -1.0:
                return self.negate(y) if c.literal == 0.0 else self.writer.binary("fsub contract", c, y)
        if c.literal == 0.0:
            return self.writer.binary("fmul contract", a, b)
        a, b, c = self.writer.match_widths(a, b, c)
        return self.writer.emit(self.writer.intrinsic("fmuladd", a.type, a, b, c), a.kind, a.lanes)

    def negate(self, value: LlvmValue) -> LlvmValue:
        """-value of a floating-point value."""
        return self.writer.emit(f"fneg {value.typed}", value.kind, value.lanes)

    def negated_factor(self, value: LlvmValue) -> LlvmValue:
        """-value, a literal if it is one."""
        if value.literal is not None:
            return like(value, -value.literal)
        return self.negate(value)

    def floor_division(self, a: LlvmValue, b: LlvmValue, quotient: bool) -> LlvmValue:
        """a // b or a % b of signed integers, b more than 0."""
        zero, one = like(a, 0), like(a, 1)
        remainder = self.writer.emit(f"srem {a.typed}, {b.text}", a.kind, a.lanes)
        negative = self.writer.emit(f"icmp slt {remainder.typed}, {zero.text}", "i1", a.lanes)
        if not quotient:
            shifted = self.writer.emit(f"add {remainder.typed}, {b.text}", a.kind, a.lanes)
            return self.writer.emit(f"select {negative.typed}, {shifted.typed}, {remainder.typed}", a.kind, a.lanes)
        whole = self.writer.emit(f"sdiv {a.typed}, {b.text}", a.kind, a.lanes)
        less = self.writer.emit(f"sub {whole.typed}, {one.text}", a.kind, a.lanes)
        return self.writer.emit(f"select {negative.typed}, {less.typed}, {whole.typed}", a.kind, a.lanes)

    def checked_division(self, a: LlvmValue, b: LlvmValue, unsigned: bool, quotient: bool) -> LlvmValue:
        """Any divisor: x // 0 and x % 0 are 0, the smallest integer // -1 wraps; neither traps."""
        zero, one = like(a, 0), like(a, 1)
        is_zero = self.writer.emit(f"icmp eq {b.typed}, {zero.text}", "i1", a.lanes)
        divisor = self.writer.emit(f"select {is_zero.typed}, {one.typed}, {b.typed}", a.kind, a.lanes)
        if unsigned:
            result = self.writer.emit(f"{'udiv' if quotient else 'urem'} {a.typed}, {divisor.text}", a.kind, a.lanes)
            return self.writer.emit(f"select {is_zero.typed}, {zero.typed}, {result.typed}", a.kind, a.lanes)
        minus = self.writer.emit(f"icmp eq {b.typed}, {like(a, -1).text}", "i1", a.lanes)
        divisor = self.writer.emit(f"select {minus.typed}, {one.typed}, {divisor.typed}", a.kind, a.lanes)
        remainder = self.writer.emit(f"srem {a.typed}, {divisor.text}", a.kind, a.lanes)
        unlike = self.writer.emit(f"xor {remainder.typed}, {b.text}", a.kind, a.lanes)
        opposite = self.writer.emit(f"icmp slt {unlike.typed}, {zero.text}", "i1", a.lanes)
        inexact = self.writer.emit(f"icmp ne {remainder.typed}, {zero.text}", "i1", a.lanes)
        adjust = self.writer.emit(f"and {inexact.typed}, {opposite.text}", "i1", a.lanes)
        if quotient:
            whole = self.writer.emit(f"sdiv {a.typed}, {divisor.text}", a.kind, a.lanes)
            less = self.writer.emit(f"sub {whole.typed}, {one.text}", a.kind, a.lanes)
            result = self.writer.emit(f"select {adjust.typed}, {less.typed}, {whole.typed}", a.kind, a.lanes)
            opposite_sign = self.writer.emit(f"sub {zero.typed}, {a.text}", a.kind, a.lanes)
            result = self.writer.emit(f"select {minus.typed}, {opposite_sign.typed}, {result.typed}", a.kind, a.lanes)
        else:
            moved = self.writer.emit(f"add {remainder.typed}, {b.text}", a.kind, a.lanes)
            result = self.writer.emit(f"select {adjust.typed}, {moved.typed}, {remainder.typed}", a.kind, a.lanes)
        return self.writer.emit(f"select {is_zero.typed}, {zero.typed}, {result.typed}", a.kind, a.lanes)

    def extremum(self, a: LlvmValue, b: LlvmValue, dtype: DType, smallest: bool) -> LlvmValue:
        """NaN in either operand gives NaN. `select(c > x, c, x)` keeps a NaN in x, and is one instruction on x86."""
        if not dtype.is_float:
            a, b = self.writer.match_widths(a, b)
            sign = "u" if int_range(dtype)[0] == 0 and not dtype.is_bool else "s"
            return self.writer.emit(
                self.writer.intrinsic(f"{sign}{'min' if smallest else 'max'}", a.type, a, b), a.kind, a.lanes
            )
        if str(dtype) in self.writer.module.architecture.extrema:
            a, b = self.writer.match_widths(a, b)
            name = "minimum" if smallest else "maximum"
            return self.writer.emit(self.writer.intrinsic(name, a.type, a, b), a.kind, a.lanes)
        if a.literal is None:
            a, b = b, a
        known = a.literal is not None and a.literal == a.literal
        a, b = self.writer.match_widths(a, b)
        chosen = self.writer.emit(f"fcmp {'olt' if smallest else 'ogt'} {a.typed}, {b.text}", "i1", a.lanes)
        result = self.writer.emit(f"select {chosen.typed}, {a.typed}, {b.typed}", a.kind, a.lanes)
        if known:
            return result
        nan = self.writer.emit(f"fcmp uno {a.typed}, {a.text}", "i1", a.lanes)
        return self.writer.emit(f"select {nan.typed}, {a.typed}, {result.typed}", a.kind, a.lanes)

    def compared(self, kind: type[ex.Compare], a: LlvmValue, b: LlvmValue, dtype: DType) -> LlvmValue:
        """The comparison of two operands, of as many lanes."""
        if dtype.is_float:
            return self.writer.emit(f"fcmp {_FLOAT_COMPARE[kind]} {a.typed}, {b.text}", "i1", a.lanes)
        unsigned = dtype.is_bool or int_range(dtype)[0] == 0
        words = _UNSIGNED_COMPARE if unsigned else _SIGNED_COMPARE
        return self.writer.emit(f"icmp {words[kind]} {a.typed}, {b.text}", "i1", a.lanes)

    def chosen(self, condition: LlvmValue, first: LlvmValue, second: LlvmValue) -> LlvmValue:
        """`first` where the condition holds, otherwise `second`."""
        if condition.lanes:
            first, second = self.writer.splat(first, condition.lanes), self.writer.splat(second, condition.lanes)
        else:
            first, second = self.writer.match_widths(first, second)
        if first.kind == "i1" and first.literal is True:
            return self.writer.binary("or", condition, second)
        if second.kind == "i1" and second.literal is False:
            return self.writer.binary("and", condition, first)
        return self.writer.emit(f"select {condition.typed}, {first.typed}, {second.typed}", first.kind, first.lanes)
