"""Bytes of a file at addresses, each checked against its end; the number of structures read is bounded."""

from __future__ import annotations

from dataclasses import dataclass, field

from sateen.runtime.errors import FrontendError

MOST_STRUCTURES = 1 << 20
"""The most structures (headers, blocks, nodes, entries of heaps) to read; damaged links could lead in circles."""


@dataclass(slots=True)
class FileBytes:
    """The bytes of a file. `offsets` and `lengths` are the bytes of an address and of a size, `room` those that all
    arrays may still take; `heaps` are those read so far, by address. Reading beyond the end raises FrontendError, which
    begins with `what`."""

    data: memoryview
    what: str
    room: int
    offsets: int = 8
    lengths: int = 8
    structures: int = field(default=0)
    heaps: dict[int, dict[int, memoryview]] = field(default_factory=dict)

    @property
    def undefined(self) -> int:
        """The address of what does not exist."""
        return (1 << 8 * self.offsets) - 1

    def at(self, address: int, count: int) -> memoryview:
        """The bytes from an address on."""
        if address < 0 or count < 0 or address + count > len(self.data):
            raise self.damaged(f"{count} bytes at {address} lie outside its {len(self.data)}")
        return self.data[address : address + count]

    def reader(self, address: int, count: int, signature: bytes = b"") -> Fields:
        """The fields of a structure of so many bytes, behind its signature. Raises FrontendError for another one."""
        self.count_structure()
        fields = Fields(self, self.at(address, count))
        if bytes(fields.take(len(signature))) != signature:
            raise self.damaged(f"expected {signature.decode()} at {address}")
        return fields

    def count_structure(self) -> None:
        """Raises FrontendError after too many of them."""
        self.structures += 1
        if self.structures > MOST_STRUCTURES:
            raise self.damaged(f"it has more than {MOST_STRUCTURES} structures")

    def take_room(self, count: int, what: str) -> None:
        """Raises FrontendError if an array of so many bytes is more than all arrays may have."""
        self.room -= count
        if self.room < 0:
            raise FrontendError(f"{what}: the file has more data than a model may")

    def damaged(self, reason: str) -> FrontendError:
        return FrontendError(f"{self.what}: expected an HDF5 file as Keras writes it, which is damaged: {reason}")

    def unusual(self, reason: str) -> FrontendError:
        remedy = "save the model with Keras again"
        return FrontendError(f"{self.what}: HDF5 files with {reason} are not supported; {remedy}")


@dataclass(slots=True)
class Fields:
    """The fields of a structure, one after the other; numbers are little-endian."""

    file: FileBytes
    data: memoryview
    position: int = 0

    @property
    def left(self) -> int:
        return len(self.data) - self.position

    def take(self, count: int) -> memoryview:
        if not 0 <= count <= self.left:
            raise self.file.damaged(f"a structure of {len(self.data)} bytes is too short")
        self.position += count
        return self.data[self.position - count : self.position]

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little")

    def address(self) -> int:
        return self.number(self.file.offsets)

    def length(self) -> int:
        return self.number(self.file.lengths)
