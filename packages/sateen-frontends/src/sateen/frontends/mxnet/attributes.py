"""Attributes of MXNet are text: `64`, `(3, 3)`, `True`, `None`, `relu`, as Python prints values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sateen.topi.operators import is_of

_INTEGER = re.compile(r"[+-]?\d{1,19}")
_FLOAT = re.compile(r"[+-]?(\d++\.?\d*+|\.\d++)(e[+-]?\d++)?+|[+-]?(inf|nan)", re.IGNORECASE)
_SEPARATOR = re.compile(r"[,()\[\]]")
_WORDS = {"None": None, "True": True, "true": True, "False": False, "false": False}
MOST_NESTED = 4
"""The most tuples around a tuple; around those of a pad width of NumPy is one."""


def parsed_attribute(text: str, nested: int = 0) -> object:
    """The value that a text stands for: None, a bool, a number, a tuple of these, or the text itself.

    Files of Python 2 have long integers as `3L`. Tuples within more than MOST_NESTED others stay text.
    """
    text = text.strip()
    if text[:1] in {"(", "["} and text[-1:] in {")", "]"} and nested <= MOST_NESTED:
        return tuple(parsed_attribute(part, nested + 1) for part in _parts(text[1:-1]) if part.strip())
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text.removesuffix("L")):
        return int(text.removesuffix("L"))
    return float(text) if _FLOAT.fullmatch(text) else text


def attribute_of_kind(text: str, kind: Any) -> object:
    """The value that a text stands for, as a field of this kind holds it if it can: numbers may be meant as text."""
    parsed = parsed_attribute(text)
    readings = [parsed, text]
    if isinstance(parsed, tuple):
        readings.append(tuple(part.strip() for part in _parts(text.strip()[1:-1]) if part.strip()))
    return next((reading for reading in readings if is_of(reading, kind)), parsed)


def _parts(text: str) -> Iterator[str]:
    """What the commas outside of brackets separate."""
    start = depth = 0
    for match in _SEPARATOR.finditer(text):
        if match[0] == "," and depth == 0:
            yield text[start : match.start()]
            start = match.end()
        depth += (match[0] in "([") - (match[0] in ")]")
    yield text[start:]
