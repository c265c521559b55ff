"""Operators that compute element by element, and those that hand their input on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sateen.frontends.caffe2.converters.fills import DTYPES
from sateen.frontends.caffe2.node import Caffe2Node, Converter
from sateen.frontends.core.broadcast import aligned, folded, mean
from sateen.frontends.core.operands import Operand, normal_axis, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir import ops
from sateen.graph_ir.ops import Add, Multiply
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator


def _unary(make: Callable[[Caffe2Node], Operator]) -> Converter:
    return lambda node: node.result(make(node), node.the_value())


def _binary(op: Operator) -> Converter:
    """Inputs that broadcast; with `broadcast` the second lines up with the first from `axis` on, or at the end
    (elementwise_ops.h, BinaryElementwiseWithArgsOp)."""

    def convert(node: Caffe2Node) -> Operand:
        node.require_inputs(2, 2)
        first, second = node.value(0), node.value(1)
        if node.given("axis_str"):
            raise UnsupportedError("axis_str is not supported", "give axis as a number")
        axis = node.whole("axis", -1)
        if axis != -1 and second.type.rank:
            second = aligned(node, second, normal_axis(axis, first.type.rank), first.type.rank)
        return node.result(op, first, second)

    return convert


def _folded(op: Operator) -> Converter:
    return lambda node: folded(node, op, node.values())


def _handed_on(node: Caffe2Node) -> Operand:
    return node.operand(0)


def _dropout(node: Caffe2Node) -> Operand | Sequence[Operand]:
    """The input itself at inference; Caffe2's default is training (dropout_op.h)."""
    if not node.whole("is_test", 0):
        raise UnsupportedError("dropout in training is not supported", "export with is_test=1")
    node.require_one_result()
    return node.operand(0)


def _power(node: Caffe2Node) -> Operand:
    """x to a power that is an argument, or the second input (pow_op.h)."""
    node.require_inputs(1, 2)
    data = node.value(0)
    if len(node.inputs) == 2:
        return _binary(ops.Power())(node)  # type: ignore[return-value]
    return node.result(ops.Power(), data, node.literal(node.number("exponent"), data.type.dtype))


def _repeated_product(count: int) -> Converter:
    def convert(node: Caffe2Node) -> Operand:
        data = node.the_value()
        product = data
        for _ in range(count - 2):
            product = node.step(Multiply(), product, data)
        return node.result(Multiply(), product, data)

    return convert


def _reciprocal_root(node: Caffe2Node) -> Operand:
    return node.result(ops.Reciprocal(), node.step(ops.Sqrt(), node.the_value()))


def _scale(node: Caffe2Node) -> Operand:
    data = node.the_value()
    return node.result(Multiply(), data, node.literal(node.real("scale", 1.0), data.type.dtype))


def _swish(node: Caffe2Node) -> Operand:
    data = node.the_value()
    return node.result(Multiply(), data, node.step(ops.Sigmoid(), data))


def _cube_root(node: Caffe2Node) -> Operand:
    data = node.the_value()
    root = node.step(ops.Power(), node.step(ops.Abs(), data), node.literal(1 / 3, data.type.dtype))
    return node.result(Multiply(), node.step(ops.Sign(), data), root)


def _logit(node: Caffe2Node) -> Operand:
    """log(x / (1 - x)) of x from eps to 1 - eps (logit_op.cc)."""
    data, eps = node.the_value(), node.real("eps", 1e-6)
    inside = node.step(ops.Clip(low=eps, high=1 - eps), data)
    rest = node.step(ops.Subtract(), node.literal(1, data.type.dtype), inside)
    return node.result(ops.Log(), node.step(ops.Divide(), inside, rest))


def _replaced_nan(node: Caffe2Node) -> Operand:
    data = node.the_value()
    number = node.literal(node.real("value", 0.0), data.type.dtype)
    return node.result(ops.Where(), node.step(ops.IsNaN(), data), number, data)


