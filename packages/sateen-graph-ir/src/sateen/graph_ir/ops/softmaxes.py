"""Softmax and its logarithm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sateen.graph_ir.ir import TensorType
from sateen.topi.computations import softmaxes
from sateen.topi.operators import Operator, require
from sateen.topi.schedules import Computation
from sateen.topi.types import View


def infer_along_axis(op: Operator, data: TensorType, axis: int) -> tuple[TensorType, ...]:
    """The data's own type. Raises InferenceError unless it is floating-point data with that axis."""
    require(data.dtype.is_float, op, f"expects floating-point data, found {data.dtype}")
    require(0 <= axis < data.rank, op, f"expects an axis in [0, {data.rank}), found {axis}")
    return (TensorType(data.dtype, data.shape),)


@dataclass(frozen=True, slots=True)
class Softmax(Operator):
    """exp(x) / Σ exp(x) along an axis (ONNX Softmax since opset 13)."""

    axis: int

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        return infer_along_axis(self, data, self.axis)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return softmaxes.softmax(data, self.axis)


@dataclass(frozen=True, slots=True)
class LogSoftmax(Operator):
    """x - log Σ exp(x) along an axis (ONNX LogSoftmax since opset 13)."""

    axis: int

    def infer(self, data: TensorType) -> tuple[TensorType, ...]:
        return infer_along_axis(self, data, self.axis)

    def compute(self, data: View, *, outputs: Sequence[TensorType]) -> Computation:
        return softmaxes.log_softmax(data, self.axis)


OPS = (LogSoftmax, Softmax)
"""The operators of this file."""
