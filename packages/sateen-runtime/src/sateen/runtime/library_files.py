"""Libraries as files, each with its description beside it. Other processes may have mapped a file that is replaced."""

from __future__ import annotations

from pathlib import Path

from sateen.runtime.errors import ArtifactError
from sateen.runtime.files import replacing, write_in_pieces

_BESIDE = {".h": "its header", ".json": "its description"}


def write_library(place: Path, library: bytes, description: str, suffix: str = ".h") -> None:
    """Write a library, and what describes it beside it: its C header, or what else ends in `suffix`.

    Existing files are replaced, both or neither. Raises ArtifactError if they can't be written.
    """
    beside = place.with_suffix(suffix) if place.name else place
    if beside == place:
        raise ArtifactError(
            f"{place}: expected a name for the library that leaves {beside.name!r} to {_BESIDE[suffix]}"
        )
    try:
        with replacing(place) as library_file, replacing(beside) as description_file:
            write_in_pieces(library_file, library)
            description_file.write(description.encode())
    except OSError as error:
        raise ArtifactError(f"{place}: expected a place to write the library to: {error.strerror}") from None
