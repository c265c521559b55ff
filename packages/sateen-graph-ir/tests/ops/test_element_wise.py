"""Element-wise operators against NumPy."""

import math
import re

import numpy as np
import pytest

from sateen.graph_ir import ops
from sateen.graph_ir.compile import build
from sateen.graph_ir.ir import GraphBuilder, TensorType
from sateen.runtime import load
from sateen.runtime.dtype import DType
from sateen.runtime.errors import InferenceError
from sateen.topi.types import Layout

RANDOM = np.random.default_rng(0)
SIGNED = (RANDOM.normal(size=(2, 20, 3, 5)) * 2).astype("float32")
POSITIVE = np.abs(SIGNED) + 0.1
UNIT = np.tanh(SIGNED)
INTEGERS = RANDOM.integers(-9, 9, (3, 21)).astype("int32")
erf = np.vectorize(math.erf)


def softplus(x):
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def shrink(x):
    return np.where(x < -0.5, x + 0.25, np.where(x > 0.5, x - 0.25, 0))


FLOATS = {
    ops.Identity(): (lambda x: x, SIGNED),
    ops.Relu(): (lambda x: np.maximum(x, 0), SIGNED),
    ops.Clip(low=-1.0, high=0.5): (lambda x: np.clip(x, -1, 0.5), SIGNED),
    ops.Clip(low=0.25): (lambda x: np.maximum(x, 0.25), SIGNED),
    ops.LeakyRelu(alpha=0.1): (lambda x: np.where(x < 0, 0.1 * x, x), SIGNED),
    ops.ThresholdedRelu(alpha=0.7): (lambda x: np.where(x > 0.7, x, 0), SIGNED),
    ops.HardSigmoid(alpha=0.3, beta=0.4): (lambda x: np.clip(0.3 * x + 0.4, 0, 1), SIGNED),
    ops.HardSwish(): (lambda x: x * np.clip(x / 6 + 0.5, 0, 1), SIGNED),
    ops.Shrink(bias=0.25, lambd=0.5): (shrink, SIGNED),
    ops.Elu(alpha=0.7): (lambda x: np.where(x < 0, 0.7 * np.expm1(x), x), SIGNED),
    ops.Selu(alpha=1.5, gamma=1.2): (lambda x: 1.2 * np.where(x < 0, 1.5 * np.expm1(x), x), SIGNED),
    ops.Celu(alpha=0.7): (lambda x: np.where(x < 0, 0.7 * np.expm1(x / 0.7), x), SIGNED),
    ops.Gelu(): (lambda x: x * (1 + erf(x / math.sqrt(2))) / 2, SIGNED),
    ops.Gelu(approximate="tanh"): (
        lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        SIGNED,
    ),
    ops.Sigmoid(): (sigmoid, SIGNED),
    ops.Tanh(): (np.tanh, SIGNED),
    ops.Softplus(): (softplus, SIGNED),
    ops.Softsign(): (lambda x: x / (1 + np.abs(x)), SIGNED),
    ops.Mish(): (lambda x: x * np.tanh(softplus(x)), SIGNED),
    ops.Reciprocal(): (lambda x: 1 / x, POSITIVE),
    ops.Sqrt(): (np.sqrt, POSITIVE),
    ops.Abs(): (np.abs, SIGNED),
    ops.Negative(): (np.negative, SIGNED),
    ops.Sign(): (np.sign, np.floor(SIGNED)),
    ops.Floor(): (np.floor, SIGNED),
    ops.Ceil(): (np.ceil, SIGNED),
    ops.Round(): (np.rint, np.round(SIGNED * 2) / 2),
    ops.Trunc(): (np.trunc, SIGNED),
    ops.Exp(): (np.exp, SIGNED),
    ops.Expm1(): (np.expm1, SIGNED),
    ops.Log1p(): (np.log1p, POSITIVE),
    ops.Log(): (np.log, POSITIVE),
    ops.Log2(): (np.log2, POSITIVE),
    ops.Log10(): (np.log10, POSITIVE),
    ops.Erf(): (erf, SIGNED),
    ops.Sin(): (np.sin, SIGNED),
    ops.Cos(): (np.cos, SIGNED),
    ops.Tan(): (np.tan, UNIT),
    ops.Asin(): (np.arcsin, UNIT),
    ops.Acos(): (np.arccos, UNIT),
    ops.Atan(): (np.arctan, SIGNED),
    ops.Sinh(): (np.sinh, SIGNED),
    ops.Cosh(): (np.cosh, SIGNED),
    ops.Asinh(): (np.arcsinh, SIGNED),
    ops.Acosh(): (np.arccosh, POSITIVE + 1),
    ops.Atanh(): (np.arctanh, UNIT * 0.9),
}
"""Operator to (reference, argument)."""


