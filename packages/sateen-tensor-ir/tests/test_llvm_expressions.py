"""Generated code computes every operation of every type as the loop oracle does, scalar and in lanes."""

import math

import numpy as np
import pytest

from sateen.tensor_ir import build, build_functions, lower, te
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.ir.expr import DType
from sateen.tensor_ir.ir.parser import parse_function

SIGNED, UNSIGNED = ["int8", "int16", "int32", "int64"], ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = [*SIGNED, *UNSIGNED]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
LOOPS = (
    "for i in [0, 24) keep:\n    {}",
    "vectorized i in [0, 24):\n    {}",
    "vectorized i in [0, 32):\n    if i < 24:\n      {}",
    "vectorized i in [0, 24):\n    if m[i]:\n      {}",
)


def samples(dtype, seed):
    """24 values of a type: its ends, small ones of both signs, and of floating point what is special."""
    rng = np.random.default_rng(seed)
    kind = DType.of(dtype)
    if kind.is_bool:
        return rng.integers(0, 2, 24).astype(bool)
    if kind.is_float:
        special = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, 2.5, -2.5, 1e4, -7.0]
        return rng.permutation([*special, *rng.integers(-9, 10, 12)]).astype(kind.numpy)
    limits = np.iinfo(kind.numpy)
    ends = [limits.min, limits.max, limits.min + 1, limits.max - 1, limits.max // 2, 0, 1, 2, 3, 7]
    rest = rng.integers(max(limits.min, -20), 21, 14)
    return rng.permutation(np.array([*ends, *rest.tolist()], dtype=object)).astype(kind.numpy)


def check(results, **types):
    """Typed expressions over arrays x and y of given types: by the oracle and natively, each in every kind of loop."""
    rows = {dtype: [(e, loop) for e, d in results if d == dtype for loop in LOOPS] for _, dtype in results}
    inputs = [*(samples(dtype, seed) for seed, dtype in enumerate(types.values())), samples("bool", 99)]
    parameters = [f"{name}: {dtype}[24] align 1" for name, dtype in (types | {"m": "bool"}).items()]
    parameters += [f"r.{dtype}: out {dtype}[{len(cases)}, 24] align 1" for dtype, cases in rows.items()]
    stores = [loop.format(f"r.{d}[{n}, i] = {e}") for d, cases in rows.items() for n, (e, loop) in enumerate(cases)]
    function = parse_function("\n  ".join([f"function f({', '.join(parameters)})", *stores]) + "\n")
    wanted, found = ([np.zeros((len(c), 24), DType.of(d).numpy) for d, c in rows.items()] for _ in range(2))
    run(function, [*inputs, *wanted])
    build_functions([function])(*inputs, *found)
    for dtype, a, b in zip(rows, found, wanted, strict=True):
        for case, x, y in zip(rows[dtype], a, b, strict=True):
            pair = (x.astype("float64"), y.astype("float64")) if DType.of(dtype).is_float else (x, y)
            np.testing.assert_array_equal(*pair, err_msg=f"{dtype} {case}")


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype):
    operations = [
        "x[i] + y[i]",
        "x[i] - y[i]",
        "x[i] * y[i]",
        "min(x[i], y[i])",
        "max(x[i], y[i])",
        "bitwise_and(x[i], y[i])",
        "bitwise_or(x[i], y[i])",
        "bitwise_xor(x[i], y[i])",
        "popcount(x[i])",
        "select(x[i] < y[i], x[i], y[i])",
    ]
    distances = (0, 1, DType.of(dtype).bits - 1)
    shifts = [f"{name}(x[i], {dtype}({d}))" for name in ("shift_left", "shift_right") for d in distances]
    check([(e, dtype) for e in (*operations, *shifts)], x=dtype, y=dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_floor_division_of_all_signs(dtype):
    literals = ["1", "2", "3", "7", "64"] + (["-1", "-2", "-3"] if dtype in SIGNED else [])
    divisors = [*(f"{dtype}({n})" for n in literals), f"select(y[i] == {dtype}(0), {dtype}(3), y[i])"]
    check([(f"x[i] {symbol} {d}", dtype) for symbol in ("//", "%") for d in divisors], x=dtype, y=dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_floating_point(dtype):
    operations = [
        "x[i] + y[i]",
        "x[i] - y[i]",
        "x[i] * y[i]",
        "x[i] / y[i]",
        "min(x[i], y[i])",
        "max(x[i], y[i])",
        f"max(x[i], {dtype}(1.5))",
        f"min({dtype}(1.5), x[i])",
        f"max({dtype}(nan), x[i])",
        "floor(x[i])",
        "ceil(x[i])",
        "trunc(x[i])",
        "round(x[i])",
        "fabs(x[i])",
        "sqrt(x[i])",
        "fma(x[i], y[i], x[i])",
        "select(x[i] < y[i], x[i], y[i])",
        f"x[i] * {dtype}(-1.0) + y[i]",
        f"x[i] - y[i] * {dtype}(2.0)",
        f"x[i] * y[i] - {dtype}(0.5)",
    ]
    check([(e, dtype) for e in operations], x=dtype, y=dtype)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_comparisons(dtype):
    check([(f"x[i] {symbol} y[i]", "bool") for symbol in ("==", "!=", "<", "<=", ">", ">=")], x=dtype, y=dtype)


@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS, "bool"])
def test_conversions_wrap_saturate_and_round(source):
    check([(f"{target}(x[i])", target) for target in (*INTEGERS, *FLOATS, "bool")], x=source)


