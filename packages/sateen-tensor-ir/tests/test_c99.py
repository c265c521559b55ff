"""C99: every program compiles without a warning and computes what the interpreter or NumPy does."""

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

from sateen.runtime import Target, array, load_module
from sateen.runtime.abi import ABI_VERSION, DLTensor, SateenHost, Status
from sateen.runtime.errors import ArgumentError, CodegenError
from sateen.tensor_ir import build_functions, te
from sateen.tensor_ir.functions import FUNCTIONS
from sateen.tensor_ir.functions.spelling import LibraryFunction
from sateen.tensor_ir.interpret.loop_oracle import run
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load
from sateen.tensor_ir.ir.choices import select
from sateen.tensor_ir.ir.expr import Var, const
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import For, Function, LoopKind, Store
from sateen.tensor_ir.ir.types import FLOAT32
from sateen.tensor_ir.lowering import lower
from sateen.tensor_ir.lowering.expand_calls import DEFAULT_RULES
from sateen.tensor_ir.te import ir_builder

RNG = np.random.default_rng(0)
TARGET = str(Target("c", triple=Target.host().triple))
WARNINGS = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic"]


@pytest.fixture(scope="module")
def gcc():
    path = shutil.which("gcc")
    if path is None:
        pytest.skip("gcc is not installed")
    return path


@pytest.fixture
def compiled(gcc, tmp_path):
    """Compile functions into a library and load it. Short indices get the narrowest type that C allows for them."""

    def build(*functions, rules=DEFAULT_RULES):
        source = build_functions(functions, TARGET, rules=rules).source
        (tmp_path / "f.c").write_text(source.replace("int_fast32_t", "int32_t"))
        command = [gcc, *WARNINGS, "-shared", "-fPIC", tmp_path / "f.c", "-o", tmp_path / "f.so", "-lm"]
        subprocess.run(command, check=True)
        return load_module(tmp_path / "f.so")

    return build


