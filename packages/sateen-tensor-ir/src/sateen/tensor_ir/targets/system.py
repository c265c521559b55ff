"""The system in a triple, which decides the format of object code and libraries."""

from __future__ import annotations

from enum import Enum


class System(Enum):
    """A system, by the words for it in LLVM's triples; the first in a triple counts."""

    ANDROID = ("android",)
    LINUX = ("linux",)
    WINDOWS = ("windows",)
    IOS = ("-ios",)
    MACOS = ("apple", "darwin", "macos")
    WEBASSEMBLY = ("wasm",)
    NONE = ()

    @property
    def has_threads(self) -> bool:
        """Whether libraries of ours have threads there: on Linux. Elsewhere a network runs on that of its caller."""
        return self is System.LINUX

    @staticmethod
    def of(triple: str) -> System:
        """The system of a triple; NONE for an unknown one, and for machines without a system."""
        return next((system for system in System if any(word in triple for word in system.value)), System.NONE)
