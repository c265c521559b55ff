"""What stays right in a forked child, which has the memory of its parent, and none of the parent's threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock
from weakref import WeakSet, finalize


class ForkSafeLock:
    """A lock that is free in a forked child, whoever held it: `with lock.current: ...`. The guarded state must be valid
    even half done, since a child may take the lock next."""

    __slots__ = ("__weakref__", "current")

    def __init__(self) -> None:
        self.current = Lock()
        _ALL.add(self)


def ending(holder: object, end: Callable[..., object], *arguments: object) -> finalize[..., object]:
    """Ends what `holder` has, once: when it is called, when nobody holds the holder, or with the process. In a forked
    child it does nothing: what a process has is not its children's to end."""
    return finalize(holder, _end_here, os.getpid(), end, *arguments)


def _end_here(process: int, end: Callable[..., object], *arguments: object) -> None:
    if os.getpid() == process:
        end(*arguments)


_ALL: WeakSet[ForkSafeLock] = WeakSet()
"""The locks of this process. One function handles forks for all of them, so that locks can come and go."""


def _renew() -> None:
    for lock in _ALL:
        lock.current = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
