"""Attributes of MXNet are text: `64`, `(3, 3)`, `True`, `None`, `relu`, as Python prints values."""

from __future__ import annotations

import re

_INTEGER = re.compile(r"[+-]?\d{1,19}")
_FLOAT = re.compile(r"[+-]?(\d++\.?\d*+|\.\d++)(e[+-]?\d++)?+|[+-]?(inf|nan)", re.IGNORECASE)
_WORDS = {"None": None, "True": True, "true": True, "False": False, "false": False}


def parsed_attribute(text: str) -> object:
    """The value that a text stands for: None, a bool, a number, a tuple of these, or the text itself.

    Files of Python 2 have long integers as `3L`.
    """
    text = text.strip()
    if text[:1] in {"(", "["} and text[-1:] in {")", "]"}:
        return tuple(parsed_attribute(part) for part in text[1:-1].split(",") if part.strip())
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text.removesuffix("L")):
        return int(text.removesuffix("L"))
    return float(text) if _FLOAT.fullmatch(text) else text