def _gated(node: Caffe2Node) -> Operand:
    """The first half along an axis times the logistic function of the second (glu_op.cc)."""
    data = node.the_value()
    axis = normal_axis(node.whole("dim", -1), data.type.rank)
    (extent,) = static_extents(data.type.shape[axis : axis + 1], node.described(0))
    if extent % 2:
        raise FrontendError(f"expected an even extent of axis {axis}, found {extent}")
    first, second = node.steps(ops.Split(axis, (extent // 2, extent // 2)), data, count=2)
    return node.result(Multiply(), first, node.step(ops.Sigmoid(), second))


def _weighted_sum(node: Caffe2Node) -> Operand:
    """Inputs in turn with their weights (utility_ops.h, WeightedSumOp)."""
    values = node.values()
    if len(values) < 2 or len(values) % 2:
        raise FrontendError(f"expected inputs and their weights in turn, found {len(values)}")
    parts = [node.step(Multiply(), *values[i : i + 2]) for i in range(0, len(values), 2)]
    for part in parts[1:-1]:
        parts[0] = node.step(Add(), parts[0], part)
    return node.result(Add(), parts[0], parts[-1]) if len(parts) > 1 else node.result(ops.Identity(), parts[0])


def _parametric_relu(node: Caffe2Node) -> Operand:
    """A slope for all, or one for each channel (prelu_op.cc)."""
    node.require_inputs(2, 2)
    data, slope = node.picture(), node.value(1)
    if slope.type.shape != (1,):
        slope = aligned(node, slope, 1, data.type.rank)
    return node.pictured(ops.PRelu(), data, slope)


def _clip(node: Caffe2Node) -> Operand:
    low, high = (node.number(name) if node.given(name) else None for name in ("min", "max"))
    return node.result(ops.Clip(low=low, high=high), node.the_value())


def _cast(node: Caffe2Node) -> Operand:
    """`to` is a number or a name (cast_op.cc)."""
    to = node.attribute("to")
    names = {"FLOAT": 1, "INT32": 2, "BYTE": 3, "BOOL": 5, "UINT8": 6, "INT8": 7, "UINT16": 8, "INT16": 9, "INT64": 10,
             "FLOAT16": 12, "DOUBLE": 13}  # fmt: skip
    code = names.get(to.decode("ascii", "replace").upper()) if isinstance(to, bytes) else to
    if code not in DTYPES:
        raise FrontendError(f"expected a type of Caffe2 as to, found {to!r}")
    dtype = DType.of(DTYPES[code])
    return node.operand(0) if dtype == node.dtype(0) else node.result(ops.Cast(dtype), node.the_value())


ELEMENT_WISE: dict[str, Converter] = {
    "Abs": _unary(lambda node: ops.Abs()),
    "Add": _binary(Add()),
    **dict.fromkeys(("Alias", "AliasWithName", "Copy", "CopyCPUToGPU", "CopyGPUToCPU", "EnsureCPUOutput", "EnsureDense",
                     "StopGradient"), _handed_on),
    "Acos": _unary(lambda node: ops.Acos()),
    "And": _binary(ops.And()),
    "Asin": _unary(lambda node: ops.Asin()),
    "Atan": _unary(lambda node: ops.Atan()),
    "Cast": _cast,
    "Cbrt": _cube_root,
    "Ceil": _unary(lambda node: ops.Ceil()),
    "Clip": _clip,
    "Cos": _unary(lambda node: ops.Cos()),
    "Cosh": _unary(lambda node: ops.Cosh()),
    "Cube": _repeated_product(3),
    "Div": _binary(ops.Divide()),
    "Dropout": _dropout,
    "EQ": _binary(ops.Equal()),
    "Elu": _unary(lambda node: ops.Elu(alpha=node.real("alpha", 1.0))),
    "Erf": _unary(lambda node: ops.Erf()),
    "Exp": _unary(lambda node: ops.Exp()),
    "Floor": _unary(lambda node: ops.Floor()),
    "GE": _binary(ops.GreaterEqual()),
    "GT": _binary(ops.Greater()),
    "Gelu": _unary(lambda node: ops.Gelu("tanh" if node.whole("fast_gelu", 0) else "none")),
    "Glu": _gated,
    "HardSigmoid": _unary(lambda node: ops.HardSigmoid(alpha=node.real("alpha", 0.2), beta=node.real("beta", 0.5))),
    "LE": _binary(ops.LessEqual()),
    "LT": _binary(ops.Less()),
    "LeakyRelu": _unary(lambda node: ops.LeakyRelu(alpha=node.real("alpha", 0.01))),
    "Log": _unary(lambda node: ops.Log()),
    "Logit": _logit,
    "Max": _folded(ops.Maximum()),
    "Mean": lambda node: mean(node, node.values()),
    "Min": _folded(ops.Minimum()),
    "Mul": _binary(Multiply()),
    "NE": _binary(ops.NotEqual()),
    "Negative": _unary(lambda node: ops.Negative()),
    "Not": _unary(lambda node: ops.Not()),
    "Or": _binary(ops.Or()),
    "PRelu": _parametric_relu,
    "Pow": _power,
    "Reciprocal": _unary(lambda node: ops.Reciprocal()),
    "Relu": _unary(lambda node: ops.Relu()),
    "ReplaceNaN": _replaced_nan,
    "Rsqrt": _reciprocal_root,
    "Scale": _scale,
    "Selu": _unary(
        lambda node: ops.Selu(alpha=node.real("alpha", 1.6732632423), gamma=node.real("scale", 1.0507009873554805))
    ),
    "Sigmoid": _unary(lambda node: ops.Sigmoid()),
    "Sign": _unary(lambda node: ops.Sign()),
    "Sin": _unary(lambda node: ops.Sin()),
    "Sinh": _unary(lambda node: ops.Sinh()),
    "Softplus": _unary(lambda node: ops.Softplus()),
    "Softsign": _unary(lambda node: ops.Softsign()),
    "Sqr": _repeated_product(2),
    "Sqrt": _unary(lambda node: ops.Sqrt()),
    "Sub": _binary(ops.Subtract()),
    "Sum": _folded(Add()),
    "Swish": _swish,
    "Tan": _unary(lambda node: ops.Tan()),
    "Tanh": _unary(lambda node: ops.Tanh()),
    "WeightedSum": _weighted_sum,
    "Where": lambda node: node.result(ops.Where(), node.value(0), node.value(1), node.value(2)),
    "Xor": _binary(ops.Xor()),
}  # fmt: skip
