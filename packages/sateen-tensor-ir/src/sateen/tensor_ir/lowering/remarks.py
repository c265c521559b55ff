"""What a pass says about a loop or a buffer of the program: what it made of it, or why it left it alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remark:
    """`subject` is a loop, a buffer or a load in the words of the program; `text` says what became of it.

    `is_done` is whether the pass changed it; otherwise the text has the reason.
    """

    subject: str
    text: str
    is_done: bool

    def __str__(self) -> str:
        return f"{self.subject}: {self.text}"


Listener = Callable[[Remark], None]


def unheard(_remark: Remark) -> None:
    """The listener where nobody asks."""
