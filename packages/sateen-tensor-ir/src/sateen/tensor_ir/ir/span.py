"""Where in the user's program something was made."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """Where in the user's program a node was made."""

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