@pytest.mark.parametrize("op", FLOATS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_values(check_op, op, dtype):
    reference, x = FLOATS[op]
    x = x.astype(dtype)
    check_op(op, [x], [reference(x.astype("float64")).astype(dtype)], Layout.blocked(4, 1, 16))


OF_INTEGERS = {
    ops.Identity(): lambda x: x,
    ops.Relu(): lambda x: np.maximum(x, 0),
    ops.Clip(low=-3.0, high=2.0**40): lambda x: np.maximum(x, -3),
    ops.Abs(): np.abs,
    ops.Sign(): np.sign,
    ops.Negative(): np.negative,
    ops.BitwiseNot(): np.invert,
    ops.Shrink(bias=1.5, lambd=2.0): lambda x: np.where(x < -2, x + 1.5, np.where(x > 2, x - 1.5, 0)).astype(x.dtype),
}


@pytest.mark.parametrize(("op", "reference"), OF_INTEGERS.items(), ids=[str(op) for op in OF_INTEGERS])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_values_of_integers(check_op, op, reference, dtype):
    x = INTEGERS.astype(dtype)
    check_op(op, [x], [reference(x)])


def test_unsigned_integers(check_op):
    x = np.array([0, 1, 200], "uint8")
    check_op(ops.Sign(), [x], [np.array([0, 1, 1], "uint8")])
    check_op(ops.Abs(), [x], [x])


def test_special_values_stay(check_op):
    x = np.array([np.nan, np.inf, -np.inf, -0.5], "float32")
    check_op(ops.Relu(), [x], [np.array([np.nan, np.inf, 0, 0], "float32")])
    check_op(ops.Sign(), [x], [np.array([np.nan, 1, -1, -1], "float32")])
    check_op(ops.LeakyRelu(alpha=0.5), [x], [np.array([np.nan, np.inf, -np.inf, -0.25], "float32")])
    check_op(ops.Shrink(lambd=0.25), [x], [np.array([0, np.inf, -np.inf, -0.5], "float32")])
    check_op(ops.ThresholdedRelu(alpha=-1.0), [x], [np.array([0, np.inf, 0, -0.5], "float32")])
    check_op(ops.IsNaN(), [x], [np.array([True, False, False, False])])
    check_op(ops.IsInf(), [x], [np.array([False, True, True, False])])
    check_op(ops.IsInf(detect_negative=False), [x], [np.array([False, True, False, False])])
    check_op(ops.IsInf(detect_negative=False, detect_positive=False), [x], [np.zeros(4, bool)])


def test_logical_negation(check_op):
    x = np.array([True, False, True])
    check_op(ops.Not(), [x], [~x])


@pytest.mark.parametrize("source", ["float32", "float16", "int32", "uint8", "bool"])
@pytest.mark.parametrize("target", ["float64", "float32", "int64", "int8", "bool"])
def test_cast(check_op, source, target):
    x = np.array([0, 1, 2.75, 100]).astype(source)
    check_op(ops.Cast(dtype=DType.of(target)), [x], [x.astype(target)])


def test_bits_as_another_type(check_op):
    x = np.array([0.0, -1.5, np.inf, 3e-39], "float32")
    check_op(ops.BitCast(dtype=DType.of("int32")), [x], [x.view("int32")])
    check_op(ops.BitCast(dtype=DType.of("float32")), [x.view("uint32")], [x])
    with pytest.raises(InferenceError, match="expects a type of as many bits as float32, found int64"):
        ops.BitCast(dtype=DType.of("int64")).infer(TensorType.of("float32", (4,)))


def test_scalars(check_op):
    check_op(ops.Exp(), [np.array(0, "float32")], [np.array(1, "float32")])


@pytest.mark.parametrize(
    ("op", "dtype", "message"),
    [
        (ops.Exp(), "int32", "exp: data expects floating-point numbers of 16 bits or more, found int32"),
        (ops.Negative(), "uint8", "negative: data expects signed numbers, found uint8"),
        (ops.Relu(), "bool", "relu: data expects numbers, found bool"),
        (ops.Not(), "int8", "not: data expects bool, found int8"),
        (ops.BitwiseNot(), "float32", "bitwise_not: data expects integers, found float32"),
        (ops.Gelu(approximate="erf"), "float32", "gelu: approximate expects 'none' or 'tanh', found 'erf'"),
        (ops.Celu(alpha=0.0), "float32", "celu: alpha expects another number than 0, found 0"),
        (
            ops.Cast(dtype=DType.of("float8_e5m2")),
            "float32",
            "cast: dtype expects numbers other than float8, or bool, found float8_e5m2",
        ),
    ],
)
def test_types_that_do_not_fit_are_refused(op, dtype, message):
    with pytest.raises(InferenceError, match=f"^{re.escape(message)}$"):
        op.infer(TensorType.of(dtype, (2,)))


@pytest.mark.parametrize(
    ("op", "reference"),
    [
        (ops.Erf(), np.vectorize(math.erf)), (ops.Tanh(), np.tanh), (ops.Sinh(), np.sinh), (ops.Exp(), np.exp),
        (ops.Log(), np.log), (ops.Log2(), np.log2), (ops.Log10(), np.log10),
        (ops.Sin(), np.sin), (ops.Cos(), np.cos), (ops.Tan(), np.tan), (ops.Sigmoid(), sigmoid),
    ],
)  # fmt: skip
def test_networks_of_float64_find_their_functions_in_the_c_library(op, reference):
    g = GraphBuilder("net")
    g.output(g.add(op, g.input("x", "float64", (5,)), name="y"))
    x = np.array([0.1, 0.5, 1.0, 1.5, 3.0])
    np.testing.assert_allclose(load(build(g.finish())).run({"x": x})["y"].numpy(), reference(x), rtol=1e-14)


@pytest.mark.parametrize(
    ("op", "dtype", "message"),
    [
        (ops.Clip(low=0.5), "int32", "clip: low expects an integer of -2147483648 to 2147483647 for int32, found 0.5"),
        (ops.Clip(low=300), "uint8", "clip: low expects an integer of 0 to 255 for uint8, found 300"),
        (ops.Clip(high=-1), "uint8", "clip: high expects an integer of 0 to 255 for uint8, found -1"),
    ],
)
def test_limits_that_integers_can_t_have_are_refused(op, dtype, message):
    with pytest.raises(InferenceError, match=re.escape(message)):
        op.infer(TensorType.of(dtype, (3,)))
