"""Accuracy and special values of the rules for float32, evaluated by NumPy as IEEE 754 arithmetic.

A product that is added to something is evaluated both ways that a code generator may choose, rounded and fused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sateen.tensor_ir import build, te
from sateen.tensor_ir.functions import FUNCTIONS, Lack
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.types import FLOAT32
from sateen.tensor_ir.lowering.expand_calls import DEFAULT_RULES, IntrinsicRules

Array = np.ndarray[Any, Any]
INF, NAN = math.inf, math.nan

CALLS: dict[str, Callable[..., Array]] = {
    "fabs": np.abs,
    "floor": np.floor,
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "fma": lambda x, y, z: (x.astype("float64") * y.astype("float64") + z.astype("float64")).astype("float32"),
}
BINARIES: dict[type[ex.Expr], Callable[..., Array]] = {
    ex.Add: np.add,
    ex.Sub: np.subtract,
    ex.Mul: np.multiply,
    ex.Div: np.divide,
    ex.Min: np.minimum,
    ex.Max: np.maximum,
    ex.EQ: np.equal,
    ex.NE: np.not_equal,
    ex.LT: np.less,
    ex.LE: np.less_equal,
    ex.GT: np.greater,
    ex.GE: np.greater_equal,
    ex.And: np.logical_and,
    ex.Or: np.logical_or,
}


class Evaluator:
    """Evaluates each node once for all elements. `fused`: float32 a·b ± c is rounded once (by way of float64)."""

    def __init__(self, values: dict[ex.Expr, Array], *, fused: bool) -> None:
        self.values = values
        self.fused = fused

    def value(self, e: ex.Expr) -> Array:
        if e not in self.values:
            self.values[e] = self.compute(e)
        return self.values[e]

    def compute(self, e: ex.Expr) -> Array:
        match e:
            case ex.Const():
                return np.asarray(e.value, e.dtype.numpy)
            case ex.Cast():
                return self.value(e.value).astype(e.dtype.numpy)
            case ex.Not():
                return np.logical_not(self.value(e.value))
            case ex.Select():
                return np.where(self.value(e.condition), self.value(e.then), self.value(e.otherwise))
            case ex.Reinterpret():
                return self.value(e.value).view(e.dtype.numpy)
            case ex.Call(name="ldexp"):
                return self.value(DEFAULT_RULES.expand(e))
            case ex.Call():
                return CALLS[e.name](*[self.value(a) for a in e.args])
            case ex.Add() | ex.Sub() if self.fused and e.dtype == FLOAT32:
                return np.asarray(BINARIES[type(e)](self.exact(e.a), self.exact(e.b)), np.float32)
            case ex.Binary():
                return BINARIES[type(e)](self.value(e.a), self.value(e.b))
        raise AssertionError(f"unexpected {type(e).__name__} in the result of a rule")

    def exact(self, e: ex.Expr) -> Array:
        """In float64: a product of float32 without rounding, anything else as it is."""
        if isinstance(e, ex.Mul):
            return self.value(e.a).astype(np.float64) * self.value(e.b).astype(np.float64)
        return self.value(e).astype(np.float64)


def apply(name: str, *arguments: Array, fused: bool = True, rules: IntrinsicRules = DEFAULT_RULES) -> Array:
    variables = [ex.Var(f"x{i}", FLOAT32) for i in range(len(arguments))]
    body = rules.expand(ex.Call(name, tuple(variables), FLOAT32))
    with np.errstate(all="ignore"):
        return Evaluator(dict(zip(variables, arguments, strict=True)), fused=fused).value(body)


def reference(name: str, *arguments: Array) -> Array:
    """In float64; a sigmoid that is less than the least normal number, or so near that it rounds to it, is 0."""
    with np.errstate(all="ignore"):
        x = arguments[0].astype(np.float64)
        match name:
            case "sigmoid":
                decay = np.exp(-np.abs(x))
                return np.where(x < -87.3365, 0.0, np.where(x < 0, decay, 1.0) / (1.0 + decay))
            case "erf":
                return np.array([math.erf(v) for v in x.tolist()])
            case "pow":
                return np.asarray(np.power(x, arguments[1].astype(np.float64)))
            case _:
                return np.asarray(getattr(np, name)(x))


def worst_error(result: Array, expected: Array) -> float:
    """The largest error in units of the last place of float32; infinite where a NaN or the sign of a zero differs.

    An infinity counts as 2^128, the number after the largest one, as in rounding.
    """
    assert result.dtype == np.float32
    with np.errstate(all="ignore"):
        rounded = expected.astype(np.float32)
    unequal = (np.isnan(result) != np.isnan(rounded)) | ((rounded == 0) & (np.signbit(result) != np.signbit(rounded)))
    known = ~np.isnan(expected)
    got, want = (np.clip(v[known], -(2.0**128), 2.0**128) for v in (result.astype(np.float64), expected))
    unit = np.ldexp(1.0, np.maximum(np.frexp(want)[1], -125) - 24)
    return INF if unequal.any() else float((np.abs(got - want) / unit).max())


BOUNDS = {f.name: f.error for f in FUNCTIONS.values() if f.error is not None and f.operands.count == 1}
BOUND_OF_POW = FUNCTIONS["pow"].error


@pytest.mark.parametrize("fused", [False, True], ids=["rounded", "fused"])
@pytest.mark.parametrize("name", BOUNDS)
def test_error_is_within_the_documented_bound_over_all_of_float32(name: str, fused: bool) -> None:
    patterns = np.arange(2**20, dtype=np.uint64) * 4096 + 1365
    everywhere = patterns.astype(np.uint32).view(np.float32)
    usual = np.random.default_rng(7).uniform(-12, 12, 2**18).astype(np.float32)
    x = np.concatenate([everywhere, usual])
    assert worst_error(apply(name, x, fused=fused), reference(name, x)) <= BOUNDS[name]


@pytest.mark.parametrize("name", BOUNDS)
def test_error_is_within_the_bound_where_a_formula_changes(name: str) -> None:
    edges = [
        0.0, 2.0**-149, 2.0**-126, 0.5, math.sqrt(0.5), math.pi / 4, 1.0, math.sqrt(2), 2.0, 4.0, 8.0, 10.0,
        87.33655, 88.72283, 103.97208, 2.0**63, 2.0**64, 2.0**65, 3.4028235e38, INF,
    ]  # fmt: skip
    middle = np.array(edges, np.float32).view(np.int32)[:, None] + np.arange(-50, 51)
    magnitude = middle[(middle >= 0) & (middle <= 0x7F800000)].astype(np.int32).view(np.float32)
    x = np.concatenate([magnitude, -magnitude])
    assert worst_error(apply(name, x), reference(name, x)) <= BOUNDS[name]


@pytest.mark.parametrize(
    ("name", "argument", "expected"),
    [
        ("exp", -INF, 0.0), ("exp", INF, INF), ("exp", 0.0, 1.0), ("exp", -0.0, 1.0), ("exp", NAN, NAN),
        ("exp", 88.72284, INF), ("exp", -103.972076, 2.0**-149), ("exp", -103.97209, 0.0),
        ("log", 0.0, -INF), ("log", -0.0, -INF), ("log", 1.0, 0.0), ("log", INF, INF), ("log", -INF, NAN),
        ("log", -(2.0**-149), NAN), ("log", NAN, NAN),
        ("sigmoid", -INF, 0.0), ("sigmoid", INF, 1.0), ("sigmoid", 0.0, 0.5), ("sigmoid", NAN, NAN),
        ("tanh", -INF, -1.0), ("tanh", INF, 1.0), ("tanh", -0.0, -0.0), ("tanh", 0.0, 0.0), ("tanh", NAN, NAN),
        ("erf", -INF, -1.0), ("erf", INF, 1.0), ("erf", -0.0, -0.0), ("erf", 0.0, 0.0), ("erf", NAN, NAN),
        ("sin", -INF, NAN), ("sin", INF, NAN), ("sin", -0.0, -0.0), ("sin", 0.0, 0.0), ("sin", NAN, NAN),
        ("cos", -INF, NAN), ("cos", INF, NAN), ("cos", 0.0, 1.0), ("cos", -0.0, 1.0), ("cos", NAN, NAN),
    ],
)  # fmt: skip
def test_special_value_is_exact(name: str, argument: float, expected: float) -> None:
    result = apply(name, np.array([argument], np.float32))
    np.testing.assert_array_equal(result, np.array([expected], np.float32))
    assert math.isnan(expected) or math.copysign(1.0, float(result[0])) == math.copysign(1.0, expected)


@pytest.mark.parametrize("name", BOUNDS)
def test_nan_with_a_payload_stays_nan(name: str) -> None:
    patterns = np.array([0x7FC00001, 0x7F800001, 0x7FFFFFFF, 0xFFC00000, 0xFFFFFFFF], np.uint32)
    assert np.isnan(apply(name, patterns.view(np.float32))).all()


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_reduction_keeps_its_accuracy_next_to_multiples_of_a_quarter_turn(name: str) -> None:
    multiples = [float(k) * math.pi / 2 for k in range(1, 2000)]
    nearest = 7.729179e28  # 2^-29.9 quarter turns from a multiple, nearer than any other float32
    x = np.array([nearest, -nearest, *multiples], np.float32)
    assert worst_error(apply(name, x), reference(name, x)) <= BOUNDS[name]


def pairs(kind: str) -> tuple[Array, Array]:
    rng, count = np.random.default_rng(11), 2**18
    x: Array
    y: Array
    match kind:
        case "any bits":
            x, y = (rng.integers(0, 2**32, count, dtype=np.uint32).view(np.float32) for _ in range(2))
        case "finite results":
            x = np.exp2(rng.uniform(-149, 128, count))
            y = rng.uniform(-151, 129, count) / np.log2(x)
        case "bases next to one":
            x = 1 + rng.integers(-300, 300, count) * 2.0**-24
            y = rng.uniform(-(2.0**24), 2.0**24, count)
        case "negative bases":
            x, y = -np.exp(rng.uniform(-5, 5, count)), rng.integers(-20, 21, count)
        case _:
            x, y = rng.integers(-4095, 4096, count), np.full(count, 2)
    return x.astype(np.float32), y.astype(np.float32)


@pytest.mark.parametrize("kind", ["any bits", "finite results", "bases next to one", "negative bases", "squares"])
def test_pow_rounds_almost_correctly(kind: str) -> None:
    x, y = pairs(kind)
    assert worst_error(apply("pow", x, y), reference("pow", x, y)) <= BOUND_OF_POW


@pytest.mark.parametrize("rules", [DEFAULT_RULES, DEFAULT_RULES.without({Lack.FLOAT64})], ids=["float64", "parts"])
def test_pow_of_special_values_is_that_of_c(rules: IntrinsicRules) -> None:
    magnitudes = [
        0.0, 2.0**-149, 0.5, 1 - 2.0**-24, 1.0, 1 + 2.0**-23, 1.5, 2.0, 3.0, 2.0**23 - 0.5, 2.0**24 - 1, 2.0**24,
        3.4028235e38, INF,
    ]  # fmt: skip
    values = np.array([*magnitudes, *(-m for m in magnitudes), NAN], np.float32)
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    assert worst_error(apply("pow", x, y, rules=rules), reference("pow", x, y)) <= BOUND_OF_POW


WITHOUT_FLOAT64 = DEFAULT_RULES.without({Lack.FLOAT64})
BOUND_OF_POW_IN_PARTS = 0.75


@pytest.mark.parametrize("fused", [False, True], ids=["rounded", "fused"])
@pytest.mark.parametrize("name", ["log2", "log10"])
def test_logarithms_without_float64_keep_the_bound(name: str, fused: bool) -> None:
    x = (np.arange(2**18, dtype=np.uint64) * 16384 + 1365).astype(np.uint32).view(np.float32)
    x = x[~np.isnan(x)]
    assert worst_error(apply(name, x, fused=fused, rules=WITHOUT_FLOAT64), reference(name, x)) <= BOUNDS[name]


@pytest.mark.parametrize("kind", ["any bits", "finite results", "bases next to one", "negative bases", "squares"])
def test_pow_without_float64_keeps_its_bound(kind: str) -> None:
    x, y = pairs(kind)
    for fused in (False, True):
        found = apply("pow", x, y, fused=fused, rules=WITHOUT_FLOAT64)
        assert worst_error(found, reference("pow", x, y)) <= BOUND_OF_POW_IN_PARTS


def run_native(function: Callable[..., ex.Expr], *arguments: Array) -> Array:
    """The function of each element, in vectors of 16 with a guarded tail."""
    tensors = [te.placeholder(a.shape, str(a.dtype), name=f"A{i}") for i, a in enumerate(arguments)]
    B = te.compute(arguments[0].shape, lambda i: function(*[t[i] for t in tensors]), name="B")
    s = te.create_schedule(B.op)
    _, inner = s[B].split(B.op.axis[0], 16)
    s[B].vectorize(inner)
    result = np.empty_like(arguments[0])
    build(s, [*tensors, B])(*arguments, result)
    return result


@pytest.mark.parametrize("name", BOUNDS)
def test_native_code_keeps_the_bound(name: str) -> None:
    patterns = (np.arange(2**17 + 5, dtype=np.uint64) * 32749).astype(np.uint32)
    x = patterns.view(np.float32)
    assert worst_error(run_native(getattr(te, name), x), reference(name, x)) <= BOUNDS[name]


def test_native_pow_keeps_the_bound() -> None:
    x, y = pairs("finite results")
    assert worst_error(run_native(te.power, x, y), reference("pow", x, y)) <= BOUND_OF_POW


def test_native_half_precision_is_rounded_float32() -> None:
    x = np.linspace(-8, 8, 1001).astype(np.float16)
    np.testing.assert_array_equal(run_native(te.exp, x), np.exp(x.astype(np.float64)).astype(np.float16))


@pytest.mark.parametrize("name", BOUNDS)
def test_native_float64_is_that_of_the_c_library(name: str) -> None:
    x = np.random.default_rng(5).uniform(0.1, 5, 1001)
    expected = 1 / (1 + np.exp(-x)) if name == "sigmoid" else reference(name, x)
    np.testing.assert_allclose(run_native(getattr(te, name), x), expected, rtol=1e-15)


@pytest.mark.parametrize("name", ["exp", "log", "log2", "log10", "tanh", "erf", "sin", "cos"])
def test_float64_without_a_library_is_within_3_ulp_and_erf_within_12(name: str) -> None:
    """By the formula for machines without a C library, on this one; that NumPy calls has an error of its own, 1 ulp."""
    rng = np.random.default_rng(13)
    special = [0.0, 2.0**-1074, 2.0**-1022, 1.0, 20.0, 708.5, 709.78, 709.79, 745.1, 745.2, 1e308, INF]
    any_bits = rng.integers(0, 2**64, 2**13, dtype=np.uint64).view(np.float64)
    usual = [rng.uniform(-750, 712, 2**13), rng.uniform(-25, 25, 2**13), 1 + rng.normal(size=2**13) * 1e-3]
    x = np.concatenate([any_bits, *usual, 10.0 ** np.arange(-22, 23), special, -np.array(special), [NAN]])
    A = te.placeholder(x.shape, "float64", name="A")
    B = te.compute(x.shape, lambda i: FUNCTIONS[name](A[i]), name="B")
    f = build(te.create_schedule(B), [A, B], rules=DEFAULT_RULES.without({Lack.LIBRARY}))
    assert f"@{name}(" not in f.llvm_text()
    found = np.zeros_like(x)
    f(x, found)
    with np.errstate(all="ignore"):
        expected = np.asarray(FUNCTIONS[name].reference(x))
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    wrong = np.abs(found[finite] - expected[finite])
    assert (wrong <= (13 if name == "erf" else 4) * np.spacing(np.abs(expected[finite]))).all()
    assert (np.signbit(found) == np.signbit(expected))[expected == 0].all()
