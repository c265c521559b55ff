"""Operators that broadcast, against NumPy."""

import re

import numpy as np
import pytest

from sateen.graph_ir import ops
from sateen.graph_ir.ir import Symbol, TensorType
from sateen.runtime.errors import InferenceError
from sateen.topi.types import Layout

RANDOM = np.random.default_rng(0)
SHAPES = [
    ((2, 20, 3, 5), (2, 20, 3, 5)),
    ((2, 20, 3, 5), (1, 20, 1, 1)),
    ((2, 20, 3, 5), (5,)),
    ((3, 1, 7), (2, 1)),
    ((4,), ()),
    ((), ()),
]
ARITHMETIC = {
    ops.Add(): np.add,
    ops.Subtract(): np.subtract,
    ops.Multiply(): np.multiply,
    ops.Minimum(): np.minimum,
    ops.Maximum(): np.maximum,
}
COMPARISONS = {
    ops.Equal(): np.equal,
    ops.NotEqual(): np.not_equal,
    ops.Less(): np.less,
    ops.LessEqual(): np.less_equal,
    ops.Greater(): np.greater,
    ops.GreaterEqual(): np.greater_equal,
}
LOGIC = {ops.And(): np.logical_and, ops.Or(): np.logical_or, ops.Xor(): np.logical_xor}
BITS = {ops.BitwiseAnd(): np.bitwise_and, ops.BitwiseOr(): np.bitwise_or, ops.BitwiseXor(): np.bitwise_xor}


def integers(shape, dtype):
    return np.asarray(RANDOM.integers(-5 if np.dtype(dtype).kind == "i" else 0, 6, shape)).astype(dtype)


@pytest.mark.parametrize(("a", "b"), SHAPES, ids=str)
def test_shapes_broadcast(check_op, a, b):
    x, y = integers(a, "float32"), integers(b, "float32")
    blocked = Layout.blocked(4, 1, 16) if len(a) == 4 else None
    check_op(ops.Add(), [x, y], [np.asarray(x + y)], blocked)
    check_op(ops.Subtract(), [y, x], [np.asarray(y - x)])


