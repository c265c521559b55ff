"""Expressions as WGSL: what differs from C.

WGSL converts nothing by itself and has no `?:`. Its types have 32 bits: narrower integers are kept in range after each
operation, those of 64 bits are two words (long_integers.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from sateen.runtime.dtype import DType
from sateen.tensor_ir.codegen.c_family.dialects import Dialect
from sateen.tensor_ir.codegen.c_family.literals import (
    ADD,
    ATOM,
    EQUAL,
    MULTIPLY,
    UNARY,
    Code,
)
from sateen.tensor_ir.codegen.c_family.statements import Statements
from sateen.tensor_ir.codegen.wgsl import long_integers, routines
from sateen.tensor_ir.codegen.wgsl.routines import TYPES, is_signed, literal_of, narrowed
from sateen.tensor_ir.codegen.wgsl.words import is_reserved
from sateen.tensor_ir.functions import FUNCTIONS, Lack
from sateen.tensor_ir.functions.spelling import InfixOperator, LibraryFunction, Routine
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.types import FLOAT32, INDEX, INT64

WGSL = Dialect(
    name="WGSL",
    types=TYPES,
    spelling=lambda function: function.wgsl,
    instruction=lambda intrinsic: None,
    routine="",
    lacks=frozenset({Lack.FLOAT64}),
    is_reserved=is_reserved,
)
_UINT32 = DType.of("uint32")
_MIRRORED = {ex.GT: ex.LT, ex.LE: ex.GE}
"""Orders of 64 bits by others: x > y is y < x, x <= y is y >= x."""


class Values(Statements):
    """Expressions of one kernel."""

    def fixed(self, type_: str, name: str, value: str) -> None:
        self.line(f"let {name}: {type_} = {value};")

    def variable(self, type_: str, name: str, value: str = "") -> None:
        self.line(f"var {name}: {type_}{' = ' if value else ''}{value};")

    # In lists of arguments `<` is in parentheses: with a `>` behind it WGSL reads a list of types (3.9).

    def call(self, routine: Routine, *operands: Expr) -> Code:
        return Code(f"{self.unit.require(routine)}({', '.join(self.text(o, ADD) for o in operands)})")

    def choice(self, test: Code, then: Code, otherwise: Code) -> Code | None:
        if "[" in then.text + otherwise.text:  # one loads, and `select` evaluates both
            return None
        return Code(f"select({otherwise.within(ADD)}, {then.within(ADD)}, {test.within(ADD)})")

    def cast(self, dtype: DType, value: Code) -> Code:
        return Code(f"{self.value_type(dtype)}({value.within(ADD)})")

    # Numbers.

    def literal(self, e: ex.Const) -> Code:
        self.value_type(e.dtype)
        dtype = INT64 if e.dtype == INDEX and self.index.bits == 64 else e.dtype
        return literal(e.value, dtype, self.unit.require)

    def extremum(self, e: ex.Min | ex.Max) -> Code:
        dtype = self.computed(e.dtype)
        if _is_long(dtype):
            return self.call(long_integers.extremum(e.symbol, dtype), e.a, e.b)
        if dtype.is_float:
            return self.call(routines.extremum(e.symbol), e.a, e.b)
        return Code(f"{e.symbol}({self.text(e.a, ADD)}, {self.text(e.b, ADD)})")

    def arithmetic(self, e: ex.Add | ex.Sub | ex.Mul) -> Code:
        if _is_long(self.computed(e.dtype)):
            return self.call(long_integers.ARITHMETIC[e.symbol], e.a, e.b)
        if e.dtype.is_float and not isinstance(e, ex.Mul):
            return self._sum(e)
        level = MULTIPLY if isinstance(e, ex.Mul) else ADD
        right = level if e.dtype.is_int and isinstance(e, ex.Add) else level + 1
        text = f"{self.text(e.a, level)} {e.symbol} {self.text(e.b, right)}"
        return self._narrowed(Code(text, level), e.dtype)

    def _sum(self, e: ex.Add | ex.Sub) -> Code:
        """A sum or difference of floats. WGSL lets compilers cancel (15.7.3), and Mesa's make x of (x + c) - c. There
        the rounded operand passes through the number zero of the launch, which they don't know."""
        a, b = self.text(e.a, ADD), self.text(e.b, ADD + 1)
        if _is_part(e.b, e.a):
            a = self.opaque(a)
        elif _is_part(e.a, e.b):
            b = self.opaque(b)
        return Code(f"{a} {e.symbol} {b}", ADD)

    @abstractmethod
    def opaque(self, value: str) -> str:
        """A float32 of which compilers don't see where it comes from."""

    def _narrowed(self, value: Code, dtype: DType) -> Code:
        if dtype == INDEX or not dtype.is_int or dtype.bits >= 32:
            return value
        return Code(narrowed(value.text, dtype))

    def division(self, e: ex.FloorDiv | ex.FloorMod) -> Code:
        dtype, quotient = self.computed(e.dtype), isinstance(e, ex.FloorDiv)
        if _is_long(dtype):
            return self.call(long_integers.floor_division(dtype, "xy" if quotient else "zw"), e.a, e.b)
        known = isinstance(e.b, ex.Const) and e.b.value > 0
        if known and (not is_signed(dtype) or (e.dtype == INDEX and self.is_nonnegative(e.a))):
            return Code(f"{self.text(e.a, MULTIPLY)} {'/' if quotient else '%'} {self.text(e.b, UNARY)}", MULTIPLY)
        return self.call((routines.floor_divide if quotient else routines.floor_modulo)(dtype), e.a, e.b)

    def comparison(self, e: ex.Compare) -> Code:
        if e.a is e.b and e.a.dtype.is_float and isinstance(e, (ex.EQ, ex.NE)):
            is_nan = self.call(routines.IS_NAN, e.a)
            return is_nan if isinstance(e, ex.NE) else Code(f"!{is_nan.text}", UNARY)
        if _is_long(self.computed(e.a.dtype)):
            return self._long_comparison(e)
        return super().comparison(e)

    def _long_comparison(self, e: ex.Compare) -> Code:
        if isinstance(e, (ex.EQ, ex.NE)):
            word = "all" if isinstance(e, ex.EQ) else "any"
            return Code(f"{word}({self.text(e.a, ADD)} {'==' if word == 'all' else '!='} {self.text(e.b, ADD)})")
        a, b = (e.b, e.a) if type(e) in _MIRRORED else (e.a, e.b)
        less = self.call(long_integers.is_less(self.computed(e.a.dtype)), a, b)
        return less if _MIRRORED.get(type(e), type(e)) is ex.LT else Code(f"!{less.text}", UNARY)

    # Conversions and calls.

    def conversion(self, e: ex.Cast) -> Code:
        source, target = self.computed(e.value.dtype), self.computed(e.dtype)
        self.value_type(target)
        if e.dtype.is_float and e.dtype.bits == 16:
            return self._rounded(self._as(e.value, source, FLOAT32), e.dtype)
        return self._as(e.value, source, target)

    def _rounded(self, value: Code, dtype: DType) -> Code:
        return Code(f"{self.unit.require(routines.round_to(dtype))}({value.within(ADD)})")

    def _as(self, e: Expr, source: DType, target: DType) -> Code:
        """A value of one computed type as another."""
        if source == target:
            return self.code(e)
        if target.is_bool and _is_long(source):
            return Code(f"any({self.text(e, ADD)} != vec2<u32>())")
        if target.is_bool:
            return Code(f"{self.text(e, ADD)} != {'0.0f' if source.is_float else literal_of(0, source)}", EQUAL)
        if source.is_float and target.is_int:
            make = long_integers.from_float32 if _is_long(target) else routines.saturate
            return self.call(make(target), e)
        if _is_long(source) and target.is_float:
            return self.call(long_integers.to_float32(source), e)
        return self.converted(self.code(e), source, target)

    def converted(self, value: Code, source: DType, target: DType) -> Code:
        """A bool or an integer as another integer, or as a float if it has at most 32 bits."""
        if _is_long(source) and _is_long(target):
            return value
        if _is_long(target):
            return self._widened(value, source)
        if _is_long(source):
            value, source = Code(f"{value.within(ATOM)}.x"), _UINT32
        if TYPES[str(source)] != TYPES[str(target)]:
            value = self.cast(target, value)
        return self._narrowed(value, target)

    def _widened(self, value: Code, source: DType) -> Code:
        if source.is_bool:
            return Code(f"vec2<u32>(u32({value.within(ADD)}), 0u)")
        return Code(f"{self.unit.require(long_integers.widen(source))}({value.within(ADD)})")

    def function_call(self, e: ex.Call) -> Code:
        function = FUNCTIONS.get(e.name)
        spelling = None if function is None else WGSL.spelling(function)
        if isinstance(spelling, LibraryFunction):
            return self._library_call(spelling.name, e)
        if isinstance(spelling, InfixOperator):
            return self._operator_call(spelling, e)
        return super().function_call(e)

    def _library_call(self, name: str, e: ex.Call) -> Code:
        arguments = [self.text(a, ADD) for a in e.args]
        if e.dtype.is_int and is_signed(e.dtype) and e.dtype.bits < 32:  # without the bits of the sign
            arguments = [f"{a} & {(1 << e.dtype.bits) - 1:#x}i" for a in arguments]
        if _is_long(e.dtype):
            counts = [f"{name}({self.text(e.args[0], ATOM)}.{part})" for part in "xy"]
            return Code(f"vec2<u32>({' + '.join(counts)}, 0u)")
        return Code(f"{name}({', '.join(arguments)})")

    def _operator_call(self, spelling: InfixOperator, e: ex.Call) -> Code:
        a, b = (self.text(operand, UNARY) for operand in e.args)
        if spelling.symbol not in ("<<", ">>"):
            return Code(f"({a} {spelling.symbol} {b})")
        if isinstance(e.args[1], ex.Const):
            amount = f"{e.args[1].value}u"
        else:
            amount = f"{self.text(e.args[1], ATOM)}.x" if _is_long(e.dtype) else f"u32({b})"
        if _is_long(e.dtype):
            return Code(f"{self.unit.require(long_integers.shift(spelling.symbol, e.dtype))}({a}, {amount})")
        return self._narrowed(Code(f"({a} {spelling.symbol} {amount})"), e.dtype)

    def reinterpreted(self, e: ex.Reinterpret) -> Code:
        source, target = e.value.dtype, e.dtype
        value = self.code(e.value)
        if source.is_float and source.bits == 16:
            value, source = Code(f"{self.unit.require(routines.pack(source))}({value.text})"), DType.of("uint16")
        if target.is_float and target.bits == 16:
            bits = narrowed(value.text if not is_signed(source) else f"u32({value.text})", DType.of("uint16"))
            return Code(f"{self.unit.require(routines.unpack(target))}({bits})")
        if source == target or _is_long(target):
            return value
        if source.is_int and target.is_int:
            return self._narrowed(self.cast(target, value), target)
        return Code(f"bitcast<{self.value_type(target)}>({value.within(ADD)})")


