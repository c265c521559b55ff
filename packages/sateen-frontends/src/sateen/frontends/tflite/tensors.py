"""Tensors of a TensorFlow Lite file: their types, their scaling, and the data of constants."""

from __future__ import annotations

from math import prod

import numpy as np

from sateen.frontends.tflite.flatbuffer import Table
from sateen.frontends.tflite.model import DTYPES, QUANTISED, Scaling, Tensor
from sateen.frontends.tflite.sparsity import dense
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError
from sateen.topi.types import MOST_DIMENSIONS

MOST_FILLED = 1 << 24
"""The most elements of a sparse constant, which is filled while reading."""


def read_tensor(table: Table, name: str, data: memoryview | None, most_bytes: int) -> Tensor:
    """A tensor and its data, if it is a constant. Raises FrontendError if these don't fit."""
    shape = _shape(table)
    gap = _gap(table)
    scaling = None
    if table["quantization"] is not None and table["type"] in QUANTISED and not gap:
        scaling = _scaling(table["quantization"], shape)
    array = None
    if data is not None and not gap:
        array = _array(table, shape, data, most_bytes)
    signature = table["shape_signature"]
    if signature is not None and array is None:
        if len(signature) != len(shape) or any(a not in (-1, b) for a, b in zip(signature, shape, strict=True)):
            raise FrontendError(f"shape signature {list(signature)} does not fit shape {list(shape)}")
        shape = signature
    known = shape if shape or table["has_rank"] or array is not None else None
    return Tensor(name, table["type"], known, scaling, array, table["is_variable"], gap)


def _shape(table: Table) -> tuple[int, ...]:
    shape: tuple[int, ...] = table["shape"] or ()
    if len(shape) > MOST_DIMENSIONS:
        raise FrontendError(f"expected at most {MOST_DIMENSIONS} dimensions, found {len(shape)}")
    if any(extent < 0 for extent in shape):
        raise FrontendError(f"expected dimensions of zero or more elements, found {list(shape)}")
    return shape


def _gap(table: Table) -> str:
    """Why a tensor can't be read; '' if it can."""
    if table["type"] not in DTYPES:
        return f"its elements are {table['type']}"
    if table["external_buffer"]:
        return "its data is in another file"
    quantization = table["quantization"]
    if quantization is not None and quantization["details"] is not None:
        kind, _ = quantization["details"]
        return f"it is quantised by {kind.name}"
    return ""


def _scaling(table: Table, shape: tuple[int, ...]) -> Scaling | None:
    """The scaling of a tensor; None if it has no scale, as integers that stand for themselves."""
    scales, zero_points = table["scale"], table["zero_point"]
    if scales is None or not scales.size:
        return None
    if zero_points is None or not zero_points.size:
        zero_points = np.zeros(1, np.int64)
    if zero_points.size == 1:
        zero_points = np.broadcast_to(zero_points, scales.shape)
    axis = table["quantized_dimension"]
    if zero_points.size != scales.size:
        raise FrontendError(f"expected as many zero points as scales, found {zero_points.size} and {scales.size}")
    if not np.all(np.isfinite(scales)) or np.any(scales < 0):
        raise FrontendError(f"expected scales of 0 or more, found {scales.tolist()[:4]}")
    if scales.size > 1 and not (0 <= axis < len(shape) and shape[axis] == scales.size):
        raise FrontendError(f"expected a scale per index of dimension {axis} of {list(shape)}, found {scales.size}")
    return Scaling(scales, zero_points, axis)


def _array(table: Table, shape: tuple[int, ...], data: memoryview, most_bytes: int) -> Array:
    dtype, count = DTYPES[table["type"]].numpy, prod(shape)
    if count * dtype.itemsize > most_bytes:
        raise FrontendError(f"expected at most {most_bytes} bytes of constants, found more")
    if not count and prod(max(extent, 1) for extent in shape) > most_bytes:  # more than NumPy can count
        raise FrontendError(f"expected extents of at most {most_bytes} in all, found {list(shape)}")
    if table["sparsity"] is not None:
        if count > MOST_FILLED:
            raise FrontendError(f"expected a sparse constant of at most {MOST_FILLED} elements, found {count}")
        return dense(table["sparsity"], shape, lambda held: _elements(table["type"], held, data))
    return _elements(table["type"], count, data).reshape(shape)


def _elements(type_: str, count: int, data: memoryview) -> Array:
    """The elements in a buffer. Raises FrontendError if it has another number of bytes."""
    dtype = DTYPES[type_].numpy
    size = (count + 1) // 2 if type_ == "INT4" else count * dtype.itemsize
    if len(data) != size:
        raise FrontendError(f"expected {size} bytes of data for {count} elements of {type_}, found {len(data)}")
    if type_ == "INT4":
        return _unpacked(np.frombuffer(data, np.int8), count)
    if type_ == "BOOL":  # any byte but 0 is true
        return np.frombuffer(data, np.uint8).astype(np.bool_)
    elements: Array = np.require(np.frombuffer(data, dtype), requirements="A")
    return elements


def _unpacked(pairs: Array, count: int) -> Array:
    """Integers of 4 bits as bytes; a pair holds the first in its lower half."""
    both: Array = np.stack([(pairs << 4).astype(np.int8) >> 4, pairs >> 4], axis=-1)
    return both.reshape(-1)[:count].copy()
