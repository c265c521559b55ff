"""Networks in float64 by the evaluator of the onnx package: the judge where float32 itself is too coarse.

A sigmoid of -15 or the variance of 640,000 elements, computed in float32, can be further off than what is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from weft.graph_ir.graph import Array


class Affine(OpRun):  # type: ignore[misc]
    """An experimental operator of old models: alpha x + beta."""

    def _run(self, x: Array, alpha: float = 1.0, beta: float = 0.0) -> tuple[Array]:
        return (alpha * x + beta,)


class Crop(OpRun):  # type: ignore[misc]
    """An experimental operator of old models: takes left, top, right and bottom borders off."""

    def _run(self, x: Array, border: tuple[int, ...] = (), scale: tuple[int, ...] = ()) -> tuple[Array]:
        assert not scale
        left, top, right, bottom = border
        return (x[:, :, top : x.shape[2] - bottom, left : x.shape[3] - right],)


class ImageScaler(OpRun):  # type: ignore[misc]
    """An experimental operator of old models: scale x + bias, a bias per channel."""

    def _run(self, x: Array, bias: tuple[float, ...] = (), scale: float = 1.0) -> tuple[Array]:
        return (scale * x + np.asarray(bias)[:, None, None],)


def outputs_in_double(path: Path, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of a model with all float32 data and computation in float64."""
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        _widen(tensor)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                _widen(attribute.t)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    evaluator = ReferenceEvaluator(model, new_ops=[Affine, Crop, ImageScaler])
    given = {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in inputs.items()}
    return dict(zip(evaluator.output_names, evaluator.run(None, given), strict=True))


def _widen(tensor: TensorProto) -> None:
    if tensor.data_type == TensorProto.FLOAT:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))