@pytest.mark.parametrize("op", ARITHMETIC | COMPARISONS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int32", "int64", "uint8"])
def test_arithmetic_and_comparisons(check_op, op, dtype):
    x, y = integers((3, 21), dtype), integers((21,), dtype)
    check_op(op, [x, y], [(ARITHMETIC | COMPARISONS)[op](x, y)])


@pytest.mark.parametrize("op", LOGIC, ids=str)
def test_logic(check_op, op):
    x, y = integers((3, 21), "bool"), integers((21,), "bool")
    check_op(op, [x, y], [LOGIC[op](x, y)])


def test_equality_of_bool(check_op):
    x, y = np.array([True, False]), np.array([True, True])
    check_op(ops.Equal(), [x, y], [x == y])


@pytest.mark.parametrize("op", BITS, ids=str)
@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64"])
def test_bits(check_op, op, dtype):
    x, y = integers((3, 21), dtype), integers((21,), dtype)
    check_op(op, [x, y], [BITS[op](x, y)])


def test_shifts_by_all_bits_or_more_give_zero(check_op):
    x, y = np.array([255, 255, 3, 255], "uint8"), np.array([1, 8, 0, 200], "uint8")
    check_op(ops.BitShift(direction="left"), [x, y], [np.array([254, 0, 3, 0], "uint8")])
    check_op(ops.BitShift(direction="right"), [x, y], [np.array([127, 0, 3, 0], "uint8")])


def test_shifts_of_signed_integers(check_op):
    x, y = np.array([-8, -8, 4, -1, 64], "int8"), np.array([1, 8, 9, -1, 1], "int8")
    check_op(ops.BitShift(direction="left"), [x, y], [np.array([-16, 0, 0, 0, -128], "int8")])
    check_op(ops.BitShift(direction="right"), [x, y], [np.array([-4, -1, 0, -1, 32], "int8")])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_division_of_floats(check_op, dtype):
    x, y = RANDOM.normal(size=(3, 21)).astype(dtype), (RANDOM.random(21) + 0.5).astype(dtype)
    check_op(ops.Divide(), [x, y], [x / y])


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint16"])
def test_division_and_remainders_of_integers(check_op, dtype):
    x, y = integers((200,), dtype), integers((200,), dtype)
    y[y == 0] = 3
    check_op(ops.Divide(), [x, y], [np.trunc(x / y).astype(dtype)])
    check_op(ops.FloorDivide(), [x, y], [x // y])
    check_op(ops.Modulo(), [x, y], [np.mod(x, y)])
    check_op(ops.Modulo(fmod=True), [x, y], [np.fmod(x, y)])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fmod_of_floats(check_op, dtype):
    x = np.concatenate([RANDOM.normal(size=50) * 1000, [6, -9, 3, np.inf, 1, 1]]).astype(dtype)
    y = np.concatenate([RANDOM.normal(size=50), [3, 3, -3, 2, 0, np.inf]]).astype(dtype)
    with np.errstate(invalid="ignore"):
        check_op(ops.Modulo(fmod=True), [x, y], [np.fmod(x, y)])
        check_op(ops.Modulo(), [x, y], [np.mod(x, y)])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_angles_of_points_in_all_quadrants_and_at_their_limits(check_op, dtype):
    special = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-7, -1e4])
    y, x = (np.concatenate([a.ravel(), RANDOM.normal(size=99)]).astype(dtype) for a in np.meshgrid(special, special))
    expected = np.arctan2(y, x)
    check_op(ops.Atan2(), [y, x], [expected])


def test_not_a_number_differs_from_itself(check_op):
    x = np.array([np.nan, 1, 2], "float32")
    check_op(ops.NotEqual(), [x, x], [np.array([True, False, False])])


def test_power(check_op):
    x, y = RANDOM.random((3, 21)).astype("float32"), RANDOM.normal(size=21).astype("float32")
    check_op(ops.Power(), [x, y], [x**y])
    base, exponent = integers((200,), "int64"), RANDOM.integers(0, 9, 200)
    check_op(ops.Power(), [base, exponent.astype("int32")], [base**exponent])
    check_op(ops.Power(), [x, np.array(2, "int64")], [x**2])
    roots = np.array([4, 9, 16], "int32")
    check_op(ops.Power(), [roots, np.array(0.5, "float32")], [np.array([2, 3, 4], "int32")])
    units = np.array([1, -1, 2, 0], "int32")
    check_op(ops.Power(), [units, np.array(-3, "int32")], [np.array([1, -1, 0, 0], "int32")])


def test_extrema_propagate_nan(check_op):
    x, y = np.array([np.nan, 1, 2], "float32"), np.array([1, np.nan, 3], "float32")
    check_op(ops.Maximum(), [x, y], [np.maximum(x, y)])
    check_op(ops.Minimum(), [x, y], [np.minimum(x, y)])


def test_a_slope_per_channel(check_op):
    x, slope = RANDOM.normal(size=(2, 20, 3, 5)).astype("float32"), RANDOM.random((20, 1, 1)).astype("float32")
    check_op(ops.PRelu(), [x, slope], [np.where(x < 0, slope * x, x)], Layout.blocked(4, 1, 16))


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_where(check_op, dtype):
    condition, x, y = integers((3, 1), "bool"), integers((3, 21), dtype), integers((1, 21), dtype)
    check_op(ops.Where(), [condition, x, y], [np.where(condition, x, y)])


def test_symbols_broadcast():
    n = Symbol("n")
    (result,) = ops.Add().infer(TensorType.of("float32", (n, 3)), TensorType.of("float32", (1, 3)))
    assert result.shape == (n, 3)


def refused(op, *types):
    with pytest.raises(InferenceError) as error:
        op.infer(*(TensorType.of(*t) for t in types))
    return str(error.value)


def test_operands_that_do_not_fit_are_refused():
    found = refused(ops.Add(), ("float32", (2, 3)), ("float32", (4,)))
    assert found == "add: shapes [2, 3] and [4] differ in dimension 1 of the common shape"
    found = refused(ops.Add(), ("float32", (2,)), ("int32", (2,)))
    assert found == "add: operands expect one type, found float32 and int32"
    found = refused(ops.PRelu(), ("float32", (2, 1)), ("float32", (2, 3)))
    assert re.fullmatch(r"prelu: slope float32\[2, 3\] does not broadcast to data float32\[2, 1\]", found)
    found = refused(ops.BitShift(direction="up"), ("uint8", (2,)), ("uint8", (2,)))
    assert found == "bit_shift: direction expects 'left' or 'right', found 'up'"
    found = refused(ops.BitShift(), ("float32", (2,)), ("float32", (2,)))
    assert found == "bit_shift: operands expects integers, found float32"
    found = refused(ops.Where(), ("int8", (2,)), ("int8", (2,)), ("int8", (2,)))
    assert found == "where: condition expects bool, found int8"
