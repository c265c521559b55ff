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


def _rounded_to_steps(node: TensorflowNode) -> Operand:
    """Limited to the range in inputs 1 and 2, and rounded to integers of num_bits times a step, as for symmetric signed
    or for unsigned integers (quantize_and_dequantize_op.h)."""
    if not node.flag("range_given") or node.integer("axis") != -1:
        raise UnsupportedError("a range that data decides, or one per axis, is not supported", "give the range")
    low, high = (float(node.scalar(index)) for index in (1, 2))
    bits = int(node.scalar(3)) if node.operator == "QuantizeAndDequantizeV3" else node.integer("num_bits")
    mode = node.text("round_mode") if node.attribute("round_mode") is not None else "HALF_TO_EVEN"
    if not 1 < bits < 25 or not low <= high or mode not in {"HALF_TO_EVEN", "HALF_UP"}:
        raise FrontendError(f"expected 2 to 24 bits, a range in order, a mode, found {bits}, {low}, {high}, {mode!r}")
    signed = node.flag("signed_input")
    most = 2 ** (bits - signed) - 1
    least = (-most if node.flag("narrow_range") else -most - 1) if signed else 0
    from_low = least / low if least * low > 0 else np.inf
    from_high = most / high if most * high > 0 else np.inf
    if min(from_low, from_high) == np.inf:
        raise UnsupportedError(f"a range of {low} to {high} is not supported")
    scale = np.float32(min(from_low, from_high))
    limits = [np.array(limit / scale, np.float32) for limit in (least, most)]
    data, dtype = node.value(0), node.dtype(0)
    raised = node.step(ops.Maximum(), data, node.cast(node.parameter(limits[0], "low"), dtype))
    limited = node.step(ops.Minimum(), raised, node.cast(node.parameter(limits[1], "high"), dtype))
    counted = node.step(ops.Multiply(), limited, node.literal(float(scale), dtype))
    if mode == "HALF_TO_EVEN":
        rounded = node.step(ops.Round(), counted)
    else:
        rounded = node.step(ops.Floor(), node.step(ops.Add(), counted, node.literal(0.5, dtype)))
    return node.result(ops.Multiply(), rounded, node.literal(float(np.float32(1) / scale), dtype))


QUANTIZATION: dict[str, Converter] = {
    "FakeQuantWithMinMaxArgs": _fake_quantized,
    "FakeQuantWithMinMaxVars": _fake_quantized,
    "FakeQuantWithMinMaxVarsPerChannel": _fake_quantized,
    "QuantizeAndDequantizeV2": _rounded_to_steps,
    "QuantizeAndDequantizeV3": _rounded_to_steps,
    "QuantizeAndDequantizeV4": _rounded_to_steps,
}
