"""Locks that a forked child finds free: the thread that held one when it was forked does not exist there."""

from __future__ import annotations

import os
from threading import Lock
from weakref import WeakSet


class ForkSafeLock:
    """`with lock.current: ...`; what it guards must make sense half done, to the child that takes it next."""

    __slots__ = ("__weakref__", "current")

    def __init__(self) -> None:
        self.current = Lock()
        _ALL.add(self)


_ALL: WeakSet[ForkSafeLock] = WeakSet()
"""The locks of this process: a fork is told of by function only once, so that locks can come and go."""


def _renew() -> None:
    for lock in _ALL:
        lock.current = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
