"""Attributes of a node, read as the types that a converter requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sateen.runtime.errors import FrontendError


class Attributes:
    """Values by name, including the defaults of the format. Reading one as another type, or a required one that is
    absent, raises FrontendError."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def attribute(self, name: str) -> Any:
        """The attribute, or its default; None if it has neither."""
        return self._values.get(name)

    def integer(self, name: str) -> int:
        value = self._required(name)
        if not isinstance(value, int):
            raise _wrong("an integer", name, value)
        return int(value)

    def number(self, name: str) -> float:
        value = self._required(name)
        if not isinstance(value, (int, float)):
            raise _wrong("a number", name, value)
        return float(value)

    def text(self, name: str) -> str:
        value = self._required(name)
        if not isinstance(value, str):
            raise _wrong("text", name, value)
        return value

    def flag(self, name: str) -> bool:
        """An attribute of 0 or 1, false or true; false if there is none."""
        value = self.attribute(name)
        if value not in (None, 0, 1):
            raise _wrong("0 or 1", name, value)
        return bool(value)

    def choice(self, name: str, *known: str) -> str:
        """An attribute that is one of some words."""
        value = self.text(name)
        if value not in known:
            raise FrontendError(f"expected attribute {name!r} of {', '.join(known)}, found {value!r}")
        return value

    def optional_integer(self, name: str) -> int | None:
        return None if self.attribute(name) is None else self.integer(name)

    def integers(self, name: str) -> tuple[int, ...]:
        values = self._required(name)
        if not isinstance(values, (list, tuple)) or not all(isinstance(value, int) for value in values):
            raise _wrong("integers", name, values)
        return tuple(values)

    def optional_integers(self, name: str) -> tuple[int, ...] | None:
        return None if self.attribute(name) is None else self.integers(name)

    def _required(self, name: str) -> Any:
        value = self.attribute(name)
        if value is None:
            raise FrontendError(f"expected attribute {name!r}, found none")
        return value


def _wrong(expected: str, name: str, found: object) -> FrontendError:
    return FrontendError(f"expected {expected} as attribute {name!r}, found {found!r}")
