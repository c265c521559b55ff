"""Rounding to the steps of integers, as training for quantisation puts it into graphs."""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.node import Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError


def _fake_quantized(node: TensorflowNode) -> Operand:
    """Limited to the range, moved so that 0 is a step, and rounded to steps, halves up (fake_quant_ops_functor.h)."""
    if node.operator == "FakeQuantWithMinMaxArgs":
        first, last = (np.array(node.number(name), np.float32) for name in ("min", "max"))
    else:
        first, last = (node.constant(index).astype(np.float32) for index in (1, 2))
    bits = node.integer("num_bits")
    if not 2 <= bits <= 16 or not np.all(first <= last):
        raise FrontendError(f"expected 2 to 16 bits and min up to max, found {bits}, {first}, {last}")
    low, high, scale = _nudged(first, last, int(node.flag("narrow_range")), 2**bits - 1)
    data = node.value(0)
    limited = node.step(
        ops.Minimum(), node.step(ops.Maximum(), data, node.parameter(low, "low")), node.parameter(high, "high")
    )
    moved = node.step(ops.Subtract(), limited, node.parameter(low, "low"))
    counted = node.step(ops.Multiply(), moved, node.parameter((np.float32(1) / scale).astype(np.float32), "steps"))
    rounded = node.step(ops.Floor(), node.step(ops.Add(), counted, node.literal(0.5, data.type.dtype)))
    wide = node.step(ops.Multiply(), rounded, node.parameter(scale, "scale"))
    return node.result(ops.Add(), wide, node.parameter(low, "low"))


def _nudged(low: Array, high: Array, least: int, most: int) -> tuple[Array, Array, Array]:
    """The ends of a range and its step, in float32, moved so that 0 is a step. A range of nothing gives zeros."""
    if ((low == 0) & (high == 0)).any():
        raise UnsupportedError("a range from 0 to 0 is not supported")
    first, last = np.float32(least), np.float32(most)
    scale = np.asarray((high - low) / (last - first), np.float32)
    place = first - low / scale
    rounded = np.floor(place + np.float32(0.5)).astype(np.float32)
    zero = np.where(place < first, first, np.where(place > last, last, rounded)).astype(np.float32)
    return np.asarray((first - zero) * scale), np.asarray((last - zero) * scale), scale


QUANTIZATION: dict[str, Converter] = {
    "FakeQuantWithMinMaxArgs": _fake_quantized,
    "FakeQuantWithMinMaxVars": _fake_quantized,
    "FakeQuantWithMinMaxVarsPerChannel": _fake_quantized,
}