def sanitized(gcc, folder, sanitizer, program):
    """Run a program under one of gcc's sanitizers; skips where that is not installed."""
    (folder / "main.c").write_text(program)
    command = [gcc, "-std=c99", "-O1", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"]
    command += [folder / "main.c", "-o", folder / "main", "-lm"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if "cannot find" in built.stderr:
        pytest.skip(f"gcc has no {sanitizer} sanitizer")
    assert built.returncode == 0, built.stderr
    return subprocess.run([folder / "main"], capture_output=True, text=True, check=False)


def parsed(text):
    return parse_function(text.strip())


def floats(*shape):
    return RNG.standard_normal(shape).astype("float32")


def called(function, *arrays):
    """Call with copies of the arrays; returns the copies afterwards."""
    copies = [array(a) for a in arrays]
    function(*copies)
    return [c.numpy() for c in copies]


# Schedules.


def matmul(m, n, k):
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis(k, "r")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    return te.create_schedule(c), a, b, c


@pytest.mark.parametrize("tail", ["guard", "partition", "shift"])
def test_matmul_in_parallel_tiles(compiled, tail):
    s, a, b, c = matmul(49, 70, 30)
    partial = s.cache_write(c, "register")
    y, x, yi, xi = s[c].tile(*c.op.axis, 9, 32, tail=tail)
    s[c].parallel(y)
    s[c].unroll(yi)
    s[c].vectorize(xi)
    s[partial].compute_at(s[c], x)
    outer, inner = s[partial].split(s[partial].op.reduce_axis[0], 4)
    i, j = partial.op.axis
    s[partial].reorder(outer, inner, i, j)
    s[partial].unroll(inner)
    s[partial].vectorize(j)
    x, y = floats(49, 30), floats(30, 70)
    *_, found = called(compiled(lower(s, [a, b, c], "matmul")), x, y, np.zeros((49, 70), "float32"))
    np.testing.assert_allclose(found, x @ y, rtol=1e-5, atol=1e-5)


def test_symbolic_extents_are_read_off_the_arguments(compiled):
    n, m = te.var("n"), te.var("m")
    a, b = te.placeholder((n, m), name="A"), te.placeholder((m,), name="B")
    c = te.compute((n, m), lambda i, j: a[i, j] + b[j], name="C")
    s = te.create_schedule(c)
    s[c].parallel(s[c].split(c.op.axis[0], 4)[0])
    add = compiled(lower(s, [a, b, c], "vector_add"))
    for shape in [(3, 5), (8, 1), (0, 4)]:
        x, y = floats(*shape), floats(shape[1])
        np.testing.assert_array_equal(called(add, x, y, np.zeros(shape, "float32"))[2], x + y)


def test_terms_of_a_reduction_may_be_absent(compiled):
    a, w = te.placeholder((20,), name="A"), te.placeholder((5,), name="W")
    k = te.reduce_axis(5, "k")
    b = te.compute((20,), lambda i: te.sum(a[i + k - 2] * w[k], axis=k, where=(i + k >= 2) & (i + k < 22)), name="B")
    x, y = floats(20), floats(5)
    *_, found = called(compiled(lower(te.create_schedule(b), [a, w, b], "f")), x, y, np.zeros(20, "float32"))
    np.testing.assert_allclose(found, np.convolve(x, y[::-1], "same"), rtol=1e-5, atol=1e-6)


def test_argmax_keeps_value_and_place_together(compiled):
    a = te.placeholder((6, 30), name="A")
    k = te.reduce_axis(30, "k")

    def better(left, right):
        take = left[0] >= right[0]
        return te.select(take, left[0], right[0]), te.select(take, left[1], right[1])

    argmax = te.comm_reducer(better, lambda v, i: (te.min_value(v), te.const(0, i)), "argmax")
    values, places = te.compute((6,), lambda i: argmax((a[i, k], k), axis=k), name="B")
    x = floats(6, 30)
    function = lower(te.create_schedule([values, places]), [a, values, places], "f")
    _, best, place = called(compiled(function), x, np.zeros(6, "float32"), np.zeros(6, "int64"))
    np.testing.assert_array_equal(best, x.max(1))
    np.testing.assert_array_equal(place, x.argmax(1))


def test_an_insertion_sort_written_by_hand(compiled):
    n = te.var("n")
    a = te.placeholder((n,), name="A")

    def sort(ins, outs):
        ib = ir_builder.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        place = ib.allocate("int64", 1, name="place")
        with ib.for_range(0, n, "i") as i:
            item = ib.let("item", source[i])
            place[0] = i
            with ib.while_scope((place[0] > 0) & (result[te.maximum(place[0] - 1, 0)] > item)):
                result[place[0]] = result[place[0] - 1]
                place[0] = place[0] - 1
            result[place[0]] = item
        return ib.get()

    b = te.extern((n,), [a], sort, name="B")
    x = floats(50)
    _, found = called(compiled(lower(te.create_schedule(b), [a, b], "f")), x, np.zeros(50, "float32"))
    np.testing.assert_array_equal(found, np.sort(x))


def test_a_device_schedule_runs_thread_after_thread(compiled):
    s, a, b, c = matmul(8, 12, 10)
    s[c].bind(c.op.axis[0], te.thread_axis("blockIdx.x"))
    s[c].bind(s[c].split(s[c].op.reduce_axis[0], 4)[1], te.thread_axis("threadIdx.x"))
    x, y = floats(8, 10), floats(10, 12)
    *_, found = called(compiled(lower(s, [a, b, c], "f")), x, y, np.zeros((8, 12), "float32"))
    np.testing.assert_allclose(found, x @ y, rtol=1e-5, atol=1e-5)


# Arithmetic.

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
def test_integers_wrap_and_divide_as_the_interpreter_says(compiled, kind):
    function = integer_program(kind, 200)
    x, y = integers(kind, 200), np.roll(integers(kind, 200), 3)
    y[y == 0] = 1  # the interpreter traps a division by zero
    arrays = [x, y, np.zeros((20, 200), kind), np.zeros((12, 200), bool)]
    found = called(compiled(function), *arrays)
    run(function, arrays)
    np.testing.assert_array_equal(found[2], arrays[2])
    np.testing.assert_array_equal(found[3], arrays[3])


def test_nothing_that_integers_do_is_undefined_in_c(gcc, tmp_path):
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
    ran = sanitized(gcc, tmp_path, "undefined", "\n".join([program, *data, "int main(void) {", *calls, "return 0; }"]))
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
def test_floats_are_as_the_interpreter_says(compiled, kind):
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
    found = called(compiled(function), *arrays)
    run(function, arrays)
    np.testing.assert_array_equal(found[2].astype("float64"), arrays[2].astype("float64"))  # of any NaN alike
    for a, b in zip(found[3:], arrays[3:], strict=True):
        np.testing.assert_array_equal(a, b)


def test_16_bit_floats_round_to_nearest(compiled):
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
        found = called(compiled(function), half, brain, x, d, *results)
        np.testing.assert_array_equal(found[4], [half.astype("float32"), brain.astype("float32")])
        np.testing.assert_array_equal(found[5], [x.astype("float16"), d.astype("float32").astype("float16")])
        expected = np.stack([x, d.astype("float32")]).astype(brain.dtype)
        np.testing.assert_array_equal(found[6].astype("float32"), expected.astype("float32"))


def test_bits_as_another_type(compiled):
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
    _, _, u, f, j, g = called(compiled(function), *arrays)
    np.testing.assert_array_equal(u, x.view("uint32"))
    np.testing.assert_array_equal(f, (x.view("int32") + 1).view("float32"))
    np.testing.assert_array_equal(j, h.view("int16"))
    np.testing.assert_array_equal(g, (h.view("uint16") + 1).view("float16"))


def test_functions_of_the_c_library(compiled):
    names = ("exp", "log", "tanh", "erf", "sin", "cos", "sigmoid")
    lines = [f"    {out}[{i}, i] = {name}({x}[i])" for out, x in ("YX", "ED") for i, name in enumerate(names)]
    text = "function f(X: float32[9], D: float64[9], Y: out float32[8, 9], E: out float64[7, 9])\n  for i in [0, 9):\n"
    function = parsed(text + "\n".join([*lines, "    Y[7, i] = pow(X[i], 0.5f)"]))
    x = np.abs(floats(9)) + 0.1
    arrays = [x, x.astype("float64"), np.zeros((8, 9), "float32"), np.zeros((7, 9))]
    found = called(compiled(function), *arrays)
    run(function, arrays)
    np.testing.assert_allclose(found[2], arrays[2], rtol=1e-6)
    np.testing.assert_allclose(found[3], arrays[3], rtol=1e-12)


def test_functions_of_the_user_have_rules(compiled):
    rules = DEFAULT_RULES.with_rule("twice", lambda e: e.args[0] + e.args[0])
    rules = rules.with_rule("exp", lambda e: e.args[0] * 3.0)
    function = parsed("""
function f(A: float32[4], B: out float32[4])
  for i in [0, 4):
    B[i] = twice(exp(A[i])) + log(A[i])
""")
    x = np.abs(floats(4))
    _, found = called(compiled(function, rules=rules), x, np.zeros(4, "float32"))
    np.testing.assert_allclose(found, x * 6 + np.log(x), rtol=1e-5)


# What is not evaluated, and what is evaluated once.


def test_an_operand_that_is_not_chosen_is_not_loaded(gcc, tmp_path):
    """The loads that are guarded here are outside of their arrays: the address sanitizer would stop the program."""
    function = parsed(
        """
function f(A: float32[8], I: int64[8], B: out float32[4, 8])
  for i in [0, 8):
    B[0, i] = select(i > 0, A[i - 1000000], 0.0f) + select(i < 0, 0.0f, 1.0f)
    B[1, i] = piecewise[index(I[i])](1.0f, A[i + 1000000], 2.0f)
    if i >= 8 or (i < 8 and A[i] == 1.0f) or A[i + 1000000] == 0.0f:
      B[2, i] = 1.0f
    while i < 0 and A[i - 1000000] > 0.0f:
      B[3, i] = 1.0f
""".replace("i > 0", "i > 8")
    )
    main = """
int main(void) {
  static float a[8] = {1, 1, 1, 1, 1, 1, 1, 1}, b[32];
  static int64_t two[8] = {2, 2, 2, 2, 2, 2, 2, 2};
  sateen_kernel_f(sateen_default_host(), a, two, b);
  for (int i = 0; i < 32; ++i) putchar('0' + (int)b[i]);
  return 0;
}"""
    ran = sanitized(gcc, tmp_path, "address", build_functions([function], "c").source + main)
    assert (ran.returncode, ran.stdout) == (0, "1" * 8 + "2" * 8 + "1" * 8 + "0" * 8)


def kernel_lines(function):
    """The lines of a kernel, its temporaries numbered as they appear."""
    text = build_functions([function], "c").source
    body = text[text.index(f"static int32_t sateen_kernel_{function.name}(") :]
    numbers = {}
    body = re.sub(r"\bt(_\d+)?\b", lambda m: f"t{numbers.setdefault(m[0], len(numbers))}", body[: body.index("\n}")])
    return [line.strip() for line in body.splitlines()[1:-1]]


def store(value):
    """B[i] = value(A[i]) for 4 elements, where A[i] is one node."""
    a, b, i = (Buffer(name, (const(4),), FLOAT32, alignment=4) for name in "AB"), None, Var("i")
    a, b = a
    body = Store(b, (i,), value(Load(a, (i,), FLOAT32), i))
    return Function("f", (a, b), frozenset({b}), For(i, const(0), const(4), LoopKind.SERIAL, body))


def test_a_node_that_is_used_twice_is_evaluated_once():
    def power(x, _):
        for _ in range(30):
            x = x * x
        return x

    lines = kernel_lines(store(power))
    assert lines[2:4] == ["const float t0 = A[i];", "const float t1 = t0 * t0;"]
    assert len(lines) == 34


def test_a_node_that_is_used_twice_in_one_operand_is_evaluated_only_there(compiled):
    def guarded(x, i):
        y = x * x + 1.0
        return select(i < 2, y * y, select((i > 2) & (y * y > 2.0), y, x))

    function = store(guarded)
    assert kernel_lines(function)[2:13] == [
        "float t0;",
        "if (i < 2) {",
        "const float t1 = A[i];",
        "const float t2 = t1 * t1 + 1.0f;",
        "t0 = t2 * t2;",
        "}",
        "else {",
        "bool t3 = i > 2;",
        "if (t3) {",
        "const float t4 = A[i];",
        "const float t5 = t4 * t4 + 1.0f;",
    ]
    arrays = [floats(4), np.zeros(4, "float32")]
    found = called(compiled(function), *arrays)
    run(function, arrays)
    np.testing.assert_allclose(found[1], arrays[1], rtol=1e-6)


def test_text_is_as_long_as_the_rules_of_exponentials_are():
    for name in ("exp", "tanh", "erf", "sin"):
        rule = FUNCTIONS[name].formula
        assert len(kernel_lines(store(lambda x, i, rule=rule, name=name: rule(ex.call(name, [x]))))) < 150


# Names.


@pytest.mark.parametrize(
    "bounds", ["[n](x: float32[n], y: out float32[n])", "(x: float32[3, 900000000], y: out float32[9])"]
)
def test_indices_that_may_be_large_have_64_bits(bounds):
    access = "y[i] = x[i]" if "[n]" in bounds else "y[i] = x[2, i * 100000000]"
    loop = f"function f{bounds}\n  for i in [0, {'n' if '[n]' in bounds else 9}):\n    {access}"
    assert "for (int64_t i = 0;" in build_functions([parsed(loop)], TARGET).source


def test_indices_that_fit_have_the_fastest_type_of_32_bits():
    f = parsed("function f(x: float32[9], y: out float32[9])\n  for i in [0, 9):\n    y[i] = x[8 - i]")
    assert "for (int_fast32_t i = 0; i < 9; ++i)" in build_functions([f], TARGET).source


def test_any_name_of_a_tensor_is_made_an_identifier(compiled):
    names = ["for", "exp", "NULL", "sateen_x", "1st", "A", "A", "half", "a b", "int32_t", "_x", "host", "status", "é"]
    tensors = [te.placeholder((4,), name=name) for name in names]
    b = te.compute((4,), lambda i: te.exp(sum((t[i] for t in tensors), te.const(0.0))), name="sum")
    s = te.create_schedule(b)
    s[b].parallel(b.op.axis[0])
    data = [floats(4) for _ in names]
    *_, found = called(compiled(lower(s, [*tensors, b], "f")), *data, np.zeros(4, "float32"))
    np.testing.assert_allclose(found, np.exp(sum(data)), rtol=1e-5)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda f: f.name)
def test_a_tensor_may_have_the_name_of_any_function_that_code_calls(function):
    spellings = [s for s in (function.c99, function.opencl) if isinstance(s, LibraryFunction)]
    a = te.placeholder((4,), name="A")
    for name in {*(s.name for s in spellings), function.library} - {""}:
        b = te.compute((4,), lambda i: a[i] * 2.0, name=name)
        s = te.create_schedule(b)
        s[b].bind(b.op.axis[0], te.thread_axis("threadIdx.x"))
        for target in (TARGET, "opencl"):
            source = build_functions([lower(s, [a, b], "f")], target).source
            assert f"{name}_[" in source
            assert f" {name}[" not in source


@pytest.mark.parametrize("name", ["exp", "while", "sateen_f", "round", "printf", "2f", "a-b", "fabsf", "NULL"])
def test_a_function_that_c_could_not_define_is_refused(name):
    s, a, b, c = matmul(2, 2, 2)
    with pytest.raises(CodegenError, match=re.escape(f"leaves to its users for a function, found {name!r}")):
        build_functions([lower(s, [a, b, c], name)], "c")


# Memory and tasks.


def two_stages(symbolic, place):
    """C[i, j] = (2 A)[i, 7 - j] + 1, the doubled tensor in global memory, computed at root or in the parallel loop."""
    n = te.var("n") if symbolic else 12
    a = te.placeholder((n, 8), name="A")
    b = te.compute((n, 8), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((n, 8), lambda i, j: b[i, 7 - j] + 1.0, name="C")
    s = te.create_schedule(c)
    s[c].parallel(c.op.axis[0])
    if place == "task":
        s[b].compute_at(s[c], c.op.axis[0])
    return lower(s, [a, c], "f")


class Host:
    """A host table that counts allocations, refuses those beyond `limit`, and cuts loops into single iterations."""

    def __init__(self, limit=100):
        self.live = {}
        self.count = 0
        self.chunks = []
        task = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)

        def parallel_for(_, address, closure, extent):
            self.chunks.append(extent)
            statuses = [task(address)(closure, i, i + 1) for i in range(extent)]
            return next(filter(None, statuses), 0)

        def alloc(_, size, alignment):
            self.count += 1
            if self.count > limit:
                return None
            block = ctypes.create_string_buffer(size + alignment)
            address = -(-ctypes.addressof(block) // alignment) * alignment
            self.live[address] = block
            return address

        def free(_, address):
            del self.live[address]

        p, i64 = ctypes.c_void_p, ctypes.c_int64
        self.functions = (
            ctypes.CFUNCTYPE(ctypes.c_int32, p, p, p, i64)(parallel_for),
            ctypes.CFUNCTYPE(p, p, ctypes.c_uint64, ctypes.c_uint64)(alloc),
            ctypes.CFUNCTYPE(None, p, p)(free),
        )
        addresses = [ctypes.cast(f, p).value for f in self.functions]
        self.table = SateenHost(ABI_VERSION, 0, None, *addresses, None, None)

    def call(self, function, *arrays):
        """The status of a call with this host."""
        pointers = (ctypes.c_void_p * len(arrays))(*[a.handle for a in arrays])
        return function._call(ctypes.addressof(self.table), pointers, len(arrays))


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("place", ["kernel", "task"])
def test_memory_between_stages_comes_from_the_host_and_goes_back(compiled, symbolic, place):
    function = compiled(two_stages(symbolic, place))["f"]
    x = floats(12, 8)
    a, c = array(x), array(np.zeros((12, 8), "float32"))
    host = Host()
    assert host.call(function, a, c) == 0
    np.testing.assert_array_equal(c.numpy(), x[:, ::-1] * 2 + 1)
    assert (host.live, host.chunks) == ({}, [12])
    assert host.count == (1 if place == "kernel" else 12)


def test_null_pointers_are_reported(compiled):
    function = compiled(two_stages(True, "kernel"))["f"]
    host = Host()
    assert function._call(ctypes.addressof(host.table), None, 2) == Status.NULL_ARGUMENT
    for changed in ({"data": None}, {"shape": ctypes.POINTER(ctypes.c_int64)()}):
        a, c = array(floats(12, 8)), array(np.zeros((12, 8), "float32"))
        tensor = DLTensor.from_address(c.handle)
        for name, value in changed.items():
            setattr(tensor, name, value)
        assert host.call(function, a, c) == Status.NULL_ARGUMENT | 1 << 8


@pytest.mark.parametrize("place", ["kernel", "task"])
def test_a_lack_of_memory_is_reported_and_nothing_is_kept(compiled, place):
    function = compiled(two_stages(True, place))["f"]
    a, c = array(floats(12, 8)), array(np.zeros((12, 8), "float32"))
    for limit in (0, 5) if place == "task" else (0,):
        host = Host(limit)
        assert host.call(function, a, c) == 9
        assert host.live == {}


def test_private_memory_beyond_a_stack_comes_from_the_host(compiled):
    a = te.placeholder((40000,), name="A")
    b = te.compute((40000,), lambda i: a[i] * 2.0, name="B")
    c = te.compute((40000,), lambda i: b[39999 - i], name="C")
    s = te.create_schedule(c)
    s[b].set_scope("local")
    function = compiled(lower(s, [a, c], "f"))["f"]
    host = Host()
    x, y = array(floats(40000)), array(np.zeros(40000, "float32"))
    assert (host.call(function, x, y), host.count, host.live) == (0, 1, {})
    np.testing.assert_array_equal(y.numpy(), x.numpy()[::-1] * 2)


# The public function.


def test_the_metadata_tells_the_signature(compiled):
    n = te.var("n")
    a, b = te.placeholder((n, 4), name="A"), te.placeholder((n, 4), "int8", name="A")
    c = te.compute((n, 4), lambda i, j: a[i, j] + b[i, j].astype("float32"), name="C")
    module = compiled(lower(te.create_schedule(c), [a, b, c], "f"))
    assert str(module["f"].signature) == "f(A: float32[n, 4], A_1: int8[n, 4], C: float32[n, 4] out)"


def test_metadata_may_be_longer_than_a_string_of_c(compiled):
    functions = []
    for i in range(20):
        s, *tensors = matmul(2, 2, 2)
        functions.append(lower(s, tensors, f"matmul_{i}"))
    assert len(compiled(*functions).functions) == 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda a, b, c: (a, b), "f: expected 3 arguments (A, B, C), found 2"),
        (lambda a, b, c: (a.astype("float64"), b, c), "f: argument 0 (A): expected float32, found float64"),
        (lambda a, b, c: (a, b[0], c), "f: argument 1 (B): expected 2 dimensions, shape (8, 8), found shape (8,)"),
        (lambda a, b, c: (a, b[:7].copy(), c), "f: argument 1 (B): expected 8 in dimension 0 of shape (8, 8), found"),
        (lambda a, b, c: (a, b.T, c), "f: argument 1 (B): expected compact strides, found strides (1, 8)"),
        (lambda a, b, c: (a, b, a), "f: argument 2 (C): expected memory of its own, found memory that ano"),
        (
            lambda a, b, c: (a, b, np.zeros(257, "uint8")[1:].view("float32").reshape(8, 8)),
            "f: argument 2 (C): expected memory aligned to 4 bytes, found",
        ),
    ],
)
def test_a_wrong_argument_is_refused(compiled, arguments, message):
    s, a, b, c = matmul(8, 8, 8)
    function = compiled(lower(s, [a, b, c], "f"))
    given = arguments(floats(8, 8), floats(8, 8), np.zeros((8, 8), "float32"))
    with pytest.raises(ArgumentError, match=re.escape(message)):
        function(*given)


