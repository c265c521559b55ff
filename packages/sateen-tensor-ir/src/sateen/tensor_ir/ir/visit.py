"""Traversal of expressions and statements, derived once per class from the fields of the nodes.

A `Rewriter` rebuilds bottom-up and returns the same object if nothing changed. Rules are methods named after the
node class (`def rewrite_Add(self, e)`), found through a table that is built once per rewriter class; a rule decides
itself whether to descend, with `self.descend(node)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from operator import attrgetter, is_not
from typing import Any, TypeVar, cast

from sateen.runtime.errors import LoweringError
from sateen.tensor_ir.ir import buffer, device_work, tensor_expr
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir import stmt as st
from sateen.tensor_ir.ir.choices import piecewise, select
from sateen.tensor_ir.ir.expr import Expr, Var
from sateen.tensor_ir.ir.stmt import For, Let, Stmt, lets
from sateen.tensor_ir.ir.tensor_expr import Read, Reduce

Node = Expr | Stmt
N = TypeVar("N", Expr, Stmt)
D = TypeVar("D", bound=Expr | Stmt)

_PRESENT = {"Expr", "Stmt"}
_ONE = {*_PRESENT, "Expr | None", "Stmt | None"}
_MANY = {"tuple[Expr, ...]", "tuple[Stmt, ...]"}

_FOLDING: dict[type, Callable[..., Expr]] = {
    ex.Add: ex.add,
    ex.Sub: ex.subtract,
    ex.Mul: ex.multiply,
    ex.FloorDiv: ex.floordiv,
    ex.FloorMod: ex.floormod,
    ex.Min: ex.minimum,
    ex.Max: ex.maximum,
    ex.And: ex.logical_and,
    ex.Or: ex.logical_or,
    ex.Not: lambda value, dtype: ex.logical_not(value),
    ex.Select: lambda condition, then, otherwise, dtype: select(condition, then, otherwise),
    ex.Cast: lambda value, dtype: ex.cast(dtype, value),
    ex.Piecewise: lambda branches, index, dtype: piecewise(branches, index),
}


@cache
def _layout(kind: type[Any]) -> tuple[tuple[str, ...], tuple[tuple[str, bool], ...]]:
    """All fields of a node class, and its children as (field, whether it is a tuple)."""
    if issubclass(kind, ex.Binary):
        return ("a", "b"), (("a", False), ("b", False))
    names = tuple(f.name for f in fields(kind))
    if issubclass(kind, Var):
        return names, ()
    for f in fields(kind):
        if f.type not in _ONE | _MANY and re.search(r"\b(Expr|Stmt)\b", str(f.type)):
            known = ", ".join(sorted(_ONE | _MANY))
            raise TypeError(f"{kind.__name__}.{f.name}: walks see nodes in fields of {known}; found {f.type!r}")
    children = tuple((f.name, f.type in _MANY) for f in fields(kind) if f.type in _ONE or f.type in _MANY)
    return names, children


def unknown(node: Node, walker: str) -> LoweringError:
    """The error of a walker for a node of a class without a rule."""
    remedy = "; lower the schedule first" if isinstance(node, (Read, Reduce)) else ""
    return LoweringError(f"{walker} has no rule for {type(node).__name__}{remedy}")


@cache
def _children_of(kind: Any) -> Callable[[Any], tuple[Node, ...]]:
    """A function that gets the nodes directly beneath a node of this class."""
    links = _layout(kind)[1]
    if not links:
        return lambda node: ()
    types = {f.name: f.type for f in fields(kind)}
    if len(links) > 1 and all(types[name] in _PRESENT for name, _ in links):
        return attrgetter(*(name for name, _ in links))

    def several(node: Any) -> tuple[Node, ...]:
        found: list[Node] = []
        for name, many in links:
            value = getattr(node, name)
            if many:
                found += value
            elif value is not None:
                found.append(value)
        return tuple(found)

    return several


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly beneath `node`, in order."""
    kind: Any = type(node)
    return _children_of(kind)(node)


def walk(node: Node) -> Iterator[Node]:
    """`node` and every node beneath it, in pre-order, without recursion; a shared node is visited once."""
    stack = [node]
    seen: set[Node] = set()
    while stack:
        current = stack.pop()
        if current in seen:
            continue
        seen.add(current)
        yield current
        stack += reversed(children(current))


def map_children(node: D, function: Callable[[Any], Any]) -> D:
    """`node` with each child replaced by `function(child)`; the same object if no child changed."""
    kind: Any = type(node)
    names, links = _layout(kind)
    changed: dict[str, Any] = {}
    for name, many in links:
        old = getattr(node, name)
        if many:
            new = tuple([function(child) for child in old])
            if any(map(is_not, new, old)):
                changed[name] = new
        elif old is not None:
            new = function(old)
            if new is not old:
                changed[name] = new
    if not changed:
        return node
    arguments = [changed[name] if name in changed else getattr(node, name) for name in names]
    folding = _FOLDING.get(type(node))
    if folding is not None:
        return cast(D, folding(*arguments))
    if isinstance(node, ex.Compare):
        return cast(D, ex.compare(type(node), *arguments))
    return type(node)(*arguments)


