"""Functions of keras.ops that work element by element, which Keras 3 keeps as layers of a network.

Sources: keras/src/ops and keras/src/backend/tensorflow/{numpy,math,nn,core}.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.converters.activations import FUNCTIONS
from sateen.frontends.keras.converters.operands import FLOAT32, integer, tensor, tensors
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Cast, Multiply, Subtract, Where
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError, FrontendError
from sateen.topi.operators import Operator


def unary(op: Operator) -> Converter[KerasNode]:
    """A function of floating-point numbers; integers become float32."""

    def convert(node: KerasNode) -> Operand:
        data = node.raw(0)
        return node.result(op, data if data.type.dtype.is_float else tensor(node, data, FLOAT32))

    return convert


def plain(op: Operator) -> Converter[KerasNode]:
    """A function of numbers of any type."""
    return lambda node: node.result(op, node.raw(0))


def binary(op: Operator, *, as_float: bool = False) -> Converter[KerasNode]:
    """A function of two tensors, or a tensor and a number."""

    def convert(node: KerasNode) -> Operand:
        return node.result(op, *tensors(node, *both(node), as_float=as_float))

    return convert


def both(node: KerasNode) -> tuple[Any, Any]:
    """The two arguments of a function."""
    return node.argument(0, "x1", node.argument(0, "x")), node.argument(1, "x2", node.argument(1, "y"))


def logical(op: Operator) -> Converter[KerasNode]:
    """A function of truth values: numbers are true where they are not 0."""
    return lambda node: node.result(op, *(truth(node, one) for one in both(node)))


def truth(node: KerasNode, given: Any) -> Value:
    data = tensors(node, given)[0]
    return data if data.type.dtype.is_bool else node.step(ops.NotEqual(), data, node.literal(0, data.type.dtype))


def _logical_not(node: KerasNode) -> Operand:
    return node.result(ops.Not(), truth(node, node.raw(0)))


def _true_divide(node: KerasNode) -> Operand:
    return node.result(ops.Divide(), *tensors(node, *both(node), as_float=True))


def _floor_divide(node: KerasNode) -> Operand:
    left, right = tensors(node, *both(node))
    if left.type.dtype.is_float:
        return node.result(ops.Floor(), node.step(ops.Divide(), left, right))
    return node.result(ops.FloorDivide(), left, right)


def _modulo(node: KerasNode) -> Operand:
    """The remainder with the sign of the divisor (FloorMod of TensorFlow)."""
    left, right = tensors(node, *both(node))
    if not left.type.dtype.is_float:
        return node.result(ops.Modulo(), left, right)
    rest, zero = node.step(ops.Modulo(fmod=True), left, right), node.literal(0, left.type.dtype)
    differs = node.step(ops.Xor(), node.step(ops.Less(), rest, zero), node.step(ops.Less(), right, zero))
    moves = node.step(ops.And(), differs, node.step(ops.NotEqual(), rest, zero))
    return node.result(Where(), moves, node.step(ops.Add(), rest, right), rest)


def _square(node: KerasNode) -> Operand:
    return node.result(Multiply(), node.raw(0), node.raw(0))


def _reciprocal_root(node: KerasNode) -> Operand:
    return node.result(ops.Reciprocal(), node.step(ops.Sqrt(), *tensors(node, node.raw(0), as_float=True)))


def _round(node: KerasNode) -> Operand:
    if node.setting("decimals", 0) != 0:
        raise UnsupportedError("rounding to decimals is not supported", "round to integers")
    return node.result(ops.Round(), node.raw(0))


def activation(name: str, **known: Any) -> Converter[KerasNode]:
    """A function that is an activation too; with settings other than the usual ones it is refused."""

    def convert(node: KerasNode) -> Operand:
        for setting, usual in known.items():
            if node.setting(setting, usual) != usual:
                raise UnsupportedError(f"{setting}={node.setting(setting, usual)!r} is not supported", "use a layer")
        data = node.raw(0)
        return FUNCTIONS[name](node, node.result, data if data.type.dtype.is_float else tensor(node, data, FLOAT32))

    return convert


def _gelu(node: KerasNode) -> Operand:
    return node.result(ops.Gelu(approximate="tanh" if node.setting("approximate", True) else "none"), node.raw(0))


def _cast(node: KerasNode) -> Operand:
    return cast_to(node, node.setting("dtype", None))


def dtype_of(name: Any) -> DType:
    try:
        return DType.of(str(name))
    except ArgumentError:
        raise UnsupportedError(f"the type {name!r} is not supported", "use numbers or bool") from None


def cast_to(node: KerasNode, name: Any) -> Operand:
    dtype = dtype_of(name)
    return node.operand(0) if dtype == node.dtype(0) else node.result(Cast(dtype), node.raw(0))


def _clip(node: KerasNode) -> Operand:
    low, high = (node.setting(name, node.argument(i, name)) for i, name in ((1, "x_min"), (2, "x_max")))
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        raise UnsupportedError("bounds that are computed are not supported", "use maximum and minimum")
    return node.result(ops.Clip(low=float(low), high=float(high)), node.raw(0))


def _where(node: KerasNode) -> Operand:
    condition = node.argument(0, "condition")
    return node.result(Where(), truth(node, condition), *tensors(node, node.argument(1, "x1"), node.argument(2, "x2")))


def _filled(number: float) -> Converter[KerasNode]:
    """A tensor of one number, of the shape of another."""

    def convert(node: KerasNode) -> Operand:
        data = node.raw(0)
        name = node.setting("dtype", None)
        dtype = data.type.dtype if name is None else dtype_of(name)
        return node.result(ops.BroadcastTo(data.type.shape), node.literal(number, dtype))

    return convert


def _is_finite(node: KerasNode) -> Operand:
    data = node.raw(0)
    if not data.type.dtype.is_float:
        raise UnsupportedError("whether integers are finite is not supported", "leave it out")
    unusual = node.step(ops.Or(), node.step(ops.IsInf(), data), node.step(ops.IsNaN(), data))
    return node.result(ops.Not(), unusual)


def _divide_no_nan(node: KerasNode) -> Operand:
    """x / y, and 0 where y is 0."""
    left, right = tensors(node, *both(node), as_float=True)
    zero = node.literal(0, right.type.dtype)
    return node.result(Where(), node.step(ops.Equal(), right, zero), zero, node.step(ops.Divide(), left, right))


def _threshold(node: KerasNode) -> Operand:
    """x above a threshold, another number up to it."""
    data, values = node.raw(0), [node.setting(name, None) for name in ("threshold", "default_value")]
    if not all(isinstance(one, (int, float)) for one in values):
        raise FrontendError(f"expected numbers as threshold and default_value, found {values}")
    limit, other = (node.literal(one, data.type.dtype) for one in values)
    return node.result(Where(), node.step(ops.Greater(), data, limit), data, other)


def _one_hot(node: KerasNode) -> Operand:
    """1 where the class is; along a new axis."""
    data = node.raw(0)
    if node.setting("sparse", False):
        raise UnsupportedError("sparse tensors are not supported", "use sparse=False")
    name = node.setting("dtype", None)
    values = node.parameter(np.array([0, 1], dtype_of(name if name is not None else "float32").numpy), "values")
    axis = normal_axis(node.setting("axis", -1), data.type.rank + 1)
    indices = node.step(Cast(DType.of("int32")), data) if data.type.dtype.is_float else data
    return node.result(ops.OneHot(integer(node.setting("num_classes", None), "num_classes"), axis), indices, values)


ELEMENT_WISE: Mapping[str, Converter[KerasNode]] = {
    "ops.Absolute": plain(ops.Abs()),
    "ops.Add": binary(ops.Add()),
    "ops.Arccos": unary(ops.Acos()),
    "ops.Arccosh": unary(ops.Acosh()),
    "ops.Arcsin": unary(ops.Asin()),
    "ops.Arcsinh": unary(ops.Asinh()),
    "ops.Arctan": unary(ops.Atan()),
    "ops.Arctan2": binary(ops.Atan2(), as_float=True),
    "ops.Arctanh": unary(ops.Atanh()),
    "ops.Cast": _cast,
    "ops.Ceil": unary(ops.Ceil()),
    "ops.Celu": activation("celu", alpha=1.0),
    "ops.Clip": _clip,
    "ops.Cos": unary(ops.Cos()),
    "ops.Cosh": unary(ops.Cosh()),
    "ops.Divide": _true_divide,
    "ops.DivideNoNan": _divide_no_nan,
    "ops.Elu": activation("elu", alpha=1.0),
    "ops.Equal": binary(ops.Equal()),
    "ops.Erf": unary(ops.Erf()),
    "ops.Exp": unary(ops.Exp()),
    "ops.Expm1": unary(ops.Expm1()),
    "ops.Floor": unary(ops.Floor()),
    "ops.FloorDivide": _floor_divide,
    "ops.Gelu": _gelu,
    "ops.Glu": activation("glu", axis=-1),
    "ops.Greater": binary(ops.Greater()),
    "ops.GreaterEqual": binary(ops.GreaterEqual()),
    "ops.HardShrink": activation("hard_shrink", threshold=0.5),
    "ops.HardSigmoid": activation("hard_sigmoid"),
    "ops.HardSilu": activation("hard_silu"),
    "ops.HardTanh": activation("hard_tanh"),
    "ops.Isfinite": _is_finite,
    "ops.Isinf": plain(ops.IsInf()),
    "ops.Isnan": plain(ops.IsNaN()),
    "ops.LeakyRelu": activation("leaky_relu", negative_slope=0.2),
    "ops.Less": binary(ops.Less()),
    "ops.LessEqual": binary(ops.LessEqual()),
    "ops.Log": unary(ops.Log()),
    "ops.Log10": unary(ops.Log10()),
    "ops.Log1p": unary(ops.Log1p()),
    "ops.Log2": unary(ops.Log2()),
    "ops.LogSigmoid": activation("log_sigmoid"),
    "ops.LogicalAnd": logical(ops.And()),
    "ops.LogicalNot": _logical_not,
    "ops.LogicalOr": logical(ops.Or()),
    "ops.LogicalXor": logical(ops.Xor()),
    "ops.Maximum": binary(ops.Maximum()),
    "ops.Minimum": binary(ops.Minimum()),
    "ops.Mish": activation("mish"),
    "ops.Mod": _modulo,
    "ops.Multiply": binary(Multiply()),
    "ops.Negative": plain(ops.Negative()),
    "ops.NotEqual": binary(ops.NotEqual()),
    "ops.OneHot": _one_hot,
    "ops.OnesLike": _filled(1),
    "ops.Power": binary(ops.Power()),
    "ops.Reciprocal": unary(ops.Reciprocal()),
    "ops.Relu": plain(ops.Relu()),
    "ops.Relu6": activation("relu6"),
    "ops.Round": _round,
    "ops.Rsqrt": _reciprocal_root,
    "ops.Selu": activation("selu"),
    "ops.Sigmoid": unary(ops.Sigmoid()),
    "ops.Sign": plain(ops.Sign()),
    "ops.Silu": activation("silu"),
    "ops.Sin": unary(ops.Sin()),
    "ops.Sinh": unary(ops.Sinh()),
    "ops.SoftShrink": activation("soft_shrink", threshold=0.5),
    "ops.Softplus": unary(ops.Softplus()),
    "ops.Softsign": unary(ops.Softsign()),
    "ops.SparsePlus": activation("sparse_plus"),
    "ops.SparseSigmoid": activation("sparse_sigmoid"),
    "ops.Sqrt": unary(ops.Sqrt()),
    "ops.Square": _square,
    "ops.Squareplus": activation("squareplus", b=4),
    "ops.Subtract": binary(Subtract()),
    "ops.Tan": unary(ops.Tan()),
    "ops.Tanh": unary(ops.Tanh()),
    "ops.TanhShrink": activation("tanh_shrink"),
    "ops.Threshold": _threshold,
    "ops.TrueDivide": _true_divide,
    "ops.Trunc": unary(ops.Trunc()),
    "ops.Where": _where,
    "ops.ZerosLike": _filled(0),
}
