"""Functions of te that are built on others: divisions by every rounding, remainders, the arc tangent."""

import math
import re

import numpy as np
import pytest

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir import build, lower, te
from sateen.tensor_ir.interpret import run

LOW = np.iinfo("int32").min
x = np.array([7, -7, 7, -7, 6, -6, 0, LOW, LOW, LOW + 1, 5, -5], "int32")
y = np.array([2, 2, -2, -2, 3, 3, -4, -1, 3, -1, LOW, LOW], "int32")


def native_and_interpreted(function, *arrays):
    tensors = [te.placeholder(a.shape, str(a.dtype), f"A{i}") for i, a in enumerate(arrays)]
    C = te.compute(arrays[0].shape, lambda i: function(*[t[i] for t in tensors]), name="C")
    s = te.create_schedule(C)
    native, interpreted = np.empty_like(arrays[0]), np.empty_like(arrays[0])
    build(s, [*tensors, C])(*arrays, native)
    run(lower(s, [*tensors, C]), [*arrays, interpreted])
    np.testing.assert_array_equal(native, interpreted)
    return native


def toward_zero(a, b):
    """As C divides, wrapped."""
    quotient = abs(a.astype("int64")) // abs(b.astype("int64"))
    return np.where((a < 0) != (b < 0), -quotient, quotient).astype("int32")


def test_divisions_of_integers_round_as_they_say():
    assert native_and_interpreted(te.truncdiv, x, y).tolist() == toward_zero(x, y).tolist()
    assert native_and_interpreted(te.div, x, y).tolist() == toward_zero(x, y).tolist()
    assert native_and_interpreted(te.truncmod, x, y).tolist() == np.fmod(x.astype("int64"), y).tolist()
    divided = (x.astype("int64") // y).astype("int32")
    assert native_and_interpreted(te.floordiv, x, y).tolist() == divided.tolist()
    assert native_and_interpreted(te.floormod, x, y).tolist() == (x.astype("int64") % y).tolist()


@pytest.mark.parametrize("divisor", [3, -3])
def test_divisions_by_a_literal(divisor):
    assert (
        native_and_interpreted(lambda a: te.truncdiv(a, divisor), x).tolist()
        == toward_zero(x, np.int32(divisor)).tolist()
    )
    unsigned = x.astype("uint32")
    found = native_and_interpreted(lambda a: te.truncmod(a, 3), unsigned)
    assert found.tolist() == (unsigned % 3).tolist()


def test_divisions_of_indices_are_those_of_python():
    i = te.var("i")
    assert [str(f(i, 4)) for f in (te.indexdiv, te.indexmod)] == ["i // 4", "i % 4"]
    assert str(te.div(te.const(1.0), te.const(2.0))) == "1.0f / 2.0f"


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_remainders_of_floating_point_numbers_are_exact(kind):
    rng = np.random.default_rng(3)
    a = np.concatenate([rng.standard_normal(200) * 2.0 ** rng.integers(-60, 60, 200), [5.5, -5.5, 3.0, math.inf, 1.0]])
    b = np.concatenate([rng.standard_normal(200) * 2.0 ** rng.integers(-60, 60, 200), [2.0, 2.0, math.inf, 2.0, 0.0]])
    a, b = a.astype(kind), b.astype(kind)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(native_and_interpreted(te.fmod, a, b), np.fmod(a, b))


@pytest.mark.parametrize(("kind", "error"), [("float32", 5e-7), ("float64", 1e-15)])
def test_the_arc_tangent(kind, error):
    a = np.array([0.0, 1e-20, 0.1, -0.4, 1.0, -1.5, 30.0, -1e30, math.inf, math.nan], kind)
    np.testing.assert_allclose(native_and_interpreted(te.atan, a), np.arctan(a), rtol=error)


def test_nearbyint_takes_ties_to_even():
    assert native_and_interpreted(te.nearbyint, np.array([0.5, 1.5, -2.5], "float32")).tolist() == [0, 2, -2]


@pytest.mark.parametrize(
    ("message", "use"),
    [
        ("truncdiv expects integers, found float32", lambda: te.truncdiv(te.const(1.0), 2)),
        ("truncmod expects integers, found bool", lambda: te.truncmod(te.const(True), te.const(True))),
        ("'//' by the constant 0", lambda: te.truncdiv(te.var("i"), 0)),
        ("fmod expects floating-point operands, found index; use truncmod", lambda: te.fmod(te.var("i"), 2)),
        ("atan expects a floating-point operand, found index", lambda: te.atan(te.var("i"))),
        ("operands of 'div' have types index and float32", lambda: te.div(te.var("i"), te.const(1.0))),
        ("likely expects a condition (bool), found index", lambda: te.likely(te.var("i"))),
    ],
)
def test_operands_of_other_kinds(message, use):
    with pytest.raises(ExpressionError, match=re.escape(message)):
        use()
