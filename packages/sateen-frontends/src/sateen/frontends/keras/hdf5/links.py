"""The members of a group by name: tables of the older kind, links of the newer (sections III.B to III.D, IV.A.2.c,
IV.A.2.g)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sateen.frontends.keras.hdf5.bytes_in_file import Fields, FileBytes
from sateen.frontends.keras.hdf5.fractal_heap import FractalHeap
from sateen.frontends.keras.hdf5.headers import LINK, LINK_INFO, SYMBOL_TABLE, Message
from sateen.frontends.keras.hdf5.trees import children_of_old_tree, records_of_new_tree

MOST_NAME_BYTES = 1024
"""The most bytes of a name; those of Keras are names of layers and variables."""
_SOFT = 2
"""The mark of an entry that is a link by name."""
_HASH_BYTES = 4
"""Those of a record before the identifier of its link."""


def members_of(file: FileBytes, messages: Iterable[Message]) -> dict[str, int | None]:
    """The addresses of members; None for links to other places."""
    found: dict[str, int | None] = {}
    for message in messages:
        if message.type == SYMBOL_TABLE:
            found.update(_of_table(file, message.fields(file)))
        elif message.type == LINK:
            found.update([_link(message.fields(file))])
        elif message.type == LINK_INFO:
            found.update(_of_heap(file, message.fields(file)))
    return found


def name_of(file: FileBytes, data: memoryview) -> str:
    """A name, which ends where its bytes or at a zero. Raises FrontendError if it is too long; names may overlap, so
    each counts as data."""
    found = bytes(data[: MOST_NAME_BYTES + 1]).split(b"\0")[0]
    if len(found) > MOST_NAME_BYTES:
        raise file.damaged(f"a name has more than {MOST_NAME_BYTES} bytes")
    file.take_room(len(found), file.what)
    try:
        return found.decode()
    except UnicodeDecodeError:
        raise file.damaged("a name is not in UTF-8") from None


def _of_table(file: FileBytes, fields: Fields) -> Iterator[tuple[str, int | None]]:
    """A tree whose leaves list names, which are in a heap, with addresses."""
    tree, heap = fields.address(), fields.address()
    head = file.reader(heap, 8 + 2 * file.lengths + file.offsets, b"HEAP")
    head.take(4)
    size, _, start = head.length(), head.length(), head.address()
    names = file.at(start, size)
    for _, child in children_of_old_tree(file, tree, file.lengths):
        yield from _entries(file, child, names)


def _entries(file: FileBytes, address: int, names: memoryview) -> Iterator[tuple[str, int | None]]:
    head = file.reader(address, 8, b"SNOD")
    head.take(2)
    count, width = head.number(2), 2 * file.offsets + 24
    entries = file.reader(address + 8, count * width)
    for _ in range(count):
        file.count_structure()
        offset, target, mark = entries.address(), entries.address(), entries.number(4)
        entries.take(20)
        if offset >= len(names):
            raise file.damaged(f"a name lies {offset} bytes into {len(names)}")
        yield name_of(file, names[offset:]), None if mark == _SOFT else target


def _link(fields: Fields) -> tuple[str, int | None]:
    _, flags = fields.number(1), fields.number(1)
    kind = fields.number(1) if flags & 8 else 0
    fields.take(8 * bool(flags & 4) + bool(flags & 16))
    name = name_of(fields.file, fields.take(fields.number(1 << (flags & 3))))
    return name, fields.address() if kind == 0 else None


def _of_heap(file: FileBytes, fields: Fields) -> Iterator[tuple[str, int | None]]:
    """The links of a group that has many."""
    _, flags = fields.number(1), fields.number(1)
    fields.take(8 * bool(flags & 1))
    heap, names = fields.address(), fields.address()
    if heap == file.undefined:
        return
    links = FractalHeap.at(file, heap)
    for record in records_of_new_tree(file, names):
        record.take(_HASH_BYTES)
        yield _link(links.object(record))
