"""Arrays in files: FILE.npy, FILE.npz:KEY, and the inputs that an FILE.npz holds by name."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sateen.graph_ir.graph import Array
from sateen.runtime import ArgumentError, Parameter

NPY_MAGIC = b"\x93NUMPY"
ZIP_MAGIC = b"PK\x03\x04"


def is_array_file(path: Path) -> bool:
    """Whether a file holds arrays of NumPy, by its content."""
    with path.open("rb") as file:
        return file.read(8).startswith((NPY_MAGIC, ZIP_MAGIC))


def split_key(text: str) -> tuple[Path, str]:
    """The file and the key of FILE or FILE:KEY; a key may hold colons. Raises ArgumentError where no file is found."""
    words = text.split(":")
    for count in range(len(words), 0, -1):
        path = Path(":".join(words[:count]))
        if path.is_file():
            return path, ":".join(words[count:])
    raise ArgumentError(f"expected a file, found none at {text!r}")


def read_array(text: str, name: str) -> Array:
    """The array that FILE.npy or FILE.npz:KEY names; without a key that of `name`, `in/name`, or the only one.

    Raises ArgumentError for a file without that array or with something else in it. Nothing is unpickled.
    """
    path, key = split_key(text)
    content = _read(path)
    if isinstance(content, np.ndarray):
        if key:
            raise ArgumentError(f"{path} holds one array; expected no key, found {key!r}")
        return np.asarray(content, order="C")
    for candidate in (key,) if key else (name, f"in/{name}", *(list(content) if len(content) == 1 else ())):
        if candidate in content:
            return np.asarray(content[candidate], order="C")
    raise ArgumentError(f"{path}: expected array {key or name!r}, found {', '.join(content) or 'none'}")


def read_arrays(path: Path) -> dict[str, Array]:
    """All arrays of an npz file, by key. Raises ArgumentError for any other file."""
    content = _read(path)
    if isinstance(content, np.ndarray):
        raise ArgumentError(f"{path}: expected an npz file with arrays by name, found a single array")
    return content


def named_inputs(arrays: Mapping[str, Array], parameters: Sequence[Parameter], path: Path) -> dict[str, Array]:
    """The inputs of a network among arrays called NAME or in/NAME. Raises ArgumentError where one is missing."""
    inputs = {}
    for p in parameters:
        key = p.name if p.name in arrays else f"in/{p.name}"
        if key not in arrays:
            raise ArgumentError(f"{path}: expected an array for input {p}, found {', '.join(arrays) or 'none'}")
        inputs[p.name] = np.asarray(arrays[key], order="C")
    return inputs


def random_inputs(parameters: Sequence[Parameter], seed: int) -> dict[str, Array]:
    """Arrays of a seed: normally distributed floats; integers 0 and 1, valid indices of nearly anything."""
    generator = np.random.default_rng(seed)
    inputs: dict[str, Array] = {}
    for p in parameters:
        shape = tuple(extent for extent in p.shape if isinstance(extent, int))
        if p.dtype.is_float:
            inputs[p.name] = generator.standard_normal(shape).astype(p.dtype.numpy)
        else:
            inputs[p.name] = generator.integers(0, 2, shape).astype(p.dtype.numpy)
    return inputs


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write an npz file of arrays under any names, those that numpy.savez refuses included."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def _read(path: Path) -> Array | dict[str, Array]:
    try:
        content = np.load(path, allow_pickle=False)
        if isinstance(content, np.ndarray):
            return content
        with content:
            return {key: content[key] for key in content.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise ArgumentError(f"{path}: expected arrays of NumPy (npy or npz): {error}") from None
