"""Resizing of pictures [N, H, W, C] by weights of the elements of each row and column: products with a matrix each.

Source: resize_area_op.cc, scale_and_translate_op.cc and sampling_kernels.h of tensorflow/core/kernels/image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.node import TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Value
from sateen.runtime.errors import FrontendError

_LARGEST_MATRIX = 1 << 24
"""The most weights of an axis."""


def area_weights(before: int, after: int, scale: np.float32) -> Array:
    """[after, before]: the part of each output element that an input element covers. Beyond the border the last element
    counts again."""
    _require_size(before, after)
    out = np.arange(after, dtype=np.float32)[:, None]
    start, end = out * scale, (out + np.float32(1)) * scale
    first, last = np.floor(start).astype(np.int64), np.ceil(end).astype(np.int64)
    places = first + np.arange((last - first).max())
    covered = np.minimum(places + 1, end) - np.maximum(places, start)
    return _matrix(np.clip(places, 0, before - 1), np.where(places < last, covered / scale, 0), before)


def kernel_weights(node: TensorflowNode, before: int, after: int, scale: float, shift: float) -> Array:
    """[after, before]: the weights of a kernel around each output position, whose sum is 1; 0 for positions outside."""
    kind = node.text("kernel_type")
    if kind not in KERNELS:
        raise UnsupportedError(f"a kernel {kind!r} is not supported")
    if not (np.isfinite(shift) and np.isfinite(scale) and scale > 0):
        raise FrontendError(f"expected scales above 0 and translations, found {scale} and {shift}")
    _require_size(before, after)
    radius, kernel = KERNELS[kind]
    inverse = np.float32(1) / np.float32(scale)
    stretch = max(inverse, np.float32(1)) if node.flag("antialias") else np.float32(1)
    position = (np.arange(after, dtype=np.float32)[:, None] + np.float32(0.5)) * inverse - inverse * np.float32(shift)
    reach = np.float32(radius) * stretch
    first = np.clip(np.ceil(position - reach - np.float32(0.5)), 0, before - 1).astype(np.int64)
    last = np.clip(np.floor(position + reach - np.float32(0.5)), 0, before - 1).astype(np.int64)
    places = first + np.arange((last - first).max() + 1)
    weights = kernel(np.abs(places + 0.5 - position) / stretch)
    is_inside = (places <= last) & (position >= 0) & (position <= before)
    weights = np.where(is_inside, weights, 0)
    total = weights.sum(axis=1, keepdims=True)
    weights = np.divide(weights, total, out=weights, where=np.abs(total) >= 1000 * np.finfo(np.float32).tiny)
    return _matrix(np.minimum(places, before - 1), weights, before)


def averaged(node: TensorflowNode, value: Value, rows: Array, columns: Array) -> Value:
    """A picture whose rows and columns are weighted sums, [after, before] each."""
    count, height, width, channels = value.type.shape
    row_weights, column_weights = (node.parameter(m.astype(np.float32), "weights") for m in (rows, columns))
    flat = node.reshaped(value, (count, height, width * channels))
    averages = node.step(ops.MatMul(), row_weights, flat)
    averages = node.reshaped(averages, (count, len(rows), width, channels))
    return node.result(ops.MatMul(), column_weights, averages)


def _require_size(before: int, after: int) -> None:
    if before * after > _LARGEST_MATRIX:
        raise UnsupportedError(f"weights of {before} elements for {after} are too many for a matrix")


def _matrix(places: Array, weights: Array, before: int) -> Array:
    matrix = np.zeros((len(places), before))
    np.add.at(matrix, (np.arange(len(places))[:, None], places), weights)
    return matrix


def _lanczos(radius: float) -> Callable[[Array], Array]:
    return lambda x: np.where(x > radius, 0, np.sinc(x) * np.sinc(x / radius))


def _gaussian(x: Array) -> Array:
    return np.where(x >= 1.5, 0, np.exp(-2 * x * x))


def _box(x: Array) -> Array:
    return np.where(x < 0.5, 1, np.where(x == 0.5, 0.5, 0))


def _triangle(x: Array) -> Array:
    return np.where(x >= 1, 0, 1 - x)


def _keys(x: Array) -> Array:
    near, far = ((1.5 * x - 2.5) * x) * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x >= 2, 0, np.where(x >= 1, far, near))


def _mitchell(x: Array) -> Array:
    near, far = ((7 / 6 * x - 2) * x) * x + 8 / 9, ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x >= 2, 0, np.where(x >= 1, far, near))


KERNELS: Mapping[str, tuple[float, Callable[[Array], Array]]] = {
    "box": (1.0, _box),
    "gaussian": (1.5, _gaussian),
    "keyscubic": (2.0, _keys),
    "lanczos1": (1.0, _lanczos(1.0)),
    "lanczos3": (3.0, _lanczos(3.0)),
    "lanczos5": (5.0, _lanczos(5.0)),
    "mitchellcubic": (2.0, _mitchell),
    "triangle": (1.0, _triangle),
}
"""The reach of each kernel, and its weight at a distance."""
