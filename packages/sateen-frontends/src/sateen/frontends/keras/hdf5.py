"""Reads HDF5 files from memory: plain datasets, groups and attributes of text, within limits.

Links to other places and files, data that is stored elsewhere, and types other than numbers are refused. h5py, an
extra, parses the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import numpy as np

from sateen.frontends.core.packages import imported
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

MOST_EXPANSION = 100
"""The most bytes of data per byte of the file, which may be compressed."""
MOST_CHUNKS = 1 << 16
"""The most parts of one attribute that Keras splits because of its length."""


class Hdf5Group:
    """A group of a file; `what` names the file and the group in errors."""

    def __init__(self, group: Any, allowance: list[int], what: str) -> None:
        self._group = group
        self._allowance = allowance
        self.what = what

    def names(self) -> list[str]:
        with _reported(self.what):
            return list(self._group.keys())

    def has(self, name: str) -> bool:
        with _reported(self.what):
            return name in self._group

    def group(self, path: str) -> Hdf5Group:
        """The group at a path. Raises FrontendError if there is none."""
        found = self._at(path)
        if not hasattr(found, "keys"):
            raise FrontendError(f"{self.what}: expected a group {path!r}, found a dataset")
        return Hdf5Group(found, self._allowance, f"{self.what}/{path}")

    def array(self, path: str) -> Array:
        """The data of a dataset. Raises FrontendError if it is no plain array of numbers, or larger than its file."""
        found, where = self._at(path), f"{self.what}/{path}"
        with _reported(where):
            if not hasattr(found, "dtype"):
                raise FrontendError(f"{where}: expected a dataset, found a group")
            if found.external or found.is_virtual:
                raise FrontendError(f"{where}: expected data in this file, found data that is stored in others")
            if found.shape is None or found.dtype.kind not in "fiub":
                raise FrontendError(
                    f"{where}: expected an array of numbers, found {found.dtype} of shape {found.shape}"
                )
            self._allowance[0] -= found.nbytes
            if self._allowance[0] < 0 or found.nbytes > MOST_EXPANSION * max(found.id.get_storage_size(), 1):
                raise FrontendError(f"{where}: has {found.nbytes} bytes, more than its file can hold")
            return np.asarray(found[()])

    def text(self, name: str) -> str | None:
        """An attribute that is text; None if there is none."""
        value = self._attribute(name)
        if value is None:
            return None
        return _text(
            value.item() if isinstance(value, np.ndarray) and value.size == 1 else value, f"{self.what}@{name}"
        )

    def texts(self, name: str) -> list[str] | None:
        """An attribute that is a list of texts; None if there is none. A long one is split: name0, name1, …"""
        value = self._attribute(name)
        if value is not None:
            return [_text(item, f"{self.what}@{name}") for item in np.asarray(value).reshape(-1).tolist()]
        parts: list[str] = []
        for chunk in range(MOST_CHUNKS):
            value = self._attribute(f"{name}{chunk}")
            if value is None:
                return parts if chunk else None
            parts += [_text(item, f"{self.what}@{name}{chunk}") for item in np.asarray(value).reshape(-1).tolist()]
        raise FrontendError(f"{self.what}: expected at most {MOST_CHUNKS} parts of attribute {name!r}")

    def _attribute(self, name: str) -> Any:
        with _reported(self.what):
            return self._group.attrs.get(name)

    def _at(self, path: str) -> Any:
        """The group or dataset at a path, each part of which is a hard link."""
        h5py = _h5py()
        found = self._group
        with _reported(f"{self.what}/{path}"):
            for part in path.split("/"):
                link = found.get(part, getlink=True) if hasattr(found, "keys") and part in found else None
                if link is None:
                    raise FrontendError(f"{self.what}: expected {path!r}, found none")
                if not isinstance(link, h5py.HardLink):
                    raise FrontendError(f"{self.what}: expected {path!r} in this file, found a link to another place")
                found = found[part]
        return found


def open_hdf5(data: bytes, most_bytes: int, what: str) -> Hdf5Group:
    """The root of a file. Raises FrontendError if it is damaged; all arrays read may have `most_bytes` in all."""
    h5py = _h5py()
    with _reported(what):
        root = h5py.File(BytesIO(data), "r", locking=False)
    return Hdf5Group(root, [min(most_bytes, MOST_EXPANSION * len(data))], what)


def _h5py() -> Any:
    return imported("h5py", "Keras models are read by h5py: pip install 'sateen-frontends[keras]'")


@contextmanager
def _reported(what: str) -> Iterator[None]:
    """h5py's own errors, of many types, as one."""
    try:
        yield
    except FrontendError:
        raise
    except (
        OSError,
        RuntimeError,
        ValueError,
        TypeError,
        KeyError,
        OverflowError,
        AttributeError,
        MemoryError,
    ) as error:
        raise FrontendError(f"{what}: h5py can't read it: {error}") from None


def _text(value: object, what: str) -> str:
    try:
        text = value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        text = None
    if not isinstance(text, str):
        raise FrontendError(f"{what}: expected text in UTF-8, found {value!r}")
    return text
