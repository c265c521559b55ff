"""Content that is generated on demand: a large section of an artifact need not exist before its file is written."""

from __future__ import annotations

from typing import Protocol


class Content(Protocol):
    """A number of bytes, any part of which can be generated at any time."""

    def __len__(self) -> int: ...

    def read_into(self, start: int, place: memoryview) -> None:
        """Write the bytes from `start` on into all of `place`. Several threads may call it at a time.

        The requested part begins at a multiple of 64, and ends at one or at the end of the content.
        """

    def whole(self) -> memoryview:
        """All bytes, read-only, at a multiple of 64: the same memory every time."""

    def __bytes__(self) -> bytes: ...


def whole(content: bytes | memoryview | Content) -> bytes | memoryview:
    """All bytes of a content, which is generated if necessary."""
    return content if isinstance(content, (bytes, memoryview)) else content.whole()
