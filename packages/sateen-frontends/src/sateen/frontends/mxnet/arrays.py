"""Reads the arrays of a `.params` file, of all versions of the format (NDArray::Load of src/ndarray/ndarray.cc).

A list is the magic number, a reserved one, and counted arrays and names; all numbers are little-endian. An array is
its version, shape, device, element type and data. Before version 1 the shape came first, so a small number there is a
number of dimensions.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from sateen.frontends.core.source import Limits, Source
from sateen.frontends.mxnet.recognition import ARRAYS_MAGIC
from sateen.frontends.mxnet.types import dtype_of_number
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

_VERSION_1, _VERSION_2, _VERSION_3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
_DENSE = 0
"""The kind of storage; the others are sparse: 1 by rows, 2 compressed rows."""
_MOST_DIMENSIONS = 32
_PREFIXES = ("arg:", "aux:")
"""What Module and Gluon's export write before the names of arguments and of auxiliary states."""


@dataclass(slots=True)
class _Bytes:
    """The rest of a file. Reading beyond its end raises FrontendError."""

    data: memoryview
    place: str
    position: int = 0

    def take(self, count: int, what: str) -> memoryview:
        if count > len(self.data) - self.position:
            left = len(self.data) - self.position
            raise FrontendError(f"{self.place}: expected {count} bytes of {what}, found {left}; the file is cut short")
        self.position += count
        return self.data[self.position - count : self.position]

    def integer(self, kind: str, what: str) -> int:
        """A number of a kind of the struct module."""
        (value,) = struct.unpack(f"<{kind}", self.take(struct.calcsize(f"<{kind}"), what))
        return int(value)

    def count(self, what: str) -> int:
        """How many parts of a list follow."""
        found = self.integer("Q", f"the number of {what}")
        if found > len(self.data) // 8:
            raise FrontendError(f"{self.place}: expected at most {len(self.data) // 8} {what}, found {found}")
        return found


def read_arrays(source: Source, limits: Limits) -> dict[str, Array]:
    """The arrays by name, without `arg:` and `aux:`.

    Raises FrontendError for a damaged file, sparse arrays, arrays without names, and names that are not UTF-8 or that
    two arrays have.
    """
    data = _Bytes(memoryview(source.data), source.place)
    if bytes(data.take(8, "its magic number")) != ARRAYS_MAGIC:
        raise FrontendError(f"{source.place}: expected arrays of MXNet, found another kind of data")
    data.integer("Q", "its reserved number")
    arrays = [_array(data, index) for index in range(data.count("arrays"))]
    names = [_name(data, index) for index in range(data.count("names"))]
    if data.position < len(data.data):
        left = len(data.data) - data.position
        raise FrontendError(f"{source.place}: expected its end after the names, found {left} bytes more")
    if sum(array.nbytes for array in arrays) > limits.tensor_bytes:
        raise FrontendError(f"{source.place}: expected at most {limits.tensor_bytes} bytes of arrays, found more")
    if len(names) != len(arrays):
        raise FrontendError(
            f"{source.place}: expected a name for each of {len(arrays)} arrays, found {len(names)}; save a dict of them"
        )
    found = dict(zip(names, arrays, strict=True))
    if len(found) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise FrontendError(f"{source.place}: expected arrays of different names, found {twice!r} twice")
    return found


def _name(data: _Bytes, index: int) -> str:
    length = data.integer("Q", f"the length of name {index}")
    raw = bytes(data.take(length, f"name {index}"))
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        raise FrontendError(f"{data.place}: expected names in UTF-8, found {raw[:80]!r}") from None
    prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), "")
    return name.removeprefix(prefix)


def _array(data: _Bytes, index: int) -> Array:
    what = f"array {index}"
    version = data.integer("I", what)
    if version in {_VERSION_2, _VERSION_3}:
        storage = data.integer("i", f"the storage of {what}")
        if storage != _DENSE:
            raise FrontendError(
                f"{data.place}: {what} is sparse (storage {storage}); save it after `tostype('default')`"
            )
        shape = tuple(_dimensions(data, data.integer("i", what), "q", what))
    elif version == _VERSION_1:
        shape = tuple(_dimensions(data, data.integer("i", what), "q", what))
    else:
        shape = tuple(_dimensions(data, version, "I", what))
    if not shape and version != _VERSION_3:  # an array that was never given a shape, and has nothing more
        raise FrontendError(f"{data.place}: {what} is empty; save the parameters after they are initialised")
    data.take(8, f"the device of {what}")
    dtype = dtype_of_number(data.integer("i", f"the type of {what}"), f"{data.place}: {what}")
    raw = data.take(prod(shape) * dtype.numpy.itemsize, f"data of {what}, {dtype}{list(shape)}")
    data_of_file = np.frombuffer(raw, "uint8") != 0 if dtype.is_bool else np.frombuffer(raw, dtype.numpy)
    return data_of_file.reshape(shape).copy()  # copied, since data in the file is not aligned


def _dimensions(data: _Bytes, rank: int, kind: str, what: str) -> Iterator[int]:
    if not 0 <= rank <= _MOST_DIMENSIONS:
        raise FrontendError(f"{data.place}: {what}: expected 0 to {_MOST_DIMENSIONS} dimensions, found {rank}")
    for axis in range(rank):
        extent = data.integer(kind, f"the shape of {what}")
        if extent < 0:
            raise FrontendError(f"{data.place}: {what}: expected extents of 0 or more, found {extent} at axis {axis}")
        yield extent
