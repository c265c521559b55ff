"""Parses the text format of Protocol Buffers without a schema: fields by name, with the lines that they stand on.

A schema would have to name each field of every fork of Caffe; instead each layer's own fields are checked. Source:
protobuf.dev, Text Format Language Specification.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sateen.runtime.errors import FrontendError, printable

MOST_FIELDS = 4_000_000
"""The most fields of a text."""
_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\f\v]+|\#[^\n]*)
    |(?P<line>\n)
    |(?P<number>[-]?[ \t]*(?:0[xX][0-9a-fA-F]+|(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?+[fF]?+)(?![\w.]))
    |(?P<word>-?[ \t]*[A-Za-z_]\w*)
    |(?P<extension>\[[ \t]*[A-Za-z_][\w./]*[ \t]*\](?=[ \t]*[:{<]))
    |(?P<text>"(?:[^"\\\n]|\\[^\n])*+"|'(?:[^'\\\n]|\\[^\n])*+')
    |(?P<sign>[{}<>\[\]:,;])""",
    re.VERBOSE | re.ASCII,
)
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_CLOSING = {"{": "}", "<": ">"}


class Word(str):
    """A word without quotes: an enumerator, or true and false."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """The fields of a message by name, each with all values that it is given. `line` is the one on which it begins."""

    line: int
    fields: dict[str, list[Scalar | Message]] = field(default_factory=dict)

    def values(self, name: str) -> Sequence[Scalar | Message]:
        return self.fields.get(name, ())

    def messages(self, name: str) -> list[Message]:
        """The messages of a field. Raises FrontendError for a value that is none."""
        values = self.values(name)
        wrong = next((value for value in values if not isinstance(value, Message)), None)
        if wrong is not None:
            raise FrontendError(f"line {self.line}: expected messages as {name}, found {wrong!r}")
        return [value for value in values if isinstance(value, Message)]

    def texts(self, name: str) -> list[str]:
        """The texts of a field. Raises FrontendError for a value that is none."""
        values = self.values(name)
        wrong = next((value for value in values if not isinstance(value, str) or isinstance(value, Word)), None)
        if wrong is not None:
            raise FrontendError(f"line {self.line}: expected text in quotes as {name}, found {shown(wrong)}")
        return [str(value) for value in values]

    def text(self, name: str) -> str:
        """The last text of a field, '' if there is none."""
        return next(reversed(self.texts(name)), "")


Scalar = int | float | str
"""A value of a field: a number, text in quotes, or a Word."""


def shown(value: Scalar | Message) -> str:
    return "a message" if isinstance(value, Message) else printable(str(value))


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    line: int


def parsed(text: str, nesting: int) -> Message:
    """The message that a text is. Raises FrontendError, which names a line, if it is none, or nested too deep."""
    tokens = _tokens(text)
    message = Message(1)
    open_: list[tuple[Message, str]] = []
    count = 0
    for token in tokens:
        if open_ and token.text == open_[-1][1] and token.kind == "sign":
            message = open_.pop()[0]
            continue
        if token.kind == "sign" and token.text in ",;" and message.fields:
            continue
        if token.kind not in {"word", "extension"}:
            raise _unexpected("the name of a field", token)
        count += 1
        if count > MOST_FIELDS:
            raise FrontendError(f"line {token.line}: expected at most {MOST_FIELDS} fields, found more")
        values = message.fields.setdefault(token.text, [])
        following = _next(tokens, token)
        if following.text == ":" and following.kind == "sign":
            following = _next(tokens, following)
        elif following.text not in _CLOSING or following.kind != "sign":
            raise _unexpected(f"':' or '{{' after {token.text!r}", following)
        if following.kind == "sign" and following.text in _CLOSING:
            if len(open_) >= nesting:
                raise FrontendError(f"line {token.line}: expected messages nested at most {nesting} deep, found more")
            open_.append((message, _CLOSING[following.text]))
            message = Message(token.line)
            values.append(message)
        elif following.kind == "sign" and following.text == "[":
            values += _listed(tokens, following)
        else:
            values.append(_scalar(following))
    if open_:
        raise FrontendError(f"line {message.line}: a message begins there that does not end; the file is cut short")
    return message


def _tokens(text: str) -> Iterator[_Token]:
    """Tokens without blanks; texts side by side are one."""
    position, line = 0, 1
    held: _Token | None = None
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None and text[position] in "\"'":
            raise FrontendError(f"line {line}: expected text in quotes, found one that does not end on its line")
        if match is None:
            raise FrontendError(
                f"line {line}: expected text of Protocol Buffers, found {text[position : position + 20]!r}"
            )
        position = match.end()
        kind = match.lastgroup or ""
        if kind == "line":
            line += 1
        elif kind == "text":
            held = _Token(kind, (held.text if held else "") + _unquoted(match[kind], line), held.line if held else line)
        elif kind != "blank":
            if held is not None:
                yield held
                held = None
            yield _Token(kind, match[kind], line)
    if held is not None:
        yield held


def _unquoted(quoted: str, line: int) -> str:
    try:
        return _ESCAPE.sub(_replaced, quoted[1:-1].encode()).decode()
    except UnicodeDecodeError:
        raise FrontendError(f"line {line}: expected text in UTF-8, found {quoted!r}") from None


def _replaced(match: re.Match[bytes]) -> bytes:
    if match[1] is not None:
        return bytes([int(match[1], 16)])
    if match[2] is not None:
        return bytes([int(match[2], 8) & 0xFF])
    return _ESCAPED.get(match[3], match[3])


def _next(tokens: Iterator[_Token], before: _Token) -> _Token:
    token = next(tokens, None)
    if token is None:
        raise FrontendError(f"line {before.line}: the text ends after {before.text!r}; the file is cut short")
    return token


def _listed(tokens: Iterator[_Token], start: _Token) -> list[Scalar | Message]:
    """The values of a list [a, b]; messages in lists are not used by models."""
    values: list[Scalar | Message] = []
    token = _next(tokens, start)
    while token.text != "]" or token.kind != "sign":
        values.append(_scalar(token))
        token = _next(tokens, token)
        if token.kind == "sign" and token.text == ",":
            token = _next(tokens, token)
        elif token.kind != "sign" or token.text != "]":
            raise _unexpected("',' or ']'", token)
    return values


def _scalar(token: _Token) -> Scalar:
    match token.kind:
        case "text":
            return token.text
        case "number":
            return _number(token)
        case "word":
            return _word(token.text)
    raise _unexpected("a value", token)


def _word(text: str) -> Scalar:
    plain = re.sub(r"[ \t]", "", text)
    return float(plain) if plain.lower().lstrip("-") in {"inf", "infinity", "nan"} else Word(plain)


def _number(token: _Token) -> int | float:
    """A number; a leading 0 means octal, as in C."""
    text = re.sub(r"[ \t]", "", token.text)
    digits = text.lstrip("-")
    sign = -1 if text.startswith("-") else 1
    if len(digits) > 400:  # a number of any length would take time to convert
        raise FrontendError(f"line {token.line}: expected a number, found one of {len(digits)} digits")
    try:
        if digits[:2].lower() == "0x":
            return sign * int(digits, 16)
        if digits.isdigit():
            return sign * int(digits, 8 if digits[0] == "0" else 10)
    except ValueError:
        raise _unexpected("a number", token) from None
    return sign * float(digits.rstrip("fF"))


def _unexpected(expected: str, found: _Token) -> FrontendError:
    return FrontendError(f"line {found.line}: expected {expected}, found {found.text[:40]!r}")
