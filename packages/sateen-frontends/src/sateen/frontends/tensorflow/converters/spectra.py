"""Fourier transforms, as products with constant matrices (fft_ops.cc).

A complex tensor is one of real numbers with an axis of two at the end: real and imaginary parts. Only the operators of
this file take and give such tensors; others refuse nodes whose type is complex.
"""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.node import Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Value
from sateen.runtime.errors import FrontendError

_LARGEST_MATRIX = 1 << 24
"""The most elements of a transform's matrix; more are work for a fast transform, which sateen does not have."""


def _product(node: TensorflowNode, data: Value, matrix: Array) -> Value:
    """Rows of data times a matrix."""
    typed = node.parameter(np.ascontiguousarray(matrix, data.type.dtype.numpy), "transform")
    if data.type.rank > 1:
        return node.step(ops.MatMul(), data, typed)
    row = node.step(ops.Reshape(shape=(1, *data.type.shape)), data)
    return node.step(ops.Reshape(shape=(matrix.shape[1],)), node.step(ops.MatMul(), row, typed))


def _require_size(inputs: int, outputs: int) -> None:
    if inputs < 1 or outputs < 1 or inputs * outputs > _LARGEST_MATRIX:
        raise UnsupportedError(f"a transform of {inputs} numbers is too long for a product with its matrix")


def _of_reals(node: TensorflowNode) -> Operand:
    """The transform of real rows, cut or filled up to fft_length: the first half of its bins."""
    *stack, count = node.static_shape(0)
    (length,) = node.integers_at(1)
    bins = length // 2 + 1
    _require_size(count, max(2 * bins, count))
    found = np.fft.rfft(np.eye(count), length, axis=1)
    parts = np.stack([found.real, found.imag], axis=2).reshape(count, 2 * bins)
    return node.result(ops.Reshape(shape=(*stack, bins, 2)), _product(node, node.value(0), parts))


def _of_complex(node: TensorflowNode) -> Operand:
    """The transform of complex rows, or its inverse."""
    *stack, count, _ = _complex_shape(node)
    _require_size(2 * count, 2 * count)
    basis = np.stack([np.eye(count), 1j * np.eye(count)], axis=1).reshape(2 * count, count)
    found = np.fft.fft(basis, axis=1) if node.operator == "FFT" else np.fft.ifft(basis, axis=1)
    parts = np.stack([found.real, found.imag], axis=2).reshape(2 * count, 2 * count)
    rows = node.step(ops.Reshape(shape=(*stack, 2 * count)), node.value(0))
    return node.result(ops.Reshape(shape=(*stack, count, 2)), _product(node, rows, parts))


def _to_reals(node: TensorflowNode) -> Operand:
    """The inverse of `_of_reals`: fft_length real numbers."""
    *stack, bins, _ = _complex_shape(node)
    (length,) = node.integers_at(1)
    _require_size(2 * bins, max(length, bins))
    basis = np.stack([np.eye(bins), 1j * np.eye(bins)], axis=1).reshape(2 * bins, bins)
    rows = node.step(ops.Reshape(shape=(*stack, 2 * bins)), node.value(0))
    product = _product(node, rows, np.fft.irfft(basis, length, axis=1))
    return node.result(ops.Reshape(shape=(*stack, length)), product)


def _complex_shape(node: TensorflowNode) -> tuple[int, ...]:
    shape = node.static_shape(0)
    if len(shape) < 2 or shape[-1] != 2:
        raise FrontendError(f"expected complex numbers, found {list(shape)}")
    return shape


def _part(node: TensorflowNode, index: int) -> Value:
    """The real (0) or imaginary (1) part."""
    *shape, _ = _complex_shape(node)
    place = node.parameter(np.array(index), "part")
    return node.step(ops.Gather(axis=len(shape)), node.value(0), place)


def _magnitude(node: TensorflowNode) -> Operand:
    rank = len(_complex_shape(node))
    return node.result(ops.ReduceL2(axes=(rank - 1,), keepdims=False), node.value(0))


def _angle(node: TensorflowNode) -> Operand:
    return node.result(ops.Atan2(), _part(node, 1), _part(node, 0))


def _conjugate(node: TensorflowNode) -> Operand:
    _complex_shape(node)
    signs = np.array([1, -1], node.dtype(0).numpy)
    return node.result(ops.Multiply(), node.value(0), node.parameter(signs, "signs"))


def _joined(node: TensorflowNode) -> Operand:
    """A complex tensor of its parts, which broadcast (math_ops.cc)."""
    parts = [node.value(0), node.value(1)]
    shape = node.shape(0)
    if shape != node.shape(1):
        shape = np.broadcast_shapes(node.static_shape(0), node.static_shape(1))
        parts = [node.broadcast(part, shape) for part in parts]
    parts = [node.step(ops.Reshape(shape=(*shape, 1)), part) for part in parts]
    return node.result(ops.Concat(axis=len(shape)), *parts)


SPECTRA: dict[str, Converter] = {
    "Angle": _angle,
    "Complex": _joined,
    "ComplexAbs": _magnitude,
    "Conj": _conjugate,
    "FFT": _of_complex,
    "IFFT": _of_complex,
    "IRFFT": _to_reals,
    "Imag": lambda node: _part(node, 1),
    "RFFT": _of_reals,
    "Real": lambda node: _part(node, 0),
}
GIVES_COMPLEX = frozenset({"Complex", "Conj", "FFT", "IFFT", "RFFT"})
"""Operators of complex results, which can be no results of a network."""
