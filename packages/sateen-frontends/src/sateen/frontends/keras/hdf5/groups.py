"""Groups of a file, with their members by name: groups, arrays, attributes (sections II, IV.A)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

from sateen.frontends.keras.hdf5.attributes import Attribute, attributes_of
from sateen.frontends.keras.hdf5.bytes_in_file import Fields, FileBytes
from sateen.frontends.keras.hdf5.headers import LAYOUT, messages_of
from sateen.frontends.keras.hdf5.layouts import array_of
from sateen.frontends.keras.hdf5.links import members_of
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
MOST_PARTS = 1 << 12
"""The most parts of one attribute, which Keras splits because of its length."""
MOST_EXPANSION = 100
"""The most bytes of arrays and text that a byte of the file may hold."""
MOST_PATH = 1 << 12
"""The most characters of a path; a group may lie in itself, so that paths have no end."""
_SHOWN = 200
"""The most characters of a name in errors."""


class Hdf5Group:
    """A group or an array; `what` names it and its file in errors."""

    def __init__(self, file: FileBytes, address: int, what: str) -> None:
        self._file = file
        self._address = address
        self._messages = messages_of(file, address)
        self._opened: dict[str, Hdf5Group] = {}
        self.what = what

    @cached_property
    def _members(self) -> Mapping[str, int | None]:
        return members_of(self._file, self._messages)

    @cached_property
    def _attributes(self) -> Mapping[str, Attribute]:
        return attributes_of(self._file, self._messages)

    @property
    def _is_array(self) -> bool:
        return any(message.type == LAYOUT for message in self._messages)

    def has(self, name: str) -> bool:
        return name in self._members

    def group(self, path: str) -> Hdf5Group:
        """The group at a path. Raises FrontendError if there is none."""
        found = self._at(path)
        if found._is_array:
            raise FrontendError(f"{found.what}: expected a group, found a dataset")
        return found

    def array(self, path: str) -> Array:
        """The numbers of a dataset. Raises FrontendError if it is no array within the file."""
        found = self._at(path)
        return array_of(self._file, {message.type: message for message in found._messages}, found.what)

    def arrays(self, but: Collection[str] = ()) -> Iterator[str]:
        """The paths of all arrays in the group and in those within it, but those called `but`, each once; what links to
        other places is left out."""
        seen, pending = {self._address}, [("", self)]
        while pending:
            path, group = pending.pop()
            for name, address in group._members.items():
                if address is None or address in seen or name in but:
                    continue
                seen.add(address)
                inner = group._at(name)
                if inner._is_array:
                    yield f"{path}{name}"
                else:
                    pending.append((f"{path}{name}/", inner))

    def _at(self, path: str) -> Hdf5Group:
        if len(path) > MOST_PATH:
            shown = f"{path[:_SHOWN]!r}… with {len(path)}"
            raise FrontendError(f"{self.what}: expected a path of at most {MOST_PATH} characters, found {shown}")
        found = self
        for name in path.split("/"):
            found = found._member(name, path)
        return found

    def _member(self, name: str, path: str) -> Hdf5Group:
        if name not in self._members:
            raise FrontendError(f"{self.what}: expected {path[:_SHOWN]!r}, found none")
        address = self._members[name]
        if address is None:
            raise FrontendError(f"{self.what}: expected {path[:_SHOWN]!r} in this file, found a link to another place")
        if name not in self._opened:
            self._opened[name] = Hdf5Group(self._file, address, f"{self.what}/{name[:_SHOWN]}")
        return self._opened[name]

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
        for part in range(MOST_PARTS):
            found = self._attributes.get(f"{name}{part}")
            if found is None:
                return parts if part else None
            parts += found.texts(self._file, f"{self.what}@{name}{part}")
        raise FrontendError(f"{self.what}: expected at most {MOST_PARTS} parts of attribute {name!r}")


def open_hdf5(data: bytes, most_bytes: int, what: str) -> Hdf5Group:
    """The root of a file. Raises FrontendError if it is damaged; all arrays read may have `most_bytes` in all."""
    file = FileBytes(memoryview(data), what, min(most_bytes, MOST_EXPANSION * len(data)))
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
