"""The statements of a script, written as loop IR."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.hybrid import meanings, words
from sateen.tensor_ir.hybrid.definition import Definition
from sateen.tensor_ir.hybrid.expressions import Expressions, Variable
from sateen.tensor_ir.hybrid.names import Role, parameters
from sateen.tensor_ir.hybrid.program import Callee, Program
from sateen.tensor_ir.hybrid.source import ScriptError
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load
from sateen.tensor_ir.ir.expr import Expr, as_expr
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.te.ir_builder import BufferPointer
from sateen.tensor_ir.te.operations import constant

MOST_UNROLLED = 10_000
"""The most iterations of a loop that is written out."""


class Statements(Expressions):
    """Writes the statements of one script; those that it calls are written in its place."""

    def __init__(self, definition: Definition, program: Program, caller: Statements | None = None) -> None:
        super().__init__(definition)
        self.program = program
        self.ib = program.builder
        self.caller = caller
        self.own: set[Buffer] = set()
        self.may_store = caller is None
        """Whether it may write to memory of its caller: it is called as a statement."""
        self.workers: int = 0 if caller is None else caller.workers
        self.is_conditional = caller is not None and caller.is_conditional
        self.statement_call: ast.expr | None = None
        self.hint = ""

    def run(self, arguments: Mapping[str, Any]) -> Any:
        """Write the script for these arguments; what it returns."""
        for parameter in parameters(self.source.definition):
            value = arguments[parameter.arg]
            if self.definition.names.roles[parameter] is Role.VARIABLE:
                self.program.place = self.source.span(self.source.definition)
                value = self._variable(parameter, parameter.arg, value)
            elif self.definition.formula is None:
                value = self._kept(parameter.arg, value)
            self.blocks[-1][parameter.arg] = value
        result: Any = None
        for statement in self.definition.body:
            result = self.statement(statement)
        return result

    def statement(self, s: ast.stmt) -> Any:
        self.program.place = self.source.span(s)
        with self.at(s):
            return self.visit(s)

    def block(self, statements: Sequence[ast.stmt], names: Mapping[str, Any] | None = None) -> None:
        """Statements with names of their own."""
        self.blocks.append(dict(names or {}))
        for statement in statements:
            self.statement(statement)
        self.blocks.pop()

    def visit_Pass(self, s: ast.Pass) -> None:
        pass

    def visit_Return(self, s: ast.Return) -> Any:
        if s.value is None:
            return None
        self.statement_call = s.value
        value = self.value(s.value)
        is_seen_later = self.caller is not None and self.definition.formula is None
        return self._kept("result", value) if is_seen_later else value

    def visit_Expr(self, s: ast.Expr) -> None:
        assert isinstance(s.value, ast.Call)
        function = self.value(s.value.func)
        if not isinstance(function, Callee):
            raise ExpressionError(
                "a call here expects a script, whose effect it is, found another function; use its result"
            )
        self.statement_call = s.value
        self.value(s.value)

    def visit_Assert(self, s: ast.Assert) -> None:
        condition = self.condition(s.test)
        message = f": {self.value(s.msg)}" if s.msg is not None else ""
        if isinstance(condition, Expr):
            analyzer = Analyzer()
            if analyzer.prove(condition):
                return
            known = (
                "it does not hold" if analyzer.prove(ex.logical_not(condition)) else "this depends on what it runs on"
            )
            raise ExpressionError(f"assert expects what holds when the script is called, found that {known}{message}")
        if not condition:
            raise ExpressionError(f"assert does not hold{message}")

    def visit_Assign(self, s: ast.Assign) -> None:
        self.statement_call = s.value
        first = s.targets[0]
        self.hint = first.id if isinstance(first, ast.Name) else ""
        value = self.value(s.value)
        self.hint = ""
        if isinstance(first, (ast.Tuple, ast.List)) or len(s.targets) > 1:
            value = self._kept("kept", value)
        for target in s.targets:
            self.assign(target, value)

    def assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name():
                self._assign_name(target, value)
            case ast.Subscript():
                self._store(target, *self._element(target), value)
            case ast.Tuple() | ast.List():
                items = value if isinstance(value, (tuple, list)) else [value]
                if len(items) != len(target.elts):
                    found = f"expected {len(target.elts)} values, found {len(items)}"
                    raise self.source.fault(target, f"an assignment to several names: {found}")
                for item, each in zip(target.elts, items, strict=True):
                    self.assign(item, each)

    def visit_AugAssign(self, s: ast.AugAssign) -> None:
        if isinstance(s.target, ast.Name):
            held = self.visit_Name(s.target)
            self._assign_name(s.target, self.binary(s.op, held, self.number(s.value)))
            return
        assert isinstance(s.target, ast.Subscript)
        pointer, index = self._element(s.target)
        self._store(s.target, pointer, index, self.binary(s.op, pointer[index], self.number(s.value)))

    def _element(self, target: ast.Subscript) -> tuple[BufferPointer, Any]:
        pointer, index = self.value(target.value), self.index(target)
        if not isinstance(pointer, BufferPointer):
            raise self.source.fault(target, f"a store expects a tensor, found {type(pointer).__name__}")
        return pointer, index

    def _store(self, target: ast.expr, pointer: BufferPointer, index: Any, value: Any) -> None:
        buffer = pointer.buffer
        if buffer not in self.program.memory:
            advice = "write to an output_tensor or an allocate"
            raise self.source.fault(target, f"{buffer.name!r} is an input, which a script only reads; {advice}")
        if not self._may_store(buffer):
            raise self.source.fault(
                target,
                f"{buffer.name!r} belongs to the caller: a script that writes to it is called in a line of its own",
            )
        with self.at(target):
            if isinstance(value, bool) and not pointer.dtype.is_bool:
                raise ExpressionError(f"{buffer.name!r} holds {pointer.dtype}, found bool; convert with .astype(...)")
            self.ib.store(pointer, index, value)

    def _may_store(self, buffer: Buffer) -> bool:
        if buffer in self.own:
            return True
        return self.may_store and (self.caller is None or self.caller._may_store(buffer))

    def _assign_name(self, target: ast.Name, value: Any) -> None:
        match self.definition.names.roles[target]:
            case Role.VALUE:
                self.blocks[-1][target.id] = self._kept(target.id, value)
            case Role.VARIABLE:
                self.blocks[-1][target.id] = self._variable(target, target.id, value)
            case Role.CHANGE:
                self._change(target, value)

    def _kept(self, name: str, value: Any) -> Any:
        """The present value of an expression, or of each in a list: a `let` if it loads."""
        if isinstance(value, (tuple, list)):
            return tuple(self._kept(name, item) for item in value)
        if not isinstance(value, Expr):
            return value
        loads = any(isinstance(n, (Load, ex.Call)) for n in walk(value))
        return self.ib.let(name, value) if loads else value

    def _variable(self, node: ast.AST, name: str, value: Any) -> Variable:
        first = self._number_of(node, name, value)
        pointer = self.ib.allocate(first.dtype, 1, name=name)
        self.ib.store(pointer, 0, first)
        return Variable(pointer, self.workers)

    def _change(self, target: ast.Name, value: Any) -> None:
        variable = next(block[target.id] for block in reversed(self.blocks) if target.id in block)
        if variable.workers != self.workers:
            raise self.source.fault(
                target,
                f"variable {target.id!r} is one for all iterations of a parallel loop, which can't take turns; "
                "assign it first in the loop, or use elements of an allocate",
            )
        kind = variable.pointer.dtype
        number = self._number_of(target, target.id, value, kind)
        if number.dtype != kind:
            raise self.source.fault(
                target,
                f"variable {target.id!r} is of {kind}, found {number.dtype}; convert with .astype({str(kind)!r})",
            )
        self.ib.store(variable.pointer, 0, number)

    def _number_of(self, node: ast.AST, name: str, value: Any, dtype: Any = None) -> Expr:
        if not isinstance(value, (Expr, int, float)):
            found = f"tensor {value.buffer.name!r}" if isinstance(value, BufferPointer) else type(value).__name__
            raise self.source.fault(
                node, f"{name!r} is assigned several times, so that it holds numbers, found {found}; use another name"
            )
        if isinstance(value, bool) and dtype is not None and not dtype.is_bool:
            raise self.source.fault(node, f"variable {name!r} is of {dtype}, found bool; convert with .astype(...)")
        return ex.as_data(as_expr(value, dtype))

    def visit_If(self, s: ast.If) -> None:
        condition = self.condition(s.test)
        if isinstance(condition, bool):
            with self.ib.new_scope():
                self.block(s.body if condition else s.orelse)
            return
        with self.ib.if_scope(condition):
            self.block(s.body)
        if s.orelse:
            with self.ib.else_scope():
                self.block(s.orelse)

    def visit_While(self, s: ast.While) -> None:
        with self.conditional():
            condition = self.condition(s.test)
        if condition is True:
            raise self.source.fault(s.test, "while expects a condition that changes, found one that always holds")
        if condition is False:
            return
        with self.ib.while_scope(condition):
            self.block(s.body)

    def visit_For(self, s: ast.For) -> None:
        assert isinstance(s.target, ast.Name)
        function: Any = self.value(s.iter.func) if isinstance(s.iter, ast.Call) else None
        if not isinstance(s.iter, ast.Call) or not _is_among(function, [*words.RANGES, words.bind, words.const_range]):
            self._written_out(s, self.value(s.iter))
            return
        operands = [self.number(a) for a in s.iter.args]
        named = {str(k.arg): self.number(k.value) for k in s.iter.keywords}
        with self.at(s.iter):
            if function is words.bind:
                tag, extent = words.bound(function, operands, named)
                self._loop(s, str(tag), 0, extent, 1)
                return
            start, stop, step = words.bounds(function, operands, named)
            if function is not words.const_range:
                self._loop(s, words.RANGES[function], start, stop, step)
                return
            if not all(isinstance(x, int) for x in (start, stop, step)):
                raise ExpressionError("const_range expects numbers that are known when the script is called; use range")
        self._written_out(s, range(start, stop, step))

    def _written_out(self, s: ast.For, items: Any) -> None:
        assert isinstance(s.target, ast.Name)
        if not isinstance(items, (tuple, list, range)):
            expected = "range, parallel, vectorize, unroll, serial, bind, const_range, or a list"
            raise self.source.fault(s.iter, f"a loop expects {expected}, found {type(items).__name__}")
        if len(items) > MOST_UNROLLED:
            raise self.source.fault(
                s.iter,
                f"a loop that is written out expects at most {MOST_UNROLLED} rounds, found {len(items)}; use range",
            )
        for item in items:
            with self.ib.new_scope():
                self.block(s.body, {s.target.id: item})

    def _loop(self, s: ast.For, kind: str, start: Any, stop: Any, step: Any) -> None:
        assert isinstance(s.target, ast.Name)
        name = s.target.id
        with self._iterations(kind in ("serial", "unrolled")):
            if step == 1:
                with self.ib.for_range(start, stop, name, kind) as i:
                    self.block(s.body, {name: i})
                return
            start = self._kept(name, start)
            first, last = (start, stop) if step > 0 else (stop, start)
            count = (last - first + (abs(step) - 1)) // abs(step)
            with self.ib.for_range(0, count, name, kind) as k:
                self.block(s.body, {name: start + k * step})

    @contextmanager
    def _iterations(self, in_order: bool) -> Iterator[None]:
        before = self.workers
        self.workers += not in_order
        yield
        self.workers = before

    def constant(self, data: np.ndarray[Any, Any], name: str) -> BufferPointer:
        known = self.program.constants.setdefault(id(data), (data, constant(data, name)))
        return self.program.read(known[1])

    def call(self, node: ast.Call, function: Any, operands: list[Any], named: dict[str, Any]) -> Any:
        if isinstance(function, Callee):
            return self._inline(node, function.definition, operands, named)
        if function is words.allocate:
            return self._allocate(*words.bound(function, operands, named))
        if function is words.output_tensor:
            pointer = self._allocate(*words.bound(function, operands, named))
            self.program.results.add(pointer.buffer)
            return pointer
        if _is_among(function, [*words.RANGES, words.bind, words.const_range]):
            raise ExpressionError(f"{function.__name__}(...) stands in a for; write: for i in {function.__name__}(...)")
        return meanings.call(function, operands, named)

    def _allocate(self, shape: Any, dtype: Any, scope: Any = "global") -> BufferPointer:
        if self.is_conditional:
            raise ExpressionError("memory is allocated in a line of its own")
        pointer = self.ib.allocate(meanings.element_type_of(dtype), shape, scope, self.hint or "memory")
        self.program.memory.add(pointer.buffer)
        self.own.add(pointer.buffer)
        return pointer

    def _inline(self, node: ast.Call, callee: Definition, operands: list[Any], named: dict[str, Any]) -> Any:
        if self.is_conditional and callee.formula is None:
            raise ExpressionError(
                f"script {callee.name!r} has statements, which can't run in the middle of a condition or choice; "
                "call it in a line before, or in an if"
            )
        around: Statements | None = self
        while around is not None:
            if around.definition is callee:
                raise ExpressionError(f"script {callee.name!r} calls itself; write a loop")
            around = around.caller
        inner = Statements(callee, self.program, self)
        inner.may_store = node is self.statement_call
        place = self.program.place
        try:
            result = inner.run(callee.arguments(tuple(operands), named))
        except ScriptError as error:
            error.add_note(f"called in {self.source.file}:{node.lineno}, script {self.source.name!r}")
            raise
        self.program.place = place
        self.own |= inner.own
        return result


def _is_among(function: Any, choices: Sequence[Any]) -> bool:
    return any(function is c for c in choices)
