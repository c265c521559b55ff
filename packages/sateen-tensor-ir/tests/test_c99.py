"""C99: every schedule compiles without a warning and computes what the interpreter or NumPy does."""

import re

import numpy as np
import pytest

from sateen.runtime import Target, array
from sateen.runtime.errors import CodegenError
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
from sateen.tensor_ir.te import ir_builder

RNG = np.random.default_rng(0)
TARGET = str(Target("c", triple=Target.host().triple))


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
def test_matmul_in_parallel_tiles(compiled_c, tail):
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
    *_, found = called(compiled_c(lower(s, [a, b, c], "matmul")), x, y, np.zeros((49, 70), "float32"))
    np.testing.assert_allclose(found, x @ y, rtol=1e-5, atol=1e-5)


def test_symbolic_extents_are_read_off_the_arguments(compiled_c):
    n, m = te.var("n"), te.var("m")
    a, b = te.placeholder((n, m), name="A"), te.placeholder((m,), name="B")
    c = te.compute((n, m), lambda i, j: a[i, j] + b[j], name="C")
    s = te.create_schedule(c)
    s[c].parallel(s[c].split(c.op.axis[0], 4)[0])
    add = compiled_c(lower(s, [a, b, c], "vector_add"))
    for shape in [(3, 5), (8, 1), (0, 4)]:
        x, y = floats(*shape), floats(shape[1])
        np.testing.assert_array_equal(called(add, x, y, np.zeros(shape, "float32"))[2], x + y)


def test_terms_of_a_reduction_may_be_absent(compiled_c):
    a, w = te.placeholder((20,), name="A"), te.placeholder((5,), name="W")
    k = te.reduce_axis(5, "k")
    b = te.compute((20,), lambda i: te.sum(a[i + k - 2] * w[k], axis=k, where=(i + k >= 2) & (i + k < 22)), name="B")
    x, y = floats(20), floats(5)
    *_, found = called(compiled_c(lower(te.create_schedule(b), [a, w, b], "f")), x, y, np.zeros(20, "float32"))
    np.testing.assert_allclose(found, np.convolve(x, y[::-1], "same"), rtol=1e-5, atol=1e-6)


def test_argmax_keeps_value_and_place_together(compiled_c):
    a = te.placeholder((6, 30), name="A")
    k = te.reduce_axis(30, "k")

    def better(left, right):
        take = left[0] >= right[0]
        return te.select(take, left[0], right[0]), te.select(take, left[1], right[1])

    argmax = te.comm_reducer(better, lambda v, i: (te.min_value(v), te.const(0, i)), "argmax")
    values, places = te.compute((6,), lambda i: argmax((a[i, k], k), axis=k), name="B")
    x = floats(6, 30)
    function = lower(te.create_schedule([values, places]), [a, values, places], "f")
    _, best, place = called(compiled_c(function), x, np.zeros(6, "float32"), np.zeros(6, "int64"))
    np.testing.assert_array_equal(best, x.max(1))
    np.testing.assert_array_equal(place, x.argmax(1))


def test_an_insertion_sort_written_by_hand(compiled_c):
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
    _, found = called(compiled_c(lower(te.create_schedule(b), [a, b], "f")), x, np.zeros(50, "float32"))
    np.testing.assert_array_equal(found, np.sort(x))


def test_a_device_schedule_runs_thread_after_thread(compiled_c):
    s, a, b, c = matmul(8, 12, 10)
    s[c].bind(c.op.axis[0], te.thread_axis("blockIdx.x"))
    s[c].bind(s[c].split(s[c].op.reduce_axis[0], 4)[1], te.thread_axis("threadIdx.x"))
    x, y = floats(8, 10), floats(10, 12)
    *_, found = called(compiled_c(lower(s, [a, b, c], "f")), x, y, np.zeros((8, 12), "float32"))
    np.testing.assert_allclose(found, x @ y, rtol=1e-5, atol=1e-5)


# What is not evaluated, and what is evaluated once.


def test_an_operand_that_is_not_chosen_is_not_loaded(sanitized):
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
    ran = sanitized("address", build_functions([function], "c").source + main)
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


def test_a_node_that_is_used_twice_in_one_operand_is_evaluated_only_there(compiled_c):
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
    found = called(compiled_c(function), *arrays)
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


def test_any_name_of_a_tensor_is_made_an_identifier(compiled_c):
    names = ["for", "exp", "NULL", "sateen_x", "1st", "A", "A", "half", "a b", "int32_t", "_x", "host", "status", "é"]
    tensors = [te.placeholder((4,), name=name) for name in names]
    b = te.compute((4,), lambda i: te.exp(sum((t[i] for t in tensors), te.const(0.0))), name="sum")
    s = te.create_schedule(b)
    s[b].parallel(b.op.axis[0])
    data = [floats(4) for _ in names]
    *_, found = called(compiled_c(lower(s, [*tensors, b], "f")), *data, np.zeros(4, "float32"))
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
