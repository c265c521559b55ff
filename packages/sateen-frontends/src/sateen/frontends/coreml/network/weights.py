"""The data of weights: float32, float16, or quantised to 1 to 8 bits, linearly or by a look-up table."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.loading import Message
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

MOST_BITS = 8


def array_of(weights: Message, shape: Sequence[int], role: str, channel_axis: int = 0) -> Array:
    """Weights as float32 of a shape; scales of linear quantisation lie along `channel_axis`.

    Raises FrontendError unless the data is in one field and has as many elements, UnsupportedError for 8-bit data
    without a quantisation, which is an input of a dynamic one.
    """
    count = prod(shape)
    given = [name for name in ("floatValue", "float16Value", "rawValue", "int8RawValue") if getattr(weights, name)]
    if count == 0 or len(given) != 1:
        found = " and ".join(given) or "none"
        raise FrontendError(f"{role}: expected data of shape {list(shape)} in one field, found {found}")
    match given[0]:
        case "floatValue":
            if len(weights.floatValue) != count:
                raise FrontendError(f"{role}: expected {count} numbers, found {len(weights.floatValue)}")
            flat = np.asarray(weights.floatValue, np.float32)
        case "float16Value":
            _require_bytes(weights.float16Value, 2 * count, role)
            flat = np.frombuffer(weights.float16Value, "<f2").astype(np.float32)
        case "rawValue":
            flat = _dequantised(weights, shape, role, channel_axis)
        case _:
            raise UnsupportedError(
                f"{role}: a product with data that is quantised at run time is not supported",
                "convert the model without int8_dynamic_quantize",
            )
    return np.ascontiguousarray(flat.reshape(shape))


def _require_bytes(data: bytes, length: int, role: str) -> None:
    if len(data) != length:
        raise FrontendError(f"{role}: expected {length} bytes, found {len(data)}")


def _dequantised(weights: Message, shape: Sequence[int], role: str, channel_axis: int) -> Array:
    """scale · q + bias, or table[q]; q has its bits from the highest on, without gaps (quantization_utils.py)."""
    bits, count = weights.quantization.numberOfBits, prod(shape)
    if not 1 <= bits <= MOST_BITS:
        raise FrontendError(f"{role}: expected 1 to {MOST_BITS} bits per number, found {bits}")
    _require_bytes(weights.rawValue, -(-count * bits // 8), role)
    packed = np.frombuffer(weights.rawValue, np.uint8)
    if bits == MOST_BITS:
        codes = packed
    else:
        digits = np.unpackbits(packed)[: count * bits].reshape(count, bits)
        codes = digits @ (1 << np.arange(bits - 1, -1, -1))
    match weights.quantization.WhichOneof("quantization_type"):
        case "lookupTableQuantization":
            table = np.asarray(weights.quantization.lookupTableQuantization.floatValue, np.float32)
            if len(table) != 1 << bits:
                raise FrontendError(f"{role}: expected a table of {1 << bits} numbers, found {len(table)}")
            return table[codes]
        case "linearQuantization":
            linear = weights.quantization.linearQuantization
            scale = _per_channel(linear.scale, shape, channel_axis, f"scale of {role}")
            bias = _per_channel(linear.bias, shape, channel_axis, f"bias of {role}") if linear.bias else np.float32(0)
            return codes.reshape(shape).astype(np.float32) * scale + bias
    raise FrontendError(f"{role}: expected a linear quantisation or a look-up table, found neither")


def _per_channel(numbers: Sequence[float], shape: Sequence[int], axis: int, what: str) -> Array:
    """One number, or one for each channel, in a shape that broadcasts."""
    found = np.asarray(numbers, np.float32)
    if len(found) == 1:
        return found.reshape(())
    if len(found) != shape[axis]:
        raise FrontendError(f"{what}: expected 1 or {shape[axis]} numbers, found {len(found)}")
    return found.reshape([-1 if d == axis else 1 for d in range(len(shape))])
