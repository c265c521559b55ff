"""Reads .keras archives: three files by their names, from memory, with lengths checked before they are unpacked."""

from __future__ import annotations

import zipfile
import zlib
from io import BytesIO

from sateen.frontends.core.source import Limits, Source
from sateen.runtime.errors import FrontendError

CONFIGURATION, METADATA, WEIGHTS = "config.json", "metadata.json", "model.weights.h5"
MOST_EXPANSION = 100
"""The most bytes that a byte of the archive may unpack to."""


def unpacked(source: Source, limits: Limits) -> tuple[bytes, bytes, bytes]:
    """The configuration, the metadata and the weights. Raises FrontendError if they are missing, damaged or too
    large."""
    try:
        with zipfile.ZipFile(BytesIO(source.data)) as archive:
            configuration, metadata, weights = (
                _member(archive, name, source, limits) for name in (CONFIGURATION, METADATA, WEIGHTS)
            )
            return configuration, metadata, weights
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise FrontendError(f"{source.place}: expected a .keras archive, which is damaged: {error}") from None


def _member(archive: zipfile.ZipFile, name: str, source: Source, limits: Limits) -> bytes:
    """The one file of a name. Other files, and names with folders, are never read."""
    found = [entry for entry in archive.infolist() if entry.filename == name]
    if len(found) != 1:
        count = len(found) or "none"
        raise FrontendError(f"{source.place}: expected one {name!r} in the archive, found {count}; save the model anew")
    (entry,) = found
    most = min(limits.model_bytes, MOST_EXPANSION * len(source.data))
    if entry.file_size > most:
        raise FrontendError(
            f"{source.place}: {name!r} would unpack to {entry.file_size} bytes, at most {most} expected"
        )
    with archive.open(entry) as file:
        data = file.read(entry.file_size + 1)
    if len(data) != entry.file_size:
        raise FrontendError(f"{source.place}: expected {entry.file_size} bytes in {name!r}, found another number")
    return data
