"""Numbers in C99: they wrap, divide, round and convert as the interpreter says."""

import numpy as np
import pytest

from sateen.runtime import array
from sateen.tensor_ir import build_functions
from sateen.tensor_ir.interpret.loop_oracle import run
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.lowering.expand_calls import DEFAULT_RULES

RNG = np.random.default_rng(0)


def parsed(text):
    return parse_function(text.strip())


def floats(*shape):
    return RNG.standard_normal(shape).astype("float32")


def called(function, *arrays):
    """Call with copies of the arrays; returns the copies afterwards."""
    copies = [array(a) for a in arrays]
    function(*copies)
    return [c.numpy() for c in copies]


INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
INTEGER_OPERATIONS = """
function f_{t}(X: {t}[{n}], Y: {t}[{n}], Z: out {t}[20, {n}], C: out bool[12, {n}])
  for i in [0, {n}):
    let x = X[i]
    let y = Y[i]
    Z[0, i] = x + y * {t}(3)
    Z[1, i] = x - y
    Z[2, i] = x * y
    Z[3, i] = x // y
    Z[4, i] = x % y
    Z[5, i] = x // {t}(7) + x % {t}(7)
    Z[6, i] = min(x, y)
    Z[7, i] = max(x, y)
    Z[8, i] = shift_left(x, y % {t}({bits}))
    Z[9, i] = shift_right(x, y % {t}({bits}))
    Z[10, i] = bitwise_and(x, y) - bitwise_or(x, {t}(5)) * bitwise_xor(x, y)
    Z[11, i] = popcount(x)
    Z[12, i] = {t}(float32(x))
    Z[13, i] = {t}(int8(x)) + {t}(uint16(y))
    Z[14, i] = {t}(bool(x)) - {t}(x < y)
    Z[15, i] = select(x < y, x, y + {t}(1))
    Z[16, i] = x - (y - {t}(1)) - {t}({high})
    Z[17, i] = {t}({low}) - x + {t}({high}) * y
    Z[18, i] = {t}(int64(x) * int64(y))
    Z[19, i] = {t}(uint64(x) - uint64(y))
    C[0, i] = x < y
    C[1, i] = x <= y
    C[2, i] = x > y
    C[3, i] = x >= y
    C[4, i] = x == y
    C[5, i] = x != y
    C[6, i] = x >= {t}({low})
    C[7, i] = {t}({low}) > x or x == {t}({high})
    C[8, i] = x < {t}({low}) or y == {t}({low})
    C[9, i] = {t}({high}) >= x and not y <= {t}(1)
    C[10, i] = (x < y) == (x < {t}(0))
    C[11, i] = bool(x)
"""


