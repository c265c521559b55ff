"""Reads the text form that `printer.py` writes: `parse_function(str(f))` has the structure of `f`."""

from __future__ import annotations

import re
from ast import literal_eval
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from sateen.runtime.device import Device
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError, SateenError
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.device_work import Copy, Launch, Queue, Wait
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.printer import RESERVED
from sateen.tensor_ir.ir.stmt import (
    THREAD_TAGS,
    Allocate,
    Barrier,
    Evaluate,
    For,
    Function,
    If,
    Invoke,
    Let,
    LoopKind,
    Prefetch,
    Region,
    Stmt,
    Store,
    Timestamp,
    While,
    intrinsic,
    sequence,
)
from sateen.tensor_ir.ir.types import FLOAT32, INDEX


class ParseError(SateenError):
    """Text that is not loop IR. The message gives line and column, what was expected and what was found."""


def parse_function(text: str, intrinsics: Mapping[str, Instruction] | None = None) -> Function:
    """The function of this text, which may use the `intrinsics` by name. Raises ParseError."""
    parser = _Parser(text, {}, intrinsics or {})
    return parser.function()


def parse_stmt(
    text: str,
    names: Mapping[str, Var | Buffer] | None = None,
    intrinsics: Mapping[str, Instruction] | None = None,
) -> Stmt:
    """The statement of this text; `names` gives the meaning of its free names. Raises ParseError."""
    parser = _Parser(text, names or {}, intrinsics or {})
    statement = parser.block(0)
    parser.end_of_text()
    return statement


def parse_expr(text: str, names: Mapping[str, Var | Buffer] | None = None) -> Expr:
    """The expression of this text; `names` gives the meaning of its free names. Raises ParseError."""
    parser = _Parser(text, names or {}, {})
    if parser.accept("given"):
        parser.given()
        while not parser.accept("in"):
            parser.expect(",")
            parser.given()
    e = parser.expr()
    parser.end_of_line()
    parser.end_of_text()
    return e


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    """name, number, string, mark or end (of the line)."""
    text: str
    line: int
    column: int

    def __str__(self) -> str:
        return "the end of the line" if self.kind == "end" else repr(self.text)


_TOKENS = re.compile(
    r"""(?P<space>\s+)
    |(?P<name>[^\W\d][\w.]*)
    |(?P<number>\d+(\.\d+)?(e[+-]?\d+)?f?)
    |(?P<string>"(\\.|[^"\\])*"|'(\\.|[^'\\])*')
    |(?P<mark>//|==|!=|<=|>=|[-+*/%<>=()\[\],:])
    """,
    re.VERBOSE,
)
_LEVELS: tuple[Mapping[str, type[ex.Binary]], ...] = (
    {"or": ex.Or},
    {"and": ex.And},
    {},  # 'not'
    {"==": ex.EQ, "!=": ex.NE, "<": ex.LT, "<=": ex.LE, ">": ex.GT, ">=": ex.GE},
    {"+": ex.Add, "-": ex.Sub},
    {"*": ex.Mul, "/": ex.Div, "//": ex.FloorDiv, "%": ex.FloorMod},
)
_NOT_LEVEL = 2
_LOOPS = {kind.value: kind for kind in LoopKind}
_SPECIAL = {"inff": float("inf"), "nanf": float("nan")}


def _declared(b: Buffer) -> tuple[object, ...]:
    """What several allocations of one buffer must agree in."""
    return b.dtype, b.scope, str(b.shape), b.device


