"""Expressions to LLVM text. In a vectorized loop an operand is a vector exactly where it depends on the lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.arith import Linear
from sateen.tensor_ir.codegen.llvm.addresses import Terms
from sateen.tensor_ir.codegen.llvm.conversions import Conversions
from sateen.tensor_ir.codegen.llvm.values import (
    Value,
    intrinsic_suffix,
    literal,
    scalar_type,
    storage_type,
    vector_literal,
)
from sateen.tensor_ir.functions import FUNCTIONS, library_function
from sateen.tensor_ir.functions.spelling import LlvmInstruction, LlvmIntrinsic
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.expr import INDEX, INT64, Expr, Load, Var
from sateen.tensor_ir.ir.visit import unknown, walk

_FLOAT_COMPARE = {ex.EQ: "oeq", ex.NE: "une", ex.LT: "olt", ex.LE: "ole", ex.GT: "ogt", ex.GE: "oge"}
_SIGNED_COMPARE = {ex.EQ: "eq", ex.NE: "ne", ex.LT: "slt", ex.LE: "sle", ex.GT: "sgt", ex.GE: "sge"}
_UNSIGNED_COMPARE = {ex.EQ: "eq", ex.NE: "ne", ex.LT: "ult", ex.LE: "ule", ex.GT: "ugt", ex.GE: "uge"}
_NOTHING = Buffer("nothing", (ex.const(1),), INT64, data=np.zeros(1, np.int64))
"""What a load that must not run reads instead: as many bytes of zero as the largest element has."""


def _texts(terms: Terms) -> tuple[tuple[str, int], ...]:
    return tuple((v.text, c) for v, c in terms)


class Expressions(Conversions):
    """`value(e)` is the operand that an expression evaluates to."""

    def value(self, e: Expr) -> Value:
        """Evaluate once per statement: a node that is used twice is emitted once."""
        known = self.memo.get(id(e))
        if known is not None:
            return known[1]
        rule = _RULES.get(type(e))
        if rule is None:
            raise unknown(e, "the LLVM emitter")
        result = rule(self, e)
        self.memo[id(e)] = (e, result)
        return result

    # Leaves.

    def _const(self, e: ex.Const) -> Value:
        return literal(e.value, scalar_type(e.dtype))

    def _var(self, e: Var) -> Value:
        if e is self.lane:
            lanes = ", ".join(f"i64 {i}" for i in range(self.width))
            return Value(f"<{lanes}>", "i64", self.width)
        value = self.env.get(e)
        return value if value is not None else self.outer_variable(e)

    def outer_variable(self, e: Var) -> Value:
        """The value of a variable that this function does not bind."""
        raise AssertionError(f"variable {e.name} is used outside of its scope")

    # Memory.

    def _load(self, e: Load) -> Value:
        if e.buffer.scope is Scope.REGISTER and e.buffer in self.registers:
            return self.register_load(e)
        if e.buffer.data is not None:
            folded = self.literal_element(e)
            if folded is not None:
                return folded
        form = self.offset_form(e)
        stride = self.lane_stride(form)
        safe = self.mask is None or self.is_in_bounds(e)
        if stride not in (0, 1):
            active = None if safe or self.mask is None else self.mask.elements
            found = self.window_load(e, active) if safe or active is not None else None
            return self._gather(e) if found is None else found
        lanes = self.width if stride == 1 else 0
        if safe:
            return self.neighbours(e, form, lanes)
        return self._masked_load(e, form) if lanes else self._shared_load(e, form)

    def neighbours(self, access: Load, form: Linear, lanes: int) -> Value:
        constant, terms = self.evaluate(form)
        kind = storage_type(access.dtype)
        type_ = f"<{lanes} x {kind}>" if lanes else kind

        def load() -> Value:
            pointer = self.pointer(access.buffer, constant, terms)
            alignment = self.alignment(access.buffer, constant, terms)
            return self.emit(f"load {type_}, ptr {pointer}, align {alignment}", kind, lanes)

        return self._loaded_once(access, (access.buffer, constant, _texts(terms), lanes, ""), load)

    def _masked_load(self, e: Load, form: Linear) -> Value:
        assert self.mask is not None
        mask = self.mask
        constant, terms = self.evaluate(form)
        vector = Value("zeroinitializer", storage_type(e.dtype), self.width)

        def load() -> Value:
            pointer = self.pointer(e.buffer, constant, terms)
            alignment = self.alignment(e.buffer, constant, terms)
            self.module.report.masked += 1
            name = f"@llvm.masked.load.{intrinsic_suffix(vector)}.p0"
            parameters = f"ptr, i32, <{self.width} x i1>, {vector.type}"
            self.module.declarations[f"declare {vector.type} {name}({parameters})"] = None
            arguments = f"ptr {pointer}, i32 {alignment}, {mask.typed}, {vector.typed}"
            return self.emit(f"call {vector.type} {name}({arguments})", vector.kind, self.width)

        return self._loaded_once(e, (e.buffer, constant, _texts(terms), self.width, mask.text), load)

    def _shared_load(self, e: Load, form: Linear) -> Value:
        """The element that all lanes read, a scalar; zero where no lane is active."""
        assert self.mask is not None
        mask = self.mask
        if mask.elements is not None or mask.literal is not None:
            is_active = mask.literal if mask.elements is None else any(mask.elements)
            return self.neighbours(e, form, 0) if is_active else literal(0, scalar_type(e.dtype))
        constant, terms = self.evaluate(form)
        kind = storage_type(e.dtype)

        def load() -> Value:
            pointer = self.pointer(e.buffer, constant, terms)
            nothing = self.constant_data(_NOTHING)
            some = self.emit(self.intrinsic("vector.reduce.or", "i1", mask), "i1")
            place = self.emit(f"select {some.typed}, ptr {pointer}, ptr {nothing}", "ptr")
            return self.emit(f"load {kind}, ptr {place.text}, align {e.dtype.bytes}", kind)

        return self._loaded_once(e, (e.buffer, constant, _texts(terms), 0, mask.text), load)

    def _loaded_once(self, access: Load, key: tuple[Any, ...], load: Callable[[], Value]) -> Value:
        """What memory holds, widened; loaded again only after it may have changed."""
        for scope in reversed(self.scopes):
            if key in scope.loads:
                return scope.loads[key]
        result = self.scopes[-1].loads[key] = self.widen(load(), access.dtype)
        return result

    def lane_pointers(self, access: Any) -> Value:
        """One address per lane."""
        offsets = self.splat(self.value(self.analyzer.expr(self.offset_form(access))), self.width)
        base = self.base_pointer(access.buffer)
        kind = storage_type(access.buffer.dtype)
        return self.emit(f"getelementptr {kind}, ptr {base.text}, {offsets.typed}", "ptr", self.width)

    def _gather(self, e: Load) -> Value:
        self.module.report.gathers += 1
        pointers = self.lane_pointers(e)
        kind = storage_type(e.dtype)
        vector = Value("zeroinitializer", kind, self.width)
        name = f"@llvm.masked.gather.{intrinsic_suffix(vector)}.v{self.width}p0"
        mask = self.mask or Value("splat (i1 true)", "i1", self.width)
        self.module.declarations[f"declare {vector.type} {name}({pointers.type}, i32, {mask.type}, {vector.type})"] = (
            None
        )
        raw = self.emit(
            f"call {vector.type} {name}({pointers.typed}, i32 {e.dtype.bytes}, {mask.typed}, {vector.typed})",
            kind,
            self.width,
        )
        return self.widen(raw, e.dtype)

    # Arithmetic.

    def match_widths(self, *values: Value) -> list[Value]:
        """The operands, scalars repeated in every lane if one of them is a vector."""
        lanes = max(v.lanes for v in values)
        return [self.splat(v, lanes) if lanes and not v.lanes else v for v in values]

    def _binary(self, operation: str, a: Value, b: Value) -> Value:
        a, b = self.match_widths(a, b)
        return self.emit(f"{operation} {a.typed}, {b.text}", a.kind, a.lanes)

    def _add(self, e: ex.Add) -> Value:
        if not e.dtype.is_float:
            a, b = self.value(e.a), self.value(e.b)
            if a.literal is not None and b.literal is not None and not a.lanes and not b.lanes:
                return literal(ex.wrap(int(a.literal) + int(b.literal), e.dtype), a.kind)
            return self._binary("add", a, b)
        for addend, factors in ((e.a, e.b), (e.b, e.a)):
            if isinstance(factors, ex.Mul) and id(factors) not in self.memo:
                return self._multiply_add(self.value(factors.a), self.value(factors.b), self.value(addend))
        a, b = self.value(e.a), self.value(e.b)
        if a.literal == 0.0:
            return b
        if b.literal == 0.0:
            return a
        return self._binary("fadd contract", a, b)

    def _multiply_add(self, a: Value, b: Value, c: Value) -> Value:
        """a·b + c, with factors ±1 and a zero addend left out (docs/semantics.md: contraction)."""
        for x, y in ((a, b), (b, a)):
            if x.literal == 1.0:
                return y if c.literal == 0.0 else self._binary("fadd contract", c, y)
            if x.literal == -1.0:
                return self._negate(y) if c.literal == 0.0 else self._binary("fsub contract", c, y)
        if c.literal == 0.0:
            return self._binary("fmul contract", a, b)
        a, b, c = self.match_widths(a, b, c)
        return self.emit(self.intrinsic("fmuladd", a.type, a, b, c), a.kind, a.lanes)

    def _negate(self, value: Value) -> Value:
        return self.emit(f"fneg {value.typed}", value.kind, value.lanes)

    def _sub(self, e: ex.Sub) -> Value:
        if not e.dtype.is_float:
            a, b = self.value(e.a), self.value(e.b)
            if a.literal is not None and b.literal is not None and not a.lanes and not b.lanes:
                return literal(ex.wrap(int(a.literal) - int(b.literal), e.dtype), a.kind)
            return self._binary("sub", a, b)
        if isinstance(e.b, ex.Mul) and id(e.b) not in self.memo:
            return self._multiply_add(self._negated_factor(self.value(e.b.a)), self.value(e.b.b), self.value(e.a))
        if isinstance(e.a, ex.Mul) and id(e.a) not in self.memo:
            return self._multiply_add(self.value(e.a.a), self.value(e.a.b), self._negated_factor(self.value(e.b)))
        return self._binary("fsub contract", self.value(e.a), self.value(e.b))

    def _negated_factor(self, value: Value) -> Value:
        if value.literal is not None:
            return self.like(value, -value.literal)
        return self._negate(value)

    def _mul(self, e: ex.Mul) -> Value:
        a, b = self.value(e.a), self.value(e.b)
        if not e.dtype.is_float:
            if a.literal is not None and b.literal is not None and not a.lanes and not b.lanes:
                return literal(ex.wrap(int(a.literal) * int(b.literal), e.dtype), a.kind)
            if self.module.architecture.widening_products and bool(a.lanes) != bool(b.lanes):
                a, b = self._wide_factor(e.a, a, b.lanes), self._wide_factor(e.b, b, a.lanes)
            return self._binary("mul", a, b)
        for x, y in ((a, b), (b, a)):
            if x.literal == 1.0:
                return y
            if x.literal == -1.0:
                return self._negate(y)
        if a.literal is not None and b.literal is not None:
            return self.like(a if a.lanes else b, a.literal * b.literal)
        return self._binary("fmul contract", a, b)

    def _wide_factor(self, e: Expr, value: Value, lanes: int) -> Value:
        """An integer in every lane, converted there: then LLVM sees that the factors of a product are narrow."""
        if value.lanes or not isinstance(e, ex.Cast) or not e.value.dtype.is_int or e.value.dtype.bits >= e.dtype.bits:
            return value
        return self.cast(self.splat(self.value(e.value), lanes), e.value.dtype, e.dtype)

    def _div(self, e: ex.Div) -> Value:
        return self._binary("fdiv contract", self.value(e.a), self.value(e.b))

    def _floordiv(self, e: ex.FloorDiv) -> Value:
        return self._division(e, quotient=True)

    def _floormod(self, e: ex.FloorMod) -> Value:
        return self._division(e, quotient=False)

    def _division(self, e: ex.FloorDiv | ex.FloorMod, *, quotient: bool) -> Value:
        a, b = self.match_widths(self.value(e.a), self.value(e.b))
        unsigned = ex.int_range(e.dtype)[0] == 0
        if a.literal is not None and b.literal is not None and b.literal != 0:
            x, y = int(a.literal), int(b.literal)
            return self.like(a, x // y if quotient else x % y)
        positive = b.literal is not None and b.literal > 0
        if positive and (unsigned or self._is_nonnegative(e.a)):
            return self.emit(f"{'udiv' if quotient else 'urem'} {a.typed}, {b.text}", a.kind, a.lanes)
        zero, one = self.like(a, 0), self.like(a, 1)
        if not positive:
            return self._checked_division(a, b, unsigned, quotient)
        remainder = self.emit(f"srem {a.typed}, {b.text}", a.kind, a.lanes)
        negative = self.emit(f"icmp slt {remainder.typed}, {zero.text}", "i1", a.lanes)
        if not quotient:
            shifted = self.emit(f"add {remainder.typed}, {b.text}", a.kind, a.lanes)
            return self.emit(f"select {negative.typed}, {shifted.typed}, {remainder.typed}", a.kind, a.lanes)
        whole = self.emit(f"sdiv {a.typed}, {b.text}", a.kind, a.lanes)
        less = self.emit(f"sub {whole.typed}, {one.text}", a.kind, a.lanes)
        return self.emit(f"select {negative.typed}, {less.typed}, {whole.typed}", a.kind, a.lanes)

    def _checked_division(self, a: Value, b: Value, unsigned: bool, quotient: bool) -> Value:
        """Any divisor: x // 0 and x % 0 are 0, the smallest integer // -1 wraps; neither traps."""
        zero, one = self.like(a, 0), self.like(a, 1)
        is_zero = self.emit(f"icmp eq {b.typed}, {zero.text}", "i1", a.lanes)
        divisor = self.emit(f"select {is_zero.typed}, {one.typed}, {b.typed}", a.kind, a.lanes)
        if unsigned:
            result = self.emit(f"{'udiv' if quotient else 'urem'} {a.typed}, {divisor.text}", a.kind, a.lanes)
            return self.emit(f"select {is_zero.typed}, {zero.typed}, {result.typed}", a.kind, a.lanes)
        minus = self.emit(f"icmp eq {b.typed}, {self.like(a, -1).text}", "i1", a.lanes)
        divisor = self.emit(f"select {minus.typed}, {one.typed}, {divisor.typed}", a.kind, a.lanes)
        remainder = self.emit(f"srem {a.typed}, {divisor.text}", a.kind, a.lanes)
        unlike = self.emit(f"xor {remainder.typed}, {b.text}", a.kind, a.lanes)
        opposite = self.emit(f"icmp slt {unlike.typed}, {zero.text}", "i1", a.lanes)
        inexact = self.emit(f"icmp ne {remainder.typed}, {zero.text}", "i1", a.lanes)
        adjust = self.emit(f"and {inexact.typed}, {opposite.text}", "i1", a.lanes)
        if quotient:
            whole = self.emit(f"sdiv {a.typed}, {divisor.text}", a.kind, a.lanes)
            less = self.emit(f"sub {whole.typed}, {one.text}", a.kind, a.lanes)
            result = self.emit(f"select {adjust.typed}, {less.typed}, {whole.typed}", a.kind, a.lanes)
            opposite_sign = self.emit(f"sub {zero.typed}, {a.text}", a.kind, a.lanes)
            result = self.emit(f"select {minus.typed}, {opposite_sign.typed}, {result.typed}", a.kind, a.lanes)
        else:
            moved = self.emit(f"add {remainder.typed}, {b.text}", a.kind, a.lanes)
            result = self.emit(f"select {adjust.typed}, {moved.typed}, {remainder.typed}", a.kind, a.lanes)
        return self.emit(f"select {is_zero.typed}, {zero.typed}, {result.typed}", a.kind, a.lanes)

    def _is_nonnegative(self, e: Expr) -> bool:
        if e.dtype != INDEX:
            return False
        low = self.analyzer.lower(self.analyzer.form(e))
        return low is not None and low >= 0

    def _extremum(self, e: ex.Min | ex.Max) -> Value:
        """NaN in either operand gives NaN. `select(c > x, c, x)` is one instruction and keeps a NaN in x."""
        a, b = self.value(e.a), self.value(e.b)
        smallest = isinstance(e, ex.Min)
        if a.literal is not None and b.literal is not None and not e.dtype.is_float:
            return self.like(a if a.lanes else b, (min if smallest else max)(a.literal, b.literal))
        if not e.dtype.is_float:
            a, b = self.match_widths(a, b)
            sign = "u" if ex.int_range(e.dtype)[0] == 0 and not e.dtype.is_bool else "s"
            return self.emit(self.intrinsic(f"{sign}{'min' if smallest else 'max'}", a.type, a, b), a.kind, a.lanes)
        if a.literal is None:
            a, b = b, a
        known = a.literal is not None and a.literal == a.literal
        a, b = self.match_widths(a, b)
        chosen = self.emit(f"fcmp {'olt' if smallest else 'ogt'} {a.typed}, {b.text}", "i1", a.lanes)
        result = self.emit(f"select {chosen.typed}, {a.typed}, {b.typed}", a.kind, a.lanes)
        if known:
            return result
        nan = self.emit(f"fcmp uno {a.typed}, {a.text}", "i1", a.lanes)
        return self.emit(f"select {nan.typed}, {a.typed}, {result.typed}", a.kind, a.lanes)

    # Conditions.

    def _compare(self, e: ex.Compare) -> Value:
        if e.a.dtype == INDEX and self.lane is not None and isinstance(e, (ex.LT, ex.LE, ex.GT, ex.GE)):
            mask = self._lane_condition(e)
            if mask is not None:
                return mask
        a, b = self.match_widths(self.value(e.a), self.value(e.b))
        if a.literal is not None and b.literal is not None:
            return self.like(Value("", "i1", a.lanes), ex.COMPARISONS[type(e)](a.literal, b.literal))
        if e.a.dtype.is_float:
            return self.emit(f"fcmp {_FLOAT_COMPARE[type(e)]} {a.typed}, {b.text}", "i1", a.lanes)
        unsigned = e.a.dtype.is_bool or ex.int_range(e.a.dtype)[0] == 0
        words = _UNSIGNED_COMPARE if unsigned else _SIGNED_COMPARE
        return self.emit(f"icmp {words[type(e)]} {a.typed}, {b.text}", "i1", a.lanes)

    def _lane_condition(self, e: ex.Compare) -> Value | None:
        """A linear comparison with the lane as 32-bit lane numbers against one limit; None where it isn't that."""
        difference = self.analyzer.slack(e)
        stride = None if difference is None else self.lane_stride(difference)
        if difference is None or stride is None or stride == 0:
            return None
        constant, terms = self.evaluate(difference)
        if not terms:
            return vector_literal([literal(constant + stride * i >= 0, "i1") for i in range(self.width)])
        if abs(stride) != 1:
            return None
        total: Value = literal(constant if stride == -1 else -constant, "i64")
        for value, coefficient in terms:
            total = self.sum(self.product(value, coefficient if stride == -1 else -coefficient), total)
        bottom = self.emit(self.intrinsic("smax", "i64", total, literal(-1, "i64")), "i64")
        limit = self.emit(self.intrinsic("smin", "i64", bottom, literal(self.width, "i64")), "i64")
        narrow = self.splat(self.emit(f"trunc i64 {limit.text} to i32", "i32"), self.width)
        numbers = f"<{', '.join(f'i32 {i}' for i in range(self.width))}>"
        return self.emit(
            f"icmp {'sle' if stride == -1 else 'sge'} <{self.width} x i32> {numbers}, {narrow.text}", "i1", self.width
        )

    def _not(self, e: ex.Not) -> Value:
        value = self.value(e.value)
        if value.literal is not None:
            return self.like(value, not value.literal)
        return self.emit(f"xor {value.typed}, {self.like(value, True).text}", "i1", value.lanes)

    def _and(self, e: ex.And) -> Value:
        return self._choose(e.a, lambda: self.value(e.b), lambda: literal(False, "i1"), e.b)

    def _or(self, e: ex.Or) -> Value:
        return self._choose(e.a, lambda: literal(True, "i1"), lambda: self.value(e.b), e.b)

    def _select(self, e: ex.Select) -> Value:
        return self._choose(
            e.condition, lambda: self.value(e.then), lambda: self.value(e.otherwise), e.then, e.otherwise
        )

    def _choose(self, test: Expr, then: Callable[[], Value], otherwise: Callable[[], Value], *lazy: Expr) -> Value:
        """One of two operands; loads in the `lazy` expressions run only where their operand is chosen."""
        condition = self.value(test)
        if condition.literal is not None:
            return then() if condition.literal else otherwise()
        unsafe = any(isinstance(n, Load) and not self._is_free(n) for e in lazy for n in walk(e))
        if unsafe and not condition.lanes:
            return self._branching(condition, then, otherwise)
        if unsafe:
            first, second = self.under(condition, then), self.under(self.inverted(condition), otherwise)
        else:
            first, second = then(), otherwise()
        if condition.lanes:
            first, second = self.splat(first, condition.lanes), self.splat(second, condition.lanes)
        else:
            first, second = self.match_widths(first, second)
        if first.kind == "i1" and first.literal is True:
            return self._binary("or", condition, second)
        if second.kind == "i1" and second.literal is False:
            return self._binary("and", condition, first)
        return self.emit(f"select {condition.typed}, {first.typed}, {second.typed}", first.kind, first.lanes)

    def _is_free(self, load: Load) -> bool:
        """Whether a load can run although its value may not be needed."""
        return load.buffer.scope is Scope.REGISTER or self.is_in_bounds(load)

    def both(self, one: Value | None, other: Value) -> Value:
        """A mask narrowed by another; None is all lanes."""
        if one is None:
            return other
        if one.elements is not None and other.elements is not None:
            return vector_literal([literal(a and b, "i1") for a, b in zip(one.elements, other.elements, strict=True)])
        return self._binary("and", one, other)

    def inverted(self, mask: Value) -> Value:
        if mask.elements is not None:
            return vector_literal([literal(not lane, "i1") for lane in mask.elements])
        return self.emit(f"xor {mask.typed}, {self.like(mask, True).text}", "i1", mask.lanes)

    def under(self, condition: Value, function: Callable[[], Value]) -> Value:
        """Evaluate with the lane mask narrowed by a condition."""
        outer, remembered = self.mask, self.memo
        self.mask = self.both(outer, condition)
        self.memo = dict(remembered)
        result = function()
        self.mask, self.memo = outer, remembered
        return result

    def _branching(self, condition: Value, then: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
        """Two blocks and a phi."""
        labels = self.label("then"), self.label("else"), self.label("join")
        before: list[Any] = []
        self.lines.append(before)
        self.branch_if(condition, labels[0], labels[1])
        ends: list[tuple[Value, str]] = []
        lanes = 0
        patches = []
        for label, function in ((labels[0], then), (labels[1], otherwise)):
            self.start_block(label)
            frame = self.open_scope()
            frame.before = before
            remembered = self.memo
            self.memo = dict(remembered)
            value = function()
            self.memo = remembered
            lanes = max(lanes, value.lanes)
            patch: list[Any] = []
            self.lines.append(patch)
            patches.append(patch)
            ends.append((value, self.block))
            self.close_scope()
            self.branch(labels[2])
        widened = []
        for (value, block), patch in zip(ends, patches, strict=True):
            with self.writing_to(patch):
                widened.append((value if value.lanes == lanes else self.plain_splat(value, lanes), block))
        self.start_block(labels[2])
        first = widened[0][0]
        arms = ", ".join(f"[ {value.text}, %{block} ]" for value, block in widened)
        return self.emit(f"phi {first.type} {arms}", first.kind, first.lanes)

    def _piecewise(self, e: ex.Piecewise) -> Value:
        index = self.value(e.index)
        if index.literal is not None and not index.lanes:
            return self.value(e.branches[int(index.literal)])
        result: Expr = e.branches[-1]
        for i in reversed(range(len(e.branches) - 1)):
            result = ex.Select(ex.compare(ex.EQ, e.index, i), e.branches[i], result)
        return self.value(result)

    # Conversions and calls.

    def _cast(self, e: ex.Cast) -> Value:
        return self.cast(self.value(e.value), e.value.dtype, e.dtype)

    def _reinterpret(self, e: ex.Reinterpret) -> Value:
        return self.reinterpret(self.value(e.value), e.value.dtype, e.dtype)

    def _call(self, e: ex.Call) -> Value:
        arguments = self.match_widths(*(self.value(a) for a in e.args))
        if library := library_function(e.name):
            return self._library_call(library, arguments)
        function = FUNCTIONS.get(e.name)
        first = arguments[0]
        match function.llvm if function is not None else None:
            case LlvmIntrinsic(name, overloads):
                call = self.intrinsic(name, first.type, *arguments, overloads=overloads)
                return self.emit(call, first.kind, first.lanes)
            case LlvmInstruction(signed, unsigned):
                word = unsigned if ex.int_range(e.dtype)[0] == 0 else signed
                return self.emit(f"{word} {first.typed}, {arguments[1].text}", first.kind, first.lanes)
        raise CodegenError(f"the LLVM code generator has no function {e.name!r} for {e.dtype}; give a rule for it")

    def _library_call(self, name: str, arguments: list[Value]) -> Value:
        """A call of the C library, once per lane."""
        kind, lanes = arguments[0].kind, arguments[0].lanes
        symbol = name if kind == "double" else f"{name}f"
        types = ", ".join(kind for _ in arguments)
        self.module.declarations[f"declare {kind} @{symbol}({types})"] = None
        if not lanes:
            return self.emit(f"call {kind} @{symbol}({', '.join(a.typed for a in arguments)})", kind)
        self.module.report.scalarised += 1
        result = Value("poison", kind, lanes)
        for i in range(lanes):
            parts = [self.emit(f"extractelement {a.typed}, i64 {i}", kind) for a in arguments]
            one = self.emit(f"call {kind} @{symbol}({', '.join(p.typed for p in parts)})", kind)
            result = self.emit(f"insertelement {result.typed}, {one.typed}, i64 {i}", kind, lanes)
        return result


def _unexpected(_: Expressions, e: Expr) -> Value:
    raise AssertionError(f"{type(e).__name__} in loop IR")


_RULES: dict[type[Expr], Callable[[Any, Any], Value]] = {
    ex.Const: Expressions._const,
    ex.Var: Expressions._var,
    ex.IterVar: Expressions._var,
    ex.Load: Expressions._load,
    ex.Add: Expressions._add,
    ex.Sub: Expressions._sub,
    ex.Mul: Expressions._mul,
    ex.Div: Expressions._div,
    ex.FloorDiv: Expressions._floordiv,
    ex.FloorMod: Expressions._floormod,
    ex.Min: Expressions._extremum,
    ex.Max: Expressions._extremum,
    **dict.fromkeys(_FLOAT_COMPARE, Expressions._compare),
    ex.Not: Expressions._not,
    ex.And: Expressions._and,
    ex.Or: Expressions._or,
    ex.Select: Expressions._select,
    ex.Piecewise: Expressions._piecewise,
    ex.Cast: Expressions._cast,
    ex.Reinterpret: Expressions._reinterpret,
    ex.Call: Expressions._call,
    ex.Read: _unexpected,
    ex.Reduce: _unexpected,
}
