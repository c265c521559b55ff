"""The converter's view of a TensorFlow Lite operator, whose tensors may be quantised.

Operators compute with real numbers: `real` dequantises an input, `finish` applies the fused activation and quantises
the result, so that the graph keeps the quantisation of the file. Operators that only move elements take the integers
by `value` and give them by `result`.
"""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.node import Converter as ConverterOf
from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.place import Call
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tflite.model import DTYPES, Operation, Scaling, Tensor
from sateen.graph_ir.ir import Array, Value
from sateen.graph_ir.ops import Clip, Dequantize, Quantize, Relu
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.tensor_ir.ir import int_range
from sateen.topi.operators import Operator

FLOAT = DType.of("float32")
FARTHEST = 1 << 20
"""A number beyond all integers of quantised tensors."""
_BOUNDS = {"RELU": (0.0, None), "RELU_N1_TO_1": (-1.0, 1.0), "RELU6": (0.0, 6.0)}
"""The bounds of fused activations."""


class TfliteNode(ModelNode):
    def __init__(self, call: Call, operation: Operation) -> None:
        super().__init__(call, operation.options)
        self.operation = operation

    def tensor(self, index: int) -> Tensor:
        """The tensor that is input `index`. Raises FrontendError if it is absent."""
        self.operand(index)
        tensor = self.operation.inputs[index]
        assert tensor is not None
        return tensor

    def scaling(self, index: int) -> Scaling | None:
        """How the integers of input `index` stand for real numbers; None if it is not quantised."""
        return self.tensor(index).scaling

    def output(self, output: int = 0) -> Tensor:
        """The tensor that is a result. Raises FrontendError if it is absent."""
        if output >= len(self.operation.outputs):
            raise FrontendError(f"expected {output + 1} results or more, found {len(self.operation.outputs)}")
        return self.operation.outputs[output]

    def output_scaling(self, output: int = 0) -> Scaling | None:
        return self.output(output).scaling

    def output_dtype(self, output: int = 0) -> DType:
        return DTYPES[self.output(output).type]

    def real(self, index: int) -> Value:
        """Input `index`, dequantised if it is quantised."""
        scaling = self.scaling(index)
        return self.value(index) if scaling is None else self.dequantised(self.value(index), scaling)

    def reals(self) -> tuple[Value, ...]:
        """All inputs, dequantised if they are quantised."""
        return tuple(self.real(index) for index in range(len(self.inputs)))

    def value(self, index: int) -> Value:
        """Input `index` as a value of the graph. Beside dimensions that are open, which are int64, narrower integers
        are widened."""
        operand = self.operand(index)
        if isinstance(operand, np.ndarray) and operand.dtype == np.int32 and self._has_open_dimensions:
            return self.parameter(operand.astype(np.int64), "widened")
        return super().value(index)

    @property
    def _has_open_dimensions(self) -> bool:
        return any(isinstance(operand, np.ndarray) and operand.dtype == object for operand in self.inputs)

    def integer_at(self, index: int) -> int:
        """The one integer in input `index`, which must be known."""
        values = self.integers_at(index)
        if len(values) != 1:
            raise FrontendError(f"expected one integer as {self.described(index)}, found {list(values)}")
        return values[0]

    def dequantised(self, value: Value, scaling: Scaling) -> Value:
        """The real numbers that integers stand for."""
        return self.step(Dequantize(self._axis(scaling)), value, *self.factors(scaling, value.type.dtype))

    def finish(self, op: Operator, *inputs: Value | None, output: int = 0) -> Value:
        """The result of an operator on real numbers, with the fused activation, quantised as the file says."""
        following = self._following(output)
        if not following:
            return self.result(op, *inputs, output=output)
        value = self.step(op, *inputs)
        *steps, (last, others) = following
        for step, given in steps:
            value = self.step(step, value, *given)
        return self.result(last, value, *others, output=output)

    def _following(self, output: int) -> list[tuple[Operator, tuple[Value, ...]]]:
        """The operators that follow on the computation, each with its further inputs."""
        bounds = self._bounds()
        scaling = self.output_scaling(output)
        if scaling is None:
            return [(Relu() if bounds[1] is None else Clip(*bounds), ())] if bounds else []
        dtype = self.output_dtype(output)
        quantize = Quantize(dtype, self._axis(scaling)), self.factors(scaling, dtype)
        limit = limited_to(bounds, scaling, dtype)
        return [quantize] if limit is None else [quantize, (limit, ())]

    def limit(self, output: int = 0) -> Clip | None:
        """The fused activation of an operator that gives integers as they are; None if it limits nothing."""
        bounds, dtype, scaling = self._bounds(), self.output_dtype(output), self.output_scaling(output)
        if scaling is not None:
            return limited_to(bounds, scaling, dtype)
        return Clip(*bounds) if bounds else None

    def _bounds(self) -> tuple[float, float | None] | None:
        """The bounds of the fused activation; None if there are none."""
        activation = self.attribute("activation") or "NONE"
        if activation == "NONE":
            return None
        if activation not in _BOUNDS:
            raise UnsupportedError(
                f"the fused activation {activation} has no meaning here: kernels ignore it",
                "convert the model anew, with the activation as an operator of its own",
            )
        return _BOUNDS[activation]

    def _axis(self, scaling: Scaling) -> int:
        return 0 if scaling.is_single else scaling.axis

    def factors(self, scaling: Scaling, dtype: DType) -> tuple[Value, ...]:
        """The scale and, unless that is 0, the zero point."""
        least, most = int_range(dtype)
        if np.any(scaling.scales == 0) or np.any((scaling.zero_points < least) | (scaling.zero_points > most)):
            raise UnsupportedError(
                f"expected scales above 0 and zero points of {dtype}, found {scaling.scales.tolist()[:4]} "
                f"and {scaling.zero_points.tolist()[:4]}"
            )
        scale = self.parameter(self._shaped(scaling, scaling.scales), "scale")
        if not scaling.zero_points.any():
            return (scale,)
        return scale, self.parameter(self._shaped(scaling, scaling.zero_points.astype(dtype.numpy)), "zero_point")

    def _shaped(self, scaling: Scaling, values: Array) -> Array:
        return values.reshape(()) if scaling.is_single else values


def limited_to(bounds: tuple[float, float | None] | None, scaling: Scaling, dtype: DType) -> Clip | None:
    """Bounds of real numbers as those of the integers that stand for them; None if they limit nothing.

    Source: CalculateActivationRangeQuantized in tensorflow/lite/kernels/kernel_util.cc; halves are rounded away from 0.
    """
    if bounds is None:
        return None
    if not scaling.is_single:
        raise UnsupportedError("a fused activation of a tensor with a scale per channel is not supported")
    least, most = int_range(dtype)
    ends = [
        default if bound is None else int(scaling.zero_points[0]) + _rounded(bound, float(scaling.scales[0]))
        for bound, default in zip(bounds, (least, most), strict=True)
    ]
    low, high = max(ends[0], least), min(ends[1], most)
    return None if (low, high) == (least, most) else Clip(float(low), float(high))


def _rounded(bound: float, scale: float) -> int:
    """The quotient as kernels compute it, in float32; of larger numbers it is only known that they limit nothing."""
    with np.errstate(over="ignore"):
        quotient = np.clip(np.float32(bound) / np.float32(scale), -FARTHEST, FARTHEST)
    return int(np.copysign(np.floor(np.abs(quotient) + 0.5), quotient))


Converter = ConverterOf[TfliteNode]
