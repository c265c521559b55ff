"""The files in a zip archive, as memory of the archive wherever they are stored as they are.

Nothing is unpacked to disk. Names that leave the archive, names given twice, encrypted files and files that inflate
by more than a hundred times, each or all together, are refused.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from sateen.frontends.core.beside import plain_path
from sateen.runtime.errors import FrontendError

MOST_FILES = 100_000
"""The most files of an archive."""
MOST_RATIO = 100
"""The most bytes that a byte of a compressed file may stand for."""
_LOCAL_HEADER = struct.Struct("<4s22xHH")
"""The header in front of a file: its signature, and the lengths of name and extra field behind it (APPNOTE 4.3.7)."""
_CENTRAL_SIGNATURE = b"PK\x01\x02"
_DAMAGED = (BadZipFile, EOFError, NotImplementedError, OSError, RuntimeError, ValueError, struct.error, zlib.error)
"""What zipfile raises for damaged, encrypted and unknown content."""


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive whose directory is checked. `place` is its name in errors."""

    data: bytes
    place: str
    entries: dict[str, ZipInfo]

    @property
    def names(self) -> Collection[str]:
        return self.entries.keys()

    def read(self, name: str, most: int | None = None) -> memoryview:
        """The content of a file. Raises FrontendError if there is none of this name, or if it is damaged, or before
        it is inflated if it has more than `most` bytes."""
        if name not in self.entries:
            raise FrontendError(f"{self.place}: expected a file {name!r} in the archive, found none")
        entry = self.entries[name]
        if most is not None and entry.file_size > most:
            sizes = f"at most {most} bytes, found {entry.file_size}"
            raise FrontendError(f"{self.place}: expected {name!r} in the archive to have {sizes}")
        try:
            content = self._inflated(entry) if entry.compress_type == ZIP_DEFLATED else self._bytes_of(entry)
        except _DAMAGED as error:
            raise FrontendError(f"{self.place}: {name!r} in the archive can't be read: {error}") from None
        if zlib.crc32(content) != entry.CRC:
            raise FrontendError(f"{self.place}: {name!r} in the archive is damaged: its checksum differs")
        return content

    def _inflated(self, entry: ZipInfo) -> memoryview:
        stream = zlib.decompressobj(-zlib.MAX_WBITS)
        content = stream.decompress(self._bytes_of(entry), entry.file_size + 1)
        if len(content) != entry.file_size:
            raise BadZipFile(f"it inflates to another number of bytes than {entry.file_size}")
        return memoryview(content)

    def _bytes_of(self, entry: ZipInfo) -> memoryview:
        """The bytes of a file as they stand in the archive."""
        signature, name_bytes, extra_bytes = _LOCAL_HEADER.unpack_from(self.data, entry.header_offset)
        start = entry.header_offset + _LOCAL_HEADER.size + name_bytes + extra_bytes
        content = memoryview(self.data)[start : start + entry.compress_size]
        if signature != b"PK\x03\x04" or len(content) != entry.compress_size or entry.flag_bits & 1:
            raise BadZipFile("its header is no header of a plain file")
        return content


def open_archive(data: bytes, place: str) -> Archive:
    """The directory of an archive. Raises FrontendError if it is damaged or hostile."""
    if data.count(_CENTRAL_SIGNATURE) > MOST_FILES:
        raise FrontendError(f"{place}: expected a zip archive of at most {MOST_FILES} files, found more")
    try:
        with ZipFile(BytesIO(data)) as archive:
            found = archive.infolist()
    except _DAMAGED as error:
        raise FrontendError(f"{place}: expected a whole zip archive, found a damaged one: {error}") from None
    entries: dict[str, ZipInfo] = {}
    for entry in found:
        name = entry.filename
        plain_path(name.removesuffix("/"), f"{place}: a file of the archive")
        if name in entries:
            raise FrontendError(f"{place}: expected each file of the archive once, found {name!r} twice")
        if entry.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:
            raise FrontendError(f"{place}: {name!r} in the archive is compressed in a way that is not supported")
        if entry.compress_type == ZIP_STORED and entry.compress_size != entry.file_size:
            raise FrontendError(f"{place}: {name!r} in the archive is stored as it is, with two lengths")
        if entry.file_size > MOST_RATIO * max(entry.compress_size, 1) or entry.compress_size > len(data):
            sizes = f"{entry.compress_size} bytes for {entry.file_size}"
            raise FrontendError(f"{place}: {name!r} in the archive has {sizes}; expected at most {MOST_RATIO} for one")
        entries[name] = entry
    total = sum(entry.file_size for entry in found)  # files may share the bytes that they inflate from
    if total > MOST_RATIO * len(data):
        raise FrontendError(f"{place}: {total} bytes are in {len(data)}; expected at most {MOST_RATIO} for one")
    return Archive(data, place, entries)
