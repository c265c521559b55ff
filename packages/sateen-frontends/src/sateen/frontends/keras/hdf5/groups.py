"""Groups of a file, with their members by name: groups, arrays, attributes (sections II, III.A to III.D, IV.A.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from sateen.frontends.keras.hdf5.bytes_in_file import Fields, FileBytes
from sateen.frontends.keras.hdf5.headers import (
    ATTRIBUTE,
    DATASPACE,
    DATATYPE,
    EXTERNAL,
    FILTERS,
    LAYOUT,
    LINK,
    LINK_INFO,
    SYMBOL_TABLE,
    messages_of,
)
from sateen.frontends.keras.hdf5.values import element_type, extents, numbers, texts
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
MOST_LEVELS = 32
"""The most levels of a tree of members."""
MOST_CHUNKS = 1 << 12
"""The most parts of one attribute, which Keras splits because of its length."""
_SOFT = 2
"""The mark of an entry that is a link by name."""


class Hdf5Group:
    """A group; `what` names it and its file in errors."""

    def __init__(self, file: FileBytes, address: int, what: str) -> None:
        self._file = file
        self._messages = messages_of(file, address)
        self.what = what

    @cached_property
    def _members(self) -> Mapping[str, int | None]:
        """The addresses of members; None for links to other places."""
        found: dict[str, int | None] = {}
        for message in self._messages:
            if message.type == SYMBOL_TABLE:
                found.update(_of_table(self._file, message.fields(self._file)))
            elif message.type == LINK:
                name, address = _link(message.fields(self._file))
                found[name] = address
            elif message.type == LINK_INFO and not _is_compact(message.fields(self._file)):
                raise self._file.unusual("many links in one group of the newer kind")
        return found

    def has(self, name: str) -> bool:
        return name in self._members

    def group(self, path: str) -> Hdf5Group:
        """The group at a path. Raises FrontendError if there is none."""
        found = self
        for name in path.split("/"):
            found = Hdf5Group(self._file, found._address(name, path), f"{found.what}/{name}")
        if any(message.type == LAYOUT for message in found._messages):
            raise FrontendError(f"{found.what}: expected a group, found a dataset")
        return found

    def array(self, path: str) -> Array:
        """The numbers of a dataset. Raises FrontendError if it is no plain array within the file."""
        outer, _, name = path.rpartition("/")
        group = self.group(outer) if outer else self
        what = f"{group.what}/{name}"
        messages = {one.type: one for one in messages_of(self._file, group._address(name, path))}
        if EXTERNAL in messages:
            raise FrontendError(f"{what}: expected data in this file, found data that is stored in others")
        if FILTERS in messages:
            raise self._file.unusual("compressed data")
        if not {DATATYPE, DATASPACE, LAYOUT} <= messages.keys():
            raise FrontendError(f"{what}: expected a dataset, found a group")
        kind, shape, data = (messages[one].fields(self._file) for one in (DATATYPE, DATASPACE, LAYOUT))
        return numbers(self._file, _stored(data, what), element_type(kind), extents(shape), what)

    def _address(self, name: str, path: str) -> int:
        if name not in self._members:
            raise FrontendError(f"{self.what}: expected {path!r}, found none")
        address = self._members[name]
        if address is None:
            raise FrontendError(f"{self.what}: expected {path!r} in this file, found a link to another place")
        return address

    def text(self, name: str) -> str | None:
        """An attribute that is text; None if there is none."""
        found = self._attributes.get(name)
        if found is None:
            return None
        values = found.texts(self._file, f"{self.what}@{name}")
        if len(values) != 1:
            raise FrontendError(f"{self.what}@{name}: expected one text, found {len(values)}")
        return values[0]

    def texts(self, name: str) -> list[str] | None:
        """An attribute that is a list of texts; None if there is none. A long one is split: name0, name1, …"""
        if name in self._attributes:
            return self._attributes[name].texts(self._file, f"{self.what}@{name}")
        parts: list[str] = []
        for chunk in range(MOST_CHUNKS):
            found = self._attributes.get(f"{name}{chunk}")
            if found is None:
                return parts if chunk else None
            parts += found.texts(self._file, f"{self.what}@{name}{chunk}")
        raise FrontendError(f"{self.what}: expected at most {MOST_CHUNKS} parts of attribute {name!r}")

    @cached_property
    def _attributes(self) -> Mapping[str, _Attribute]:
        found = [_attribute(one.fields(self._file)) for one in self._messages if one.type == ATTRIBUTE]
        return {attribute.name: attribute for attribute in found}


@dataclass(frozen=True, slots=True)
class _Attribute:
    name: str
    kind: Fields
    shape: Fields
    data: memoryview

    def texts(self, file: FileBytes, what: str) -> list[str]:
        shape = extents(Fields(file, self.shape.data))
        kind = element_type(Fields(file, self.kind.data))
        if 0 in shape:  # h5py writes an empty list as numbers
            return []
        return texts(file, self.data, kind, shape, what)


def _attribute(fields: Fields) -> _Attribute:
    """Version 1 aligns its parts to 8 bytes; version 3 says the encoding of the name."""
    version, flags = fields.number(1), fields.number(1)
    if version not in {1, 2, 3} or (version > 1 and flags):
        raise fields.file.unusual(f"attributes of version {version}")
    sizes = [fields.number(2) for _ in range(3)]
    fields.take(1 if version == 3 else 0)
    parts = []
    for size in sizes:
        parts.append(fields.take(size))
        if version == 1:
            fields.take(min(-size % 8, fields.left))
    name, kind, shape = parts
    return _Attribute(
        _name(fields.file, name), Fields(fields.file, kind), Fields(fields.file, shape), fields.take(fields.left)
    )


def _name(file: FileBytes, data: memoryview | bytes) -> str:
    try:
        return bytes(data).split(b"\0")[0].decode()
    except UnicodeDecodeError:
        raise file.damaged("a name is not in UTF-8") from None


def _of_table(file: FileBytes, fields: Fields) -> Iterator[tuple[str, int | None]]:
    """The members of a group: a tree whose leaves list names, which are in a heap, with addresses."""
    tree, heap = fields.address(), fields.address()
    head = file.reader(heap, 8 + 2 * file.lengths + file.offsets, b"HEAP")
    head.take(4)
    size, _, start = head.length(), head.length(), head.address()
    names = bytes(file.at(start, size))
    pending = [(tree, 0)]
    while pending:
        address, level = pending.pop()
        if level > MOST_LEVELS:
            raise file.damaged(f"a tree has more than {MOST_LEVELS} levels")
        if bytes(file.at(address, 4)) == b"SNOD":
            yield from _entries(file, address, names)
            continue
        node = file.reader(address, 8 + 2 * file.offsets, b"TREE")
        node.take(2)
        count = node.number(2)
        children = file.reader(address + 8 + 2 * file.offsets, count * (file.lengths + file.offsets))
        for _ in range(count):
            children.length()
            pending.append((children.address(), level + 1))


def _entries(file: FileBytes, address: int, names: bytes) -> Iterator[tuple[str, int | None]]:
    head = file.reader(address, 8, b"SNOD")
    head.take(2)
    count, width = head.number(2), 2 * file.offsets + 24
    entries = file.reader(address + 8, count * width)
    for _ in range(count):
        offset, target, mark = entries.address(), entries.address(), entries.number(4)
        entries.take(20)
        if offset >= len(names):
            raise file.damaged(f"a name lies {offset} bytes into {len(names)}")
        end = bytes(names[offset:]).find(b"\0")
        yield (
            _name(file, names[offset : offset + end] if end >= 0 else names[offset:]),
            None if mark == _SOFT else target,
        )


def _link(fields: Fields) -> tuple[str, int | None]:
    """A member of a group of the newer kind."""
    _, flags = fields.number(1), fields.number(1)
    kind = fields.number(1) if flags & 8 else 0
    fields.take(8 * bool(flags & 4) + bool(flags & 16))
    name = _name(fields.file, fields.take(fields.number(1 << (flags & 3))))
    return name, fields.address() if kind == 0 else None


def _is_compact(fields: Fields) -> bool:
    """Whether a group of the newer kind has its links as messages, not in a heap."""
    _, flags = fields.number(1), fields.number(1)
    fields.take(8 * bool(flags & 1))
    return fields.address() == fields.file.undefined


def _stored(fields: Fields, what: str) -> memoryview:
    """The bytes of a dataset that are in one piece."""
    version, kind = fields.number(1), fields.number(1)
    if version not in {3, 4} or kind not in {0, 1}:
        raise fields.file.unusual("data in chunks")
    if kind == 0:
        return fields.take(fields.number(2))
    address, size = fields.address(), fields.length()
    if address == fields.file.undefined and size:
        raise FrontendError(f"{what}: expected {size} bytes of data, which were never written")
    return fields.file.at(address, size) if size else memoryview(b"")


def open_hdf5(data: bytes, most_bytes: int, what: str) -> Hdf5Group:
    """The root of a file. Raises FrontendError if it is damaged; all arrays read may have `most_bytes` in all."""
    file = FileBytes(memoryview(data), what, most_bytes)
    head = Fields(file, file.at(0, min(len(data), 128)))
    if bytes(head.take(8)) != _SIGNATURE:
        raise file.damaged("it does not begin as one")
    version = head.number(1)
    if version in {0, 1}:
        head.take(4)
        file.offsets, file.lengths = head.number(1), head.number(1)
        head.take(9 + 4 * version)
        skipped = 5  # base, free space, end, driver; the name of the root
    elif version in {2, 3}:
        file.offsets, file.lengths = head.number(1), head.number(1)
        head.take(1)
        skipped = 3
    else:
        raise file.unusual(f"a superblock of version {version}")
    if file.offsets not in {4, 8} or file.lengths not in {4, 8}:
        raise file.damaged(f"expected addresses of 4 or 8 bytes, found {file.offsets} and {file.lengths}")
    if head.address() != 0:
        raise file.unusual("another base address")
    for _ in range(skipped - 1):
        head.address()
    return Hdf5Group(file, head.address(), what)