def integers(kind, count):
    """Values of an integer type, its ends among them."""
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    ends = [low, low + 1, 0, 1, high - 1, high, high // 2 + 1, high // 3]
    return np.array([*ends, *RNG.integers(low, high, count - len(ends), kind, endpoint=True)], kind)


def integer_program(kind, count):
    info = np.iinfo(kind)
    return parsed(INTEGER_OPERATIONS.format(t=kind, n=count, bits=info.bits, low=info.min, high=info.max))


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_wrap_and_divide_as_the_interpreter_says(compiled_c, kind):
    function = integer_program(kind, 200)
    x, y = integers(kind, 200), np.roll(integers(kind, 200), 3)
    y[y == 0] = 1  # the interpreter traps a division by zero
    arrays = [x, y, np.zeros((20, 200), kind), np.zeros((12, 200), bool)]
    found = called(compiled_c(function), *arrays)
    run(function, arrays)
    np.testing.assert_array_equal(found[2], arrays[2])
    np.testing.assert_array_equal(found[3], arrays[3])


def test_nothing_that_integers_do_is_undefined_in_c(sanitized):
    program = build_functions([integer_program(kind, 64) for kind in INTEGERS], "c").source
    data = []
    calls = []
    for kind in INTEGERS:
        values = [integers(kind, 64), np.roll(integers(kind, 64), 3)]
        for name, numbers in zip("xy", values, strict=True):
            text = ", ".join(f"0x{int(v) & (1 << numbers.itemsize * 8) - 1:x}u" for v in numbers)
            data.append(f"static uint{numbers.itemsize * 8}_t {name}_{kind}[] = {{{text}}};")
        data.append(f"static {kind}_t z_{kind}[20 * 64]; static uint8_t c_{kind}[12 * 64];")
        x, y = f"({kind}_t *)x_{kind}", f"({kind}_t *)y_{kind}"
        calls.append(f"sateen_kernel_f_{kind}(sateen_default_host(), {x}, {y}, z_{kind}, c_{kind});")
    ran = sanitized("undefined", "\n".join([program, *data, "int main(void) {", *calls, "return 0; }"]))
    assert (ran.returncode, ran.stderr) == (0, "")


FLOAT_OPERATIONS = """
function f_{t}(X: {t}[{n}], Y: {t}[{n}], Z: out {t}[14, {n}], I: out int32[{n}], U: out uint8[{n}], L: out int64[{n}])
  for i in [0, {n}):
    let x = X[i]
    let y = Y[i]
    Z[0, i] = x + (y + {t}(0.1))
    Z[1, i] = x - (y - {t}(1.5))
    Z[2, i] = x / y
    Z[3, i] = min(x, y)
    Z[4, i] = max(x, y)
    Z[5, i] = select(x < y or x != x, x, {t}(-inf))
    Z[6, i] = sqrt(fabs(x))
    Z[7, i] = floor(x)
    Z[8, i] = ceil(x) - trunc(y)
    Z[9, i] = round(x)
    Z[10, i] = {t}(int32(x)) + {t}(y < x)
    Z[11, i] = x * {t}({largest})
    Z[12, i] = {t}(float64(x)) + {t}(float32(y))
    Z[13, i] = fma(x, y, {t}(0.25))
    I[i] = int32(x)
    U[i] = uint8(x)
    L[i] = int64(X[i]) - int64(Y[i])
"""


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
def test_floats_are_as_the_interpreter_says(compiled_c, kind):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    dtype = np.dtype(getattr(ml_dtypes, kind, kind))
    largest = float(ml_dtypes.finfo(dtype).max)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.5, 1e9, -1e9, 1e30, 255.7, -3.2])
    with np.errstate(over="ignore"):
        x = np.concatenate([np.repeat(special, len(special)), RNG.standard_normal(100) * 100]).astype(dtype)
        y = np.concatenate([np.tile(special, len(special)), RNG.standard_normal(100) * 100]).astype(dtype)
    n = len(x)
    function = parsed(FLOAT_OPERATIONS.format(t=kind, n=n, largest=largest))
    arrays = [x, y, np.zeros((14, n), dtype), np.zeros(n, "int32"), np.zeros(n, "uint8"), np.zeros(n, "int64")]
    found = called(compiled_c(function), *arrays)
    run(function, arrays)
    np.testing.assert_array_equal(found[2].astype("float64"), arrays[2].astype("float64"))  # of any NaN alike
    for a, b in zip(found[3:], arrays[3:], strict=True):
        np.testing.assert_array_equal(a, b)


