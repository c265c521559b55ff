"""Element-wise operators of one input, and those that are their input at inference."""

from __future__ import annotations

from collections.abc import Callable
from math import pi

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.mxnet.description import REQUIRED, OperatorDescription, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.topi.operators import Operator


def _unary(op: Operator) -> OperatorDescription:
    return operator(lambda node: node.result(op, node.value(0)))


def _identity(node: MxnetNode) -> Operand:
    return node.operand(0)


def _scaled(op: Operator | None, factor: float) -> OperatorDescription:
    """factor · op(x)."""

    def convert(node: MxnetNode) -> Operand:
        value = node.value(0) if op is None else node.step(op, node.value(0))
        return node.result(ops.Multiply(), value, node.literal(factor, value.type.dtype))

    return operator(convert)


def _chained(first: Operator, then: Operator) -> OperatorDescription:
    return operator(lambda node: node.result(then, node.step(first, node.value(0))))


def _square(node: MxnetNode) -> Operand:
    return node.result(ops.Multiply(), node.value(0), node.value(0))


def _cube_root(node: MxnetNode, value: Value) -> tuple[Value, Value]:
    """The two factors of the cube root: |x|^(1/3), and the sign."""
    third = node.literal(1 / 3, value.type.dtype)
    return node.step(ops.Power(), node.step(ops.Abs(), value), third), node.step(ops.Sign(), value)


def _round(node: MxnetNode) -> Operand:
    """To the nearest integer, halves away from zero (C's round, in src/operator/mshadow_op.h)."""
    data = node.value(0)
    whole = node.step(ops.Trunc(), data)
    rest = node.step(ops.Abs(), node.step(ops.Subtract(), data, whole))
    is_half = node.step(ops.GreaterEqual(), rest, node.like(0.5, data))
    further = node.step(ops.Add(), whole, node.step(ops.Sign(), data))
    return node.result(ops.Where(), is_half, further, whole)


def _rint(node: MxnetNode) -> Operand:
    """To the nearest integer, halves down: rint of mshadow_op.h chooses the floor where both are as near."""
    data = node.value(0)
    low, high = node.step(ops.Floor(), data), node.step(ops.Ceil(), data)
    below, above = node.step(ops.Subtract(), data, low), node.step(ops.Subtract(), high, data)
    return node.result(ops.Where(), node.step(ops.LessEqual(), below, above), low, high)


def _clip(node: MxnetNode) -> Operand:
    data = node.value(0)
    low, high = node.number("a_min"), node.number("a_max")
    if data.type.dtype.is_int:
        return node.result(ops.Clip(low=int(low), high=int(high)), data)
    return node.result(ops.Clip(low=low, high=high), data)


def _cast(node: MxnetNode) -> Operand:
    dtype = node.element_type("dtype")
    if dtype is None or dtype == node.dtype(0):
        return node.operand(0)
    return node.result(ops.Cast(dtype=dtype), node.value(0))


def _multicast(node: MxnetNode) -> tuple[Operand, ...]:
    """All floating-point inputs in the widest of their types, or with cast_narrow in the narrowest."""
    types = [node.dtype(i) for i in range(len(node.inputs)) if node.dtype(i).is_float]
    wanted = (min if node.flag("cast_narrow") else max)(types, key=lambda dtype: dtype.bits)
    operands: list[Operand] = []
    for index, operand in enumerate(node.inputs):
        is_other = node.dtype(index).is_float and node.dtype(index) != wanted
        operands.append(
            node.result(ops.Cast(dtype=wanted), node.value(index), output=index) if is_other else node.operand(index)
        )
        assert operand is not None
    return tuple(operands)


def _dropout(node: MxnetNode) -> Operand:
    """Its input, except in mode `always`, which drops at inference too."""
    if node.choice("mode", "training", "always") == "always":
        raise UnsupportedError("dropout of mode 'always' gives random numbers", "set its mode to 'training'")
    return node.operand(0)


def _activation(node: MxnetNode) -> Operand:
    kinds: dict[str, Operator] = {
        "relu": ops.Relu(),
        "sigmoid": ops.Sigmoid(),
        "softrelu": ops.Softplus(),
        "softsign": ops.Softsign(),
        "tanh": ops.Tanh(),
    }
    return node.result(kinds[node.choice("act_type", *kinds)], node.value(0))


def _leaky_relu(node: MxnetNode) -> Operand:
    """All of its modes. At inference rrelu has the mean of its slopes (src/operator/leaky_relu-inl.h)."""
    data = node.value(0)
    kinds: dict[str, Callable[[], Operator]] = {
        "leaky": lambda: ops.LeakyRelu(alpha=node.number("slope")),
        "elu": lambda: ops.Elu(alpha=node.number("slope")),
        "selu": ops.Selu,
        "gelu": ops.Gelu,
        "rrelu": lambda: ops.LeakyRelu(alpha=(node.number("lower_bound") + node.number("upper_bound")) / 2),
    }
    kind = node.choice("act_type", "prelu", *kinds)
    if kind != "prelu":
        return node.result(kinds[kind](), data)
    gamma = node.value(1)
    if gamma.type.rank == 1 and data.type.rank > 1:  # a slope per channel
        gamma = node.reshaped(gamma, (*gamma.type.shape, *[1] * (data.type.rank - 2)))
    return node.result(ops.PRelu(), data, gamma)


