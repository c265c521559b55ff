"""Parses the text of methods."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from typing import Any

from sateen.runtime.errors import ArgumentError
from sateen.topi.methods.method import Method

_TEXT = re.compile(r"(\w{1,64})\(([\w=, ]{0,256})\)")
_FIELD = re.compile(r"(\w+)=([0-9]{1,9})")


def parse_method(text: str, methods: Iterable[type[Method]]) -> Method:
    """The method of one of these classes that `str` writes as this text, in which fields with defaults may be absent.

    So a log of records stays readable when a method gets another field. Raises ArgumentError for other text.
    """
    kinds = {kind.method_name(): kind for kind in methods}
    match = _TEXT.fullmatch(text)
    kind: Callable[..., Method] | None = kinds.get(match[1]) if match else None
    if match is not None and kind is not None:
        given = [_FIELD.fullmatch(part) for part in match[2].split(", ")] if match[2] else []
        values = {field[1]: int(field[2]) for field in given if field is not None}
        expected = fields(kinds[match[1]])  # type: ignore[arg-type]
        named = [f.name for f in expected if f.name in values or f.default is MISSING]
        if len(values) == len(given) and [*values] == named:
            return kind(**values)
    listed = ", ".join(_form(kind) for kind in kinds.values()) or "none"
    raise ArgumentError(f"expected a method of {listed}; found {text!r:.80}")


def _form(kind: type[Method]) -> str:
    names: Any = kind
    return f"{kind.method_name()}({', '.join(f'{f.name}=…' for f in fields(names))})"
