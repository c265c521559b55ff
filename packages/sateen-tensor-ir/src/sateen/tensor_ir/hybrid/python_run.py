"""Runs a script as the Python that it is: CPython executes its lines, on numbers with types of te.

Only calls, `not`, and assignments to names are replaced: by functions that know the words of scripts and the types of
variables. Lines stay where they are, so that debuggers and tracebacks show the script.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any

import numpy as np

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.hybrid import meanings, words
from sateen.tensor_ir.hybrid.definition import Definition
from sateen.tensor_ir.hybrid.elements import Elements, new_elements
from sateen.tensor_ir.hybrid.names import Role, parameters
from sateen.tensor_ir.hybrid.numbers import Number, evaluate, stored
from sateen.tensor_ir.hybrid.program import Callee
from sateen.tensor_ir.ir.expr import Expr, as_data, as_expr
from sateen.tensor_ir.ir.types import INDEX

_CALL, _NOT, _VARIABLE, _CHANGE = "<call>", "<not>", "<variable>", "<change>"
"""The names of the functions; no script can use them."""


def run(definition: Definition, arguments: Mapping[str, Any], callers: tuple[Definition, ...] = ()) -> Any:
    """What a script returns for these arguments: numbers and Elements."""
    if definition in callers:
        raise ExpressionError(f"script {definition.name!r} calls itself; write a loop")
    around = {name: _from_around(value) for name, value in definition.around().items()}
    scope = {
        **around,
        _NOT: _negated,
        _VARIABLE: _variable,
        _CHANGE: _changed,
        _CALL: _Calls((*callers, definition)).call,
    }
    exec(_compiled(definition), scope)
    function = scope.pop(definition.name)
    scope.update((name, value) for name, value in around.items() if name == definition.name)
    assert isinstance(function, FunctionType)
    return function(*(arguments[p.arg] for p in parameters(definition.source.definition)))


def _from_around(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return Elements(value, None, is_result=False)
    return Number(evaluate(as_expr(value)).value, as_expr(value).dtype) if isinstance(value, np.generic) else value


def _compiled(definition: Definition) -> Any:
    """The code of a module that defines the function with its calls and assignments replaced."""
    source = definition.source.definition
    names = [p.arg for p in parameters(source)]
    roles = definition.names.roles
    body = [
        ast.copy_location(_assignment(p.arg, _invoked(_VARIABLE, ast.Name(p.arg, ast.Load()))), source)
        for p in parameters(source)
        if roles[p] is Role.VARIABLE
    ]
    replacer = _Replacer({(n.lineno, n.col_offset): role for n, role in roles.items() if isinstance(n, ast.Name)})
    for statement in source.body:
        replaced = replacer.visit(copy.deepcopy(statement))
        body += replaced if isinstance(replaced, list) else [replaced]
    plain = ast.arguments(posonlyargs=[], args=[ast.arg(n) for n in names], kwonlyargs=[], kw_defaults=[], defaults=[])
    function = ast.FunctionDef(source.name, plain, body, [], None)
    vars(function).setdefault("type_params", [])  # Python 3.12 asks for it
    module = ast.Module([ast.copy_location(function, source)], [])
    return compile(ast.fix_missing_locations(module), definition.source.file, "exec")


def _invoked(name: str, *operands: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(operands), [])


def _assignment(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


class _Replacer(ast.NodeTransformer):
    """Puts functions in the place of calls, `not` and assignments to variables."""

    def __init__(self, roles: Mapping[tuple[int, int], Role]) -> None:
        self.roles = roles
        self.fresh = 0

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        called = _invoked(_CALL, node.func, *node.args)
        called.keywords = node.keywords
        return ast.copy_location(called, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return ast.copy_location(_invoked(_NOT, node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        value = self.visit(node.value)
        self.fresh += 1
        whole = f"<value {self.fresh}>"
        statements = [_assignment(whole, value)]
        for target in node.targets:
            statements += self._assigned(target, whole)
        return [ast.copy_location(s, node) for s in statements]

    def _assigned(self, target: ast.expr, source: str) -> list[ast.stmt]:
        held = ast.Name(source, ast.Load())
        match target:
            case ast.Name():
                return [_assignment(target.id, self._typed(target, held))]
            case ast.Tuple() | ast.List():
                names = []
                for _ in target.elts:
                    self.fresh += 1
                    names.append(f"<value {self.fresh}>")
                unpacked = ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())
                statements: list[ast.stmt] = [ast.Assign([unpacked], held)]
                for item, name in zip(target.elts, names, strict=True):
                    statements += self._assigned(item, name)
                return statements
        return [ast.Assign([self.visit(target)], held)]

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        value = self.visit(node.value)
        if not isinstance(node.target, ast.Name):
            return ast.copy_location(ast.AugAssign(self.visit(node.target), node.op, value), node)
        held = ast.Name(node.target.id, ast.Load())
        result = self._typed(node.target, ast.BinOp(held, node.op, value))
        return ast.copy_location(_assignment(node.target.id, result), node)

    def _typed(self, target: ast.Name, value: ast.expr) -> ast.expr:
        match self.roles[target.lineno, target.col_offset]:
            case Role.VARIABLE:
                return _invoked(_VARIABLE, value)
            case Role.CHANGE:
                return _invoked(_CHANGE, ast.Name(target.id, ast.Load()), value)
        return value


def _negated(x: Any) -> Any:
    return not x


def _variable(value: Any) -> Number:
    """A variable with its first value, which gives its type."""
    if not isinstance(value, (Number, int, float)):
        raise ExpressionError(f"a name that is assigned several times holds numbers, found {type(value).__name__}")
    dtype = as_data(as_expr(value)).dtype
    return Number(stored(value, dtype, "a variable holds"), dtype)


def _changed(variable: Number, value: Any) -> Number:
    return Number(stored(value, variable.dtype, "this variable holds"), variable.dtype)


class _Calls:
    """Calls from within a script."""

    def __init__(self, callers: tuple[Definition, ...]) -> None:
        self.callers = callers

    def call(self, function: Callable[..., Any], *operands: Any, **named: Any) -> Any:
        """The result of a function: of a word, another script, or a function of numbers."""
        if isinstance(function, Callee):
            return run(function.definition, function.definition.arguments(operands, named), self.callers)
        if function is words.allocate or function is words.output_tensor:
            return self._memory(function, *operands, **named)
        if function is words.bind:
            return _indices(0, words.bound(function, operands, named)[1], 1)
        if function is words.const_range:
            return range(*words.bounds(function, operands, named))
        if any(function is loop for loop in words.RANGES):
            return _indices(*words.bounds(function, operands, named))
        return self._function(function, operands, named)

    def _memory(self, function: Any, shape: Any, dtype: Any = "float32", scope: str = "global") -> Elements:  # noqa: ARG002
        return new_elements(shape, meanings.element_type_of(dtype), function is words.output_tensor)

    def _function(self, function: Any, operands: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        if function is print:
            return function(*operands, **named)
        if function is len and len(operands) == 1:
            return meanings.length(operands[0])
        if any(isinstance(x, Elements) for x in operands):
            raise ExpressionError(f"{function.__name__} expects numbers, found a tensor; give elements")
        given = [x.as_expr() if isinstance(x, Number) else x for x in operands]
        known = {k: x.as_expr() if isinstance(x, Number) else x for k, x in named.items()}
        result = meanings.call(function, given, known)
        result = meanings.plain(result)
        return evaluate(result) if isinstance(result, Expr) else result


def _indices(start: Any, stop: Any, step: Any) -> Iterator[Number]:
    """The values of a loop."""
    first, last = (int(evaluate(as_expr(x)).value) for x in (start, stop))
    for i in range(first, last, step):
        yield Number(i, INDEX)
