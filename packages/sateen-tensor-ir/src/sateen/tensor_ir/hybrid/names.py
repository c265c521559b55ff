"""The names of a script: in which block each lives, and which of them change and so need memory.

A name belongs to the block that assigns it first, and ends with it. If nothing assigns it again it stands for one
value; otherwise it is a variable: a number in memory, of one type.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from sateen.tensor_ir.hybrid.source import Source


class Role(Enum):
    """What an assignment to a name does."""

    VALUE = auto()
    """It names a value."""
    VARIABLE = auto()
    """It makes a variable, with its first value."""
    CHANGE = auto()
    """It changes a variable."""


@dataclass(slots=True, eq=False)
class _Name:
    node: ast.Name | ast.arg
    is_loop: bool = False
    changes: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """The roles of the names and parameters that a script assigns, by their nodes, and all that are its own."""

    roles: dict[ast.AST, Role]
    own: frozenset[str]


def names_of(source: Source) -> Names:
    """The names of a script. Raises ScriptError for a name that is read before it is assigned or after its block has
    ended, and for a loop over a name in use."""
    definition = source.definition
    own = {n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    own |= {a.arg for a in parameters(definition)}
    finder = _Finder(source, frozenset(own))
    finder.function(definition)
    return Names(finder.roles(), finder.own)


def parameters(definition: ast.FunctionDef) -> Iterator[ast.arg]:
    """The parameters of a definition."""
    given = definition.args
    yield from (*given.posonlyargs, *given.args, *given.kwonlyargs)
    if given.vararg is not None:
        yield given.vararg


@dataclass(slots=True, eq=False)
class _Finder:
    source: Source
    own: frozenset[str]
    blocks: list[dict[str, _Name]] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    stores: dict[ast.AST, _Name] = field(default_factory=dict)

    def roles(self) -> dict[ast.AST, Role]:
        def role(node: ast.AST, name: _Name) -> Role:
            if node is not name.node:
                return Role.CHANGE
            return Role.VARIABLE if name.changes else Role.VALUE

        return {node: role(node, name) for node, name in self.stores.items()}

    def function(self, definition: ast.FunctionDef) -> None:
        self.blocks.append({})
        for parameter in parameters(definition):
            self.stores[parameter] = self.blocks[-1][parameter.arg] = _Name(parameter)
        self.statements(definition.body)

    def block(self, statements: Sequence[ast.stmt], loop: ast.expr | None = None) -> None:
        self.blocks.append({})
        if isinstance(loop, ast.Name):
            if self._found(loop.id) is not None:
                raise self.source.fault(loop, f"a loop expects a new name, found {loop.id!r}, which is in use here")
            self.stores[loop] = self.blocks[-1][loop.id] = _Name(loop, is_loop=True)
        self.statements(statements)
        self.ended |= self.blocks.pop().keys()

    def statements(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.Assign():
                    self.expression(statement.value)
                    for target in statement.targets:
                        self.target(target)
                case ast.AugAssign():
                    self.expression(statement.value)
                    if isinstance(statement.target, ast.Name):
                        self.read(statement.target)
                    self.target(statement.target)
                case ast.For():
                    self.expression(statement.iter)
                    self.block(statement.body, statement.target)
                case ast.While():
                    self.expression(statement.test)
                    self.block(statement.body)
                case ast.If():
                    self.expression(statement.test)
                    self.block(statement.body)
                    self.block(statement.orelse)
                case _:
                    self.expression(statement)

    def target(self, target: ast.expr) -> None:
        match target:
            case ast.Name():
                self.store(target)
            case ast.Tuple() | ast.List():
                for item in target.elts:
                    self.target(item)
            case _:
                self.expression(target)

    def store(self, node: ast.Name) -> None:
        name = self._found(node.id)
        if name is None:
            name = self.blocks[-1][node.id] = _Name(node)
        elif name.is_loop:
            raise self.source.fault(node, f"{node.id!r} is the variable of a loop, which nothing else assigns")
        else:
            name.changes = True
        self.stores[node] = name

    def expression(self, node: ast.AST) -> None:
        for n in ast.walk(node):
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
                self.read(n)

    def read(self, node: ast.Name) -> None:
        if node.id not in self.own or self._found(node.id) is not None:
            return
        when = "after the block that assigned it" if node.id in self.ended else "before it is assigned"
        raise self.source.fault(node, f"{node.id!r} is read {when}; assign it before, in a block around both")

    def _found(self, name: str) -> _Name | None:
        return next((block[name] for block in reversed(self.blocks) if name in block), None)
