"""Expressions to LLVM text. In a vectorized loop an operand is a vector exactly where it depends on the lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from sateen.tensor_ir.codegen.llvm.addresses import Addresses
from sateen.tensor_ir.codegen.llvm.arithmetic import Arithmetic
from sateen.tensor_ir.codegen.llvm.conversions import Conversions
from sateen.tensor_ir.codegen.llvm.environment import Environment
from sateen.tensor_ir.codegen.llvm.external import address, external_call
from sateen.tensor_ir.codegen.llvm.function_calls import function_call
from sateen.tensor_ir.codegen.llvm.lane_masks import LaneMasks
from sateen.tensor_ir.codegen.llvm.memory import Memory
from sateen.tensor_ir.codegen.llvm.registers import Registers
from sateen.tensor_ir.codegen.llvm.values import LlvmValue, like, literal
from sateen.tensor_ir.codegen.llvm.writer import FunctionWriter
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Address, Buffer, Load, Scope
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.external import is_external
from sateen.tensor_ir.ir.needed import needed_by_both
from sateen.tensor_ir.ir.tensor_expr import Read, Reduce
from sateen.tensor_ir.ir.types import INDEX, int_range, wrap
from sateen.tensor_ir.ir.visit import unknown, walk


class Outside(Protocol):
    """Values that a function gets from the code around it."""

    def variable(self, e: Var) -> LlvmValue:
        """The function's own operand for a variable."""

    def address(self, buffer: Buffer) -> LlvmValue:
        """The function's own operand for the address of a buffer's first element."""


class Nothing:
    """A kernel gets only its parameters: any other name is used outside of its scope."""

    def variable(self, e: Var) -> LlvmValue:
        raise AssertionError(f"variable {e.name} is used outside of its scope")

    def address(self, buffer: Buffer) -> LlvmValue:
        raise AssertionError(f"buffer {buffer.name} is used outside of its scope")


