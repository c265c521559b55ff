"""Locks that are free in a forked child, where the thread that held one during the fork does not exist."""

from __future__ import annotations

import os
from threading import Lock
from weakref import WeakSet


class ForkSafeLock:
    """`with lock.current: ...`. The guarded state must be valid even half done, since a child may take the lock
    next."""

    __slots__ = ("__weakref__", "current")

    def __init__(self) -> None:
        self.current = Lock()
        _ALL.add(self)


_ALL: WeakSet[ForkSafeLock] = WeakSet()
"""The locks of this process. One function handles forks for all of them, so that locks can come and go."""


def _renew() -> None:
    for lock in _ALL:
        lock.current = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
