"""The expressions of a script: what is known when it is called is computed by Python, the rest becomes expressions of
te."""

from __future__ import annotations

import ast
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from sateen.runtime.errors import SateenError
from sateen.tensor_ir.hybrid import meanings
from sateen.tensor_ir.hybrid.definition import Definition
from sateen.tensor_ir.hybrid.source import ScriptError
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.choices import select
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.te.ir_builder import BufferPointer
from sateen.tensor_ir.te.tensor import Tensor

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = MappingProxyType({
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
})  # fmt: skip
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = MappingProxyType({
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
})  # fmt: skip
_QUESTIONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = MappingProxyType({
    ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
})  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A name that changes: an element of memory, and the number of loops with several workers around it."""

    pointer: BufferPointer
    workers: int


class Expressions(ast.NodeVisitor, ABC):
    """Evaluates expressions. `blocks` has the script's own names, the innermost block last."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.source = definition.source
        self.around = definition.around()
        self.blocks: list[dict[str, Any]] = [{}]
        self.is_conditional = False
        """Whether the expression may remain unevaluated, so that it can't add statements before this one."""

    @abstractmethod
    def call(self, node: ast.Call, function: Any, operands: list[Any], named: dict[str, Any]) -> Any:
        """The result of a call."""

    @abstractmethod
    def constant(self, data: np.ndarray[Any, Any], name: str) -> BufferPointer:
        """Literal data that the script reads."""

    def value(self, node: ast.expr) -> Any:
        """The value of an expression: an Expr, a tensor, or anything that Python knows already."""
        with self.at(node):
            return meanings.plain(self.visit(node))

    @contextmanager
    def at(self, node: ast.expr | ast.stmt) -> Iterator[None]:
        """Errors of what a node means show its place."""
        try:
            yield
        except ScriptError:
            raise
        except RecursionError:
            remedy = "compute parts of it in lines of their own"
            raise self.source.fault(node, f"an expression of a script is nested too deeply; {remedy}") from None
        except SateenError as error:
            raise self.source.fault(node, str(error)) from error
        except Exception as error:
            raise self.source.fault(node, f"{type(error).__name__}: {error}") from error

    def number(self, node: ast.expr) -> Any:
        """The value of an operand. Raises ScriptError for a tensor."""
        value = self.value(node)
        if isinstance(value, BufferPointer):
            name = value.buffer.name
            indices = ", ".join("ijklmnpq"[: len(value.shape)])
            raise self.source.fault(
                node, f"an operand expects a number, found tensor {name!r}; use an element, such as {name}[{indices}]"
            )
        return value

    def condition(self, node: ast.expr) -> Any:
        """A condition: a bool if it is known, otherwise an Expr. Raises ScriptError for anything else."""
        value = self.number(node)
        if isinstance(value, Expr) and value.dtype.is_bool:
            return value
        if not isinstance(value, bool):
            found = value.dtype if isinstance(value, Expr) else f"{type(value).__name__} {value!r:.80}"
            raise self.source.fault(node, f"a condition expects a comparison, found {found}; compare it with something")
        return value

    @contextmanager
    def conditional(self) -> Iterator[None]:
        """What is evaluated only if something else holds, or again and again."""
        before, self.is_conditional = self.is_conditional, True
        try:
            yield
        finally:
            self.is_conditional = before

    def visit_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def visit_Name(self, node: ast.Name) -> Any:
        for block in reversed(self.blocks):
            if node.id in block:
                found = block[node.id]
                return found.pointer[0] if isinstance(found, Variable) else found
        if node.id not in self.around:
            raise self.source.fault(node, f"{node.id!r} is no name here; define or import it above the script")
        return self._from_around(self.around[node.id], node.id)

    def _from_around(self, value: Any, name: str) -> Any:
        if isinstance(value, np.ndarray):
            return self.constant(value, name)
        if isinstance(value, (Tensor, Expr)):
            what = "tensor" if isinstance(value, Tensor) else "expression"
            raise TypeError(f"{what} {name!r} is no argument of the script; give it as one")
        return value

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        value = self.value(node.value)
        if isinstance(value, BufferPointer):
            match node.attr:
                case "shape":
                    return tuple(map(meanings.plain, value.shape))
                case "ndim":
                    return len(value.shape)
                case "dtype":
                    return value.dtype
            raise TypeError(f"a tensor in a script has shape, ndim and dtype, found {node.attr!r}")
        if isinstance(value, Expr) and node.attr not in ("astype", "dtype"):
            raise TypeError(f"a number in a script has astype and dtype, found {node.attr!r}")
        return self._from_around(getattr(value, node.attr), node.attr)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        held, index = self.value(node.value), self.index(node)
        if isinstance(held, BufferPointer):
            return held[index]
        if isinstance(held, Expr):
            raise TypeError("a number has no elements; write the indices of a tensor as t[i, j]")
        if isinstance(index, Expr):
            raise TypeError(
                "an item of what is known when the script is called expects a number as index, found an expression; "
                "loop over it with const_range"
            )
        return held[index]

    def index(self, node: ast.Subscript) -> Any:
        """The index of a subscript, or a tuple of them."""
        return self.value(node.slice) if isinstance(node.slice, ast.Tuple) else self.number(node.slice)

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(map(self.value, node.elts))

    def visit_List(self, node: ast.List) -> Any:
        return list(map(self.value, node.elts))

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        return self.binary(node.op, self.number(node.left), self.number(node.right))

    def binary(self, symbol: ast.operator, left: Any, right: Any) -> Any:
        """An operation on two numbers."""
        return _BINARY[type(symbol)](left, right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        match node.op:
            case ast.Not():
                condition = self.condition(node.operand)
                return not condition if isinstance(condition, bool) else ex.logical_not(condition)
            case ast.USub():
                return -self.number(node.operand)
            case ast.Invert():
                return ~self.number(node.operand)
        return self.number(node.operand)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        deciding = isinstance(node.op, ast.Or)
        join = ex.logical_or if deciding else ex.logical_and
        terms: list[Expr] = []
        for operand in node.values:
            if operand is node.values[0]:
                term = self.condition(operand)
            else:
                with self.conditional():
                    term = self.condition(operand)
            if term is deciding:
                return reduce(join, [*terms, ex.const(deciding)])
            if not isinstance(term, bool):
                terms.append(term)
        return reduce(join, terms) if terms else not deciding

    def visit_Compare(self, node: ast.Compare) -> Any:
        left = self.value(node.left)
        terms = []
        for symbol, operand in zip(node.ops, node.comparators, strict=True):
            if operand is node.comparators[0]:
                right = self.value(operand)
            else:
                with self.conditional():
                    right = self.value(operand)
            term = meanings.plain(self._compared(symbol, left, right))
            if term is False:
                return False
            terms += [] if term is True else [term]
            left = right
        return reduce(ex.logical_and, terms) if terms else True

    def _compared(self, symbol: ast.cmpop, left: Any, right: Any) -> Any:
        question = _QUESTIONS.get(type(symbol))
        if question is not None:
            if isinstance(left, Expr) or isinstance(right, Expr):
                raise TypeError("'is' and 'in' ask about what is known when the script is called, found an expression")
            return question(left, right)
        if isinstance(left, BufferPointer) or isinstance(right, BufferPointer):
            raise TypeError("a comparison expects numbers, found a tensor; use an element")
        return _COMPARISONS[type(symbol)](left, right)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        condition = self.condition(node.test)
        if isinstance(condition, bool):
            return self.value(node.body if condition else node.orelse)
        with self.conditional():
            return select(condition, self.number(node.body), self.number(node.orelse))

    def visit_Call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        operands = [self.value(a) for a in node.args]
        named = {str(k.arg): self.value(k.value) for k in node.keywords}
        return self.call(node, function, operands, named)
