"""Tensors by name from a file of safetensors: the length of a JSON object, the object, and the bytes of all tensors.

Source: the format description of safetensors. Nothing in such a file is run.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from sateen.frontends.core.json_text import parse_object
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.torch.element_types import dtype_named, require_size
from sateen.frontends.torch.recognition import is_safetensors
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError
from sateen.topi.types import MOST_DIMENSIONS

MOST_HEADER_BYTES = 100 << 20
"""The most bytes of the object, as the format says."""
_LENGTH_BYTES = 8


def read_safetensors(source: Source, limits: Limits) -> dict[str, Array]:
    """All tensors, as memory of the file. Raises FrontendError if it is damaged: the tensors must fill the bytes behind
    the object, without holes or overlaps."""
    data, place = memoryview(source.data), source.place
    if not is_safetensors(source.data):
        found = source.format or "data of another kind"
        raise FrontendError(f"{place}: expected tensors in safetensors, found {found}")
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    if length > min(MOST_HEADER_BYTES, len(data) - _LENGTH_BYTES):
        raise FrontendError(f"{place}: expected a description of tensors, found one of {length} bytes; copy it again")
    described = parse_object(data[_LENGTH_BYTES : _LENGTH_BYTES + length], place)
    described.pop("__metadata__", None)
    content = data[_LENGTH_BYTES + length :]
    tensors: dict[str, Array] = {}
    ranges: list[tuple[int, int]] = []
    for name, tensor in described.items():
        start, end = _range(tensor, f"{place}: tensor {name!r}")
        tensors[name] = _tensor(tensor, content[start:end], f"{place}: tensor {name!r}", limits)
        ranges.append((start, end))
    last = 0
    for start, end in sorted(ranges):
        if start != last:
            raise FrontendError(f"{place}: expected tensors one after the other, found one at {start} after {last}")
        last = end
    if last != len(content):
        raise FrontendError(f"{place}: expected {last} bytes of tensors, found {len(content)}; copy it again")
    return tensors


def _range(tensor: Any, what: str) -> tuple[int, int]:
    offsets = tensor.get("data_offsets") if isinstance(tensor, dict) else None
    match _extents(offsets):
        case (start, end) if start <= end:
            return start, end
    raise FrontendError(f"{what}: expected data_offsets of two numbers, found {offsets!r}")


def _tensor(tensor: dict[str, Any], content: memoryview, what: str, limits: Limits) -> Array:
    shape, name = _extents(tensor.get("shape")), tensor.get("dtype")
    if shape is None or len(shape) > MOST_DIMENSIONS or not isinstance(name, str):
        raise FrontendError(f"{what}: expected a dtype and a shape, found {name!r} and {tensor.get('shape')!r}")
    try:
        dtype = dtype_named(name)
    except UnsupportedError as error:
        raise FrontendError(f"{what}: {error}") from None
    if prod(shape) * dtype.bytes != len(content):
        raise FrontendError(f"{what}: {dtype}{list(shape)} does not take {len(content)} bytes")
    require_size(shape, dtype, limits.tensor_bytes, what)
    return elements_of(content, dtype.numpy).reshape(shape)


def elements_of(content: memoryview, dtype: np.dtype[Any]) -> Array:
    """The elements that bytes hold; any byte other than 0 is true."""
    if dtype == np.bool_:
        flags: Array = np.frombuffer(content, np.uint8) != 0
        return flags
    return np.frombuffer(content, dtype)


def _extents(value: Any) -> tuple[int, ...] | None:
    """A list of numbers of 0 or more; None for anything else."""
    is_list = isinstance(value, list) and all(type(n) is int and 0 <= n < 1 << 48 for n in value)
    return tuple(value) if is_list else None
