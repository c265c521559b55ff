"""Arrays in files: FILE.npy, FILE.npz:KEY, and the inputs that an FILE.npz holds by name.

A file may come from anywhere. Only requested arrays are read or decompressed, and only after their headers show that
they are not too large. Nothing is unpickled.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from sateen.graph_ir.ir import Array
from sateen.runtime import ArgumentError, Parameter
from sateen.runtime.display import did_you_mean, named
from sateen.runtime.files import open_regular
from sateen.topi.types import MOST_DIMENSIONS

NPY_MAGIC = b"\x93NUMPY"
ZIP_MAGIC = b"PK\x03\x04"
OUTLIER = 1e3
"""The factor by which an outlier is larger than others; attention sinks and saturated pixels are outliers."""
MOST_ELEMENTS = 1 << 28
"""The most elements of an array without another bound."""
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1


class ArrayFile:
    """The arrays of an open npy file, whose only key is '', or of an npz file."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        """Raises ArgumentError for other files."""
        self.path = path
        self._file = file
        self._members: dict[str, zipfile.ZipInfo] = {}
        self._archive: zipfile.ZipFile | None = None
        if file.read(8).startswith(ZIP_MAGIC):
            with self._reading(""):
                self._archive = zipfile.ZipFile(file)
                self._members = {info.filename.removesuffix(".npy"): info for info in self._archive.infolist()}

    @property
    def keys(self) -> list[str]:
        return [""] if self._archive is None else list(self._members)

    def read(self, key: str, most_elements: int = MOST_ELEMENTS) -> Array:
        """The array of a key. Raises ArgumentError if it is no array of NumPy, or has more elements."""
        with self._reading(key):
            if self._archive is None:
                self._file.seek(0)
                return _read(self._file, most_elements)
            info = self._members[key]
            if info.compress_type not in _COMPRESSIONS or info.flag_bits & _ENCRYPTED:
                raise ValueError("expected an archive as NumPy writes it, found another compression or a password")
            with self._archive.open(info) as member:
                return _read(member, most_elements)

    @contextmanager
    def _reading(self, key: str) -> Iterator[None]:
        try:
            yield
        except (ValueError, EOFError, OSError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
            where = f"{self.path}: array {key!r}" if key else f"{self.path}"
            raise ArgumentError(f"{where}: expected arrays of NumPy (npy or npz): {error}") from None


@contextmanager
def open_arrays(path: Path) -> Iterator[ArrayFile]:
    """The arrays in a file. Raises ArgumentError if it can't be read or holds something else."""
    try:
        file = open_regular(path)
    except OSError as error:
        raise ArgumentError(f"{path}: expected arrays of NumPy (npy or npz): {error.strerror}") from None
    with file:
        yield ArrayFile(file, path)


def is_array_file(path: Path) -> bool:
    """Whether a file holds arrays of NumPy, by its content."""
    with open_regular(path) as file:
        return file.read(8).startswith((NPY_MAGIC, ZIP_MAGIC))


def split_key(text: str) -> tuple[Path, str]:
    """The file and the key of FILE or FILE:KEY; a key may contain colons. Raises ArgumentError if no file is found."""
    words = text.split(":")
    for count in range(len(words), 0, -1):
        path = Path(":".join(words[:count]))
        if path.is_file():
            return path, ":".join(words[count:])
    found = "a folder" if Path(text).is_dir() else "none"
    raise ArgumentError(f"expected a file, found {found} at {text!r}")


def read_array(text: str, name: str, most_elements: int = MOST_ELEMENTS) -> Array:
    """The array that FILE.npy or FILE.npz:KEY names; without a key that of `name`, `in/name`, or the only one.

    Raises ArgumentError for a file without that array, with more elements or with something else in it.
    """
    path, key = split_key(text)
    with open_arrays(path) as content:
        keys = content.keys
        if keys == [""]:
            if key:
                raise ArgumentError(f"{path} holds one array; expected no key, found {key!r}")
            return content.read("", most_elements)
        for candidate in (key,) if key else (name, f"in/{name}", *(keys if len(keys) == 1 else ())):
            if candidate in keys:
                return content.read(candidate, most_elements)
        remedy = did_you_mean(key or name, keys) or ("" if key or not keys else f"; name one, as {path}:{keys[0]}")
        raise ArgumentError(f"{path}: expected array {key or name!r}, found {named(keys)}{remedy}")


def named_inputs(content: ArrayFile, parameters: Sequence[Parameter]) -> dict[str, Array]:
    """The inputs of a network among arrays called NAME or in/NAME. Raises ArgumentError if one is missing."""
    keys = content.keys
    if keys == [""]:
        raise ArgumentError(f"{content.path}: expected an npz file with arrays by name, found a single array")
    inputs = {}
    for p in parameters:
        key = p.name if p.name in keys else f"in/{p.name}"
        if key not in keys:
            raise ArgumentError(f"{content.path}: expected an array for input {p}, found {named(keys)}")
        inputs[p.name] = content.read(key, elements_of(p))
        require_type(f"{content.path}: array {key!r}", inputs[p.name], p)
    return inputs


