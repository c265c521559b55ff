"""JSON from untrusted sources: no key twice, no numbers except integers, every value of the expected type.

Anything else raises ArtifactError, which says what was expected and what was found.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from sateen.runtime.errors import ArtifactError


def parse(text: str | bytes, what: str) -> object:
    """The value of a text."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_refuse)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"expected {what} as JSON: {error}") from None


def fields_of(value: object, what: str, keys: tuple[str, ...], *, more: bool = False) -> dict[str, object]:
    """An object with these keys; with `more`, other keys are allowed."""
    if not isinstance(value, dict) or not set(value) >= set(keys) or not (more or len(value) == len(keys)):
        found = ", ".join(sorted(map(str, value)))[:200] if isinstance(value, dict) else type(value).__name__
        raise ArtifactError(f"expected {what} to have {', '.join(keys)}; found {found or 'nothing'}")
    return value


def object_of(value: object, what: str) -> dict[str, object]:
    """An object with any keys that are printable text."""
    if not isinstance(value, dict):
        raise ArtifactError(f"expected {what} as an object, found {type(value).__name__}")
    for key in value:
        text_of(key, f"a key of {what}", 512)
    return value


def list_of(value: object, what: str, most: int) -> list[object]:
    if not isinstance(value, list) or len(value) > most:
        found = f"{len(value)} of them" if isinstance(value, list) else type(value).__name__
        raise ArtifactError(f"expected {what} as a list of at most {most}, found {found}")
    return value


def text_of(value: object, what: str, most: int, least: int = 1) -> str:
    if not isinstance(value, str) or not least <= len(value) <= most or not value.isprintable():
        raise ArtifactError(f"expected {what} as printable text of {least} to {most} characters, found {value!r:.64}")
    return value


def texts_of(value: object, what: str, most: int) -> dict[str, str]:
    """An object whose values are texts of at most `most` characters, or none."""
    return {key: text_of(item, f"{key!r} of {what}", most, 0) for key, item in object_of(value, what).items()}


def boolean_of(value: object, what: str) -> bool:
    if not isinstance(value, bool):
        raise ArtifactError(f"expected true or false for {what}, found {value!r:.64}")
    return value


def integer_of(value: object, what: str, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ArtifactError(f"expected {what} as an integer from {least} to {most}, found {value!r:.64}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return values


def _refuse(literal: str) -> NoReturn:
    raise ValueError(f"expected integers only, found {literal[:32]}")
