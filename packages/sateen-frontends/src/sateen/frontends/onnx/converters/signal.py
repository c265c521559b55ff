"""Fourier transforms, which are products with a constant matrix, and the filters that go with them."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand, normal_axis, require_few
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.frontends.onnx.tensors import dtype_of
from sateen.graph_ir.ir import Array, Value
from sateen.graph_ir.ops import Gather, MatMul, Multiply, Reshape, Transpose
from sateen.runtime.errors import FrontendError

LARGEST_MATRIX = 1 << 24
"""The most elements of a transform's matrix; more are work for a fast transform, which sateen does not have."""


def _dft(node: OnnxNode) -> Operand:
    """Along `axis`, an input as of opset 20. The last axis holds real numbers, or real and imaginary parts."""
    shape = node.static_shape(0)
    rank = len(shape)
    if node.version < 20:
        axis = node.axis(rank)
    else:
        axis = normal_axis(int(node.scalar(2)) if node.has(2) else -2, rank)
    if rank < 2 or axis == rank - 1 or shape[-1] not in (1, 2):
        raise FrontendError(f"expected data [..., 1 or 2] and an axis before the last, found {list(shape)}, {axis}")
    inverse, onesided = node.flag("inverse"), node.flag("onesided")
    usual = 2 * (shape[axis] - 1) if inverse and onesided else shape[axis]
    length = int(node.scalar(1)) if node.has(1) else usual
    others = [d for d in range(rank - 1) if d != axis]
    moved = node.step(Transpose(permutation=(*others, axis, rank - 1)), node.value(0))
    result = transformed(node, moved, length, inverse, onesided)
    back = [*others, axis, rank - 1]
    return node.result(Transpose(permutation=tuple(back.index(d) for d in range(rank))), result)


def transformed(node: OnnxNode, data: Value, length: int, inverse: bool, onesided: bool) -> Value:
    """The transform of data [..., elements, parts] along its last axis but one."""
    *batch, count, parts = data.type.static_shape
    if length < 1:
        raise FrontendError(f"expected a length of at least 1, found {length}")
    if count * parts * length * 2 > LARGEST_MATRIX:
        raise UnsupportedError(f"a transform of {length} elements is too long for a product with its matrix")
    matrix = _matrix(count, parts, length, inverse, onesided).astype(data.type.dtype.numpy)
    flat = node.step(Reshape(shape=(*batch, count * parts)), data)
    rows = node.step(Reshape(shape=(1, count * parts)), flat) if not batch else flat
    product = node.step(MatMul(), rows, node.parameter(matrix, "transform"))
    wide = 1 if inverse and onesided else 2
    return node.step(Reshape(shape=(*batch, matrix.shape[1] // wide, wide)), product)


def _matrix(count: int, parts: int, length: int, inverse: bool, onesided: bool) -> Array:
    """The matrix of a transform of `count` numbers: rows are their parts, one or two each, columns those of the
    result."""
    units = np.eye(count)
    basis = units.astype(complex) if parts == 1 else np.stack([units, 1j * units], axis=1).reshape(-1, count)
    if inverse and onesided:
        real: Array = np.fft.irfft(basis, n=length, axis=1)
        return real
    result = np.fft.ifft(basis, n=length, axis=1) if inverse else np.fft.fft(basis, n=length, axis=1)
    if onesided:
        result = result[:, : length // 2 + 1]
    return np.stack([result.real, result.imag], axis=2).reshape(len(basis), -1)


def _stft(node: OnnxNode) -> Operand:
    """Transforms of windows of the signal [batch, elements, parts], frame_step apart: [batch, frames, bins, 2]."""
    shape = node.static_shape(0)
    if len(shape) != 3 or shape[-1] not in (1, 2):
        raise FrontendError(f"expected a signal [batch, elements, 1 or 2], found {list(shape)}")
    step = int(node.scalar(1))
    window = node.value(2) if node.has(2) else None
    if node.has(3):
        length = int(node.scalar(3))
    elif window is not None:
        (length,) = node.static_shape(2)
    else:
        raise FrontendError("expected a window or frame_length, found neither")
    if step < 1 or not 1 <= length <= shape[1] or (window is not None and window.type.shape != (length,)):
        raise FrontendError(
            f"expected frames of {length} elements, {step} apart, and as long a window for a signal of {shape[1]}"
        )
    require_few((shape[1] - length) // step + 1, length)
    starts = np.arange(0, shape[1] - length + 1, step)
    places = node.parameter(node.evaluated(starts[:, None] + node.counted(length)), "frames")
    frames = node.step(Gather(axis=1), node.value(0), places)
    if window is not None:
        frames = node.step(Multiply(), frames, node.step(Reshape(shape=(length, 1)), window))
    result = transformed(node, frames, length, inverse=False, onesided=node.flag("onesided"))
    return node.result(Reshape(shape=result.type.static_shape), result)


def _mel_weight_matrix(node: OnnxNode) -> Array:
    """Triangular filters over the bins of a transform, evenly spaced on the mel scale (ONNX MelWeightMatrix)."""
    bins, length, rate = (int(node.scalar(i)) for i in range(3))
    low, high = (2595 * np.log10(1 + float(node.scalar(i)) / 700) for i in (3, 4))
    if bins < 1 or length < 1 or rate < 1 or bins * length > LARGEST_MATRIX:
        raise FrontendError(f"expected mel bins, length and rate of at least 1, found {bins}, {length}, {rate}")
    mels = low + np.arange(bins + 2) * ((high - low) / (bins + 2))
    edges = ((length + 1) * (700 * (10 ** (mels / 2595) - 1)) // rate).astype(int)
    spectrum = np.arange(length // 2 + 1)[:, None]
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    rising = np.where(centre > left, (spectrum - left) / np.maximum(centre - left, 1), spectrum == centre)
    falling = (right - spectrum) / np.maximum(right - centre, 1)
    weights = np.where(
        spectrum <= centre, np.where(spectrum >= left, rising, 0), np.where(spectrum < right, falling, 0)
    )
    return weights.astype(dtype_of(node.integer("output_datatype"), "MelWeightMatrix").numpy)


SIGNAL: dict[str, Converter] = {"DFT": _dft, "MelWeightMatrix": _mel_weight_matrix, "STFT": _stft}
