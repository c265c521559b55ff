"""The source of a model: a file, a folder or bytes, within limits. None of it is run."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from sateen.frontends.core.formats import NO_FILE, format_of, format_of_file, format_of_folder
from sateen.runtime.errors import FrontendError, printable


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the resources of the machine that reads a model."""

    model_bytes: int = 2**31 - 1
    """The most bytes of the file; a protobuf message can't have more."""
    nodes: int = 1_000_000
    """The most nodes of all graphs."""
    expanded: int = 50_000
    """The most nodes that calls of function bodies and branches expand to; a few functions can expand to any number."""
    nesting: int = 64
    """The most levels of graphs within graphs and functions within functions."""
    tensor_bytes: int = 2**36
    """The most bytes of all constants together."""


LIMITS = Limits()
"""The default limits."""


@dataclass(frozen=True, slots=True)
class Source:
    """Data of a model. `path` is the file that it was read from, or a folder, which has no data; None: bytes.
    `weights` is the second file of a model of two, where the user gives it."""

    data: bytes
    path: Path | None = None
    weights: Source | None = None

    @property
    def place(self) -> str:
        """The name in errors."""
        return "the given bytes" if self.path is None else printable(str(self.path))

    @property
    def folder(self) -> Path | None:
        """The folder of files beside the model; None: there may be none."""
        return None if self.path is None else self.path.parent

    @property
    def is_folder(self) -> bool:
        return self.path is not None and self.path.is_dir()

    @property
    def format(self) -> str:
        """Its kind, if the content shows it; otherwise ''."""
        if self.path is None:
            return format_of(self.data)
        return format_of_folder(self.path) if self.is_folder else format_of_file(self.path, self.data)


Given = str | Path | bytes
"""A file or folder of a model, or the bytes of a file."""


def read_source(given: Given, limits: Limits, expected: str) -> Source:
    """The source that a path or bytes give. Raises FrontendError for a file that can't be read or exceeds a limit, and
    for a value that is neither bytes nor a path; `expected` names what would be accepted."""
    match given:
        case bytes():
            source = Source(given)
        case str() | PathLike():
            source = _read(Path(given), limits, expected)
        case _:
            raise FrontendError(f"expected {expected}: a path or its bytes, found {type(given).__name__}")
    if len(source.data) > limits.model_bytes:
        raise _too_large(limits, source.place, len(source.data))
    return source


def _read(path: Path, limits: Limits, expected: str) -> Source:
    try:
        size = path.stat().st_size
        if path.is_dir():
            return Source(b"", path)
        if not path.is_file():
            raise FrontendError(f"{path}: expected {expected}, found {NO_FILE}")
        if size > limits.model_bytes:
            raise _too_large(limits, repr(str(path)), size)
        return Source(path.read_bytes(), path)
    except (OSError, ValueError) as error:
        raise FrontendError(f"can't read the model {str(path)!r}: {error}") from None
    except MemoryError:
        raise FrontendError(f"can't read the model {str(path)!r}: there is no memory for its {size} bytes") from None


def _too_large(limits: Limits, place: str, size: int) -> FrontendError:
    return FrontendError(f"expected a model of at most {limits.model_bytes} bytes, {place} has {size}")
