"""Reads statements of the text form, a block of equal indentation at a time."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable, Mapping
from functools import partial

from sateen.runtime.dtype import DType
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope
from sateen.tensor_ir.ir.declaration_parser import DeclarationParser
from sateen.tensor_ir.ir.device_work_parser import DeviceWorkParser
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.expression_parser import ExpressionParser
from sateen.tensor_ir.ir.instruction import Instruction
from sateen.tensor_ir.ir.stmt import (
    THREAD_TAGS,
    Allocate,
    Barrier,
    Evaluate,
    For,
    If,
    Invoke,
    Let,
    LoopKind,
    Prefetch,
    Region,
    Shuffle,
    Stmt,
    Store,
    Timestamp,
    While,
    intrinsic,
    sequence,
)
from sateen.tensor_ir.ir.tokens import Cursor
from sateen.tensor_ir.ir.types import INDEX

Around = Callable[[Stmt], Stmt]
"""A statement without its body."""

_LOOPS = {kind.value: kind for kind in LoopKind}


def _declared(b: Buffer) -> tuple[object, ...]:
    """The properties in which several allocations of one buffer must agree."""
    return b.dtype, b.scope, str(b.shape), b.device


class StatementParser:
    """Blocks of statements, whose expressions, declarations and work of devices have parsers of their own."""

    def __init__(
        self,
        cursor: Cursor,
        expressions: ExpressionParser,
        declarations: DeclarationParser,
        intrinsics: Mapping[str, Instruction],
    ) -> None:
        self.intrinsics = intrinsics
        self.cursor = cursor
        self.expressions = expressions
        self.declarations = declarations
        self.device_work = DeviceWorkParser(cursor, expressions, declarations)
        self.names = expressions.names
        """The present meanings of names."""

    def block(self, depth: int) -> Stmt:
        """The statements at this indentation."""
        if self.cursor.depth != depth:
            self.cursor.fail_line(f"a statement indented by {depth}")
        statements: list[Stmt] = []
        scopes: list[tuple[list[Stmt], Around]] = []
        while self.cursor.depth == depth:
            found = self.statement(depth)
            if isinstance(found, Stmt):
                statements.append(found)
            else:
                scopes.append((statements, found))
                statements = []
        if self.cursor.depth > depth or (scopes and not statements):
            self.cursor.fail_line(f"a statement indented by {depth}")
        body = sequence(*statements)
        for before, around in reversed(scopes):
            body = sequence(*before, around(body))
        return body

    def statement(self, depth: int) -> Stmt | Around:
        """A statement; of a let or an allocate whose scope is the rest of the block, what that becomes in it."""
        while self.cursor.accept("given"):
            self.expressions.given()
            self.cursor.end_of_line()
            if self.cursor.depth != depth:
                self.cursor.fail_line(f"a statement indented by {depth}")
        token = self.cursor.token
        rule: Callable[[int], Stmt | Around] | None = {
            "let": self.let, "allocate": self.allocate, "if": self.branch, "while": self.repeat,
            "prefetch": self.prefetch, "barrier": self.barrier, "shuffle": self.shuffle, "pass": self.nothing,
            "intrinsic": self.intrinsic, "invoke": self.invoke, "timestamp": self.timestamp,
            **dict.fromkeys(_LOOPS, self.loop),
        }.get(token.text)  # fmt: skip
        if rule is None and self.cursor.following.kind == "name":
            work = self.device_work
            rule = {"launch": work.launch, "copy": work.copy, "wait": work.wait}.get(token.text)
        if rule is None:
            return self.store_or_call()
        if token.text not in _LOOPS:
            self.cursor.next()
        return rule(depth)

    def inner(self, depth: int) -> Stmt:
        """The block after a colon."""
        self.cursor.expect(":")
        self.cursor.end_of_line()
        return self.block(depth + 2)

    def scope(self, depth: int, around: Around) -> Stmt | Around:
        """A let or an allocate: around the lines indented beneath it, otherwise the rest of its block."""
        self.cursor.end_of_line()
        return around(self.block(depth + 2)) if self.cursor.depth > depth else around

    def loop(self, depth: int) -> Stmt:
        kind = _LOOPS[self.cursor.next().text]
        thread = None
        if kind is LoopKind.THREAD:
            token = self.cursor.next()
            if token.text not in THREAD_TAGS:
                self.cursor.fail(f"a thread axis ({', '.join(THREAD_TAGS)})", token)
            thread = token.text
        var = self.bound(self.cursor.new_name(), INDEX)
        self.cursor.expect("in")
        start, extent = self.domain()
        pragmas: list[tuple[str, object]] = []
        while self.cursor.token.kind == "name":
            key = self.cursor.new_name()
            pragmas.append((key, self.pragma() if self.cursor.accept("=") else True))
        return For(var, start, extent, kind, self.inner(depth), thread, tuple(pragmas))

    def domain(self) -> tuple[Expr, Expr]:
        """The start and extent of `[first, end)` or `[0, extent) + start`."""
        self.cursor.expect("[")
        first = self.cursor.integer()
        self.cursor.expect(",")
        token = self.cursor.token
        end = self.expressions.expr()
        self.cursor.expect(")")
        if self.cursor.accept("+"):
            return self.expressions.expr(), end
        if first != 0 and not isinstance(end, ex.Const):
            self.cursor.fail("an integer", token)
        return ex.const(first), ex.const(int(end.value) - first) if isinstance(end, ex.Const) else end

    def pragma(self) -> object:
        token = self.cursor.next()
        if token.text in ("False", "None") or token.kind == "string":
            return literal_eval(token.text)
        negative = token.text == "-"
        token = self.cursor.next() if negative else token
        if token.kind != "number" or token.text.endswith("f"):
            self.cursor.fail("a number, a string, False or None", token)
        value = literal_eval(token.text)
        return -value if negative else value

    def branch(self, depth: int) -> Stmt:
        condition = self.expressions.expr()
        then = self.inner(depth)
        otherwise = None
        if self.cursor.depth == depth and self.cursor.accept("else"):
            otherwise = self.inner(depth)
        return If(condition, then, otherwise)

    def repeat(self, depth: int) -> Stmt:
        return While(self.expressions.expr(), self.inner(depth))

    def let(self, depth: int) -> Stmt | Around:
        name = self.cursor.new_name()
        self.cursor.expect("=")
        value = self.expressions.expr()
        return self.scope(depth, partial(Let, self.bound(name, value.dtype), value))

    def allocate(self, depth: int) -> Stmt | Around:
        name = self.cursor.new_name()
        self.cursor.expect(":")
        token = self.cursor.token
        buffer, known = self.declarations.buffer(name), self.names.get(name)
        if isinstance(known, Buffer):
            if _declared(known) != _declared(buffer):
                self.cursor.fail(f"the type that buffer {name!r} was allocated with before", token)
            buffer = known
        self.names[name] = buffer
        return self.scope(depth, partial(Allocate, buffer))

    def prefetch(self, _: int) -> Stmt:
        token = self.cursor.token
        element = self.expressions.expr()
        if not isinstance(element, Load):
            self.cursor.fail("an element of a buffer", token)
        self.cursor.end_of_line()
        return Prefetch(element.buffer, element.indices)

    def barrier(self, _: int) -> Stmt:
        scope = next((s for s in Scope if self.cursor.accept(s.value)), None)
        if scope is None:
            self.cursor.fail("a scope")
        self.cursor.end_of_line()
        return Barrier(scope)

    def shuffle(self, _: int) -> Stmt:
        token = self.cursor.token
        target = self.expressions.expr()
        if not isinstance(target, Load):
            self.cursor.fail("an element of a buffer", token)
        self.cursor.expect("=")
        value = self.expressions.expr()
        self.cursor.expect("from")
        lane = self.expressions.expr()
        self.cursor.expect("of")
        width = self.cursor.integer()
        self.cursor.end_of_line()
        return Shuffle(target.buffer, target.indices, value, lane, width)

    def invoke(self, _: int) -> Stmt:
        callee = self.cursor.new_name()
        self.cursor.expect("(")
        buffers: list[Buffer] = []
        offsets: list[Expr] = []
        while not self.cursor.accept(")"):
            if buffers:
                self.cursor.expect(",")
            buffers.append(self.expressions.known_buffer())
            self.cursor.expect("+")
            offsets.append(self.expressions.expr())
        self.cursor.end_of_line()
        return Invoke(callee, tuple(buffers), tuple(offsets))

    def intrinsic(self, _: int) -> Stmt:
        token = self.cursor.next()
        if token.text not in self.intrinsics:
            self.cursor.fail(f"an intrinsic ({', '.join(self.intrinsics) or 'none is known'})", token)
        instruction = self.intrinsics[token.text]
        outputs = [self.region()]
        while self.cursor.accept(","):
            outputs.append(self.region())
        inputs = [self.region()] if self.cursor.accept("=") else []
        while inputs and self.cursor.accept(","):
            inputs.append(self.region())
        if (len(outputs), len(inputs)) != (len(instruction.outputs), len(instruction.inputs)):
            expected = f"{len(instruction.outputs)} outputs and {len(instruction.inputs)} inputs of an intrinsic"
            self.cursor.fail(expected, token)
        self.cursor.end_of_line()
        return intrinsic(instruction, outputs, inputs)

    def region(self) -> Region:
        """`A[i, 0:16]`: the first index, and behind a colon an extent other than 1."""
        token = self.cursor.token
        buffer = self.expressions.known_buffer()
        self.cursor.expect("[")
        indices: list[Expr] = []
        extents: list[int] = []
        while not self.cursor.accept("]"):
            if indices:
                self.cursor.expect(",")
            indices.append(self.expressions.expr())
            extents.append(self.cursor.integer() if self.cursor.accept(":") else 1)
        if len(indices) != len(buffer.shape):
            self.cursor.fail(f"an index for each of {len(buffer.shape)} dimensions", token)
        return Region(buffer, tuple(indices), tuple(extents))

    def timestamp(self, _: int) -> Stmt:
        buffer = self.expressions.known_buffer()
        self.cursor.expect("[")
        index = self.cursor.integer()
        self.cursor.expect("]")
        self.cursor.end_of_line()
        return Timestamp(buffer, index)

    def nothing(self, _: int) -> Stmt:
        self.cursor.end_of_line()
        return sequence()

    def store_or_call(self) -> Stmt:
        token = self.cursor.token
        target = self.expressions.expr()
        if isinstance(target, Load) and self.cursor.accept("="):
            value = self.expressions.expr()
            self.cursor.end_of_line()
            return Store(target.buffer, target.indices, value)
        if not isinstance(target, ex.Call):
            self.cursor.fail("a statement", token)
        self.cursor.end_of_line()
        return Evaluate(target)

    def bound(self, name: str, dtype: DType) -> Var:
        """A new variable, which the name stands for from here on."""
        var = self.names[name] = Var(name, dtype)
        return var
