"""Linear quantisation: numbers as integers of few bits, a scale and a zero point, for all or for parts of an axis.

Source: ONNX QuantizeLinear and DequantizeLinear (opset 23).
"""

from __future__ import annotations

from collections.abc import Sequence

from sateen.runtime.dtype import DType
from sateen.tensor_ir import te
from sateen.tensor_ir.ir import int_range
from sateen.tensor_ir.te import Expr
from sateen.topi.computations.arguments import (
    require,
    require_axis,
    require_count,
    require_shape,
    require_views,
    require_whole_numbers,
)
from sateen.topi.computations.broadcast import divide
from sateen.topi.computations.element_wise import clip
from sateen.topi.schedules import Computation
from sateen.topi.types import Layout, View, compute


def factor_shape(shape: Sequence[int], axis: int, block: int) -> tuple[int, ...]:
    """The shape of several scales: one per index of an axis, or per `block` of indices."""
    if not block:
        return (shape[axis],)
    return (*shape[:axis], shape[axis] // block, *shape[axis + 1 :])


def dequantize(
    x: View, scale: View, zero_point: View | None = None, axis: int = 0, block: int = 0, layout: Layout | None = None
) -> Computation:
    """(x - zero_point) · scale in float32, rounded to the type of the scale.

    `scale` and `zero_point` have one element, or one per index of an axis, or with `block` the axes of x, one of which
    counts blocks of `block` indices.
    """
    _require_factors("dequantize", x, scale, zero_point, axis, block)
    require_whole_numbers("dequantize", x=x)

    def element(*index: Expr) -> Expr:
        centred = x(*index).astype("int32")
        if zero_point is not None:
            centred = centred - _factor(zero_point, index, axis, block).astype("int32")
        factor = _factor(scale, index, axis, block).astype("float32")
        return (centred.astype("float32") * factor).astype(scale.dtype)

    return Computation((compute(x.shape, element, "dequantize", layout or x.layout),))


def quantize(
    x: View, scale: View, zero_point: View | None, dtype: DType | str, axis: int = 0, block: int = 0,
    layout: Layout | None = None,
) -> Computation:  # fmt: skip
    """x / scale to the nearest integer, ties to even, + zero_point, limited to the range of `dtype` (16 bits at most).

    Operands are as in `dequantize`. Sums are in float32, which is exact near the limits.
    """
    _require_factors("quantize", x, scale, zero_point, axis, block)
    kind = DType.of(dtype)
    require(kind.is_int and kind.bits <= 16, "quantize", "a type of integers of at most 16 bits", kind)
    low, high = int_range(kind)

    def element(*index: Expr) -> Expr:
        nearest = te.round(divide(x(*index), _factor(scale, index, axis, block)).astype("float32"))
        if zero_point is not None:
            nearest = nearest + _factor(zero_point, index, axis, block).astype("float32")
        return clip(nearest, float(low), float(high)).astype(kind)

    return Computation((compute(x.shape, element, "quantize", layout or x.layout),))


def _factor(values: View, index: Sequence[Expr], axis: int, block: int) -> Expr:
    """The scale or zero point of an element."""
    if all(extent == 1 for extent in values.shape) and values.ndim < 2:
        return values(*[te.const(0)] * values.ndim)
    if not block:
        return values(index[axis])
    return values(*(i // block if d == axis else i for d, i in enumerate(index)))


def _require_factors(name: str, x: View, scale: View, zero_point: View | None, axis: int, block: int) -> None:
    factors = {"scale": scale, **({} if zero_point is None else {"zero_point": zero_point})}
    require_views(name, x=x, **factors)
    require_count(name, "block", block, 0)
    for factor, view in factors.items():
        if view.shape in ((), (1,)):
            continue
        require_axis(name, axis, x.ndim)
        fits = not block or x.shape[axis] % block == 0
        require(fits, name, f"blocks of {block} that divide axis {axis}", list(x.shape))
        require_shape(name, factor, view, factor_shape(x.shape, axis, block))
