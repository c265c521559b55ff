"""Places in the user's program."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """The place in the user's program that made a node."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def caller_span() -> Span | None:
    """The innermost frame outside of this package: the line that the user wrote."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("sateen.tensor_ir"):
        frame = frame.f_back  # type: ignore[assignment]
    return Span(frame.f_code.co_filename, frame.f_lineno) if frame is not None else None
