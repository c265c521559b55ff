"""Parameters that an artifact holds as they were trained, and that its own code packs when it is first loaded.

`run` reads two blocks then: that of the file, of which the first `kept` bytes, and the one that `pack` has filled. All
models of one file in a process share the latter.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import asdict, dataclass
from weakref import WeakValueDictionary

import numpy as np

from sateen.runtime.checked_json import fields_of, integer_of, parse
from sateen.runtime.display import size
from sateen.runtime.errors import OutOfMemoryError
from sateen.runtime.fork_safe import ForkSafeLock
from sateen.runtime.ndarray import NDArray

MOST_PACKED_BYTES = 1 << 48
LEAST_BLOCK_BYTES = 64
"""The size of a block of nothing."""


@dataclass(frozen=True, slots=True)
class Packing:
    """The content of section `packing`, in bytes: what `pack` fills, its workspace, and the part at the beginning of
    the file's parameters that runs read as it is."""

    packed: int
    workspace: int
    kept: int

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), separators=(",", ":"), sort_keys=True).encode()

    @staticmethod
    def from_json(text: bytes, parameter_bytes: int) -> Packing:
        """Raises ArtifactError for another text, and for more kept bytes than the file has."""
        what = "the packing of parameters"
        fields = fields_of(parse(text, what), what, ("packed", "workspace", "kept"))
        return Packing(
            integer_of(fields["packed"], "the size of packed parameters", 1, MOST_PACKED_BYTES),
            integer_of(fields["workspace"], "the workspace of the packing", 0, MOST_PACKED_BYTES),
            integer_of(fields["kept"], "the bytes of parameters that runs read", 0, parameter_bytes),
        )


class PackedBlock:
    """Memory for packed parameters, in large pages where the system has them: page faults would take longer than the
    packing. It is this process's own, as is that of a forked child."""

    __slots__ = ("__weakref__", "_lock", "_owner", "array")

    def __init__(self, owner: object) -> None:
        self._owner = owner
        self._lock = ForkSafeLock()
        self.array: NDArray | None = None

    def filled(self, count: int, fill: Callable[[NDArray], None]) -> NDArray:
        """The memory, which `fill` fills once. Raises what it raises, and OutOfMemoryError if there is no memory."""
        with self._lock.current:
            if self.array is None:
                block = _large_block(count)
                fill(block)
                self.array = block  # a child that is forked while this goes on has none yet, and fills its own
            return self.array


def _large_block(count: int) -> NDArray:
    try:
        memory = mmap.mmap(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError, ValueError):
        raise OutOfMemoryError(f"expected {size(count)} for packed parameters, found less memory") from None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # what a system without large pages says
            memory.madvise(mmap.MADV_HUGEPAGE)
    return NDArray.of(np.frombuffer(memory, np.uint8))


class PackedBlocks:
    """The packed parameters of a process by the artifact that they belong to, as long as a model has them."""

    def __init__(self) -> None:
        self._blocks: WeakValueDictionary[Hashable, PackedBlock] = WeakValueDictionary()
        self._lock = ForkSafeLock()

    def of(self, key: Hashable, owner: object) -> PackedBlock:
        """The block of an artifact. `owner` lives as long as the block, so that its identity may be part of the key."""
        with self._lock.current:
            block = self._blocks.get(key)
            if block is None:
                block = self._blocks[key] = PackedBlock(owner)
            return block


PROCESS_BLOCKS = PackedBlocks()
"""The packed parameters of this process."""


def drop_pages(content: memoryview, start: int) -> None:
    """Tell the system that mapped parameters from a byte on are not needed now. If they are, it reads them again."""
    mapped = content.obj
    if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED") and start < len(content):
        whole = np.frombuffer(mapped, np.uint8).ctypes.data
        place = np.frombuffer(content, np.uint8).ctypes.data - whole + start
        first = -(-place // mmap.PAGESIZE) * mmap.PAGESIZE
        end = place - start + len(content)
        if first < end:
            mapped.madvise(mmap.MADV_DONTNEED, first, end - first)
