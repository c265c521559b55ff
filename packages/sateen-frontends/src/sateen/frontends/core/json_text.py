"""JSON of a file, read strictly: UTF-8, each key of an object once, bounded nesting."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sateen.runtime.errors import FrontendError


class _RepeatedKeyError(Exception):
    pass


def parse_json(data: bytes | memoryview, what: str) -> Any:
    """The value that JSON stands for. Raises FrontendError, which begins with `what`, if it is damaged, has a key twice
    in an object, or is nested deeper than Python parses."""
    try:
        return json.loads(str(data, "utf-8"), object_pairs_hook=_object, parse_constant=_no_constant)
    except _RepeatedKeyError as error:
        raise FrontendError(f"{what}: expected each key of a JSON object once, found {error.args[0]!r} twice") from None
    except RecursionError:
        raise FrontendError(f"{what}: expected JSON, found one that is nested too deep") from None
    except ValueError as error:  # of the text, its encoding, or a number with thousands of digits
        raise FrontendError(f"{what}: expected JSON, found what can't be parsed: {error}") from None


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _RepeatedKeyError(next(key for key, count in counts.items() if count > 1))
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
