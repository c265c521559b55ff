"""A function as a script: its source, its names, and what the names around it mean."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir.hybrid.meanings import BARE, CASTS
from sateen.tensor_ir.hybrid.names import names_of
from sateen.tensor_ir.hybrid.source import source_of
from sateen.tensor_ir.hybrid.subset import check_subset
from sateen.tensor_ir.hybrid.words import WORDS


class Definition:
    """A function that is written in the subset of Python."""

    __slots__ = ("function", "names", "signature", "source")

    def __init__(self, function: FunctionType) -> None:
        self.source = source_of(function)
        check_subset(self.source)
        self.names = names_of(self.source)
        self.signature = inspect.signature(function)
        self.function = function

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def body(self) -> list[ast.stmt]:
        """Its statements, without the text that documents it."""
        first, *rest = self.source.definition.body
        is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        return rest if is_text else [first, *rest]

    @property
    def formula(self) -> ast.expr | None:
        """The expression of a script that consists of its return alone."""
        match self.body:
            case [ast.Return(value=ast.expr() as value)]:
                return value
        return None

    def around(self) -> Mapping[str, Any]:
        """The names that the function sees: those around it, then the words of scripts, then Python's own."""
        known = {**vars(builtins), **BARE, **CASTS, **WORDS, **self.function.__globals__}
        for name, cell in zip(self.function.__code__.co_freevars, self.function.__closure__ or (), strict=True):
            try:
                known[name] = cell.cell_contents
            except ValueError:  # it is assigned after the call
                known.pop(name, None)
        return known

    def arguments(self, operands: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """The value of each parameter. Raises ExpressionError for others than the function takes."""
        try:
            bound = self.signature.bind(*operands, **named)
        except TypeError as error:
            raise ExpressionError(f"script {self.name!r} expects {self.signature}: {error}") from None
        bound.apply_defaults()
        return bound.arguments
