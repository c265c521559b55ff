"""Threads beside the one that asks for them. A system that starts no more of them is told as any other refusal."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

from sateen.runtime.errors import SessionRefusedError


def started(work: Callable[..., object], *arguments: Any) -> Thread:
    """A thread that does some work, and does not keep the process alive. Raises SessionRefusedError if the system
    starts none."""
    thread = Thread(target=work, args=arguments, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise SessionRefusedError(f"expected the system to start a thread: {error}") from None
    return thread