def require_type(where: str, array: Array, p: Parameter) -> None:
    """Raises ArgumentError for an array of another shape than an input's, or of another element type that NumPy has,
    with the call that would make it fit."""
    is_type = str(p.dtype) not in np.sctypeDict or array.dtype == np.dtype(str(p.dtype))
    if array.shape == p.shape and is_type:
        return
    calls = [] if is_type else [f".astype('{p.dtype}')"]
    if array.shape != p.shape and sorted(array.shape) == sorted(map(int, p.shape)):
        left, order = list(array.shape), []
        for extent in p.shape:
            order.append(left.index(int(extent)))
            left[order[-1]] = -1
        calls.append(f".transpose({', '.join(map(str, order))})")
    elif p.shape == (1, *array.shape):
        calls.append("[None]")
    elif array.shape != p.shape:
        calls = []
    remedy = f"; array{''.join(calls)} fits" if calls else ""
    raise ArgumentError(f"{where}: expected {p}, found {array.dtype}{list(array.shape)}{remedy}")


def recorded_outputs(content: ArrayFile, parameters: Sequence[Parameter]) -> dict[str, Array]:
    """The outputs of a network among arrays called out/NAME, as far as they exist."""
    found = {p.name: p for p in parameters if f"out/{p.name}" in content.keys}
    return {name: content.read(f"out/{name}", elements_of(p)) for name, p in found.items()}


def elements_of(parameter: Parameter) -> int:
    """The number of elements of a parameter's array."""
    return prod(extent for extent in parameter.shape if isinstance(extent, int))


def random_inputs(parameters: Sequence[Parameter], seed: int) -> dict[str, Array]:
    """Random arrays from a seed: normally distributed floats; integers 0 and 1, which are valid indices of nearly
    anything."""
    generator = np.random.default_rng(seed)
    inputs: dict[str, Array] = {}
    for p in parameters:
        shape = tuple(extent for extent in p.shape if isinstance(extent, int))
        if p.dtype.is_float:
            inputs[p.name] = generator.standard_normal(shape).astype(p.dtype.numpy)
        else:
            inputs[p.name] = generator.integers(0, 2, shape).astype(p.dtype.numpy)
    return inputs


def with_outliers(inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs, with one token, pixel or feature of each OUTLIER times as large, so that others may lose digits.

    It is the one in the middle: of the last axis of a vector or matrix, of the second of three axes, of all axes after
    the second if there are more (a pixel). Integers stay as they are.
    """
    found: dict[str, Array] = {}
    for name, array in inputs.items():
        spread = np.array(array)
        if np.issubdtype(spread.dtype, np.floating) and spread.ndim:
            spatial = {1: [0], 2: [1], 3: [1]}.get(spread.ndim, range(2, spread.ndim))
            middle = tuple(slice(None) if d not in spatial else n // 2 for d, n in enumerate(spread.shape))
            if spread.size:
                spread[middle] *= OUTLIER
        found[name] = spread
    return found


def write_arrays(file: IO[bytes], arrays: Mapping[str, Array]) -> None:
    """Write an npz file of arrays under any names, those that numpy.savez refuses included."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _read(file: IO[bytes], most_elements: int) -> Array:
    """The array at the beginning of a file. Raises ValueError if there is none, or it has more elements."""
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"expected version 1 or 2 of the format, found {version[0]}")
    try:
        shape, is_fortran, dtype = _HEADERS[version](file)
    except Exception as error:  # Python's own parser reads it, which fails in as many ways as there are texts
        raise ValueError(f"expected a header as NumPy writes it, found another: {error!s:.80}") from error
    _check(shape, dtype, most_elements)
    array = np.empty(prod(shape), dtype)  # which takes memory as it is filled
    rest = array.view(np.uint8).data
    while rest:
        count = file.readinto(rest)  # type: ignore[attr-defined]  # files and members of archives have it
        if not count:
            raise ValueError(f"expected {array.nbytes} bytes of {dtype}{list(shape)}, found {array.nbytes - len(rest)}")
        rest = rest[count:]
    if is_fortran:
        return np.ascontiguousarray(array.reshape(shape[::-1]).transpose())
    return array.reshape(shape)


def _check(shape: tuple[int, ...], dtype: np.dtype[Any], most_elements: int) -> None:
    if dtype.hasobject or dtype.fields is not None or dtype.subdtype is not None or dtype.itemsize > 16:
        raise ValueError(f"expected numbers, found elements of {dtype!s:.80}")
    if len(shape) > MOST_DIMENSIONS:
        raise ValueError(f"expected at most {MOST_DIMENSIONS} dimensions, found {len(shape)}")
    if any(extent < 0 for extent in shape):
        raise ValueError(f"expected extents of 0 or more, found shape {list(shape)}")
    if prod(shape) > most_elements:
        raise ValueError(f"expected at most {most_elements} elements, found shape {list(shape)}")
