"""Reads the text of dimensions: `parse_dimension(str(d))` is `d`.

sum     =  ["-"] product {("+" | "-") product}
product =  factor {"*" factor | "//" number}
factor  =  number | "?" name | "(" sum ")"
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

from sateen.runtime.errors import ArgumentError
from sateen.topi.dimensions.dimension import LARGEST, PLAIN_NAME, Dim, Symbol

MOST_NESTED = 32
"""The most nested parentheses."""


class DimensionTextError(ArgumentError):
    """Text that is no dimension. It has the expected text and the position."""

    def __init__(self, expected: str, position: int, found: str) -> None:
        super().__init__(f"expected {expected}, found {found}")
        self.expected = expected
        self.position = position


def parse_dimension(text: str) -> Dim:
    """The dimension of a text. Raises ArgumentError if it is none, and InferenceError if it grows too large."""
    dimension, end = read_dimension(text, 0)
    if end < len(text):
        raise DimensionTextError("the end of the dimension", end, repr(text[end:]))
    return dimension


def read_dimension(text: str, start: int) -> tuple[Dim, int]:
    """The dimension that begins at a position of a text, and the position after it and the following spaces.

    Raises DimensionTextError if there is none, and InferenceError if it grows too large.
    """
    reader = _Reader(text, start)
    return reader.sum(), reader.position


_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_NUMBER = re.compile(r"[0-9]+(?![\w.])")


class _Reader:
    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.position = position
        self.depth = 0

    def sum(self) -> Dim:
        result = -self.product() if self.accept("-") else self.product()
        while True:
            if self.accept("+"):
                result = self.checked(result + self.product())
            elif self.accept("-"):
                result = self.checked(result - self.product())
            else:
                return result

    def product(self) -> Dim:
        result = self.factor()
        while True:
            if self.accept("*"):
                result = self.checked(result * self.factor())
            elif self.accept("//"):
                divisor = self.number()
                if divisor == 0:
                    self.fail("a number above 0", self.position - 1)
                result = result // divisor
            else:
                return result

    def factor(self) -> Dim:
        if self.accept("?"):
            return Symbol(self.name())
        if not self.accept("("):
            return self.number()
        self.depth += 1
        if self.depth > MOST_NESTED:
            self.fail(f"a dimension of at most {MOST_NESTED} parentheses within each other")
        result = self.sum()
        if not self.accept(")"):
            self.fail("')'")
        self.depth -= 1
        return result

    def name(self) -> str:
        quoted = self.take(_STRING)
        if quoted is not None:
            try:
                return str(json.loads(quoted))
            except json.JSONDecodeError:
                self.fail("the name of a dimension in a string of JSON")
        return self.take(PLAIN_NAME) or self.fail("the name of a dimension")

    def number(self) -> int:
        start = self.position
        digits = self.take(_NUMBER) or self.fail("a dimension")
        if len(digits) > len(str(LARGEST)):
            self.fail("a number below 2^63", start)
        return self.checked_number(int(digits), start)

    def checked(self, dimension: Dim) -> Dim:
        return self.checked_number(dimension, self.position) if isinstance(dimension, int) else dimension

    def checked_number(self, number: int, position: int) -> int:
        if abs(number) >= LARGEST:
            self.fail("a number below 2^63", position)
        return number

    def accept(self, mark: str) -> bool:
        if not self.text.startswith(mark, self.position):
            return False
        self.position += len(mark)
        self.skip()
        return True

    def take(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self.text, self.position)
        if found is None:
            return None
        self.position = found.end()
        self.skip()
        return found[0]

    def skip(self) -> None:
        while self.text.startswith(" ", self.position):
            self.position += 1

    def fail(self, expected: str, position: int | None = None) -> NoReturn:
        place = self.position if position is None else position
        rest = self.text[place : place + 20]
        raise DimensionTextError(expected, place, repr(rest) if rest else "the end of the text")
