"""Libraries as files, each with its C header beside it. Other processes may have mapped a file that is replaced."""

from __future__ import annotations

from pathlib import Path

from sateen.runtime.errors import ArtifactError
from sateen.runtime.files import replacing


def write_library(place: Path, library: bytes, header: str) -> None:
    """Write a library, and its C header beside it (ending in .h).

    Existing files are replaced, both or neither. Raises ArtifactError if they can't be written.
    """
    beside = place.with_suffix(".h") if place.name else place
    if beside == place:
        raise ArtifactError(f"{place}: expected a name for the library that leaves {beside.name!r} to its header")
    try:
        with replacing(place) as library_file, replacing(beside) as header_file:
            library_file.write(library)
            header_file.write(header.encode())
    except OSError as error:
        raise ArtifactError(f"{place}: expected a place to write the library to: {error.strerror}") from None
