"""The tokens of the text form of loop IR, and a cursor that reads them, line by line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from sateen.runtime.errors import SateenError
from sateen.tensor_ir.ir.printer import RESERVED


class ParseError(SateenError):
    """Text that is not loop IR. The message gives line and column, what was expected and what was found."""


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a line, at its place in the text."""

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


_LONGEST_NUMBER = 1000


class Cursor:
    """A place in the tokens of a text, and what is expected there. Raises ParseError for a text without any."""

    def __init__(self, text: str) -> None:
        self.lines = [line for line in map(_tokens, text.splitlines(), range(1, text.count("\n") + 2)) if len(line) > 1]
        if not self.lines:
            raise ParseError("line 1, column 1: expected loop IR, found nothing")
        self.row = 0
        self.position = 0

    @property
    def token(self) -> Token:
        return self.lines[self.row][self.position]

    @property
    def following(self) -> Token:
        """The token behind that one, which does not end the line."""
        return self.lines[self.row][self.position + 1]

    @property
    def is_at_end(self) -> bool:
        return self.row == len(self.lines)

    def fail(self, expected: str, token: Token | None = None) -> NoReturn:
        token = token or self.token
        raise ParseError(f"line {token.line}, column {token.column}: expected {expected}, found {token}")

    def fail_line(self, expected: str) -> NoReturn:
        """Fail where a line begins, or at the end of the last one."""
        if self.is_at_end:
            self.row -= 1
            self.position = len(self.lines[self.row]) - 1
        self.fail(expected)

    def next(self) -> Token:
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
        if not self.is_at_end:
            self.fail("the end of the text")

    @property
    def depth(self) -> int:
        """The indentation of the line that begins here, in columns; -1 at the end."""
        return -1 if self.is_at_end else self.lines[self.row][0].column - 1

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


def _tokens(text: str, line: int) -> list[Token]:
    """The tokens of a line, the last of them its end."""
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKENS.match(text, position)
        if match is None:
            raise ParseError(f"line {line}, column {position + 1}: expected loop IR, found {text[position]!r}")
        if match.lastgroup == "number" and len(match[0]) > _LONGEST_NUMBER:
            expected = f"a number of at most {_LONGEST_NUMBER} characters, found {len(match[0])}"
            raise ParseError(f"line {line}, column {position + 1}: expected {expected}")
        if match.lastgroup is not None and match.lastgroup != "space":
            tokens.append(Token(match.lastgroup, match[0], line, position + 1))
        position = match.end()
    return [*tokens, Token("end", "", line, len(text) + 1)]
