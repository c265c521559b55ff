"""A network as a static archive: the objects that the compiler made, under names of its own, and its parameters.

An archive has the format of `ar`, in the System V variant that linkers for ELF read: an index of symbols first, then
the objects. Times, owners and modes are constants, so that equal objects give equal bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sateen.runtime.elf_object import object_of_data, renaming, sizes_of, symbols_of, with_names
from sateen.runtime.errors import ArtifactError

ARCHIVE_MAGIC = b"!<arch>\n"
PARAMETER_DATA = "sateen_parameter_data"
"""The symbol of the parameters, which the objects leave undefined."""
_ALIGNMENT = 64
_HEADER_BYTES = 60
_INDEX = "/"
_MEMBER = re.compile(r"[A-Za-z0-9_.]{1,15}")
_LARGEST_INDEX = 1 << 32


@dataclass(frozen=True, slots=True)
class Footprint:
    """The bytes that a network takes of a machine without a system.

    Flash holds `code`, with the constants in it, and `parameters`. Memory holds `data`, which the code writes,
    `workspace`, `arrays`, which are inputs and outputs, and `stack`, the most that the network's functions take, which
    is not counted where it is None, not known.
    """

    code: int
    parameters: int
    data: int
    workspace: int
    arrays: int
    stack: int | None

    @property
    def flash(self) -> int:
        return self.code + self.parameters

    @property
    def memory(self) -> int:
        return self.data + self.workspace + self.arrays + (self.stack or 0)


def pack_archive(members: Mapping[str, bytes]) -> bytes:
    """The archive of ELF objects, by name: 15 letters, digits, points and underscores at most.

    Raises ArtifactError for another name, for what is no object, and for 4 GiB or more.
    """
    for name in members:
        if not _MEMBER.fullmatch(name):
            raise ArtifactError(f"expected up to 15 letters and digits as the name of a member, found {name!r}")
    defined = [(name, symbol) for name, content in members.items() for symbol in symbols_of(content).defined]
    texts = b"".join(symbol.encode() + b"\0" for _, symbol in defined)
    index_bytes = 4 * (1 + len(defined)) + len(texts)
    places: dict[str, int] = {}
    place = len(ARCHIVE_MAGIC) + _HEADER_BYTES + _even(index_bytes)
    for name, content in members.items():
        places[name] = place
        place += _HEADER_BYTES + _even(len(content))
    if place >= _LARGEST_INDEX:
        raise ArtifactError(f"expected objects of less than 4 GiB for a static archive, found {place} bytes")
    index = b"".join(number.to_bytes(4, "big") for number in (len(defined), *(places[name] for name, _ in defined)))
    parts = [ARCHIVE_MAGIC, *_member(_INDEX, index + texts)]
    for name, content in members.items():
        parts += _member(f"{name}/", content)
    return b"".join(parts)


def members_of(archive: bytes) -> dict[str, bytes]:
    """The objects of an archive that `pack_archive` made. Raises ArtifactError for another file."""
    if archive[: len(ARCHIVE_MAGIC)] != ARCHIVE_MAGIC:
        raise ArtifactError(f"expected a static archive, found {len(archive)} bytes that begin with {archive[:8]!r}")
    members: dict[str, bytes] = {}
    place = len(ARCHIVE_MAGIC)
    while place < len(archive):
        head = archive[place : place + _HEADER_BYTES]
        name, length = head[:16].decode("ascii", "replace").rstrip(), head[48:58].strip()
        start = place + _HEADER_BYTES
        if len(head) < _HEADER_BYTES or head[58:] != b"`\n" or not length.isdigit():
            raise ArtifactError(f"expected the header of a member at {place} of a static archive, found {head!r}")
        place = start + _even(int(length))
        if place > len(archive):
            raise ArtifactError(f"expected {int(length)} bytes of {name!r} in a static archive, found its end")
        if name != _INDEX:
            members[name.removesuffix("/")] = archive[start : start + int(length)]
    return members


def network_archive(archive: bytes, parameters: bytes | memoryview, name: str) -> bytes:
    """The archive of a network with its parameters, all of whose names begin with `name`.

    What it needs of others, such as memcpy, keeps its name. Raises ArtifactError for another archive.
    """
    members = members_of(archive)
    if not any(PARAMETER_DATA in symbols_of(content).undefined for content in members.values()):
        raise ArtifactError("expected the archive of a network, found one that needs no parameters")
    data = object_of_data(next(iter(members.values())), PARAMETER_DATA, parameters or bytes(64), _ALIGNMENT)
    members = {**members, "parameters.o": data}
    names = renaming([*members.values()], lambda symbol: symbol_of(name, symbol))
    return pack_archive({member: with_names(content, names) for member, content in members.items()})


def symbol_of(name: str, symbol: str) -> str:
    """The name of a symbol of the compiler in the library, archive or text of a network with this name."""
    return f"{name}_sateen_{symbol.removeprefix('sateen_')}"


def code_sizes(archive: bytes) -> tuple[int, int]:
    """The bytes that the objects of an archive take: those that are only read, and those that are written."""
    sizes = [sizes_of(content) for content in members_of(archive).values()]
    return sum(s.constant for s in sizes), sum(s.written for s in sizes)


def _member(name: str, content: bytes) -> tuple[bytes, bytes, bytes]:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(content):<10}`\n".encode("ascii")
    return head, content, b"\n" * (len(content) % 2)


def _even(size: int) -> int:
    return size + size % 2
