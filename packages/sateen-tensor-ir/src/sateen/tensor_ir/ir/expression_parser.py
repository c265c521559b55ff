"""Reads expressions of the text form, up to where they end in a line."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import ACCESSES, Address, Buffer, Load
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.tokens import Cursor, Token
from sateen.tensor_ir.ir.types import FLOAT32, INDEX

_LEVELS: tuple[Mapping[str, type[ex.Binary]], ...] = (
    {"or": ex.Or},
    {"and": ex.And},
    {},  # 'not'
    {"==": ex.EQ, "!=": ex.NE, "<": ex.LT, "<=": ex.LE, ">": ex.GT, ">=": ex.GE},
    {"+": ex.Add, "-": ex.Sub},
    {"*": ex.Mul, "/": ex.Div, "//": ex.FloorDiv, "%": ex.FloorMod},
)
_NOT_LEVEL = 2
_SPECIAL = {"inff": float("inf"), "nanf": float("nan")}


class ExpressionParser:
    """Reads expressions at a cursor; `names` says what names stand for by then."""

    def __init__(self, cursor: Cursor, names: Mapping[str, Var | Buffer]) -> None:
        self.cursor = cursor
        self.names: dict[str, Expr | Buffer] = dict(names)

    def expr(self, level: int = 0) -> Expr:
        """An expression of operators that bind at least as tightly as those of `level`."""
        if level == len(_LEVELS):
            return self.operand()
        if level == _NOT_LEVEL and self.cursor.accept("not"):
            return ex.Not(self.expr(level))
        left = self.expr(level + 1)
        while (operator := _LEVELS[level].get(self.cursor.token.text)) is not None:
            self.cursor.next()
            left = operator(left, self.expr(level + 1))
        return left

    def operand(self) -> Expr:
        token = self.cursor.next()
        if token.text == "(":
            e = self.expr()
            self.cursor.expect(")")
            return e
        if token.text == "-" or token.kind == "number" or token.text in _SPECIAL:
            return self.literal(token)
        if token.text in ("true", "false"):
            return ex.TRUE if token.text == "true" else ex.FALSE
        if token.kind != "name":
            self.cursor.fail("an expression", token)
        if token.text == "piecewise":
            return self.piecewise()
        if token.text == "address":
            return self.address()
        if self.cursor.token.text == "(" or self.is_typed_call():
            return self.application(token)
        entity = self.names.get(token.text)
        if isinstance(entity, Buffer) and self.cursor.accept("["):
            return Load(entity, self.listed("]"), entity.dtype)
        if not isinstance(entity, Expr):
            self.cursor.fail("a variable or an element of a buffer", token)
        return entity

    def is_typed_call(self) -> bool:
        """Whether `:int32(` comes next; the colon after a condition ends its line."""
        return self.cursor.token.text == ":" and self.cursor.following.kind == "name"

    def literal(self, token: Token) -> Expr:
        """An index or, with the suffix f, a float32."""
        sign = ""
        if token.text == "-":
            sign, token = "-", self.cursor.next()
        if token.text in _SPECIAL:
            return ex.Const(float(sign + token.text[:-1]), FLOAT32)
        if token.kind != "number":
            self.cursor.fail("a number", token)
        if token.text.endswith("f"):
            return ex.Const(float(sign + token.text[:-1]), FLOAT32)
        if not token.text.isdigit():
            self.cursor.fail("an integer, or a number with a type: 1.0f, float64(1.0)", token)
        return ex.Const(int(sign + token.text), INDEX)

    def piecewise(self) -> Expr:
        self.cursor.expect("[")
        index = self.expr()
        self.cursor.expect("]")
        self.cursor.expect("(")
        branches = self.listed(")")
        if not branches:
            self.cursor.fail("at least one branch")
        return ex.Piecewise(branches, index, branches[0].dtype)

    def address(self) -> Expr:
        self.cursor.expect(":")
        access = self.cursor.next()
        if access.text not in ACCESSES:
            self.cursor.fail(f"one of {', '.join(ACCESSES)}", access)
        self.cursor.expect("(")
        buffer = self.known_buffer()
        self.cursor.expect(",")
        offset = self.expr()
        self.cursor.expect(")")
        return Address(buffer, offset, access.text)

    def application(self, name: Token) -> Expr:
        """A typed literal, a cast, an operation written as a function, or a call."""
        dtype = _dtype(name.text)
        if dtype is not None:
            self.cursor.expect("(")
            return self.typed(dtype)
        result = self.dtype() if self.cursor.accept(":") else None
        self.cursor.expect("(")
        args = self.listed(")")
        operation = {"min": (ex.Min, 2), "max": (ex.Max, 2), "select": (ex.Select, 3)}.get(name.text)
        if operation is not None:
            if len(args) != operation[1]:
                self.cursor.fail(f"{operation[1]} operands of {name.text!r}", name)
            return operation[0](*args)  # type: ignore[no-any-return]
        if name.text == "reinterpret":
            if len(args) != 1 or result is None:
                self.cursor.fail("one operand and a type, as in reinterpret:int32(x)", name)
            return ex.Reinterpret(args[0], result)
        if not args and result is None:
            self.cursor.fail("a type, as in f:int32(), of a call without arguments", name)
        return ex.Call(name.text, args, result if result is not None else args[0].dtype)

    def typed(self, dtype: DType) -> Expr:
        """The content of the parentheses in `float64(...)`: a bare number is a literal, anything else is converted."""
        mark = self.cursor.position
        sign = "-" if self.cursor.accept("-") else ""
        token = self.cursor.next()
        bare = token.kind == "number" and not token.text.endswith("f")
        if (bare or token.text in ("inf", "nan")) and self.cursor.accept(")"):
            if dtype.is_float and not token.text.isdigit():
                return ex.Const(float(sign + token.text), dtype)
            if dtype.is_int and token.text.isdigit():
                return ex.const(int(sign + token.text), dtype)
        self.cursor.position = mark
        value = self.expr()
        self.cursor.expect(")")
        return ex.Cast(value, dtype)

    def listed(self, close: str) -> tuple[Expr, ...]:
        """Expressions up to a closing mark."""
        items: list[Expr] = []
        while not self.cursor.accept(close):
            if items:
                self.cursor.expect(",")
            items.append(self.expr())
        return tuple(items)

    def dtype(self) -> DType:
        token = self.cursor.next()
        dtype = _dtype(token.text)
        if dtype is None:
            self.cursor.fail("an element type", token)
        return dtype

    def given(self) -> None:
        """A name for an expression that what follows has in several places."""
        name = self.cursor.new_name()
        self.cursor.expect("=")
        self.names[name] = self.expr()

    def known_buffer(self) -> Buffer:
        token = self.cursor.next()
        buffer = self.names.get(token.text)
        if not isinstance(buffer, Buffer):
            self.cursor.fail("a buffer", token)
        return buffer


def _dtype(text: str) -> DType | None:
    try:
        return INDEX if text == "index" else DType.of(text)
    except ArgumentError:
        return None
