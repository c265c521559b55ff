"""Blobs that a network may overwrite, as Caffe's layers do: each value of one gets a name of its own.

The last value of a blob has its name, unless that is an input's; the others are called blob@node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from sateen.runtime.errors import FrontendError


class Blobs:
    """The blobs of a network while its nodes are gone through in order. `inputs` are those that no node gives,
    `written` those that nodes give, as often as they do."""

    def __init__(self, inputs: Sequence[str], written: Iterable[str]) -> None:
        self._inputs = frozenset(inputs)
        self._writes = Counter(written)
        self._taken = dict.fromkeys((*inputs, *self._writes), 0)
        self.values = {name: name for name in inputs}
        """The value that each blob has now."""
        self.unread = dict.fromkeys(inputs)
        """The values that no node has read."""

    def read(self, blobs: Sequence[str], node: str) -> tuple[str, ...]:
        """The values that a node reads. Raises FrontendError, which begins with `node`, for a blob without one."""
        missing = next((blob for blob in blobs if blob not in self.values), None)
        if missing is not None:
            raise FrontendError(f"{node}: expected one before it that gives {missing!r}, found none")
        found = tuple(self.values[blob] for blob in blobs)
        for value in found:
            self.unread.pop(value, None)
        return found

    def write(self, blobs: Sequence[str], node: str, suffix: str) -> tuple[str, ...]:
        """The values that a node gives. Raises FrontendError, which begins with `node`, if it gives a blob twice."""
        if len(set(blobs)) < len(blobs):
            raise FrontendError(f"{node}: expected to give different blobs, found {', '.join(blobs)}")
        self._writes.subtract(blobs)
        for blob in blobs:
            is_last = not self._writes[blob] and blob not in self._inputs
            self.values[blob] = blob if is_last else self._beside(f"{blob}@{suffix}")
            self.unread[self.values[blob]] = None
        return tuple(self.values[blob] for blob in blobs)

    def _beside(self, name: str) -> str:
        """`name`, perhaps with a number, so that no other value has it."""
        free = name
        while free in self._taken:
            self._taken[name] += 1
            free = f"{name}.{self._taken[name]}"
        self._taken[free] = 0
        return free
