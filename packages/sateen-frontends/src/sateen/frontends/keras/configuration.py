"""The configuration of a model as data: JSON without repeated keys, of bounded nesting.

No class or function that it names is ever imported or called.
"""

from __future__ import annotations

import json
from typing import Any

from sateen.runtime.errors import FrontendError

MOST_NESTED = 256
"""The most levels of objects and arrays; a network within networks takes about eight for each."""


def parsed(text: str | bytes, what: str) -> dict[str, Any]:
    """The object that a text is. Raises FrontendError, which begins with `what`, for anything else."""
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise FrontendError(f"{what}: expected JSON, {reason}") from None
    if not isinstance(value, dict):
        raise FrontendError(f"{what}: expected a JSON object, found {type(value).__name__}")
    _require_nesting(value, what)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"found the key {repeated!r} twice in one object")
    return result


def _require_nesting(value: Any, what: str) -> None:
    pending = [(value, 1)]
    while pending:
        item, depth = pending.pop()
        if depth > MOST_NESTED:
            raise FrontendError(f"{what}: expected JSON nested at most {MOST_NESTED} deep, found deeper")
        inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        pending.extend((part, depth + 1) for part in inner)
