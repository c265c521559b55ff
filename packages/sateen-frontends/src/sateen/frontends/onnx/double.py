"""Networks in float64 by the evaluator of the onnx package: the judge where float32 itself is too coarse.

In float32 a sigmoid of -15 or the variance of 640,000 elements can have errors above the tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops import op_conv, op_conv_transpose

from sateen.frontends.onnx.reference import operators_of
from sateen.graph_ir.ir import Array

_SUMS = {"Conv", "ConvTranspose", "MatMul", "Gemm"}
"""Operators whose result is a sum of products of inputs."""

_FIRST_QUANTISATION = 19
"""The first operator set for which the evaluator itself quantises in float64."""

_their_convolution: Any = op_conv.Conv._run
_their_transposed_convolution: Any = op_conv_transpose.ConvTranspose._run


class Affine(OpRun):
    """An experimental operator of old models: alpha x + beta."""

    def _run(self, x: Array, alpha: float = 1.0, beta: float = 0.0) -> tuple[Array]:
        return (alpha * x + beta,)


class Crop(OpRun):
    """An experimental operator of old models: takes left, top, right and bottom borders off."""

    def _run(self, x: Array, border: tuple[int, ...] = (), scale: tuple[int, ...] = ()) -> tuple[Array]:
        assert not scale
        left, top, right, bottom = border
        return (x[:, :, top : x.shape[2] - bottom, left : x.shape[3] - right],)


class ImageScaler(OpRun):
    """An experimental operator of old models: scale x + bias, a bias per channel."""

    def _run(self, x: Array, bias: tuple[float, ...] = (), scale: float = 1.0) -> tuple[Array]:
        return (scale * x + np.asarray(bias)[:, None, None],)


class Conv(OpRun):
    """The standard operator; in two dimensions a matrix product for each element of the window, which is faster than
    the evaluator's."""

    def _run(self, x: Array, weight: Array, bias: Array | None = None, **attributes: Any) -> tuple[Array]:
        if x.ndim != 4 or attributes["auto_pad"] not in {"", "NOTSET", "VALID"}:
            result: tuple[Array] = _their_convolution(self, x, weight, bias, **attributes)
            return result
        group: int = attributes["group"]
        top, left, bottom, right = attributes["pads"] or (0, 0, 0, 0)
        (down, across), (step, stride) = attributes["dilations"] or (1, 1), attributes["strides"] or (1, 1)
        padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
        height, width = weight.shape[2:]
        rows = (padded.shape[2] - (height - 1) * down - 1) // step + 1
        columns = (padded.shape[3] - (width - 1) * across - 1) // stride + 1
        batch, outputs = x.shape[0], weight.shape[0]
        y = np.zeros((batch, group, outputs // group, rows * columns))
        for i, j in np.ndindex(height, width):
            window = padded[:, :, i * down :, j * across :][:, :, : rows * step : step, : columns * stride : stride]
            grouped = window.reshape(batch, group, -1, rows * columns)
            y += weight[:, :, i, j].reshape(group, outputs // group, -1) @ grouped
        y = y.reshape(batch, outputs, rows, columns)
        return (y if bias is None else y + bias[:, None, None],)


class ConvTranspose(OpRun):
    """The standard operator; in two dimensions without groups, pads and dilations rows that it adds are the bias."""

    def _run(self, x: Array, weight: Array, bias: Array | None = None, **attributes: Any) -> tuple[Array]:
        added = [*(attributes["pads"] or ()), *(attributes["output_padding"] or ())]
        spread = attributes["group"] != 1 or set(attributes["dilations"] or (1,)) != {1}
        if x.ndim != 4 or attributes["auto_pad"] not in {"", "NOTSET", "VALID"} or any(added) or spread:
            result: tuple[Array] = _their_transposed_convolution(self, x, weight, bias, **attributes)
            return result
        step, stride = attributes["strides"] or (1, 1)
        output_shape = attributes["output_shape"]
        (batch, _, height, width), (_, outputs, rows, columns) = x.shape, weight.shape
        natural = (height - 1) * step + rows, (width - 1) * stride + columns
        y = np.zeros((batch, outputs, *(output_shape or natural)))
        assert all(extent >= least for extent, least in zip(y.shape[2:], natural, strict=True))
        for i, j in np.ndindex(rows, columns):
            part = np.einsum("nchw,co->nohw", x, weight[:, :, i, j], optimize=True)
            y[:, :, i : i + height * step : step, j : j + width * stride : stride][:, :, :height, :width] += part
        return (y if bias is None else y + bias[:, None, None],)


class QuantizeLinear(OpRun):
    """The standard operator up to opset 18, of data and scales in float64."""

    def _run(self, x: Array, scale: Array, zero: Array | None = None, axis: int = 1, **_: Any) -> tuple[Array]:
        offset = np.zeros((), np.uint8) if zero is None else zero
        limits = np.iinfo(offset.dtype)
        steps = np.rint(x / _along(axis, scale, x)) + _along(axis, offset, x)
        return (np.clip(steps, limits.min, limits.max).astype(offset.dtype),)


class DequantizeLinear(OpRun):
    """The standard operator up to opset 18; the evaluator itself has it from 19 on."""

    def _run(self, x: Array, scale: Array, zero: Array | None = None, axis: int = 1, **_: Any) -> tuple[Array]:
        offset = np.zeros(()) if zero is None else zero.astype(np.float64)
        return ((x - _along(axis, offset, x)) * _along(axis, scale, x),)


def _along(axis: int, numbers: Array, x: Array) -> Array:
    """Numbers for all of x, or for each element along an axis of it."""
    if numbers.size == 1:
        return numbers.reshape(())
    return numbers.reshape([-1 if d == axis % x.ndim else 1 for d in range(x.ndim)])


def outputs_in_double(path: Path, inputs: Mapping[str, Array], keep: Sequence[str] = ()) -> dict[str, Array]:
    """The outputs of a model, and the inner values in `keep`, with all float32 data and arithmetic in float64."""
    return _evaluated(onnx.load(path), inputs, keep)


def layers_in_double(
    path: Path, inputs: Mapping[str, Array], keep: Sequence[str]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """As `outputs_in_double`, and Σ|w||x| of each kept value that sums products: the magnitude of its terms."""
    model = onnx.load(path)
    sums = [node for node in model.graph.node if node.op_type in _SUMS and node.output[0] in keep]
    absolute = {name: f"{name}/absolute" for node in sums for name in node.input if name}
    model.graph.node.extend(helper.make_node("Abs", [name], [new]) for name, new in absolute.items())
    magnitudes = {node.output[0]: f"{node.output[0]}/magnitude" for node in sums}
    for node in sums:
        twin = model.graph.node.add()
        twin.CopyFrom(node)
        twin.input[:] = [absolute.get(name, "") for name in node.input]
        twin.output[:] = [magnitudes[node.output[0]]]
        for factor in twin.attribute:
            if factor.type == onnx.AttributeProto.FLOAT:  # alpha and beta of Gemm
                factor.f = abs(factor.f)
    found = _evaluated(model, inputs, [*keep, *magnitudes.values()])
    return found, {value: found.pop(name) for value, name in magnitudes.items()}


def _evaluated(model: onnx.ModelProto, inputs: Mapping[str, Array], keep: Sequence[str]) -> dict[str, Array]:
    for tensor in model.graph.initializer:
        _widen(tensor)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                _widen(attribute.t)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    operators: list[type[OpRun]] = [Affine, Conv, ConvTranspose, Crop, ImageScaler, *operators_of(model)]
    if all(entry.version < _FIRST_QUANTISATION for entry in model.opset_import if entry.domain in {"", "ai.onnx"}):
        operators += [QuantizeLinear, DequantizeLinear]
    evaluator = ReferenceEvaluator(model, new_ops=operators)
    given = {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in inputs.items()}
    results: Any = evaluator.run(None, given, intermediate=True)
    names = {*evaluator.output_names, *keep}
    return {name: value for name, value in results.items() if name in names}


def _widen(tensor: TensorProto) -> None:
    if tensor.data_type == TensorProto.FLOAT:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))