def test_16_bit_floats_round_to_nearest(compiled_c):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    n = 1 << 16
    given = f"H: float16[{n}], B: bfloat16[{n}], X: float32[{n}], D: float64[{n}]"
    function = parsed(f"""
function f({given}, F: out float32[2, {n}], P: out float16[2, {n}], Q: out bfloat16[2, {n}])
  for i in [0, {n}):
    F[0, i] = float32(H[i])
    F[1, i] = float32(B[i])
    P[0, i] = float16(X[i])
    P[1, i] = float16(D[i])
    Q[0, i] = bfloat16(X[i])
    Q[1, i] = bfloat16(D[i])
""")
    bits = np.arange(n, dtype="uint16")
    half, brain = bits.view("float16"), bits.view(ml_dtypes.bfloat16)
    with np.errstate(all="ignore"):
        between = half.astype("float64") + np.spacing(half).astype("float64") / 2  # ties, and what is just beside them
        x = np.where(bits % 3 == 0, between, RNG.standard_normal(n) * 10.0 ** RNG.integers(-9, 6, n)).astype("float32")
        d = between * (1 + (bits % 3 - 1.0) * 2.0**-50)
        results = [np.zeros((2, n), kind) for kind in ("float32", "float16", brain.dtype)]
        found = called(compiled_c(function), half, brain, x, d, *results)
        np.testing.assert_array_equal(found[4], [half.astype("float32"), brain.astype("float32")])
        np.testing.assert_array_equal(found[5], [x.astype("float16"), d.astype("float32").astype("float16")])
        expected = np.stack([x, d.astype("float32")]).astype(brain.dtype)
        np.testing.assert_array_equal(found[6].astype("float32"), expected.astype("float32"))


def test_bits_as_another_type(compiled_c):
    function = parsed("""
function f(X: float32[4], H: float16[4], U: out uint32[4], F: out float32[4], J: out int16[4], G: out float16[4])
  for i in [0, 4):
    U[i] = reinterpret:uint32(X[i])
    F[i] = reinterpret:float32(reinterpret:int32(X[i]) + int32(1))
    J[i] = reinterpret:int16(H[i])
    G[i] = reinterpret:float16(reinterpret:uint16(H[i]) + uint16(1))
""")
    x, h = floats(4), floats(4).astype("float16")
    arrays = [x, h, np.zeros(4, "uint32"), np.zeros(4, "float32"), np.zeros(4, "int16"), np.zeros(4, "float16")]
    _, _, u, f, j, g = called(compiled_c(function), *arrays)
    np.testing.assert_array_equal(u, x.view("uint32"))
    np.testing.assert_array_equal(f, (x.view("int32") + 1).view("float32"))
    np.testing.assert_array_equal(j, h.view("int16"))
    np.testing.assert_array_equal(g, (h.view("uint16") + 1).view("float16"))


def test_functions_of_the_c_library(compiled_c):
    names = ("exp", "log", "tanh", "erf", "sin", "cos", "sigmoid")
    lines = [f"    {out}[{i}, i] = {name}({x}[i])" for out, x in ("YX", "ED") for i, name in enumerate(names)]
    text = "function f(X: float32[9], D: float64[9], Y: out float32[8, 9], E: out float64[7, 9])\n  for i in [0, 9):\n"
    function = parsed(text + "\n".join([*lines, "    Y[7, i] = pow(X[i], 0.5f)"]))
    x = np.abs(floats(9)) + 0.1
    arrays = [x, x.astype("float64"), np.zeros((8, 9), "float32"), np.zeros((7, 9))]
    found = called(compiled_c(function), *arrays)
    run(function, arrays)
    np.testing.assert_allclose(found[2], arrays[2], rtol=1e-6)
    np.testing.assert_allclose(found[3], arrays[3], rtol=1e-12)


def test_functions_of_the_user_have_rules(compiled_c):
    rules = DEFAULT_RULES.with_rule("twice", lambda e: e.args[0] + e.args[0])
    rules = rules.with_rule("exp", lambda e: e.args[0] * 3.0)
    function = parsed("""
function f(A: float32[4], B: out float32[4])
  for i in [0, 4):
    B[i] = twice(exp(A[i])) + log(A[i])
""")
    x = np.abs(floats(4))
    _, found = called(compiled_c(function, rules=rules), x, np.zeros(4, "float32"))
    np.testing.assert_allclose(found, x * 6 + np.log(x), rtol=1e-5)