def test_a_host_of_another_abi_is_refused(compiled):
    s, a, b, c = matmul(8, 8, 8)
    function = compiled(lower(s, [a, b, c], "f"))["f"]
    host = Host()
    host.table.abi_version = 1
    assert host.call(function, *(array(floats(8, 8)) for _ in range(3))) == 10


def test_overlapping_arguments_may_be_declared(compiled):
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    function = compiled(lower(te.create_schedule(b), [a, b], "f", aliased=[a, b]))
    x = array(floats(8))
    expected = x.numpy() + 1
    function(x, x)
    np.testing.assert_array_equal(x.numpy(), expected)


# What C lacks.


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("B[0] = frobnicate(A[0])", "no rule serves the call of 'frobnicate' giving float32"),
        ("notify:int32(1)", "f: C99 has no function 'notify' of int32 that could be called for its effect"),
        ("B[0] = float32(float8_e5m2(A[0]))", "f: C99 has no type float8_e5m2; it has int8, int16, "),
        ("barrier shared", "f: C99 has no threads to wait for at a barrier shared"),
    ],
)
def test_what_c_lacks_is_refused(statement, message):
    with pytest.raises(CodegenError, match=re.escape(message)):
        build_functions([parsed(f"function f(A: float32[4], B: out float32[4])\n  {statement}")], "c")


def test_an_extent_that_no_argument_has_is_refused():
    n = te.var("n")
    a = te.placeholder((n + 1,), name="A")
    b = te.compute((4,), lambda i: a[i], name="B")
    with pytest.raises(CodegenError, match="f: no argument's shape gives the extent 'n'"):
        build_functions([lower(te.create_schedule(b), [a, b], "f")], "c")


def test_memory_whose_size_is_data_is_refused():
    text = """
function f(N: int64[1], B: out float32[4])
  let n = index(N[0])
  allocate T: float32[n]
    T[0] = 1.0f
    B[0] = T[0]
"""
    message = "f: the size of 'T' expects extents of the arguments, found 'n', which is known only where"
    with pytest.raises(CodegenError, match=re.escape(message)):
        build_functions([parsed(text)], "c")


def test_functions_of_one_name_are_refused():
    s, a, b, c = matmul(2, 2, 2)
    function = lower(s, [a, b, c], "f")
    with pytest.raises(CodegenError, match="expected functions of different names, found f, f"):
        build_functions([function, function], "c")
