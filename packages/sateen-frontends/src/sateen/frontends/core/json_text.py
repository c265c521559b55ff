"""JSON of a file, read strictly: UTF-8, each key of an object once, bounded nesting.

Readers walk what they get by functions that call themselves, so nesting has a limit far below that of Python.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from sateen.runtime.errors import FrontendError

MOST_BYTES = 3 << 24
"""The most bytes of a text of JSON; its values may take thirty-two times as many."""
MOST_NESTED = 512
"""The most levels of objects and arrays; a graph within graphs takes seven or eight for each."""


class _RepeatedKeyError(Exception):
    pass


def parse_json(data: bytes | memoryview, what: str, *, by_python: bool = False) -> Any:
    """The value that JSON stands for. Raises FrontendError, which begins with `what`, if it is damaged, has more than
    `MOST_BYTES`, has a key twice in an object, or is nested more than `MOST_NESTED` deep.

    Files that Python wrote may have the numbers NaN and Infinity, which JSON lacks.
    """
    if len(data) > MOST_BYTES:
        raise FrontendError(f"{what}: expected JSON of at most {MOST_BYTES} bytes, found {len(data)}")
    constant = None if by_python else _no_constant
    try:
        value = json.loads(str(data, "utf-8"), object_pairs_hook=_object, parse_constant=constant)
    except _RepeatedKeyError as error:
        raise FrontendError(f"{what}: expected each key of a JSON object once, found {error.args[0]!r} twice") from None
    except RecursionError:
        raise FrontendError(f"{what}: expected JSON nested at most {MOST_NESTED} deep, found deeper") from None
    except ValueError as error:  # of the text, its encoding, or a number with thousands of digits
        raise FrontendError(f"{what}: expected JSON, found what can't be parsed: {error}") from None
    _require_nesting(value, what)
    return value


def parse_object(data: bytes | memoryview, what: str, *, by_python: bool = False) -> dict[str, Any]:
    """As `parse_json`, of an object."""
    value = parse_json(data, what, by_python=by_python)
    if not isinstance(value, dict):
        raise FrontendError(f"{what}: expected an object of JSON, found {type(value).__name__}")
    return value


def _require_nesting(value: Any, what: str) -> None:
    level = _containers([value])
    for _ in range(MOST_NESTED):
        level = _containers(inner for item in level for inner in (item.values() if isinstance(item, dict) else item))
    if level:
        raise FrontendError(f"{what}: expected JSON nested at most {MOST_NESTED} deep, found deeper")


def _containers(values: Iterable[Any]) -> list[dict[str, Any] | list[Any]]:
    return [value for value in values if isinstance(value, dict | list)]


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _RepeatedKeyError(next(key for key, count in counts.items() if count > 1))
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