def _is_part(part: Expr, total: Expr) -> bool:
    """Whether a sum or difference has this operand, with any sign."""
    if not isinstance(total, (ex.Add, ex.Sub)):
        return False
    if isinstance(part, ex.Const):
        return any(isinstance(o, ex.Const) and abs(o.value) == abs(part.value) for o in (total.a, total.b))
    return part is total.a or part is total.b


def _is_long(dtype: DType) -> bool:
    return dtype.is_int and dtype.bits == 64


def literal(value: ex.Scalar, dtype: DType, require: Callable[[Routine], str]) -> Code:
    """A literal of the type in which `dtype` is computed; `require` defines the routines of those that are no
    constants of WGSL."""
    if dtype.is_bool:
        return Code("true" if value else "false")
    if dtype == INDEX:
        return Code(str(value), ATOM if int(value) >= 0 else UNARY)
    if _is_long(dtype):
        return Code(long_integers.literal(int(value)))
    if dtype.is_int:
        text = literal_of(int(value), dtype)
        return Code(text, UNARY if text.startswith("-") else ATOM)
    number = np.float32(value)
    if np.isnan(number):
        return Code(f"{require(routines.NAN)}()")
    if np.isinf(number):
        return Code(f"{'-' * bool(number < 0)}{require(routines.INFINITY)}()", UNARY)
    text = str(number)
    return Code(f"{text}f", UNARY if text.startswith("-") else ATOM)
