"""The steps of a network, one per kernel that it calls: what a network with timed steps tells of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a kernel: the nodes of the model that it computes, and what it takes."""

    kernel: str
    nodes: tuple[str, ...]
    """Names in the user's model."""
    operators: tuple[str, ...]
    inputs: tuple[str, ...]
    """Types, in text form."""
    outputs: tuple[str, ...]
    operations: int
    """Floating-point operations of the definition; 0 where memory limits the step, not arithmetic."""
    bytes: int
    """Of all inputs and outputs, each once."""

    def __str__(self) -> str:
        return f"{' + '.join(self.nodes)} ({', '.join(self.operators)})"

    def to_json(self) -> dict[str, object]:
        """As JSON values, `from_json`'s inverse."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Step:
        """The step that JSON values say. Raises KeyError, TypeError or ValueError for any others."""
        return Step(
            _text(value["kernel"]),
            _texts(value["nodes"]),
            _texts(value["operators"]),
            _texts(value["inputs"]),
            _texts(value["outputs"]),
            _count(value["operations"]),
            _count(value["bytes"]),
        )


def _texts(value: Sequence[object]) -> tuple[str, ...]:
    return tuple(map(_text, value))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"expected a count, found {value!r}")
    return value
