"""The system that a triple names: it decides the format of object code and libraries."""

from __future__ import annotations

from enum import Enum


class System(Enum):
    """A system, by the words that LLVM's triples have for it; the first that a triple has counts."""

    ANDROID = ("android",)
    LINUX = ("linux",)
    WINDOWS = ("windows",)
    MACOS = ("apple", "darwin", "macos")
    WEBASSEMBLY = ("wasm",)
    NONE = ()

    @staticmethod
    def of(triple: str) -> System:
        """The system of a triple; NONE for another one, and for machines without."""
        return next((system for system in System if any(word in triple for word in system.value)), System.NONE)
