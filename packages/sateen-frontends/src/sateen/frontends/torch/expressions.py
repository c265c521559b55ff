"""Dimensions written as expressions: `Mul(Integer(2), Symbol('s0', positive=True, integer=True))` or `2*s0`.

Source: torch/_export/serde/serialize.py, which writes sympy.srepr since torch 2.7, and str of the expression before.
Expressions are parsed, never evaluated as Python; those of other functions are None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce

from sateen.graph_ir.ir import Dim, Symbol
from sateen.runtime.errors import InferenceError

MOST_TOKENS = 512
"""The most tokens of an expression; longer ones are None."""
_TOKEN = re.compile(r"\s*(?:(\d{1,18})|([A-Za-z_]\w*)|('[^']*')|(//|[-+*(),=]))")
_FUNCTIONS: dict[str, Callable[[Sequence[Dim]], Dim | None]] = {
    "Add": lambda given: reduce(lambda a, b: a + b, given),
    "Mul": lambda given: reduce(lambda a, b: a * b, given),
    "Integer": lambda given: given[0],
    "FloorDiv": lambda given: given[0] // given[1] if isinstance(given[1], int) and given[1] > 0 else None,
    "floor_divide": lambda given: given[0] // given[1] if isinstance(given[1], int) and given[1] > 0 else None,
}


class _NoDimensionError(Exception):
    pass


def dimension_of(text: str) -> Dim | None:
    """The dimension that an expression stands for, if its operations are those of dimensions."""
    tokens: list[str] = []
    position = 0
    while position < len(text.rstrip()):
        found = _TOKEN.match(text, position)
        if found is None or len(tokens) == MOST_TOKENS:
            return None
        tokens.append(found.group().strip())
        position = found.end()
    try:
        parser = _Parser(tokens)
        result = parser.sum()
        return result if parser.at_end else None
    except (_NoDimensionError, InferenceError, IndexError, RecursionError):
        return None


class _Parser:
    """Sums of products of atoms, by recursive descent over at most MOST_TOKENS tokens."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = tokens
        self.position = 0

    @property
    def at_end(self) -> bool:
        return self.position == len(self.tokens)

    def accept(self, *tokens: str) -> str:
        """The next token, if it is one of these, which is then read; otherwise ''."""
        if self.at_end or self.tokens[self.position] not in tokens:
            return ""
        self.position += 1
        return self.tokens[self.position - 1]

    def sum(self) -> Dim:
        total: Dim = -self.product() if self.accept("-") else self.product()
        while sign := self.accept("+", "-"):
            term = self.product()
            total = total + term if sign == "+" else total - term
        return total

    def product(self) -> Dim:
        total = self.atom()
        while sign := self.accept("*", "//"):
            factor = self.atom()
            if sign == "*":
                total = total * factor
            elif isinstance(factor, int) and factor > 0:
                total = total // factor
            else:
                raise _NoDimensionError
        return total

    def atom(self) -> Dim:
        if self.accept("("):
            inner = self.sum()
            if not self.accept(")"):
                raise _NoDimensionError
            return inner
        token = self.tokens[self.position]
        self.position += 1
        if token.isdigit():
            return int(token)
        if not token.isidentifier():
            raise _NoDimensionError
        return self.call(token) if self.accept("(") else Symbol(token)

    def call(self, name: str) -> Dim:
        if name == "Symbol":
            symbol = self.tokens[self.position].strip("'")
            self.position += 1
            if not symbol.isidentifier():
                raise _NoDimensionError
            while not self.accept(")"):  # what sympy assumes about it
                self.position += 1
                if self.at_end:
                    raise _NoDimensionError
            return Symbol(symbol)
        if name == "Integer" and self.accept("-"):
            given: list[Dim] = [-self.atom()]
        else:
            given = [self.sum()]
        while self.accept(","):
            given.append(self.sum())
        function = _FUNCTIONS.get(name)
        result = function(given) if function is not None and self.accept(")") else None
        if result is None:
            raise _NoDimensionError
        return result
