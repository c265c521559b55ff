"""Colours of pictures [..., 3]: hue, saturation and value of red, green and blue, and back.

Source: tensorflow/core/kernels/image/colorspace_op.h and the kernels of tf.image.adjust_*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sateen.frontends.core.operands import Operand
from sateen.frontends.tensorflow.node import Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import listed
from sateen.topi.operators import Operator

_RISING = (3.0, 2.0, 4.0)
"""The hue, in sixths of the circle, around which each of red, green and blue changes."""


class _Colours:
    """Arithmetic of the channels of a picture, each [..., 1]."""

    def __init__(self, node: TensorflowNode) -> None:
        if node.rank(0) < 1 or node.shape(0)[-1] != 3:
            raise FrontendError(f"expected pictures [..., 3], found {listed(node.shape(0))}")
        self.node = node
        self.axis = node.rank(0) - 1

    def apply(self, op: Operator, *values: Value | float) -> Value:
        dtype = self.node.dtype(0)
        return self.node.step(op, *(v if isinstance(v, Value) else self.node.literal(v, dtype) for v in values))

    def channels(self, value: Value) -> Sequence[Value]:
        return self.node.steps(ops.Split(axis=self.axis, sizes=(1, 1, 1)), value, count=3)

    def joined(self, channels: Sequence[Value]) -> Value:
        return self.node.result(ops.Concat(axis=self.axis), *channels)

    def hue_saturation_value(self, value: Value) -> tuple[Value, Value, Value]:
        apply = self.apply
        red, green, blue = self.channels(value)
        largest = self.node.step(ops.ReduceMax(axes=(self.axis,)), value)
        spread = apply(ops.Subtract(), largest, self.node.step(ops.ReduceMin(axes=(self.axis,)), value))
        is_grey = apply(ops.LessEqual(), spread, 0.0)
        is_black = apply(ops.LessEqual(), largest, 0.0)
        saturation = apply(ops.Where(), is_black, 0.0, apply(ops.Divide(), spread, largest))
        sixth = apply(ops.Divide(), 1.0, apply(ops.Multiply(), spread, 6.0))

        def turned(first: Value, second: Value, by: float) -> Value:
            return apply(ops.Add(), apply(ops.Multiply(), sixth, apply(ops.Subtract(), first, second)), by)

        hue = apply(
            ops.Where(), apply(ops.Equal(), green, largest), turned(blue, red, 2 / 6), turned(red, green, 4 / 6)
        )
        hue = apply(ops.Where(), apply(ops.Equal(), red, largest), turned(green, blue, 0.0), hue)
        hue = apply(ops.Where(), is_grey, 0.0, hue)
        return apply(ops.Where(), apply(ops.Less(), hue, 0.0), apply(ops.Add(), hue, 1.0), hue), saturation, largest

    def red_green_blue(self, hue: Value, saturation: Value, value: Value) -> list[Value]:
        apply = self.apply
        sixths, grey = apply(ops.Multiply(), hue, 6.0), apply(ops.Subtract(), 1.0, saturation)
        found = []
        for position, middle in enumerate(_RISING):
            distance = apply(ops.Abs(), apply(ops.Subtract(), sixths, middle))
            slope = apply(ops.Subtract(), distance, 1.0) if not position else apply(ops.Subtract(), 2.0, distance)
            full = self.node.step(ops.Clip(0.0, 1.0), slope)
            part = apply(ops.Add(), grey, apply(ops.Multiply(), saturation, full))
            found.append(apply(ops.Multiply(), part, value))
        return found


def _to_hue(node: TensorflowNode) -> Operand:
    colours = _Colours(node)
    return colours.joined(colours.hue_saturation_value(node.value(0)))


def _from_hue(node: TensorflowNode) -> Operand:
    colours = _Colours(node)
    hue, saturation, value = colours.channels(node.value(0))
    return colours.joined(colours.red_green_blue(hue, saturation, value))


def _adjusted(change: Callable[[_Colours, Value, Value, Value], tuple[Value, Value]]) -> Converter:
    """Another hue and saturation; `change` takes both and the second input."""

    def convert(node: TensorflowNode) -> Operand:
        colours = _Colours(node)
        hue, saturation, value = colours.hue_saturation_value(node.value(0))
        by = node.cast(node.value(1), node.dtype(0))
        return colours.joined(colours.red_green_blue(*change(colours, hue, saturation, by), value))

    return convert


def _turned(colours: _Colours, hue: Value, saturation: Value, by: Value) -> tuple[Value, Value]:
    turned = colours.apply(ops.Add(), hue, by)
    return colours.apply(ops.Subtract(), turned, colours.apply(ops.Floor(), turned)), saturation


def _saturated(colours: _Colours, hue: Value, saturation: Value, by: Value) -> tuple[Value, Value]:
    return hue, colours.node.step(ops.Clip(0.0, 1.0), colours.apply(ops.Multiply(), saturation, by))


def _contrast(node: TensorflowNode) -> Operand:
    """Pictures [..., H, W, C], whose distance from the mean of their channel grows (adjust_contrast_op.h)."""
    rank = node.rank(0)
    if rank < 3:
        raise FrontendError(f"expected pictures [..., H, W, C], found {listed(node.shape(0))}")
    mean = node.step(ops.ReduceMean(axes=(rank - 3, rank - 2)), node.value(0))
    distance = node.step(ops.Subtract(), node.value(0), mean)
    grown = node.step(ops.Multiply(), distance, node.cast(node.value(1), node.dtype(0)))
    return node.result(ops.Add(), grown, mean)


COLOURS: dict[str, Converter] = {
    "AdjustContrastv2": _contrast,
    "AdjustHue": _adjusted(_turned),
    "AdjustSaturation": _adjusted(_saturated),
    "HSVToRGB": _from_hue,
    "RGBToHSV": _to_hue,
}
