"""Functions of keras.ops that Keras 3 keeps as layers of a network.

Sources: keras/src/ops and keras/src/backend/tensorflow/{numpy,math,nn,core}.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sateen.frontends.core.einsum import einsum
from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.converters.activations import FUNCTIONS
from sateen.frontends.keras.converters.operands import FLOAT32, INT32, axes_of, tensor, tensors
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
    return lambda node: node.result(op, *(_truth(node, one) for one in both(node)))


def _truth(node: KerasNode, given: Any) -> Value:
    data = tensors(node, given)[0]
    return data if data.type.dtype.is_bool else node.step(ops.NotEqual(), data, node.literal(0, data.type.dtype))


def _logical_not(node: KerasNode) -> Operand:
    return node.result(ops.Not(), _truth(node, node.raw(0)))


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


def _softmax(make: Callable[[int], Operator]) -> Converter[KerasNode]:
    return lambda node: node.result(make(normal_axis(node.setting("axis", -1), node.rank(0))), node.raw(0))


def reduction(make: Callable[..., Operator], *, as_float: bool = False) -> Converter[KerasNode]:
    """A reduction over axes; None stands for all of them."""

    def convert(node: KerasNode) -> Operand:
        (data,) = tensors(node, node.raw(0), as_float=as_float)
        axes, keepdims = reduced(node, data)
        return node.result(make(axes=axes, keepdims=keepdims), data)

    return convert


def reduced(node: KerasNode, data: Value) -> tuple[tuple[int, ...], bool]:
    """The axes of a reduction, and whether they stay with extents of 1."""
    for setting in ("initial", "dtype", "weights"):
        if node.setting(setting, None) is not None:
            raise UnsupportedError(f"a reduction with {setting} is not supported", f"leave out {setting}")
    return axes_of(node.setting("axis", None), data.type.rank), bool(node.setting("keepdims", False))


def _variance(node: KerasNode, emit: Callable[..., Value]) -> Value:
    (data,) = tensors(node, node.raw(0), as_float=True)
    axes, keepdims = reduced(node, data)
    apart = node.step(Subtract(), data, node.step(ops.ReduceMean(axes=axes, keepdims=True), data))
    return emit(ops.ReduceMean(axes=axes, keepdims=keepdims), node.step(Multiply(), apart, apart))


def _holds(make: Callable[..., Operator]) -> Converter[KerasNode]:
    """Whether any or all elements along axes are true: the largest or smallest of truth values."""

    def convert(node: KerasNode) -> Operand:
        data = _truth(node, node.raw(0))
        axes, keepdims = reduced(node, data)
        return node.result(make(axes=axes, keepdims=keepdims), data)

    return convert


def _position(make: Callable[..., Operator]) -> Converter[KerasNode]:
    """The position of an extremum as int32; without an axis in the flattened data."""

    def convert(node: KerasNode) -> Operand:
        data, axis, keepdims = node.raw(0), node.setting("axis", None), bool(node.setting("keepdims", False))
        if axis is None:
            raise UnsupportedError("a position in flattened data is not supported", "give an axis")
        op = make(axis=normal_axis(axis, data.type.rank), keepdims=keepdims)
        return node.result(Cast(INT32), node.step(op, data))

    return convert


def _cast(node: KerasNode) -> Operand:
    return cast_to(node, node.setting("dtype", None))


def cast_to(node: KerasNode, name: Any) -> Operand:
    try:
        dtype = DType.of(str(name))
    except ArgumentError:
        raise UnsupportedError(f"the type {name!r} is not supported", "use numbers or bool") from None
    return node.operand(0) if dtype == node.dtype(0) else node.result(Cast(dtype), node.raw(0))


def _clip(node: KerasNode) -> Operand:
    low, high = (node.setting(name, node.argument(i, name)) for i, name in ((1, "x_min"), (2, "x_max")))
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        raise UnsupportedError("bounds that are computed are not supported", "use maximum and minimum")
    return node.result(ops.Clip(low=float(low), high=float(high)), node.raw(0))


def _where(node: KerasNode) -> Operand:
    condition = node.argument(0, "condition")
    return node.result(Where(), _truth(node, condition), *tensors(node, node.argument(1, "x1"), node.argument(2, "x2")))


def _einsum(node: KerasNode) -> Operand:
    equation = node.setting("subscripts", None)
    if not isinstance(equation, str):
        raise FrontendError(f"expected subscripts, found {equation!r}")
    return node.result(*einsum(node, equation, tensors(node, *(node.raw(i) for i in range(node.input_count)))))


def _matmul(node: KerasNode) -> Operand:
    left, right = tensors(node, *both(node))
    if min(left.type.rank, right.type.rank) < 2:
        raise UnsupportedError("a product with a vector is not supported", "make it a matrix")
    return node.result(ops.MatMul(), left, right)


def _running(make: Callable[[int], Operator]) -> Converter[KerasNode]:
    def convert(node: KerasNode) -> Operand:
        if node.setting("dtype", None) is not None or type(node.setting("axis", None)) is not int:
            raise UnsupportedError(
                "a running sum without an axis, or of another type, is not supported", "give an axis"
            )
        return node.result(make(normal_axis(node.setting("axis", 0), node.rank(0))), node.raw(0))

    return convert


def _normalize(node: KerasNode) -> Operand:
    """x / sqrt(Σ x²), at most 1e12 times x (`_normalize` of keras/src/ops/nn.py)."""
    if node.setting("order", 2) != 2:
        raise UnsupportedError("norms of other orders than 2 are not supported", "use order 2")
    data, least = node.raw(0), node.setting("epsilon", None)
    epsilon = 1e-7 if least is None else float(least)
    axes = axes_of(node.setting("axis", -1), data.type.rank)
    square = node.step(ops.ReduceSum(axes=axes, keepdims=True), node.step(Multiply(), data, data))
    length = node.step(ops.Sqrt(), square)
    return node.result(ops.Divide(), data, node.step(ops.Maximum(), length, node.literal(epsilon, data.type.dtype)))


def _filled(number: float) -> Converter[KerasNode]:
    """A tensor of one number, of the shape of another."""

    def convert(node: KerasNode) -> Operand:
        data = node.raw(0)
        name = node.setting("dtype", None)
        dtype = data.type.dtype if name is None else DType.of(str(name))
        return node.result(ops.BroadcastTo(data.type.shape), node.literal(number, dtype))

    return convert


OPERATIONS: Mapping[str, Converter[KerasNode]] = {
    "ops.Absolute": plain(ops.Abs()),
    "ops.Add": binary(ops.Add()),
    "ops.All": _holds(ops.ReduceMin),
    "ops.Any": _holds(ops.ReduceMax),
    "ops.Arccos": unary(ops.Acos()),
    "ops.Arccosh": unary(ops.Acosh()),
    "ops.Arcsin": unary(ops.Asin()),
    "ops.Arcsinh": unary(ops.Asinh()),
    "ops.Arctan": unary(ops.Atan()),
    "ops.Arctan2": binary(ops.Atan2(), as_float=True),
    "ops.Arctanh": unary(ops.Atanh()),
    "ops.Argmax": _position(ops.ArgMax),
    "ops.Argmin": _position(ops.ArgMin),
    "ops.Cast": _cast,
    "ops.Ceil": unary(ops.Ceil()),
    "ops.Celu": activation("celu", alpha=1.0),
    "ops.Clip": _clip,
    "ops.Cos": unary(ops.Cos()),
    "ops.Cosh": unary(ops.Cosh()),
    "ops.Cumprod": _running(ops.CumProd),
    "ops.Cumsum": _running(ops.CumSum),
    "ops.Divide": _true_divide,
    "ops.Einsum": _einsum,
    "ops.Elu": activation("elu", alpha=1.0),
    "ops.Equal": binary(ops.Equal()),
    "ops.Erf": unary(ops.Erf()),
    "ops.Exp": unary(ops.Exp()),
    "ops.Expm1": unary(ops.Expm1()),
    "ops.Floor": unary(ops.Floor()),
    "ops.FloorDivide": _floor_divide,
    "ops.Gelu": _gelu,
    "ops.Greater": binary(ops.Greater()),
    "ops.GreaterEqual": binary(ops.GreaterEqual()),
    "ops.HardSigmoid": activation("hard_sigmoid"),
    "ops.HardSilu": activation("hard_silu"),
    "ops.HardTanh": activation("hard_tanh"),
    "ops.Isinf": plain(ops.IsInf()),
    "ops.Isnan": plain(ops.IsNaN()),
    "ops.LeakyRelu": activation("leaky_relu", negative_slope=0.2),
    "ops.Less": binary(ops.Less()),
    "ops.LessEqual": binary(ops.LessEqual()),
    "ops.Log": unary(ops.Log()),
    "ops.Log1p": unary(ops.Log1p()),
    "ops.LogSigmoid": activation("log_sigmoid"),
    "ops.LogSoftmax": _softmax(ops.LogSoftmax),
    "ops.LogicalAnd": logical(ops.And()),
    "ops.LogicalNot": _logical_not,
    "ops.LogicalOr": logical(ops.Or()),
    "ops.LogicalXor": logical(ops.Xor()),
    "ops.Logsumexp": reduction(ops.ReduceLogSumExp, as_float=True),
    "ops.Matmul": _matmul,
    "ops.Max": reduction(ops.ReduceMax),
    "ops.Maximum": binary(ops.Maximum()),
    "ops.Mean": reduction(ops.ReduceMean, as_float=True),
    "ops.Min": reduction(ops.ReduceMin),
    "ops.Minimum": binary(ops.Minimum()),
    "ops.Mish": activation("mish"),
    "ops.Mod": _modulo,
    "ops.Multiply": binary(Multiply()),
    "ops.Negative": plain(ops.Negative()),
    "ops.Normalize": _normalize,
    "ops.NotEqual": binary(ops.NotEqual()),
    "ops.OnesLike": _filled(1),
    "ops.Power": binary(ops.Power()),
    "ops.Prod": reduction(ops.ReduceProd),
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
    "ops.Softmax": _softmax(ops.Softmax),
    "ops.Softplus": unary(ops.Softplus()),
    "ops.Softsign": unary(ops.Softsign()),
    "ops.Sqrt": unary(ops.Sqrt()),
    "ops.Square": _square,
    "ops.Std": lambda node: node.result(ops.Sqrt(), _variance(node, node.step)),
    "ops.Subtract": binary(Subtract()),
    "ops.Sum": reduction(ops.ReduceSum),
    "ops.Tan": unary(ops.Tan()),
    "ops.Tanh": unary(ops.Tanh()),
    "ops.TrueDivide": _true_divide,
    "ops.Trunc": unary(ops.Trunc()),
    "ops.Var": lambda node: _variance(node, node.result),
    "ops.Where": _where,
    "ops.ZerosLike": _filled(0),
}