class _Parser:
    def __init__(self, text: str, names: Mapping[str, Var | Buffer], intrinsics: Mapping[str, Instruction]) -> None:
        self.intrinsics = intrinsics
        self.lines = [line for line in map(_tokens, text.splitlines(), range(1, text.count("\n") + 2)) if len(line) > 1]
        if not self.lines:
            raise ParseError("line 1, column 1: expected loop IR, found nothing")
        self.names: dict[str, Expr | Buffer] = dict(names)
        self.row = 0
        self.position = 0

    # Tokens.

    @property
    def token(self) -> _Token:
        return self.lines[self.row][self.position]

    def fail(self, expected: str, token: _Token | None = None) -> NoReturn:
        token = token or self.token
        raise ParseError(f"line {token.line}, column {token.column}: expected {expected}, found {token}")

    def next(self) -> _Token:
        token = self.token
        self.position += token.kind != "end"
        return token

    def accept(self, text: str) -> bool:
        """Whether the next token is this one, which is then consumed."""
        found = self.token.text == text and self.token.kind in ("name", "mark")
        self.position += found
        return found

    def expect(self, text: str) -> None:
        if not self.accept(text):
            self.fail(repr(text))

    def end_of_line(self) -> None:
        if self.token.kind != "end":
            self.fail("the end of the line")
        if self.row + 1 < len(self.lines):
            self.row, self.position = self.row + 1, 0
        else:
            self.row, self.position = len(self.lines), 0

    def end_of_text(self) -> None:
        if self.row < len(self.lines):
            self.fail("the end of the text")

    @property
    def depth(self) -> int:
        """The indentation of the line that begins here, in columns; -1 at the end."""
        return self.lines[self.row][0].column - 1 if self.row < len(self.lines) else -1

    def new_name(self) -> str:
        token = self.next()
        if token.kind != "name" or token.text in RESERVED:
            self.fail("a name", token)
        return token.text

    def integer(self) -> int:
        negative = self.accept("-")
        token = self.next()
        if token.kind != "number" or not token.text.isdigit():
            self.fail("an integer", token)
        return -int(token.text) if negative else int(token.text)

    def listed(self, close: str) -> tuple[Expr, ...]:
        """Expressions up to a closing mark."""
        items: list[Expr] = []
        while not self.accept(close):
            if items:
                self.expect(",")
            items.append(self.expr())
        return tuple(items)

    def dtype(self) -> DType:
        token = self.next()
        dtype = _dtype(token.text)
        if dtype is None:
            self.fail("an element type", token)
        return dtype

    # Declarations.

    def function(self) -> Function:
        self.expect("function")
        token = self.next()
        if token.kind != "name":
            self.fail("a name", token)
        if self.accept("["):
            while not self.accept("]"):
                symbol = self.new_name()
                self.names[symbol] = Var(symbol)
                if self.token.text != "]":
                    self.expect(",")
        self.expect("(")
        parameters: list[Buffer] = []
        outputs, aliased = set(), set()
        while not self.accept(")"):
            if parameters:
                self.expect(",")
            buffer_name = self.new_name()
            self.expect(":")
            role = next((r for r in ("inout", "aliased", "out") if self.accept(r)), "")
            buffer = self.buffer(buffer_name)
            parameters.append(buffer)
            outputs |= {buffer} if role in ("inout", "out") else set()
            aliased |= {buffer} if role in ("inout", "aliased") else set()
            self.names[buffer_name] = buffer
        denormals = "keep"
        if self.accept("denormals"):
            self.expect("flush")
            denormals = "flush"
        self.end_of_line()
        while self.row < len(self.lines) and self.accept("constant"):
            self.constant()
        body = self.block(2)
        self.end_of_text()
        return Function(token.text, tuple(parameters), frozenset(outputs), body, frozenset(aliased), denormals)

    def buffer(self, name: str, data: bool = False) -> Buffer:
        """The type of a buffer, and for a constant its data."""
        scope = next((s for s in Scope if self.accept(s.value)), Scope.GLOBAL)
        dtype = self.dtype()
        self.expect("[")
        shape = self.listed("]")
        strides = None
        if self.accept("strides"):
            self.expect("[")
            strides = self.listed("]")
        alignment = self.integer() if self.accept("align") else 64
        device = self.device() if self.accept("on") else None
        content = self.data(shape, dtype) if data else None
        return Buffer(name, shape, dtype, scope, strides, alignment, content, device)

    def device(self) -> Device:
        """`opencl(0)`."""
        token = self.next()
        self.expect("(")
        index = self.integer()
        self.expect(")")
        try:
            return Device.of(f"{token.text}({index})")
        except ArgumentError as error:
            raise ParseError(f"line {token.line}, column {token.column}: {error}") from None

    def queue(self) -> Queue:
        """`opencl(0)`, or `opencl(0) queue 1`."""
        return Queue(self.device(), self.integer() if self.accept("queue") else 0)

    def data(self, shape: tuple[Expr, ...], dtype: DType) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
        self.expect("=")
        token = self.next()
        extents = [int(e.value) for e in shape if isinstance(e, ex.Const)]
        size = int(np.prod(extents, dtype=np.int64)) * dtype.bytes
        if token.kind != "string" or len(extents) != len(shape):
            self.fail("data in base64 of a constant shape", token)
        try:
            data = b64decode(token.text[1:-1], validate=True)
        except Base64Error:
            self.fail("data in base64", token)
        if len(data) != size:
            self.fail(f"{size} bytes in base64", token)
        return np.frombuffer(data, dtype.numpy).reshape(extents)

    def constant(self) -> None:
        name = self.new_name()
        self.expect(":")
        self.names[name] = self.buffer(name, data=True)
        self.end_of_line()

    def bound(self, name: str, dtype: DType) -> Var:
        """A new variable, which the name stands for from here on."""
        var = self.names[name] = Var(name, dtype)
        return var

    # Statements.

    def block(self, depth: int) -> Stmt:
        """The statements at this indentation."""
        if self.depth != depth:
            self.fail_block(depth)
        statements: list[Stmt] = []
        while self.depth == depth:
            statements.append(self.statement(depth))
        if self.depth > depth:
            self.fail_block(depth)
        return sequence(*statements)

    def fail_block(self, depth: int) -> NoReturn:
        if self.row == len(self.lines):
            self.row -= 1
            self.position = len(self.lines[self.row]) - 1
        self.fail(f"a statement indented by {depth}")

    def given(self) -> None:
        """A name for an expression that what follows has in several places."""
        name = self.new_name()
        self.expect("=")
        self.names[name] = self.expr()

    def statement(self, depth: int) -> Stmt:
        while self.accept("given"):
            self.given()
            self.end_of_line()
            if self.depth != depth:
                self.fail_block(depth)
        token = self.token
        rule: Callable[[int], Stmt] | None = {
            "let": self.let, "allocate": self.allocate, "if": self.branch, "while": self.repeat,
            "prefetch": self.prefetch, "barrier": self.barrier, "pass": self.nothing,
            "intrinsic": self.intrinsic, "invoke": self.invoke, "timestamp": self.timestamp,
            **dict.fromkeys(_LOOPS, self.loop),
        }.get(token.text)  # fmt: skip
        if rule is None and self.lines[self.row][self.position + 1].kind == "name":
            rule = {"launch": self.launch, "copy": self.copy, "wait": self.wait}.get(token.text)
        if rule is None:
            return self.store_or_call()
        if token.text not in _LOOPS:
            self.next()
        return rule(depth)

    def inner(self, depth: int) -> Stmt:
        """The block after a colon."""
        self.expect(":")
        self.end_of_line()
        return self.block(depth + 2)

    def rest(self, depth: int) -> Stmt:
        """What a let or an allocate holds for: the lines indented beneath it, else the rest of its block."""
        self.end_of_line()
        return self.block(depth + 2 if self.depth > depth else depth)

    def loop(self, depth: int) -> Stmt:
        kind = _LOOPS[self.next().text]
        thread = None
        if kind is LoopKind.THREAD:
            token = self.next()
            if token.text not in THREAD_TAGS:
                self.fail(f"a thread axis ({', '.join(THREAD_TAGS)})", token)
            thread = token.text
        var = self.bound(self.new_name(), INDEX)
        self.expect("in")
        start, extent = self.domain()
        pragmas: list[tuple[str, object]] = []
        while self.token.kind == "name":
            key = self.new_name()
            pragmas.append((key, self.pragma() if self.accept("=") else True))
        return For(var, start, extent, kind, self.inner(depth), thread, tuple(pragmas))

    def domain(self) -> tuple[Expr, Expr]:
        """The start and extent of `[first, end)` or `[0, extent) + start`."""
        self.expect("[")
        first = self.integer()
        self.expect(",")
        token = self.token
        end = self.expr()
        self.expect(")")
        if self.accept("+"):
            return self.expr(), end
        if first != 0 and not isinstance(end, ex.Const):
            self.fail("an integer", token)
        return ex.const(first), ex.const(int(end.value) - first) if isinstance(end, ex.Const) else end

    def pragma(self) -> object:
        token = self.next()
        if token.text in ("False", "None") or token.kind == "string":
            return literal_eval(token.text)
        negative = token.text == "-"
        token = self.next() if negative else token
        if token.kind != "number" or token.text.endswith("f"):
            self.fail("a number, a string, False or None", token)
        value = literal_eval(token.text)
        return -value if negative else value

    def branch(self, depth: int) -> Stmt:
        condition = self.expr()
        then = self.inner(depth)
        otherwise = None
        if self.depth == depth and self.accept("else"):
            otherwise = self.inner(depth)
        return If(condition, then, otherwise)

    def repeat(self, depth: int) -> Stmt:
        return While(self.expr(), self.inner(depth))

    def let(self, depth: int) -> Stmt:
        name = self.new_name()
        self.expect("=")
        value = self.expr()
        return Let(self.bound(name, value.dtype), value, self.rest(depth))

    def allocate(self, depth: int) -> Stmt:
        name = self.new_name()
        self.expect(":")
        token = self.token
        buffer, known = self.buffer(name), self.names.get(name)
        if isinstance(known, Buffer):
            if _declared(known) != _declared(buffer):
                self.fail(f"the type that buffer {name!r} was allocated with before", token)
            buffer = known
        self.names[name] = buffer
        return Allocate(buffer, self.rest(depth))

    def prefetch(self, _: int) -> Stmt:
        token = self.token
        element = self.expr()
        if not isinstance(element, Load):
            self.fail("an element of a buffer", token)
        self.end_of_line()
        return Prefetch(element.buffer, element.indices)

    def barrier(self, _: int) -> Stmt:
        scope = next((s for s in Scope if self.accept(s.value)), None)
        if scope is None:
            self.fail("a scope")
        self.end_of_line()
        return Barrier(scope)

    def invoke(self, _: int) -> Stmt:
        callee = self.new_name()
        self.expect("(")
        buffers: list[Buffer] = []
        offsets: list[Expr] = []
        while not self.accept(")"):
            if buffers:
                self.expect(",")
            buffers.append(self.known_buffer())
            self.expect("+")
            offsets.append(self.expr())
        self.end_of_line()
        return Invoke(callee, tuple(buffers), tuple(offsets))

    def launch(self, _: int) -> Stmt:
        kernel = self.new_name()
        self.expect("(")
        buffers: list[Buffer] = []
        offsets: list[Expr] = []
        scalars: list[Expr] = []
        while not self.accept(")"):
            if buffers or scalars:
                self.expect(",")
            if isinstance(self.names.get(self.token.text), Buffer):
                buffers.append(self.known_buffer())
                self.expect("+")
                offsets.append(self.expr())
            else:
                scalars.append(self.expr())
        self.expect("grid")
        self.expect("[")
        token = self.token
        grid = self.listed("]")
        self.expect("block")
        self.expect("[")
        block = tuple(int(e.value) for e in self.listed("]") if isinstance(e, ex.Const))
        if (len(grid), len(block)) != (3, 3):
            self.fail("three extents of the grid, and three numbers of the block", token)
        self.expect("on")
        queue = self.queue()
        self.end_of_line()
        return Launch(kernel, queue, grid, block, tuple(buffers), tuple(offsets), tuple(scalars))

    def copy(self, _: int) -> Stmt:
        target = self.known_buffer()
        self.expect("+")
        target_offset = self.expr()
        self.expect("=")
        source = self.known_buffer()
        self.expect("+")
        source_offset = self.expr()
        self.expect(",")
        size = self.expr()
        self.expect("on")
        queue = self.queue()
        self.end_of_line()
        return Copy(queue, target, target_offset, source, source_offset, size)

    def wait(self, _: int) -> Stmt:
        self.expect("on")
        queue = self.queue()
        by = self.queue() if self.accept("by") else None
        self.end_of_line()
        return Wait(queue, by)

    def intrinsic(self, _: int) -> Stmt:
        token = self.next()
        if token.text not in self.intrinsics:
            self.fail(f"an intrinsic ({', '.join(self.intrinsics) or 'none is known'})", token)
        instruction = self.intrinsics[token.text]
        outputs = [self.region()]
        while self.accept(","):
            outputs.append(self.region())
        self.expect("=")
        inputs = [self.region()]
        while self.accept(","):
            inputs.append(self.region())
        if (len(outputs), len(inputs)) != (len(instruction.outputs), len(instruction.inputs)):
            self.fail(f"{len(instruction.outputs)} outputs and {len(instruction.inputs)} inputs of an intrinsic", token)
        self.end_of_line()
        return intrinsic(instruction, outputs, inputs)

    def region(self) -> Region:
        """`A[i, 0:16]`: the first index, and behind a colon an extent other than 1."""
        token = self.token
        buffer = self.known_buffer()
        self.expect("[")
        indices: list[Expr] = []
        extents: list[int] = []
        while not self.accept("]"):
            if indices:
                self.expect(",")
            indices.append(self.expr())
            extents.append(self.integer() if self.accept(":") else 1)
        if len(indices) != len(buffer.shape):
            self.fail(f"an index for each of {len(buffer.shape)} dimensions", token)
        return Region(buffer, tuple(indices), tuple(extents))

    def timestamp(self, _: int) -> Stmt:
        buffer = self.known_buffer()
        self.expect("[")
        index = self.integer()
        self.expect("]")
        self.end_of_line()
        return Timestamp(buffer, index)

    def known_buffer(self) -> Buffer:
        token = self.next()
        buffer = self.names.get(token.text)
        if not isinstance(buffer, Buffer):
            self.fail("a buffer", token)
        return buffer

    def nothing(self, _: int) -> Stmt:
        self.end_of_line()
        return sequence()

    def store_or_call(self) -> Stmt:
        token = self.token
        target = self.expr()
        if isinstance(target, Load) and self.accept("="):
            value = self.expr()
            self.end_of_line()
            return Store(target.buffer, target.indices, value)
        if not isinstance(target, ex.Call):
            self.fail("a statement", token)
        self.end_of_line()
        return Evaluate(target)

    # Expressions.

    def expr(self, level: int = 0) -> Expr:
        """An expression of operators that bind at least as tightly as those of `level`."""
        if level == len(_LEVELS):
            return self.operand()
        if level == _NOT_LEVEL and self.accept("not"):
            return ex.Not(self.expr(level))
        left = self.expr(level + 1)
        while (operator := _LEVELS[level].get(self.token.text)) is not None:
            self.next()
            left = operator(left, self.expr(level + 1))
        return left

    def operand(self) -> Expr:
        token = self.next()
        if token.text == "(":
            e = self.expr()
            self.expect(")")
            return e
        if token.text == "-" or token.kind == "number" or token.text in _SPECIAL:
            return self.literal(token)
        if token.text in ("true", "false"):
            return ex.TRUE if token.text == "true" else ex.FALSE
        if token.kind != "name":
            self.fail("an expression", token)
        if token.text == "piecewise":
            return self.piecewise()
        if self.token.text == "(" or self.is_typed_call():
            return self.application(token)
        entity = self.names.get(token.text)
        if isinstance(entity, Buffer) and self.accept("["):
            return Load(entity, self.listed("]"), entity.dtype)
        if not isinstance(entity, Expr):
            self.fail("a variable or an element of a buffer", token)
        return entity

    def is_typed_call(self) -> bool:
        """Whether `:int32(` comes next; the colon after a condition ends its line."""
        return self.token.text == ":" and self.lines[self.row][self.position + 1].kind == "name"

    def literal(self, token: _Token) -> Expr:
        """An index or, with the suffix f, a float32."""
        sign = ""
        if token.text == "-":
            sign, token = "-", self.next()
        if token.text in _SPECIAL:
            return ex.Const(float(sign + token.text[:-1]), FLOAT32)
        if token.kind != "number":
            self.fail("a number", token)
        if token.text.endswith("f"):
            return ex.Const(float(sign + token.text[:-1]), FLOAT32)
        if not token.text.isdigit():
            self.fail("an integer, or a number with a type: 1.0f, float64(1.0)", token)
        return ex.Const(int(sign + token.text), INDEX)

    def piecewise(self) -> Expr:
        self.expect("[")
        index = self.expr()
        self.expect("]")
        self.expect("(")
        branches = self.listed(")")
        if not branches:
            self.fail("at least one branch")
        return ex.Piecewise(branches, index, branches[0].dtype)

    def application(self, name: _Token) -> Expr:
        """A typed literal, a cast, an operation written as a function, or a call."""
        dtype = _dtype(name.text)
        if dtype is not None:
            self.expect("(")
            return self.typed(dtype)
        result = self.dtype() if self.accept(":") else None
        self.expect("(")
        args = self.listed(")")
        operation = {"min": (ex.Min, 2), "max": (ex.Max, 2), "select": (ex.Select, 3)}.get(name.text)
        if operation is not None:
            if len(args) != operation[1]:
                self.fail(f"{operation[1]} operands of {name.text!r}", name)
            return operation[0](*args)  # type: ignore[no-any-return]
        if name.text == "reinterpret":
            if len(args) != 1 or result is None:
                self.fail("one operand and a type, as in reinterpret:int32(x)", name)
            return ex.Reinterpret(args[0], result)
        if not args and result is None:
            self.fail("a type, as in f:int32(), of a call without arguments", name)
        return ex.Call(name.text, args, result if result is not None else args[0].dtype)

    def typed(self, dtype: DType) -> Expr:
        """What is in the parentheses of `float64(...)`: a bare number is a literal, anything else is converted."""
        mark = self.position
        sign = "-" if self.accept("-") else ""
        token = self.next()
        bare = token.kind == "number" and not token.text.endswith("f")
        if (bare or token.text in ("inf", "nan")) and self.accept(")"):
            if dtype.is_float and not token.text.isdigit():
                return ex.Const(float(sign + token.text), dtype)
            if dtype.is_int and token.text.isdigit():
                return ex.const(int(sign + token.text), dtype)
        self.position = mark
        value = self.expr()
        self.expect(")")
        return ex.Cast(value, dtype)


def _tokens(text: str, line: int) -> list[_Token]:
    """The tokens of a line, the last of them its end."""
    tokens: list[_Token] = []
    position = 0
    while position < len(text):
        match = _TOKENS.match(text, position)
        if match is None:
            raise ParseError(f"line {line}, column {position + 1}: expected loop IR, found {text[position]!r}")
        if match.lastgroup is not None and match.lastgroup != "space":
            tokens.append(_Token(match.lastgroup, match[0], line, position + 1))
        position = match.end()
    return [*tokens, _Token("end", "", line, len(text) + 1)]


def _dtype(text: str) -> DType | None:
    try:
        return INDEX if text == "index" else DType.of(text)
    except ArgumentError:
        return None
