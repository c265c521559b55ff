"""Object headers: the messages of a group or a dataset (sections IV.A.1 and IV.A.2 of the specification)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sateen.frontends.keras.hdf5.bytes_in_file import Fields, FileBytes

DATASPACE, LINK, DATATYPE, EXTERNAL, LAYOUT, ATTRIBUTE, CONTINUATION, SYMBOL_TABLE = 1, 6, 3, 7, 8, 12, 16, 17
FILTERS, LINK_INFO, ATTRIBUTE_INFO = 11, 2, 21
"""Types of messages."""
_SHARED = 2
"""The flag of a message that is stored elsewhere."""
MOST_MESSAGES = 1 << 16
"""The most messages of one object."""


@dataclass(frozen=True, slots=True)
class Message:
    type: int
    flags: int
    data: memoryview

    def fields(self, file: FileBytes) -> Fields:
        """Its fields. Raises FrontendError if they are stored elsewhere."""
        if self.flags & _SHARED:
            raise file.unusual("shared messages")
        return Fields(file, self.data)


def messages_of(file: FileBytes, address: int) -> list[Message]:
    """The messages of the object at an address."""
    found: list[Message] = []
    if bytes(file.at(address, 4)) == b"OHDR":
        blocks = _new_header(file, address)
    else:
        blocks = _old_header(file, address)
    for message in blocks:
        found.append(message)
        if len(found) > MOST_MESSAGES:
            raise file.damaged(f"an object has more than {MOST_MESSAGES} messages")
    return found


def _old_header(file: FileBytes, address: int) -> Iterator[Message]:
    head = file.reader(address, 16)
    version, _, count, _, size = (head.number(n) for n in (1, 1, 2, 4, 4))
    if version != 1:
        raise file.damaged(f"expected the header of an object at {address}")
    blocks = [(address + 16, size)]
    while blocks and count > 0:
        block = file.reader(*blocks.pop(0))
        while block.left >= 8 and count > 0:
            kind, length, flags, _ = (block.number(n) for n in (2, 2, 1, 3))
            message = Message(kind, flags, block.take(length))
            count -= 1
            if kind == CONTINUATION:
                fields = message.fields(file)
                blocks.append((fields.address(), fields.length()))
            yield message


def _new_header(file: FileBytes, address: int) -> Iterator[Message]:
    head = file.reader(address, 8, b"OHDR")
    version, flags = head.number(1), head.number(1)
    if version != 2:
        raise file.damaged(f"expected the header of an object at {address}")
    start = address + 6 + 16 * bool(flags & 32) + 4 * bool(flags & 16)
    width = 1 << (flags & 3)
    size = int.from_bytes(file.at(start, width), "little")
    blocks = [(start + width, size, b"")]
    while blocks:
        block = file.reader(*blocks.pop(0))
        while block.left >= 4 + 2 * bool(flags & 4):
            kind, length, message_flags = (block.number(n) for n in (1, 2, 1))
            block.take(2 * bool(flags & 4))
            message = Message(kind, message_flags, block.take(length))
            if kind == CONTINUATION:
                fields = message.fields(file)
                where, count = fields.address(), fields.length()
                blocks.append((where, count - 4, b"OCHK"))  # a checksum ends it
            yield message
