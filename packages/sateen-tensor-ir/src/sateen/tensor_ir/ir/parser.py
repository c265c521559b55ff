"""Reads the text form that `printer.py` writes: `parse_function(str(f))` has the structure of `f`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.declaration_parser import DeclarationParser
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.expression_parser import ExpressionParser
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.statement_parser import StatementParser
from sateen.tensor_ir.ir.stmt import Function, Requirement, Stmt
from sateen.tensor_ir.ir.tokens import Cursor, Token


def parse_function(text: str, intrinsics: Mapping[str, Instruction] | None = None) -> Function:
    """The function of this text, which may use the `intrinsics` by name. Raises ParseError."""
    return _read(_Parser.function, text, {}, intrinsics or {})


def parse_stmt(
    text: str,
    names: Mapping[str, Var | Buffer] | None = None,
    intrinsics: Mapping[str, Instruction] | None = None,
) -> Stmt:
    """The statement of this text; `names` gives the meaning of its free names. Raises ParseError."""
    return _read(_Parser.whole_block, text, names or {}, intrinsics or {})


def parse_expr(text: str, names: Mapping[str, Var | Buffer] | None = None) -> Expr:
    """The expression of this text; `names` gives the meaning of its free names. Raises ParseError."""
    return _read(_Parser.whole_expression, text, names or {}, {})


def _read(
    read: Callable[[_Parser], T], text: str, names: Mapping[str, Var | Buffer], intrinsics: Mapping[str, Instruction]
) -> T:
    """What a method of the parser reads. Text that nests too deep for it is an error of the text."""
    parser = _Parser(text, names, intrinsics)
    try:
        return read(parser)
    except RecursionError:
        parser.cursor.fail_line("text that nests less deep")


T = TypeVar("T")


class _Parser:
    """Functions, and whole texts of a statement or an expression."""

    def __init__(self, text: str, names: Mapping[str, Var | Buffer], intrinsics: Mapping[str, Instruction]) -> None:
        self.cursor = Cursor(text)
        self.expressions = ExpressionParser(self.cursor, names)
        self.declarations = DeclarationParser(self.cursor, self.expressions)
        self.statements = StatementParser(self.cursor, self.expressions, self.declarations, intrinsics)
        self.names = self.expressions.names
        """The present meanings of names."""

    def function(self) -> Function:
        self.cursor.expect("function")
        token = self.cursor.next()
        if token.kind != "name":
            self.cursor.fail("a name", token)
        held: dict[str, Token] = {}
        symbols: dict[str, Var] = {}
        if self.cursor.accept("["):
            while not self.cursor.accept("]"):
                symbol = self.cursor.new_name()
                self.names[symbol] = symbols[symbol] = Var(symbol)
                if self.cursor.accept("="):
                    held[symbol] = self.cursor.next()
                if self.cursor.token.text != "]":
                    self.cursor.expect(",")
        self.cursor.expect("(")
        parameters: list[Buffer] = []
        outputs, aliased = set(), set()
        while not self.cursor.accept(")"):
            if parameters:
                self.cursor.expect(",")
            buffer_name = self.cursor.new_name()
            self.cursor.expect(":")
            role = next((r for r in ("inout", "aliased", "out") if self.cursor.accept(r)), "")
            buffer = self.declarations.buffer(buffer_name)
            parameters.append(buffer)
            outputs |= {buffer} if role in ("inout", "out") else set()
            aliased |= {buffer} if role in ("inout", "aliased") else set()
            self.names[buffer_name] = buffer
        numbers = tuple((symbols[name], self.parameter(buffer, parameters)) for name, buffer in held.items())
        denormals = "keep"
        if self.cursor.accept("denormals"):
            self.cursor.expect("flush")
            denormals = "flush"
        requirements = list[Requirement]()
        while self.cursor.accept("," if requirements else "requires"):
            requirements.append(self.requirement(parameters))
        self.cursor.end_of_line()
        while not self.cursor.is_at_end and self.cursor.accept("constant"):
            self.constant()
        body = self.statements.block(2)
        self.cursor.end_of_text()
        return Function(
            token.text, tuple(parameters), frozenset(outputs), body, frozenset(aliased), denormals, numbers,
            tuple(requirements),
        )  # fmt: skip

    def requirement(self, parameters: Sequence[Buffer]) -> Requirement:
        parameter = self.parameter(self.cursor.next(), parameters)
        self.cursor.expect("[")
        dimension = self.cursor.integer()
        self.cursor.expect("]")
        self.cursor.expect(":")
        return Requirement(parameter, dimension, self.expressions.expr())

    def whole_block(self) -> Stmt:
        """A statement, and nothing after it."""
        statement = self.statements.block(0)
        self.cursor.end_of_text()
        return statement

    def whole_expression(self) -> Expr:
        """An expression behind the names that it uses, and nothing after it."""
        if self.cursor.accept("given"):
            self.expressions.given()
            while not self.cursor.accept("in"):
                self.cursor.expect(",")
                self.expressions.given()
        e = self.expressions.expr()
        self.cursor.end_of_line()
        self.cursor.end_of_text()
        return e

    def parameter(self, token: Token, parameters: Sequence[Buffer]) -> Buffer:
        """The parameter of a name."""
        found = self.names.get(token.text)
        if not isinstance(found, Buffer) or found not in parameters:
            self.cursor.fail("a parameter", token)
        return found

    def constant(self) -> None:
        name = self.cursor.new_name()
        self.cursor.expect(":")
        self.names[name] = self.declarations.buffer(name, data=True)
        self.cursor.end_of_line()