def test_conditions():
    operations = ("x[i] and y[i]", "x[i] or y[i]", "not x[i]", "x[i] and not y[i] or y[i] and not x[i]")
    check([(e, "bool") for e in operations], x="bool", y="bool")


@pytest.mark.parametrize(
    ("source", "target"),
    [("float32", "int32"), ("int32", "float32"), ("float64", "uint64"), ("float16", "int16"), ("int16", "bfloat16")],
)
def test_bits_are_reinterpreted(source, target):
    check([(f"reinterpret:{target}(x[i])", target)], x=source)


def test_an_index_of_any_data_is_compared_with_lanes():
    source = """\
function f(x: uint64[6] align 8, y: out int32[6, 16] align 4)
  for i in [0, 6) keep:
    vectorized j in [0, 16):
      y[i, j] = select(index(x[i]) > j, int32(1), int32(0))
"""
    x = np.array([0, 5, 99, 1 << 63, (1 << 63) - 1, (1 << 64) - 1], np.uint64)
    y = np.zeros((6, 16), np.int32)
    build_functions([parse_function(source)])(x, y)
    np.testing.assert_array_equal(y, x.astype(np.int64)[:, None] > np.arange(16))


def test_lanes_pieces_and_uniform_values():
    operations = [
        "int32(i) * x[i] + int32(i * i // 3 % 5)",
        "x[3] * y[i] + x[5]",
        "x[3] * x[5]",
        "piecewise[i % 3](x[i], y[i], x[i] + y[i])",
        "select(x[2] < y[2], x[i], y[i])",
    ]
    check([(e, "int32") for e in operations], x="int32", y="int32")


def test_a_node_that_is_used_twice_is_computed_once():
    A = te.placeholder((4,), name="A")

    def cube(i):
        third = A[i] / 3.0
        return third * third * third

    B = te.compute((4,), cube, name="B")
    module = build_functions([lower(te.create_schedule(B), [A, B])])
    assert module.llvm_text().count("fdiv") == 1


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("narrow", "wide", "arm", "aarch64"),
    [
        ("int8", "int32", "vmlal.s16", "smull"),
        ("uint8", "int32", "vmlal.u16", "umull"),
        ("int16", "int32", "vmlal.s16", "smlal"),
        ("int32", "int64", "vmlal.s32", "smlal"),
    ],
)
def test_arm_multiplies_narrow_integers_to_wide_ones_by_a_factor_of_all_lanes(narrow, wide, arm, aarch64, swapped):
    a, b, k = te.placeholder((8, 8), narrow, "a"), te.placeholder((8,), narrow, "b"), te.reduce_axis(8, "k")

    def product(n):
        factors = a[k, n].astype(wide), b[k].astype(wide)
        return te.sum(factors[swapped] * factors[not swapped], axis=k)

    c = te.compute((8,), product, name="c")
    s = te.create_schedule(c)
    s[c].vectorize(c.op.axis[0])
    for target, instruction in (
        ("llvm -mtriple=armv7l-none-linux-gnueabihf -mcpu=cortex-a53 -mattr=+neon", arm),
        ("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", aarch64),
    ):
        assert f"{instruction}\t" in build(s, [a, b, c], target=target).assembly()
