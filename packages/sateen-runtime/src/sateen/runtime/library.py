"""Shared libraries from bytes. They are checked for this machine before they are mapped, and unloaded when nothing
holds them. They can also be written to files, which other processes may have mapped.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import tempfile
import weakref
from pathlib import Path

from sateen.runtime.elf_records import ELF32, ELF64
from sateen.runtime.errors import ArtifactError
from sateen.runtime.processor import PROCESSORS, host_architecture

_MACHINES = {processor.elf_machine: processor.name for processor in PROCESSORS.values()}
_SHARED_OBJECT, _LOAD = 3, 1


class Library:
    """A shared library, mapped as long as this object or a holder of it lives."""

    __slots__ = ("__weakref__", "_library", "name")

    def __init__(self, image: bytes, name: str) -> None:
        """Maps the bytes of a library; errors contain `name`.

        Raises ArtifactError if this machine can't load it.
        """
        self.name = name
        if sys.platform == "linux":
            check_elf(image, name)
        # The loader knows a library by its path, which the descriptor makes unique, so that stays open while mapped.
        path, descriptor, folder = _place(image)
        try:
            self._library = ctypes.CDLL(path)
        except OSError as error:
            _discard(descriptor, folder)
            raise ArtifactError(f"{name}: the system's loader refused the library: {error}") from None
        weakref.finalize(self, _unload, self._library._handle, descriptor, folder).atexit = False

    def address(self, symbol: str) -> int | None:
        """The address of a function or datum; None if the library has none of that name."""
        try:
            return ctypes.addressof(ctypes.c_char.in_dll(self._library, symbol))
        except ValueError:
            return None

    def text(self, symbol: str) -> bytes:
        """The bytes of a zero-terminated text. Raises ArtifactError if there is none of that name."""
        address = self.address(symbol)
        if address is None:
            raise ArtifactError(f"{self.name}: expected a library that sateen compiled, found one without {symbol}")
        return ctypes.string_at(address)


def check_elf(image: bytes, name: str) -> None:
    """Raises ArtifactError unless the bytes are a whole ELF shared object for this machine (System V ABI, chapters 4
    and 5).
    """
    records = ELF64 if struct.calcsize("P") == ELF64.word else ELF32
    if image[:4] != b"\x7fELF" or len(image) < records.file_header.size:
        raise ArtifactError(
            f"{name}: expected an ELF shared library, found {len(image)} bytes that begin {image[:4]!r}"
        )
    kind, machine = struct.unpack_from("<HH", image, 16)
    found = _MACHINES.get(machine, f"machine {machine}")
    if found != host_architecture() or image[4:6] != records.ident[:2]:
        raise ArtifactError(
            f"{name}: expected a library for {host_architecture()}, found one for {found}; "
            f"compile it for {host_architecture()}"
        )
    if kind != _SHARED_OBJECT:
        raise ArtifactError(f"{name}: expected an ELF shared library, found ELF type {kind}")
    fields = records.file_header.unpack_from(image)
    sections_end = fields[6] + fields[11] * fields[12]
    if sections_end > len(image):
        raise ArtifactError(f"{name}: expected {sections_end} bytes, found {len(image)}: the library is cut short")
    start, size, count = fields[5], fields[9], fields[10]
    if size != records.program_header.size or start + size * count > len(image):
        raise ArtifactError(
            f"{name}: expected a whole library, found its program headers outside of its {len(image)} bytes"
        )
    for index in range(count):
        record = records.program_header.unpack_from(image, start + index * size)
        kind, _, offset, _, _, length, _, _ = records.program_fields(record)
        if kind == _LOAD and offset + length > len(image):
            raise ArtifactError(
                f"{name}: expected {offset + length} bytes, found {len(image)}: the library is cut short"
            )


def _place(image: bytes) -> tuple[str, int | None, tempfile.TemporaryDirectory[str] | None]:
    if sys.platform == "linux":
        descriptor = os.memfd_create("sateen", os.MFD_CLOEXEC)
        with open(descriptor, "wb", closefd=False) as file:
            file.write(image)
        return f"/proc/self/fd/{descriptor}", descriptor, None
    folder = tempfile.TemporaryDirectory(prefix="sateen-", ignore_cleanup_errors=True)
    path = Path(folder.name, "library")
    path.write_bytes(image)
    return str(path), None, folder


def _discard(descriptor: int | None, folder: tempfile.TemporaryDirectory[str] | None) -> None:
    if descriptor is not None:
        os.close(descriptor)
    if folder is not None:
        folder.cleanup()


def _unload(handle: int, descriptor: int | None, folder: tempfile.TemporaryDirectory[str] | None) -> None:
    if sys.platform == "win32":
        ctypes.WinDLL("kernel32").FreeLibrary(ctypes.c_void_p(handle))
    else:
        ctypes.CDLL(None).dlclose(ctypes.c_void_p(handle))
    _discard(descriptor, folder)
