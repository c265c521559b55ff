"""The type of what counts: loop variables, extents, subscripts, and arithmetic on them.

No element of memory has it. An index does not overflow, where an int64 of data wraps (docs/semantics.md, 2), so the two
are types of their own: an index becomes data as int64, and data becomes an index, by a conversion that is a node.
"""

from __future__ import annotations

from dataclasses import dataclass

from sateen.runtime.dtype import DType


@dataclass(frozen=True, slots=True, repr=False)
class IndexType(DType):
    """A signed integer that programs don't let overflow; `bits` is the most that a target computes it in."""

    def __str__(self) -> str:
        return "index"
