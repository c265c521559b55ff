"""Between real numbers and the integers that stand for them."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.tflite.node import FLOAT, Converter, TfliteNode
from sateen.graph_ir.ops import Cast, Clip, Dequantize, Identity, Quantize
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError


def _dequantize(node: TfliteNode) -> Operand:
    """Weights of float16 are widened; they have no scale."""
    scaling = node.scaling(0)
    if scaling is not None:
        op = Dequantize(0 if scaling.is_single else scaling.axis)
        return node.result(op, node.value(0), *node.factors(scaling, node.dtype(0)))
    if not node.dtype(0).is_float:
        raise FrontendError(f"expected a quantised tensor, found {node.tensor(0).type} without a scale")
    return node.result(Cast(node.output_dtype()), node.value(0))


def _quantize(node: TfliteNode) -> Operand:
    """Of real numbers, or of integers with another scale."""
    if node.output_scaling() is None:
        raise FrontendError("expected a result with a scale, found none")
    return node.finish(Identity(), node.real(0))


def _fake_quantize(node: TfliteNode) -> Operand:
    """Rounded to one of 2^bits numbers between two bounds, which are moved so that 0 is one of them
    (tensorflow/core/kernels/fake_quant_ops_functor.h, Nudge)."""
    low, high, bits = np.float32(node.number("min")), np.float32(node.number("max")), node.integer("num_bits")
    least, most = np.float32(int(node.flag("narrow_range"))), np.float32((1 << bits) - 1) if 2 <= bits <= 16 else None
    if most is None or not -np.inf < low < high < np.inf:
        raise FrontendError(f"expected bounds in order and 2 to 16 bits, found {low}, {high} and {bits}")
    scale = (high - low) / (most - least)
    start = least - low / scale
    zero_point = least if start < least else most if start > most else np.floor(start + np.float32(0.5))
    kind = DType.of("uint8" if bits <= 8 else "uint16")
    factors = (
        node.parameter(np.array(scale, np.float32), "scale"),
        node.parameter(np.array(zero_point, kind.numpy), "zero_point"),
    )
    quantised = node.step(Clip(float(least), float(most)), node.step(Quantize(kind, 0), node.value(0), *factors))
    if node.dtype(0) != FLOAT:
        raise FrontendError(f"expected {FLOAT}, found {node.dtype(0)}")
    return node.result(Dequantize(0), quantised, *factors)


def _densify(node: TfliteNode) -> Operand:
    """Sparse constants are dense since they were read."""
    return node.result(Identity(), node.value(0))


QUANTIZATION: dict[str, Converter] = {
    "DENSIFY": _densify,
    "DEQUANTIZE": _dequantize,
    "FAKE_QUANT": _fake_quantize,
    "QUANTIZE": _quantize,
}