def _smooth_l1(node: MxnetNode) -> Operand:
    """(σx)²/2 for |x| < 1/σ², otherwise |x| - 1/(2σ²); the scalar is σ (src/operator/mshadow_op.h)."""
    data = node.value(0)
    square = node.number("scalar") ** 2
    if not square:
        raise UnsupportedError("smooth_l1 with a scalar of 0 is not defined")
    size = node.step(ops.Abs(), data)
    scaled = node.step(ops.Multiply(), node.step(ops.Multiply(), data, data), node.like(square / 2, data))
    straight = node.step(ops.Subtract(), size, node.like(0.5 / square, data))
    is_small = node.step(ops.Less(), size, node.like(1 / square, data))
    return node.result(ops.Where(), is_small, scaled, straight)


def _quadratic(node: MxnetNode) -> Operand:
    """a·x² + b·x + c."""
    data = node.value(0)
    a, b, c = (node.like(node.number(name), data) for name in "abc")
    inner = node.step(ops.Add(), node.step(ops.Multiply(), data, a), b)
    return node.result(ops.Add(), node.step(ops.Multiply(), inner, data), c)


def _divided_by_root(node: MxnetNode) -> Operand:
    """x / sqrt(extent of the last axis)."""
    data = node.value(0)
    root = node.literal(node.static_shape(0)[-1] ** 0.5, data.type.dtype)
    return node.result(ops.Divide(), data, root)


def _logical_not(node: MxnetNode) -> Operand:
    data = node.value(0)
    return node.result(ops.Cast(dtype=data.type.dtype), node.step(ops.Equal(), data, node.like(0, data)))


def _hard_sigmoid(node: MxnetNode) -> Operand:
    return node.result(ops.HardSigmoid(alpha=node.number("alpha"), beta=node.number("beta")), node.value(0))


def _cubic(node: MxnetNode) -> Operand:
    size, sign = _cube_root(node, node.value(0))
    return node.result(ops.Multiply(), size, sign)


def _inverse_cubic(node: MxnetNode) -> Operand:
    size, sign = _cube_root(node, node.value(0))
    return node.result(ops.Reciprocal(), node.step(ops.Multiply(), size, sign))


IDENTITY = operator(_identity)

ELEMENT_WISE = {
    "Activation": operator(_activation, act_type=REQUIRED),
    "BlockGrad": IDENTITY,
    "Cast": operator(_cast, dtype=REQUIRED),
    "Dropout": operator(_dropout, results="output mask", p=0.5, mode="training", axes=()),
    "IdentityAttachKLSparseReg": operator(
        _identity, "data moving_avg", auxiliary=1, sparseness_target=0.1, penalty=0.001, momentum=0.9
    ),
    "LeakyReLU": operator(
        _leaky_relu,
        "data gamma",
        results="output mask",
        act_type="leaky",
        slope=0.25,
        lower_bound=0.125,
        upper_bound=0.334,
    ),
    "_CrossDeviceCopy": IDENTITY,
    "_contrib_div_sqrt_dim": operator(_divided_by_root),
    "_contrib_gradientmultiplier": operator(_identity, scalar=1.0),
    "_contrib_round_ste": operator(_round),
    "_contrib_sign_ste": _unary(ops.Sign()),
    "_contrib_quadratic": operator(_quadratic, a=0.0, b=0.0, c=0.0),
    "_copy": IDENTITY,
    "_identity_with_attr_like_rhs": operator(_identity, "lhs rhs"),
    "abs": _unary(ops.Abs()),
    "amp_cast": operator(_cast, dtype=REQUIRED),
    "amp_multicast": operator(_multicast, results="", num_outputs=REQUIRED, cast_narrow=False),
    "arccos": _unary(ops.Acos()),
    "arccosh": _unary(ops.Acosh()),
    "arcsin": _unary(ops.Asin()),
    "arcsinh": _unary(ops.Asinh()),
    "arctan": _unary(ops.Atan()),
    "arctanh": _unary(ops.Atanh()),
    "cbrt": operator(_cubic),
    "cast_storage": operator(_identity, stype="default"),
    "ceil": _unary(ops.Ceil()),
    "clip": operator(_clip, a_min=REQUIRED, a_max=REQUIRED),
    "cos": _unary(ops.Cos()),
    "cosh": _unary(ops.Cosh()),
    "degrees": _scaled(None, 180 / pi),
    "erf": _unary(ops.Erf()),
    "exp": _unary(ops.Exp()),
    "expm1": _unary(ops.Expm1()),
    "fix": _unary(ops.Trunc()),
    "floor": _unary(ops.Floor()),
    "hard_sigmoid": operator(_hard_sigmoid, alpha=0.2, beta=0.5),
    "log": _unary(ops.Log()),
    "log10": _unary(ops.Log10()),
    "log1p": _unary(ops.Log1p()),
    "log2": _unary(ops.Log2()),
    "logical_not": operator(_logical_not),
    "negative": _unary(ops.Negative()),
    "radians": _scaled(None, pi / 180),
    "rcbrt": operator(_inverse_cubic),
    "reciprocal": _unary(ops.Reciprocal()),
    "relu": _unary(ops.Relu()),
    "rint": operator(_rint),
    "round": operator(_round),
    "rsqrt": _chained(ops.Sqrt(), ops.Reciprocal()),
    "sigmoid": _unary(ops.Sigmoid()),
    "sign": _unary(ops.Sign()),
    "sin": _unary(ops.Sin()),
    "sinh": _unary(ops.Sinh()),
    "smooth_l1": operator(_smooth_l1, scalar=1.0),
    "softsign": _unary(ops.Softsign()),
    "sqrt": _unary(ops.Sqrt()),
    "square": operator(_square),
    "tan": _unary(ops.Tan()),
    "tanh": _unary(ops.Tanh()),
    "trunc": _unary(ops.Trunc()),
}