class Expressions:
    """`value(e)` is the operand that an expression evaluates to.

    `outside` gives values of variables and addresses of buffers from outside the function.
    """

    def __init__(
        self, writer: FunctionWriter, environment: Environment, outside: Outside, aliased: frozenset[Buffer]
    ) -> None:
        self.writer = writer
        self.environment = environment
        self.outside = outside
        self.addresses = Addresses(writer, environment, self.value, outside.address)
        self.registers = Registers(writer, environment, self.addresses)
        self.conversions = Conversions(writer)
        self.arithmetic = Arithmetic(writer)
        self.masks = LaneMasks(writer, environment, self.addresses)
        self.memory = Memory(writer, environment, self.addresses, self.conversions, aliased)
        self.memo: dict[int, tuple[Any, LlvmValue]] = {}

    def value(self, e: Expr) -> LlvmValue:
        """The operand of an expression, evaluated once per statement: a node that is used twice is emitted once."""
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

    def _const(self, e: ex.Const) -> LlvmValue:
        return literal(e.value, self.writer.value_type(e.dtype))

    def _var(self, e: Var) -> LlvmValue:
        if e is self.environment.lane:
            lanes = ", ".join(f"{self.writer.index} {i}" for i in range(self.environment.width))
            return LlvmValue(f"<{lanes}>", self.writer.index, self.environment.width)
        value = self.environment.variables.get(e)
        if value is None:
            value = self.environment.variables[e] = self.outside.variable(e)
        return value

    # Memory.

    def _load(self, e: Load) -> LlvmValue:
        return self.registers.load(e) if self.registers.holds(e.buffer) else self.memory.load(e)

    def _address(self, e: Address) -> LlvmValue:
        """The address as a number."""
        return self.writer.emit(f"ptrtoint {self._pointer(e).typed} to i64", "i64")

    def _pointer(self, e: Address) -> LlvmValue:
        return address(self.writer, self.addresses, self.value, e)

    # Arithmetic.

    def _add(self, e: ex.Add) -> LlvmValue:
        if not e.dtype.is_float:
            a, b = self.value(e.a), self.value(e.b)
            if a.literal is not None and b.literal is not None and not a.lanes and not b.lanes:
                return literal(wrap(int(a.literal) + int(b.literal), e.dtype), a.kind)
            return self.writer.binary("add", a, b)
        for addend, factors in ((e.a, e.b), (e.b, e.a)):
            if isinstance(factors, ex.Mul) and id(factors) not in self.memo:
                return self.arithmetic.multiply_add(self.value(factors.a), self.value(factors.b), self.value(addend))
        a, b = self.value(e.a), self.value(e.b)
        if a.literal == 0.0:
            return b
        if b.literal == 0.0:
            return a
        return self.writer.binary("fadd contract", a, b)

    def _sub(self, e: ex.Sub) -> LlvmValue:
        if not e.dtype.is_float:
            a, b = self.value(e.a), self.value(e.b)
            if a.literal is not None and b.literal is not None and not a.lanes and not b.lanes:
                return literal(wrap(int(a.literal) - int(b.literal), e.dtype), a.kind)
            return self.writer.binary("sub", a, b)
        if isinstance(e.b, ex.Mul) and id(e.b) not in self.memo:
            return self.arithmetic.multiply_add(
                self.arithmetic.negated_factor(self.value(e.b.a)), self.value(e.b.b), self.value(e.a)
            )
        if isinstance(e.a, ex.Mul) and id(e.a) not in self.memo:
            return self.arithmetic.multiply_add(
                self.value(e.a.a), self.value(e.a.b), self.arithmetic.negated_factor(self.value(e.b))
            )
        return self.writer.binary("fsub contract", self.value(e.a), self.value(e.b))

    def _mul(self, e: ex.Mul) -> LlvmValue:
        a, b = self.value(e.a), self.value(e.b)
        if not e.dtype.is_float:
            if a.literal is not None and b.literal is not None and not a.lanes and not b.lanes:
                return literal(wrap(int(a.literal) * int(b.literal), e.dtype), a.kind)
            if self.writer.module.architecture.widening_products and bool(a.lanes) != bool(b.lanes):
                a, b = self._wide_factor(e.a, a, b.lanes), self._wide_factor(e.b, b, a.lanes)
            return self.writer.binary("mul", a, b)
        for x, y in ((a, b), (b, a)):
            if x.literal == 1.0:
                return y
            if x.literal == -1.0:
                return self.arithmetic.negate(y)
        if a.literal is not None and b.literal is not None:
            return like(a if a.lanes else b, a.literal * b.literal)
        return self.writer.binary("fmul contract", a, b)

    def _wide_factor(self, e: Expr, value: LlvmValue, lanes: int) -> LlvmValue:
        """An integer in every lane, converted there: then LLVM sees that the factors of a product are narrow."""
        if value.lanes or not isinstance(e, ex.Cast) or not e.value.dtype.is_int or e.value.dtype.bits >= e.dtype.bits:
            return value
        return self.conversions.cast(self.writer.splat(self.value(e.value), lanes), e.value.dtype, e.dtype)

    def _div(self, e: ex.Div) -> LlvmValue:
        return self.writer.binary("fdiv contract", self.value(e.a), self.value(e.b))

    def _floordiv(self, e: ex.FloorDiv) -> LlvmValue:
        return self._division(e, quotient=True)

    def _floormod(self, e: ex.FloorMod) -> LlvmValue:
        return self._division(e, quotient=False)

    def _division(self, e: ex.FloorDiv | ex.FloorMod, *, quotient: bool) -> LlvmValue:
        a, b = self.writer.match_widths(self.value(e.a), self.value(e.b))
        unsigned = int_range(e.dtype)[0] == 0
        if a.literal is not None and b.literal is not None and b.literal != 0:
            x, y = int(a.literal), int(b.literal)
            return like(a, x // y if quotient else x % y)
        positive = b.literal is not None and b.literal > 0
        if positive and (unsigned or self._is_nonnegative(e.a)):
            return self.writer.emit(f"{'udiv' if quotient else 'urem'} {a.typed}, {b.text}", a.kind, a.lanes)
        if not positive:
            return self.arithmetic.checked_division(a, b, unsigned, quotient)
        return self.arithmetic.floor_division(a, b, quotient)

    def _is_nonnegative(self, e: Expr) -> bool:
        if e.dtype != INDEX:
            return False
        low = self.environment.analyzer.lower(self.environment.analyzer.form(e))
        return low is not None and low >= 0

    def _extremum(self, e: ex.Min | ex.Max) -> LlvmValue:
        a, b = self.value(e.a), self.value(e.b)
        smallest = isinstance(e, ex.Min)
        if a.literal is not None and b.literal is not None and not e.dtype.is_float:
            return like(a if a.lanes else b, (min if smallest else max)(a.literal, b.literal))
        return self.arithmetic.extremum(a, b, e.dtype, smallest)

    # Conditions.

    def _compare(self, e: ex.Compare) -> LlvmValue:
        if e.a.dtype == INDEX and self.environment.lane is not None and isinstance(e, (ex.LT, ex.LE, ex.GT, ex.GE)):
            mask = self.masks.where(e)
            if mask is not None:
                return mask
        a, b = self.writer.match_widths(self.value(e.a), self.value(e.b))
        if a.literal is not None and b.literal is not None:
            return like(LlvmValue("", "i1", a.lanes), ex.COMPARISONS[type(e)](a.literal, b.literal))
        return self.arithmetic.compared(type(e), a, b, e.a.dtype)

    def _not(self, e: ex.Not) -> LlvmValue:
        value = self.value(e.value)
        if value.literal is not None:
            return like(value, not value.literal)
        return self.writer.emit(f"xor {value.typed}, {like(value, True).text}", "i1", value.lanes)

    def _and(self, e: ex.And) -> LlvmValue:
        return self._choose(e.a, lambda: self.value(e.b), lambda: literal(False, "i1"), e.b)

    def _or(self, e: ex.Or) -> LlvmValue:
        return self._choose(e.a, lambda: literal(True, "i1"), lambda: self.value(e.b), e.b)

    def _select(self, e: ex.Select) -> LlvmValue:
        return self._choose(
            e.condition, lambda: self.value(e.then), lambda: self.value(e.otherwise), e.then, e.otherwise
        )

    def _choose(
        self, test: Expr, then: Callable[[], LlvmValue], otherwise: Callable[[], LlvmValue], *lazy: Expr
    ) -> LlvmValue:
        """One of two operands; loads in the `lazy` expressions run only where their operand is chosen."""
        condition = self.value(test)
        if condition.literal is not None:
            return then() if condition.literal else otherwise()
        unsafe = any(isinstance(n, Load) and not self._is_free(n) for e in lazy for n in walk(e))
        if unsafe and len(lazy) > 1:
            for e in needed_by_both(*lazy):
                self.value(e)
        if unsafe and not condition.lanes:
            return self._branching(condition, then, otherwise)
        if unsafe:
            first, second = self.under(condition, then), self.under(self.masks.inverted(condition), otherwise)
        else:
            first, second = then(), otherwise()
        return self.arithmetic.chosen(condition, first, second)

    def _is_free(self, load: Load) -> bool:
        """Whether a load can run even if its value is not needed."""
        return load.buffer.scope is Scope.REGISTER or self.addresses.is_in_bounds(load)

    def under(self, condition: LlvmValue, function: Callable[[], LlvmValue]) -> LlvmValue:
        """Evaluate with the lane mask narrowed by a condition."""
        outer, remembered = self.environment.mask, self.memo
        self.environment.mask = self.masks.both(outer, condition)
        self.memo = dict(remembered)
        result = function()
        self.environment.mask, self.memo = outer, remembered
        return result

    def _branching(
        self, condition: LlvmValue, then: Callable[[], LlvmValue], otherwise: Callable[[], LlvmValue]
    ) -> LlvmValue:
        """Two blocks and a phi."""
        labels = self.writer.label("then"), self.writer.label("else"), self.writer.label("join")
        before: list[Any] = []
        self.writer.lines.append(before)
        self.writer.branch_if(condition, labels[0], labels[1])
        ends: list[tuple[LlvmValue, str]] = []
        lanes = 0
        patches = []
        for label, function in ((labels[0], then), (labels[1], otherwise)):
            self.writer.start_block(label)
            frame = self.writer.open_scope()
            frame.before = before
            remembered = self.memo
            self.memo = dict(remembered)
            value = function()
            self.memo = remembered
            lanes = max(lanes, value.lanes)
            patch: list[Any] = []
            self.writer.lines.append(patch)
            patches.append(patch)
            ends.append((value, self.writer.block))
            self.writer.close_scope()
            self.writer.branch(labels[2])
        widened = []
        for (value, block), patch in zip(ends, patches, strict=True):
            with self.writer.writing_to(patch):
                widened.append((value if value.lanes == lanes else self.writer.plain_splat(value, lanes), block))
        self.writer.start_block(labels[2])
        first = widened[0][0]
        arms = ", ".join(f"[ {value.text}, %{block} ]" for value, block in widened)
        return self.writer.emit(f"phi {first.type} {arms}", first.kind, first.lanes)

    def _piecewise(self, e: ex.Piecewise) -> LlvmValue:
        index = self.value(e.index)
        if index.literal is not None and not index.lanes:
            return self.value(e.branches[int(index.literal)])
        result: Expr = e.branches[-1]
        for i in reversed(range(len(e.branches) - 1)):
            result = ex.Select(ex.compare(ex.EQ, e.index, i), e.branches[i], result)
        return self.value(result)

    # Conversions and calls.

    def _cast(self, e: ex.Cast) -> LlvmValue:
        return self.conversions.cast(self.value(e.value), e.value.dtype, e.dtype)

    def _reinterpret(self, e: ex.Reinterpret) -> LlvmValue:
        return self.conversions.reinterpret(self.value(e.value), e.value.dtype, e.dtype)

    def _call(self, e: ex.Call) -> LlvmValue:
        if is_external(e.name):
            operands = [self._pointer(a) if isinstance(a, Address) else self.value(a) for a in e.args]
            return external_call(self.writer, e, operands)
        return function_call(self.writer, e, self.writer.match_widths(*(self.value(a) for a in e.args)))


def _unexpected(_: Expressions, e: Expr) -> LlvmValue:
    raise AssertionError(f"{type(e).__name__} in loop IR")


_RULES: dict[type[Expr], Callable[[Any, Any], LlvmValue]] = {
    ex.Const: Expressions._const,
    ex.Var: Expressions._var,
    ex.IterVar: Expressions._var,
    Load: Expressions._load,
    Address: Expressions._address,
    ex.Add: Expressions._add,
    ex.Sub: Expressions._sub,
    ex.Mul: Expressions._mul,
    ex.Div: Expressions._div,
    ex.FloorDiv: Expressions._floordiv,
    ex.FloorMod: Expressions._floormod,
    ex.Min: Expressions._extremum,
    ex.Max: Expressions._extremum,
    **dict.fromkeys(ex.COMPARISONS, Expressions._compare),
    ex.Not: Expressions._not,
    ex.And: Expressions._and,
    ex.Or: Expressions._or,
    ex.Select: Expressions._select,
    ex.Piecewise: Expressions._piecewise,
    ex.Cast: Expressions._cast,
    ex.Reinterpret: Expressions._reinterpret,
    ex.Call: Expressions._call,
    Read: _unexpected,
    Reduce: _unexpected,
}
