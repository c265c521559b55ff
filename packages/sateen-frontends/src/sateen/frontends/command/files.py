"""What kind of file a path names, by its content; and what is said where one can't be written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sateen.runtime import ArgumentError, FrontendError
from sateen.runtime.artifact import MAGIC

_OTHER_FORMATS = (
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras writes"),
    (4, b"TFL3", "a TensorFlow Lite model"),
    (0, b"PK\x03\x04", "a zip archive, as PyTorch and Keras write"),
    (0, b"\x93NUMPY", "a NumPy array"),
    (0, b"\x7fELF", "a native library"),
    (0, b"{", "JSON, as MXNet writes"),
)


def is_artifact(path: Path) -> bool:
    """Whether the file is an artifact of sateen; else it may be a model.

    Raises FrontendError for what is no file of data, for an empty file and for one that is known to be neither.
    """
    if not path.is_file():  # a pipe would keep us waiting, a device has no end
        raise FrontendError(f"expected a file with an ONNX model or an artifact of sateen, found {str(path)!r}")
    with path.open("rb") as file:
        head = file.read(64)
    if head.startswith(MAGIC):
        return True
    found = "an empty file" if not head else ""
    for offset, magic, name in _OTHER_FORMATS:
        if head[offset:].startswith(magic):
            found = name
    if found:
        raise FrontendError(f"{path}: expected an ONNX model or an artifact of sateen, found {found}")
    return False


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """A block that writes `path`. Raises ArgumentError where it can't."""
    try:
        yield
    except OSError as error:
        raise ArgumentError(f"can't write {path}: {error.strerror}") from None
