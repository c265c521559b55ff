"""Expressions as C text, with only the parentheses that readers and compilers need.

A node that its statement uses several times is evaluated once, into a constant. An operand that may stay
unevaluated keeps such constants to itself: `c ? a : b` becomes an `if` where a or b needs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sateen.runtime.dtype import DType
from sateen.runtime.errors import CodegenError
from sateen.tensor_ir.codegen.c_family import routines
from sateen.tensor_ir.codegen.c_family.function_text import FunctionText
from sateen.tensor_ir.codegen.c_family.literals import (
    ADD,
    AND,
    BITWISE,
    CHOOSE,
    EQUAL,
    MULTIPLY,
    NAME,
    OR,
    RELATE,
    UNARY,
    Code,
    literal,
)
from sateen.tensor_ir.codegen.c_family.routines import FLOAT32, FLOAT64
from sateen.tensor_ir.codegen.c_family.translation_unit import TranslationUnit
from sateen.tensor_ir.functions import FUNCTIONS, library_function
from sateen.tensor_ir.functions.spelling import InfixOperator, LibraryFunction, Routine, RoutineCall
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Address, Buffer, Load
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.external import function_name, is_external
from sateen.tensor_ir.ir.needed import needed_by_both
from sateen.tensor_ir.ir.types import BOOL, INDEX, int_range
from sateen.tensor_ir.ir.visit import Node, children, unknown, walk

_SYMBOLS = {ex.EQ: "==", ex.NE: "!=", ex.LT: "<", ex.LE: "<=", ex.GT: ">", ex.GE: ">="}
_INFIX = {ex.Add: ("+", ADD), ex.Sub: ("-", ADD), ex.Mul: ("*", MULTIPLY)}


class Expressions(FunctionText):
    """`code(e)` is the C text of an expression; lines that it needs before are added to `lines`."""

    def __init__(self, unit: TranslationUnit, taken: frozenset[str], name: str) -> None:
        super().__init__(unit, taken, name)
        self.nonnegative: set[Var] = set()
        self._memo: dict[int, Code] = {}
        self._reused: set[int] = set()

    @contextmanager
    def captured(self) -> Iterator[list[str]]:
        """Collects the lines that are written inside the block separately; constants defined there end with it."""
        lines, memo, self.lines, self._memo = self.lines, self._memo, [], dict(self._memo)
        yield self.lines
        self.lines, self._memo = lines, memo

    # Evaluation.

    def begin(self, *roots: Expr) -> None:
        """Start a statement that evaluates these expressions, none of them seen before."""
        self._memo = {}
        self._reused = _used_several_times(roots)

    def text(self, e: Expr, level: int = BITWISE) -> str:
        """The text of an expression as an operand of `level`."""
        return self.code(e).within(level)

    def code(self, e: Expr) -> Code:
        """The text of an expression; one that the statement uses several times is the name of a constant."""
        if id(e) not in self._reused or isinstance(e, (ex.Const, Var)) or self.is_repeatable(e):
            return self._operation(e)
        if id(e) not in self._memo:
            value = self._operation(e)
            self._memo[id(e)] = value if value.level == NAME else self.constant("t", self.value_type(e.dtype), value)
        return self._memo[id(e)]

    def constant(self, wish: str, type_: str, value: Code) -> Code:
        """A new constant of that value."""
        name = self.identifiers.fresh(wish)
        self.fixed(type_, name, value.text)
        return Code(name, NAME)

    def is_repeatable(self, e: Expr) -> bool:
        """Whether e is arithmetic on loop variables and extents, which needs no constant to be evaluated once."""
        return e.dtype == INDEX and not any(isinstance(n, ex.Cast) for n in walk(e))

    def is_nonnegative(self, e: Expr) -> bool:
        """Whether an index is seen to be at least 0."""
        match e:
            case ex.Const():
                return e.value >= 0
            case Var():
                return e in self.nonnegative
            case ex.Add() | ex.Mul() | ex.Min():
                return self.is_nonnegative(e.a) and self.is_nonnegative(e.b)
            case ex.Max():
                return self.is_nonnegative(e.a) or self.is_nonnegative(e.b)
            case ex.FloorDiv() | ex.FloorMod():
                return self.is_nonnegative(e.a) and isinstance(e.b, ex.Const) and e.b.value > 0
        return False

    def _operation(self, e: Expr) -> Code:
        match e:
            case ex.Const():
                self.value_type(e.dtype)
                return self.literal(e)
            case Var():
                return Code(self.name(e), NAME)
            case ex.Add() | ex.Sub() | ex.Mul():
                return self.arithmetic(e)
            case ex.Div():
                return Code(f"{self.text(e.a, MULTIPLY)} / {self.text(e.b, UNARY)}", MULTIPLY)
            case ex.FloorDiv() | ex.FloorMod():
                return self.division(e)
            case ex.Min() | ex.Max():
                return self.extremum(e)
            case ex.Compare():
                return self.comparison(e)
            case ex.And() | ex.Or():
                return self._connective(e)
            case ex.Not():
                return Code(f"!{self.text(e.value, UNARY)}", UNARY)
            case ex.Select():
                return self._choice(e.condition, e.then, e.otherwise)
            case ex.Piecewise():
                chain = e.branches[-1]
                for i in reversed(range(len(e.branches) - 1)):
                    chain = ex.Select(ex.compare(ex.EQ, e.index, i), e.branches[i], chain)
                return self.code(chain)
            case ex.Cast():
                return self.conversion(e)
            case ex.Reinterpret():
                return self.reinterpreted(e)
            case ex.Call():
                return self.function_call(e)
            case Load():
                return self.load(e)
            case Address():
                return self.address(e)
        raise unknown(e, f"{self.function_name}: the emitter of {self.dialect.name}")

    def literal(self, e: ex.Const) -> Code:
        """A literal in the type in which it is computed."""
        return literal(e.value, e.dtype)

    def extremum(self, e: ex.Min | ex.Max) -> Code:
        """The smaller or the larger of two values."""
        return self.call(routines.extremum(e.symbol, self.computed(e.dtype)), e.a, e.b)

    def load(self, e: Load) -> Code:
        """An element of memory as a value."""
        element = self.element(e.buffer, e.indices)
        if e.dtype.is_bool:
            return Code(f"{element} != 0", EQUAL)
        if e.dtype.is_float and e.dtype.bits == 16:
            return Code(f"{self.unit.require(routines.unpack(e.dtype))}({element})")
        return Code(element)

    def address(self, e: Address) -> Code:
        """The address of an element as a number. Raises CodegenError: only code of a host passes addresses on."""
        raise CodegenError(f"{self.function_name}: {self.dialect.name} passes no addresses on, found {e}")

    def external(self, e: ex.Call) -> Code:
        """A call of a function of others. Raises CodegenError: only code of a host is linked with any."""
        raise CodegenError(
            f"{self.function_name}: {self.dialect.name} calls no functions of others, found a call of "
            f"{function_name(e.name)!r}; build for a host"
        )

    def element(self, buffer: Buffer, indices: tuple[Expr, ...]) -> str:
        """An element as a C lvalue."""
        self.storage_type(buffer.dtype)
        return f"{self.name(buffer)}[{self.text(buffer.offset(indices))}]"

    def stored(self, e: Expr, dtype: DType) -> str:
        """The value of e as an element in memory."""
        if dtype.is_float and dtype.bits == 16:
            return self.call(routines.pack(dtype), e).text
        return self.text(e)

    # Arithmetic.

    def call(self, routine: Routine, *operands: Expr) -> Code:
        return Code(f"{self.unit.require(routine)}({', '.join(self.text(o) for o in operands)})")

    def arithmetic(self, e: ex.Add | ex.Sub | ex.Mul) -> Code:
        """A sum, difference or product; data of integers wraps."""
        symbol, level = _INFIX[type(e)]
        wraps = e.dtype.is_int and e.dtype != INDEX
        if not wraps or str(e.dtype) in {"uint32", "uint64"}:
            # Only sums of integers are regrouped: a + (b - c) is a + b - c where nothing rounds. A product is not,
            # since its right operand may be a quotient or a remainder.
            right = level if e.dtype.is_int and isinstance(e, ex.Add) else level + 1
            return Code(f"{self.text(e.a, level)} {symbol} {self.text(e.b, right)}", level)
        unsigned = "uint64" if e.dtype.bits == 64 else "uint32"
        a, b = (self._modulo(operand, unsigned) for operand in (e.a, e.b))
        return self.cast(e.dtype, Code(f"{a} {symbol} {b}", level))

    def _modulo(self, e: Expr, unsigned: str) -> str:
        """An integer as an unsigned one, whose overflow is defined."""
        if isinstance(e, ex.Const):
            return f"{int(e.value) % (1 << DType.of(unsigned).bits)}u"
        return f"({self.dialect.types[unsigned]}){self.text(e, UNARY)}"

    def cast(self, dtype: DType, value: Code) -> Code:
        return Code(f"({self.value_type(dtype)}){value.within(UNARY)}", UNARY)

    def division(self, e: ex.FloorDiv | ex.FloorMod) -> Code:
        """A quotient rounded down, or what remains of it."""
        quotient = isinstance(e, ex.FloorDiv)
        known = isinstance(e.b, ex.Const) and e.b.value > 0
        if known and (int_range(e.dtype)[0] == 0 or (e.dtype == INDEX and self.is_nonnegative(e.a))):
            return Code(f"{self.text(e.a, MULTIPLY)} {'/' if quotient else '%'} {self.text(e.b, UNARY)}", MULTIPLY)
        routine = routines.floor_divide if quotient else routines.floor_modulo
        return self.call(routine(self.computed(e.dtype)), e.a, e.b)

    def comparison(self, e: ex.Compare) -> Code:
        """Whether two values are equal, or in order."""
        decided = _decided(e)
        if decided is not None:
            return literal(decided, BOOL)
        level = EQUAL if isinstance(e, (ex.EQ, ex.NE)) else RELATE
        return Code(f"{self.text(e.a, ADD)} {_SYMBOLS[type(e)]} {self.text(e.b, ADD)}", level)

    # Operands that may stay unevaluated.

    def _connective(self, e: ex.And | ex.Or) -> Code:
        symbol, level = ("&&", AND) if isinstance(e, ex.And) else ("||", OR)
        a = self.code(e.a)
        with self.captured() as lines, self.indented():
            b = self.code(e.b)
        if not lines:
            return Code(f"{a.within(level if a.level == level else EQUAL)} {symbol} {b.within(EQUAL)}", level)
        name = self._variable(e, a.text)
        with self.braces(f"if ({name if level == AND else '!' + name})"):
            self.lines += lines
            self.line(f"{name} = {b.text};")
        return Code(name, NAME)

    def _choice(self, condition: Expr, then: Expr, otherwise: Expr) -> Code:
        test = self.code(condition)
        for e in needed_by_both(then, otherwise):
            self.code(e)
        operands: list[tuple[list[str], Code]] = []
        for operand in (then, otherwise):
            with self.captured() as lines, self.indented():
                operands.append((lines, self.code(operand)))
        (then_lines, a), (else_lines, b) = operands
        if not then_lines and not else_lines:
            choice = self.choice(test, a, b)
            if choice is not None:
                return choice
        name = self._variable(then, "")
        for head, lines, value in ((f"if ({test.text})", then_lines, a), ("else", else_lines, b)):
            with self.braces(head):
                self.lines += lines
                self.line(f"{name} = {value.text};")
        return Code(name, NAME)

    def choice(self, test: Code, then: Code, otherwise: Code) -> Code | None:
        """One of two values, of which only that is evaluated; None if the dialect can't say so in an expression."""
        return Code(f"{test.within(OR)} ? {then.within(OR)} : {otherwise.within(OR)}", CHOOSE)

    def _variable(self, like: Expr, value: str) -> str:
        name = self.identifiers.fresh("t")
        self.variable(self.value_type(like.dtype), name, value)
        return name

    # Conversions and calls.

    def conversion(self, e: ex.Cast) -> Code:
        """A value of another type."""
        source, target = e.value.dtype, e.dtype
        if target.is_bool:
            return Code(f"{self.text(e.value, EQUAL + 1)} != 0", EQUAL)
        if target.is_int and source.is_float:
            computed = FLOAT64 if source == FLOAT64 else FLOAT32
            return self.call(routines.saturate(computed, self.computed(target)), e.value)
        if target.is_float and target.bits == 16:
            value = self.code(e.value)
            if not source.is_float or source.bits > 32:
                value = self.cast(FLOAT32, value)
            return Code(f"{self.unit.require(routines.round_to(target))}({value.text})")
        if target.is_float and self.value_type(source) == self.value_type(target):
            return self.code(e.value)
        if target.is_int and self.computed(source) == self.computed(target):
            return self.code(e.value)
        return self.cast(target, self.code(e.value))

    def function_call(self, e: ex.Call) -> Code:
        """A call as the dialect spells it."""
        if is_external(e.name):
            return self.external(e)
        function = FUNCTIONS.get(e.name)
        spelling = self.dialect.spelling(function) if function is not None else None
        if library := library_function(e.name):
            spelling = LibraryFunction(library)
        match spelling:
            case LibraryFunction(name):
                suffix = "" if e.dtype == FLOAT64 else self.dialect.float_suffix
                return Code(f"{name}{suffix}({', '.join(self.text(a) for a in e.args)})")
            case InfixOperator(symbol, wraps=False):
                return Code(f"{self.text(e.args[0], UNARY)} {symbol} {self.text(e.args[1], UNARY)}", BITWISE)
            case InfixOperator(symbol):
                unsigned = "uint64" if e.dtype.bits == 64 else "uint32"
                value = f"{self._modulo(e.args[0], unsigned)} {symbol} {self.text(e.args[1], UNARY)}"
                return self.cast(e.dtype, Code(value, BITWISE))
            case RoutineCall(routine):
                unsigned = f"uint{e.args[0].dtype.bits}"
                return self.cast(e.dtype, Code(f"{self.unit.require(routine)}({self._modulo(e.args[0], unsigned)})"))
        raise CodegenError(
            f"{self.function_name}: {self.dialect.name} has no function {e.name!r} of {e.dtype} that could be "
            "called for its effect"
        )

    def reinterpreted(self, e: ex.Reinterpret) -> Code:
        """The bits of a value as one of another type."""
        source, target = e.value.dtype, e.dtype
        value = self.code(e.value)
        if source.is_float and source.bits == 16:
            value, source = Code(f"{self.unit.require(routines.pack(source))}({value.text})"), DType.of("uint16")
        if target.is_float and target.bits == 16:
            bits = f"({self.dialect.types['uint16']}){value.within(UNARY)}"
            return Code(f"{self.unit.require(routines.unpack(target))}({bits})")
        if source == target:
            return value
        if source.is_int and target.is_int:
            return self.cast(target, value)
        return Code(f"{self.unit.require(routines.reinterpret(source, target))}({value.text})")


def _used_several_times(roots: Sequence[Expr]) -> set[int]:
    """The nodes, by identity, that have more than one use."""
    seen: set[int] = set()
    shared: set[int] = set()
    stack: list[Node] = list(roots)
    while stack:
        node = stack.pop()
        if id(node) in seen:
            shared.add(id(node))
            continue
        seen.add(id(node))
        stack.extend(children(node))
    return shared


def _decided(e: ex.Compare) -> bool | None:
    """The result of comparing an integer with an end of its type's range, about which compilers warn; otherwise
    None."""
    a, b, kind = e.a, e.b, type(e)
    if isinstance(a, ex.Const):
        mirrored = {ex.LT: ex.GT, ex.LE: ex.GE, ex.GT: ex.LT, ex.GE: ex.LE}
        a, b, kind = b, a, mirrored.get(kind, kind)
    if not isinstance(b, ex.Const) or not b.dtype.is_int:
        return None
    low, high = int_range(b.dtype)
    if b.value == low and kind in {ex.GE, ex.LT}:
        return kind is ex.GE
    if b.value == high and kind in {ex.LE, ex.GT}:
        return kind is ex.LE
    return None