@cache
def _rules(kind: type[Any]) -> dict[type, str]:
    nodes = {
        name: value for module in (ex, tensor_expr, buffer, st, device_work) for name, value in vars(module).items()
    }
    table: dict[type, str] = {}
    for attribute in dir(kind):
        if attribute.startswith("rewrite_"):
            table[nodes[attribute.removeprefix("rewrite_")]] = attribute
    for node_class in [v for v in nodes.values() if isinstance(v, type) and issubclass(v, (Expr, Stmt))]:
        for base in node_class.__mro__:
            if base in table:
                table[node_class] = table[base]
                break
    return table


def operands_first(e: Expr, done: Container[int]) -> Iterator[Expr]:
    """`e` and the nodes beneath it, operands before their readers, without recursion.

    Nodes whose id is in `done` are left out, with all nodes beneath them. The caller adds a node to `done` when it gets
    it.
    """
    stack: list[Any] = [e]
    while stack:
        node = stack[-1]
        if id(node) not in done:
            waiting = [operand for operand in children(node) if id(operand) not in done]
            if waiting:
                stack += reversed(waiting)
                continue
            yield node
        stack.pop()


def with_values(chain: Sequence[Let], values: Sequence[Expr], body: Stmt) -> Stmt:
    """`body` within lets of these values; the same object if nothing changed."""
    for let, value in zip(reversed(chain), reversed(values), strict=True):
        body = let if value is let.value and body is let.body else Let(let.var, value, body, let.span)
    return body


class Rewriter:
    """Base of rewriters: `rewrite(node)` applies the rule for the node's class, or rebuilds its children."""

    def rewrite(self, node: N) -> N:
        kind: Any = type(self)
        rule = _rules(kind).get(type(node))
        return getattr(self, rule)(node) if rule is not None else self.descend(node)

    def descend(self, node: D) -> D:
        """`node` with its children rewritten. Its class stays, except for arithmetic that folds."""
        return map_children(node, self.rewrite)

    def rewrite_Let(self, s: Let) -> Stmt:
        chain, body = lets(s)
        values = [self.rewrite(let.value) for let in chain]
        return with_values(chain, values, self.rewrite(body))


class StatementRewriter(Rewriter):
    """A rewriter of statements only: expressions are left as they are."""

    def rewrite(self, node: N) -> N:
        return node if isinstance(node, Expr) else super().rewrite(node)


class SharingRewriter(Rewriter):
    """A rewriter whose rules depend only on the node: an expression that is used twice is rewritten once.

    Operands are rewritten before their readers, so that expressions may be nested to any depth.
    """

    def __init__(self) -> None:
        self._done: dict[int, tuple[Any, Any]] = {}

    def rewrite(self, node: N) -> N:
        known = self._done.get(id(node))
        if known is not None:
            return cast(N, known[1])
        if not isinstance(node, Expr):
            return super().rewrite(node)
        for operand in operands_first(node, self._done):
            self._done[id(operand)] = (operand, super().rewrite(operand))
        return cast(N, self._done[id(node)][1])


class _Substitution(SharingRewriter):
    def __init__(self, values: Mapping[Var, Expr]) -> None:
        super().__init__()
        self.values = values

    def rewrite_Var(self, e: Var) -> Expr:
        return self.values.get(e, e)


def substitute(node: N, values: Mapping[Var, Expr]) -> N:
    """`node` with each variable replaced by its value; binding positions are left alone."""
    return _Substitution(values).rewrite(node) if values else node


def rename_bound(statement: Stmt) -> Stmt:
    """A copy in which every loop and let binds a new variable, for a statement that is used twice."""
    renamed: dict[Var, Expr] = {}
    for node in walk(statement):
        if isinstance(node, (For, Let)):
            renamed[node.var] = Var(node.var.name, node.var.dtype)
    return _Renaming(renamed).rewrite(statement)


class _Renaming(_Substitution):
    def rewrite_For(self, s: For) -> Stmt:
        body = map_children(s, self.rewrite)
        return For(cast(Var, self.values[s.var]), *[getattr(body, f.name) for f in fields(For)[1:]])

    def rewrite_Let(self, s: Let) -> Stmt:
        chain, body = lets(s)
        renamed = [Let(cast(Var, self.values[let.var]), let.value, let.body, let.span) for let in chain]
        return with_values(renamed, [self.rewrite(let.value) for let in chain], self.rewrite(body))


def free_vars(node: Node) -> set[Var]:
    """The variables that occur in `node` and are not bound within it."""
    bound = {n.var for n in walk(node) if isinstance(n, (For, Let))}
    return {n for n in walk(node) if isinstance(n, Var)} - bound
