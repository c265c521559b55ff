"""The loop interpreter: exact arithmetic, and traps where hardware would go on."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from sateen.runtime.errors import ArgumentError, ExecutionError, LoweringError
from sateen.tensor_ir import te
from sateen.tensor_ir.interpret import evaluate, run
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load
from sateen.tensor_ir.ir.choices import select
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.ir.stmt import Function, Let, Store
from sateen.tensor_ir.ir.types import FLOAT32, INT64
from sateen.tensor_ir.lowering import lower
from sateen.tensor_ir.lowering.insert_barriers import insert_barriers


def execute(text, *arrays, **options):
    """Run the function of this text; its last argument is the result."""
    run(parse_function(text), arrays, **options)
    return arrays[-1]


def unary(body, source, result_dtype):
    """`body`, an expression of x[i], for each element of an array."""
    x = np.asarray(source)
    text = f"function f(x: {x.dtype}[{len(x)}], y: out {result_dtype}[{len(x)}])\n  for i in [0, {len(x)}):\n"
    return execute(text + f"    y[i] = {body}", x, np.empty(len(x), ex.DType.of(result_dtype).numpy)).tolist()


def trapped(message, text, *arrays, error=ExecutionError, **options):
    with pytest.raises(error, match=re.escape(message)):
        execute(text, *arrays, **options)


def test_a_reduction_over_two_dimensions():
    a, b = np.arange(12.0).reshape(3, 4), np.arange(20.0).reshape(4, 5)
    c = execute(
        """
        function matmul[m, k, n](A: float64[m, k], B: float64[k, n], C: out float64[m, n])
          parallel i in [0, m):
            for j in [0, n):
              C[i, j] = float64(0.0)
              for r in [0, k):
                C[i, j] = C[i, j] + A[i, r] * B[r, j]
        """.replace("\n        ", "\n"),
        a, b, np.empty((3, 5)),
    )  # fmt: skip
    assert np.array_equal(c, a @ b)


def test_integers_wrap_in_their_own_width():
    assert unary("x[i] + int8(1)", np.array([127, -128, 5], "int8"), "int8") == [-128, -127, 6]
    assert unary("x[i] * x[i]", np.array([1 << 31, 3], "uint32"), "uint32") == [0, 9]
    assert unary("x[i] - uint8(1)", np.array([0, 255], "uint8"), "uint8") == [255, 254]
    assert unary("x[i] * int64(3)", np.array([1 << 62], "int64"), "int64") == [3 * (1 << 62) - (1 << 64)]
    assert unary("x[i] // int8(-1)", np.array([-128, 7], "int8"), "int8") == [-128, -7]


def test_division_floors_and_the_remainder_has_the_divisors_sign():
    x = np.array([7, -7, 7, -7], "int32")
    y = np.array([2, 2, -2, -2], "int32")
    q, r = np.empty(4, "int32"), np.empty(4, "int32")
    execute(
        "function f(x: int32[4], y: int32[4], q: out int32[4], r: out int32[4])\n"
        "  for i in [0, 4):\n    q[i] = x[i] // y[i]\n    r[i] = x[i] % y[i]",
        x, y, q, r,
    )  # fmt: skip
    assert q.tolist() == [3, -4, -4, 3]
    assert r.tolist() == [1, 1, -1, -1]


def test_float32_is_rounded_after_each_operation():
    x = np.array([16777216.0], "float32")
    assert unary("x[i] + 1.0f - x[i]", x, "float32") == [0.0]
    assert unary("float32(float64(x[i]) + float64(1.0) - float64(x[i]))", x, "float32") == [1.0]


def test_short_floats_compute_in_float32_and_round_when_stored():
    x = np.array([2048.0], "float16")
    assert unary("x[i] + float16(1.0) - x[i]", x, "float16") == [1.0]
    assert unary("float16(float32(x[i]) + 1.0f)", x, "float16") == [2048.0]


def test_bfloat16_computes_in_float32_and_rounds_when_stored():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    big = np.array([256.0], ml_dtypes.bfloat16)
    assert unary("x[i] + bfloat16(1.0)", big, "bfloat16") == [256.0]


def test_conversions_truncate_saturate_and_wrap():
    floats = np.array([1.9, -1.9, 3e9, -3e9, math.nan, math.inf], "float32")
    assert unary("int32(x[i])", floats, "int32") == [1, -1, 2**31 - 1, -(2**31), 0, 2**31 - 1]
    assert unary("uint8(x[i])", floats, "uint8") == [1, 0, 255, 0, 0, 255]
    assert unary("int8(x[i])", np.array([200, -200], "int32"), "int8") == [-56, 56]
    assert unary("bool(x[i])", np.array([0, 3], "int32"), "bool") == [False, True]
    assert unary("int32(x[i])", np.array([True, False]), "int32") == [1, 0]
    once = (1 << 60) + (1 << 36) + 1  # rounds up once; by way of a double it would tie and round down
    assert unary("float32(x[i])", np.array([once], "int64"), "float32") == [float((1 << 60) + (1 << 37))]


def test_minimum_and_maximum_propagate_nan():
    x = np.array([math.nan, 1.0], "float32")
    assert math.isnan(unary("min(x[i], 0.0f)", x, "float32")[0])
    assert math.isnan(unary("max(0.0f, x[i])", x, "float32")[0])
    assert unary("max(x[i], 0.0f)", x, "float32")[1] == 1.0


def test_native_functions():
    x = np.array([-2.5, 2.5, 3.5], "float32")
    assert unary("round(x[i])", x, "float32") == [-2.0, 2.0, 4.0]
    assert unary("floor(x[i])", x, "float32") == [-3.0, 2.0, 3.0]
    assert unary("ceil(x[i])", x, "float32") == [-2.0, 3.0, 4.0]
    assert unary("trunc(x[i])", x, "float32") == [-2.0, 2.0, 3.0]
    assert unary("fabs(x[i])", x, "float32") == [2.5, 2.5, 3.5]
    assert unary("reinterpret:int32(x[i])", np.array([1.0], "float32"), "int32") == [0x3F800000]
    assert unary("reinterpret:float32(x[i])", np.array([0x3F800000], "int32"), "float32") == [1.0]
    n = np.array([-8, 7], "int32")
    assert unary("shift_right(x[i], int32(1))", n, "int32") == [-4, 3]
    assert unary("shift_left(x[i], int32(29))", n, "int32") == [0, 7 * 2**29 - 2**32]
    assert unary("bitwise_and(x[i], int32(6))", n, "int32") == [0, 6]
    assert unary("bitwise_or(x[i], int32(6))", n, "int32") == [-2, 7]
    assert unary("bitwise_xor(x[i], int32(-1))", n, "int32") == [7, -8]
    assert unary("popcount(x[i])", n, "int32") == [29, 3]


def fma(x, y, z, dtype):
    arrays = [np.array([v], dtype) for v in (x, y, z, 0)]
    kind = f"{dtype}[1]"
    text = f"function f(x: {kind}, y: {kind}, z: {kind}, r: out {kind})\n  r[0] = fma(x[0], y[0], z[0])"
    return float(execute(text, *arrays)[0])


def test_fma_rounds_once():
    for dtype, half in (("float32", 12), ("float64", 27)):
        x = 1 + 2.0**-half
        assert fma(x, x, -1.0, dtype) == 2.0 ** (1 - half) + 2.0 ** (-2 * half)
        assert fma(2.0, math.inf, 1.0, dtype) == math.inf
        assert fma(0.0, -1.0, -0.0, dtype).hex() == "-0x0.0p+0"
    # A double would round this sum to a tie, and the tie up.
    assert fma(2.0**-12 * (1 + 2.0**-18), 2.0**-12 * (1 - 2.0**-18), 1 + 2.0**-23, "float32") == 1 + 2.0**-23
    assert fma(1e308, 1e308, -1e308, "float64") == math.inf


def test_mathematical_functions_are_rounded_from_float64():
    x = np.linspace(-3, 3, 13).astype("float32")
    assert unary("exp(x[i])", x, "float32") == np.exp(x.astype(float)).astype("float32").tolist()
    assert unary("erf(x[i])", x, "float32") == [np.float32(math.erf(v)) for v in x]
    sigmoid = (1 / (1 + np.exp(-x.astype(float)))).astype("float32")
    assert unary("sigmoid(x[i])", x, "float32") == sigmoid.tolist()
    assert unary("pow(x[i], 2.0f)", x, "float32") == (x.astype(float) ** 2).astype("float32").tolist()


def test_a_function_of_the_user_needs_a_meaning():
    text = "function f(x: float32[1], y: out float32[1])\n  y[0] = cube(x[0])"
    x, y = np.array([2.0], "float32"), np.empty(1, "float32")
    assert execute(text, x, y, functions={"cube": lambda v: v**3}).tolist() == [8.0]
    trapped("call of 'cube', which is no native function; give its meaning in functions=", text, x, y)


def test_the_operand_that_is_not_chosen_is_not_evaluated():
    x = np.array([1.0, 2.0], "float32")
    text = "function f(x: float32[2], y: out float32[3])\n  for i in [0, 3):\n    y[i] = {}"
    result = np.empty(3, "float32")
    assert execute(text.format("select(i < 2, x[i], 0.0f)"), x, result).tolist() == [1.0, 2.0, 0.0]
    assert execute(text.format("float32(i < 2 and x[i] > 1.0f)"), x, result).tolist() == [0.0, 1.0, 0.0]
    assert execute(text.format("float32(i >= 2 or x[i] > 1.0f)"), x, result).tolist() == [0.0, 1.0, 1.0]
    assert execute(text.format("piecewise[i](x[i], x[i], 5.0f)"), x, result).tolist() == [1.0, 2.0, 5.0]


def test_a_shared_node_is_evaluated_only_where_it_is_chosen():
    x, y, i = Buffer("x", (ex.const(2),), FLOAT32), Buffer("y", (ex.const(3),), FLOAT32), ex.Var("i")
    square = Load(x, (i,), FLOAT32)
    for _ in range(40):  # as a tree this would be 2^40 loads
        square = square * square
    value = select(i < 2, square + square, ex.const(0.0))
    text = "function f(x: float32[2], y: out float32[3])\n  for i in [0, 3):\n    y[i] = 0.0f"
    frame = parse_function(text)
    loop = frame.body
    body = type(loop)(i, loop.start, loop.extent, loop.kind, Store(y, (i,), value))
    result = np.empty(3, "float32")
    run(Function("f", (x, y), frozenset({y}), body), [np.array([1.0, 0.5], "float32"), result])
    assert result.tolist() == [2.0, 0.0, 0.0]


def test_a_let_keeps_its_value():
    result = execute(
        "function swap(x: inout int32[2])\n  let old = x[0]\n  x[0] = x[1]\n  x[1] = old", np.array([1, 2], "int32")
    )
    assert result.tolist() == [2, 1]


def test_while_evaluates_its_condition_anew():
    text = (
        "function collatz(x: int64[1], steps: out int64[1])\n  allocate n: local int64[1]\n  n[0] = x[0]\n"
        "  steps[0] = int64(0)\n  while n[0] != int64(1):\n"
        "    n[0] = select(n[0] % int64(2) == int64(0), n[0] // int64(2), n[0] * int64(3) + int64(1))\n"
        "    steps[0] = steps[0] + int64(1)"
    )
    assert execute(text, np.array([27]), np.empty(1, "int64")).tolist() == [111]


def test_loops_may_start_anywhere_and_nest_deeper_than_python_allows():
    depth = 40
    loops = "".join("  " * (d + 1) + f"for i{d} in [0, 1) + 3:\n" for d in range(depth))
    total = " + ".join(f"i{d}" for d in range(depth))
    result = execute(
        "function f(y: out int64[1])\n" + loops + "  " * (depth + 1) + f"y[0] = int64({total})", np.empty(1, "int64")
    )
    assert result.tolist() == [3 * depth]


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_an_expression_as_deep_as_it_is(dtype):
    text = f"function f(x: {dtype}[1], y: out {dtype}[1])\n  y[0] = x[0]" + " + x[0]" * 5000
    assert execute(text, np.ones(1, dtype), np.empty(1, dtype)).tolist() == [5001]


def test_a_long_expression():
    terms = " + ".join(["x[0]"] * 150)
    text = f"function f(x: int32[1], y: out int32[1])\n  y[0] = {terms}"
    assert execute(text, np.array([2], "int32"), np.empty(1, "int32")).tolist() == [300]


def test_constants_are_memory():
    text = (
        'function f(y: out float32[2])\n  constant w: float32[2] = "AACAPwAAAEA="\n  for i in [0, 2):\n    y[i] = w[i]'
    )
    assert execute(text, np.empty(2, "float32")).tolist() == [1.0, 2.0]


def test_an_element_that_is_never_stored_keeps_its_value():
    assert execute("function f(y: out int32[2])\n  y[0] = int32(1)", np.array([7, 8], "int32")).tolist() == [1, 8]


# Traps.


def test_loads_and_stores_out_of_bounds():
    x, y = np.zeros(4, "float32"), np.zeros((2, 4), "float32")
    trapped(
        "f: load from x[4], outside of its shape [4]\n  in y[0, i] = x[i + 1]\n  i = 3",
        "function f(x: float32[4], y: out float32[2, 4])\n  for i in [0, 4):\n    y[0, i] = x[i + 1]", x, y,
    )  # fmt: skip
    trapped(
        "f: store to y[0, -1], outside of its shape [2, 4]\n  in y[i, j - 1] = 0.0f\n  i = 0\n  j = 0",
        "function f(y: out float32[2, 4])\n  for i in [0, 2):\n    for j in [0, 4):\n      y[i, j - 1] = 0.0f", y,
    )  # fmt: skip


def test_reading_what_was_never_written():
    y = np.zeros(2, "float32")
    trapped(
        "f: load from y[1], which has not been written\n  in y[0] = y[1]",
        "function f(y: out float32[2])\n  y[0] = 0.0f\n  y[0] = y[1]", y,
    )  # fmt: skip
    trapped(
        "f: load from t[0], which has not been written",
        "function f(y: out float32[2])\n  for i in [0, 2):\n    allocate t: local float32[1]\n"
        "    if i == 0:\n      t[0] = 1.0f\n    y[i] = t[0]", y,
    )  # fmt: skip


def test_operations_without_a_result():
    y, zero = np.zeros(1, "int32"), np.zeros(1, "int32")
    text = "function f(z: int32[1], y: out int32[1])\n  y[0] = {}"
    trapped("f: division by zero\n  in y[0] = int32(1) // z[0]", text.format("int32(1) // z[0]"), zero, y)
    trapped("f: division by zero\n  in y[0] = int32(1) % z[0]", text.format("int32(1) % z[0]"), zero, y)
    shifted = text.format("shift_left(z[0], z[0] + int32(32))")
    trapped("f: shift_left of int32 expects an amount in [0, 32), found 32", shifted, zero, y)
    trapped(
        "f: piecewise expects an index in [0, 2), found -1",
        text.format("piecewise[index(z[0]) - 1](int32(1), int32(2))"), zero, y,
    )  # fmt: skip


def test_an_index_that_leaves_64_bits_has_no_value():
    text = "function f(y: out int64[4])\n  for i in [0, 4):\n    y[i] = int64({})"
    y = np.zeros(4, "int64")
    far = 1 << 61
    assert execute(text.format(f"i * {far} * 8 // 8"), y).tolist() == [i * far for i in range(4)]
    message = f"f: the index {1 << 63}, which leaves 64 bits\n  in y[i] = int64(i * {1 << 62})\n  i = 2"
    trapped(message, text.format(f"i * {1 << 62}"), y)


def test_arrays_that_do_not_fit():
    text = "function f[n](x: float32[n], y: out float32[n])\n  y[0] = x[0]"
    x = np.zeros(2, "float32")
    trapped("'f' expects 2 arrays, found 1", text, x, error=ArgumentError)
    trapped("argument 'y' expects elements of float32, found float64", text, x, np.zeros(2), error=ArgumentError)
    trapped("argument 'y' expects 1 dimensions, found 0", text, x, np.zeros((), "float32"), error=ArgumentError)
    trapped("argument 'y' expects shape [2], found [3]", text, x, np.zeros(3, "float32"), error=ArgumentError)
    trapped("arguments 'x' and 'y' overlap, but are not the same array", text,
            (z := np.zeros(3, "float32"))[:2], z[1:], error=ArgumentError)  # fmt: skip
    hidden = "function f[n](x: float32[n * 2], y: out float32[1])\n  y[0] = x[n]"
    trapped("no argument gives the symbols of extent n * 2; pass their values in symbols=", hidden,
            np.zeros(4, "float32"), np.zeros(1, "float32"), error=ArgumentError)  # fmt: skip


def test_symbols_that_no_argument_gives():
    function = parse_function("function f[n](x: float32[n * 2], y: out float32[1])\n  y[0] = x[n]")
    n, y = function.parameters[0].shape[0].a, np.empty(1, "float32")
    run(function, [np.arange(4, dtype="float32"), y], symbols={n: 2})
    assert y.tolist() == [2.0]


def test_a_malformed_function_is_not_executed():
    x, v = Buffer("x", (), INT64), ex.Var("v", INT64)
    function = Function("f", (x,), frozenset({x}), Let(ex.Var("w", INT64), v, Store(x, (), v)))
    with pytest.raises(LoweringError, match="variable 'v' is used where nothing binds it"):
        run(function, [np.zeros((), "int64")])


def test_the_trap_names_the_line_of_the_user():
    a = te.placeholder((4,), name="a")

    def body(ins, outs):
        ib = te.ir_builder.create()
        ib.buffer_ptr(outs[0])[0] = ib.buffer_ptr(ins[0])[4]
        return ib.get()

    op = te.extern((4,), [a], body, name="e").op
    function = Function("e", (*op.input_buffers, *op.output_buffers), frozenset(op.output_buffers), op.program)
    with pytest.raises(ExecutionError, match=r"in e\[0\] = a\[4\]\n  from .*test_loop_oracle.py:\d+"):
        run(function, [np.zeros(4, "float32"), np.zeros(4, "float32")])


# Threads.

REVERSE = """
function reverse(x: int32[8], y: out int32[8])
  thread blockIdx.x b in [0, 2):
    allocate tile: shared int32[4]
    thread threadIdx.x t in [0, 4):
      tile[t] = x[b * 4 + t]
      barrier shared
      y[b * 4 + t] = tile[3 - t]
""".strip()


def test_threads_meet_at_a_barrier():
    result = execute(REVERSE, np.arange(8, dtype="int32"), np.empty(8, "int32"))
    assert result.tolist() == [3, 2, 1, 0, 7, 6, 5, 4]


def test_a_missing_barrier_is_a_race():
    text = REVERSE.replace("      barrier shared\n", "")
    x, y = np.arange(8, dtype="int32"), np.empty(8, "int32")
    trapped("tile[3], which has not been written", text, x, y)
    forward = text.replace("tile[3 - t]", "tile[t // 2]")
    trapped("tile[0] is loaded while another thread stores it: a barrier is missing", forward, x, y)


def test_storing_what_another_thread_reads_is_a_race():
    text = """
function shift(x: int32[4], y: out int32[4])
  allocate tile: shared int32[5]
  thread threadIdx.x t in [0, 4):
    tile[t] = x[t]
    tile[4] = int32(9)
    barrier shared
    y[t] = tile[{}]
    tile[t] = int32(0)
""".strip()
    x, y = np.arange(4, dtype="int32"), np.empty(4, "int32")
    trapped("tile[0] is loaded while another thread stores it", text.format("max(t - 1, 0)"), x, y)
    trapped("tile[1] is stored while another thread loads it", text.format("t + 1"), x, y)
    assert execute(text.format("t"), x, y).tolist() == [0, 1, 2, 3]


def test_threads_in_two_dimensions_and_a_loop_with_barriers():
    text = """
function scan(x: int32[2, 4], y: out int32[2, 4])
  thread threadIdx.y r in [0, 2):
    thread threadIdx.x t in [0, 4):
      allocate line: shared int32[2, 4]
      allocate kept: local int32[1]
      line[r, t] = x[1 - r, t]
      for step in [0, 3):
        barrier shared
        kept[0] = line[r, t] + select(t >= step + 1, x[1 - r, t - (step + 1)], int32(0))
        barrier shared
        line[r, t] = kept[0]
      barrier shared
      y[1 - r, t] = line[r, t] + int32(0) * line[1 - r, 3 - t]
""".strip()
    x = np.arange(8, dtype="int32").reshape(2, 4)
    assert np.array_equal(execute(text, x, np.empty((2, 4), "int32")), x.cumsum(axis=1))


TWO_LOOPS = """
function reverse(x: int32[8], y: out int32[8])
  thread blockIdx.x b in [0, 2):
    allocate tile: shared int32[4]
    thread threadIdx.x t in [0, 4):
      tile[t] = x[b * 4 + t]
    thread threadIdx.x u in [0, 4):
      y[b * 4 + u] = tile[3 - u]
""".strip()


def test_without_barriers_loops_over_threads_are_loops():
    x, y = np.arange(8, dtype="int32"), np.empty(8, "int32")
    assert execute(TWO_LOOPS, x, y).tolist() == [3, 2, 1, 0, 7, 6, 5, 4]
    trapped("load from tile[3], which has not been written\n  in y[b * 4 + u] = tile[3 - u]\n  b = 0\n  u = 0",
            TWO_LOOPS, x, y, simt=True)  # fmt: skip
    with_barrier = TWO_LOOPS.replace("    thread threadIdx.x u", "    barrier shared\n    thread threadIdx.x u")
    assert execute(with_barrier, x, np.empty(8, "int32")).tolist() == [3, 2, 1, 0, 7, 6, 5, 4]
    assert execute(with_barrier, x, np.empty(8, "int32"), simt=False).tolist() == [3, 2, 1, 0, 7, 6, 5, 4]


COOPERATIVE = """
function sums(x: int32[2, 4], y: out int32[4])
  thread threadIdx.x t in [0, 4):
    allocate total: local int32[1]
    total[0] = int32(0)
    for k in [0, 2):
      allocate tile: shared int32[6]
      thread threadIdx.x u in [0, 6):
        tile[u] = x[k, u % 4]
      barrier shared
      total[0] = total[0] + tile[t] + tile[t + 2]
      barrier shared
    y[t] = total[0]
""".strip()


def test_a_loop_over_threads_inside_of_one_is_shared_among_them():
    x = np.arange(8, dtype="int32").reshape(2, 4)
    expected = [int(x[:, i].sum() + x[:, (i + 2) % 4].sum()) for i in range(4)]
    plain = COOPERATIVE.replace("      barrier shared\n", "")
    assert execute(plain, x, np.empty(4, "int32")).tolist() == expected
    trapped("a barrier is reached by 4 of 6 threads", COOPERATIVE, x, np.empty(4, "int32"))
    even = COOPERATIVE.replace("[0, 6)", "[0, 4)").replace("tile[t + 2]", "tile[(t + 2) % 4]")
    assert execute(even, x, np.empty(4, "int32")).tolist() == expected
    late = even.replace("      barrier shared\n    y", "    y")
    trapped("is loaded while another thread stores it: a barrier is missing", late, x, np.empty(4, "int32"))


def test_a_product_of_matrices_on_blocks_of_threads():
    a, b = (te.placeholder((8, 8), name=name) for name in "ab")
    r = te.reduce_axis(8, "r")
    c = te.compute((8, 8), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="c")
    s = te.create_schedule(c.op)
    tiles = [s.cache_read(t, "shared", [c]) for t in (a, b)]
    total = s.cache_write(c, "local")
    outer, inner = zip(*(s[c].split(axis, 4) for axis in s[c].op.axis), strict=True)
    s[c].reorder(*outer, *inner)
    for axis, tag in zip((*outer, *inner), ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x"), strict=True):
        s[c].bind(axis, te.thread_axis(tag))
    s[total].compute_at(s[c], inner[1])
    step, _ = s[total].split(s[total].op.reduce_axis[0], 4)
    for tile in tiles:
        s[tile].compute_at(s[total], step)
        for axis, tag in zip(s[tile].op.axis, ("threadIdx.y", "threadIdx.x"), strict=True):
            s[tile].bind(axis, te.thread_axis(tag))
    loops = lower(s, [a, b, c])
    kernel = replace(loops, body=insert_barriers(loops.body))
    rng = np.random.default_rng(1)
    x, y = (rng.integers(-9, 9, (8, 8)).astype("float32") for _ in range(2))
    (expected,) = evaluate([c], {a: x, b: y})
    for function in (loops, kernel):
        found = np.empty((8, 8), "float32")
        run(function, [x, y, found])
        assert np.array_equal(found, expected)
    with pytest.raises(ExecutionError, match=r"load from a.shared\[0, 1\], which has not been written"):
        run(loops, [x, y, np.empty((8, 8), "float32")], simt=True)


def test_the_number_of_threads_does_not_change_within_a_kernel():
    text = (
        "function f(y: out int32[4])\n  thread blockIdx.x b in [0, 4):\n    thread threadIdx.x t in [0, b):\n"
        "      y[t] = int32(0)"
    )
    trapped("thread loop 't': extent b differs within its kernel", text, np.empty(4, "int32"), simt=True)
    assert execute(text, np.zeros(4, "int32")).tolist() == [0, 0, 0, 0]


def test_a_barrier_that_some_threads_miss():
    text = (
        "function f(y: out int32[2])\n  thread threadIdx.x t in [0, 2):\n    if t == 0:\n      barrier shared\n"
        "    y[t] = int32(0)"
    )
    trapped("a barrier is reached by 1 of 2 threads", text, np.empty(2, "int32"))


def test_a_private_buffer_is_fresh_for_each_thread():
    text = (
        "function f(y: out int64[3])\n  thread threadIdx.x t in [0, 3):\n    allocate own: local int64[1]\n"
        "    own[0] = int64(t)\n    barrier shared\n    y[t] = own[0]"
    )
    assert execute(text, np.empty(3, "int64")).tolist() == [0, 1, 2]


def test_iterations_of_a_parallel_loop_must_not_depend_on_each_other():
    text = "function f(y: out int32[4])\n  y[0] = int32(0)\n  parallel i in [1, 4):\n    y[i] = {}"
    trapped("y[1] is loaded while another thread stores it", text.format("y[i - 1] + int32(1)"), np.empty(4, "int32"))
    assert execute(text.format("y[0] + int32(1)"), np.empty(4, "int32")).tolist() == [0, 1, 1, 1]
    total = "function f(y: out int64[1])\n  y[0] = int64(0)\n  parallel i in [1, 4):\n    y[0] = y[0] + int64(i)"
    trapped("y[0] is loaded while another thread stores it", total, np.empty(1, "int64"))
    last = "function f(y: out int64[1])\n  parallel i in [0, 4):\n    y[0] = int64({})"
    trapped("y[0] is stored while another thread stores another value to it", last.format("i"), np.empty(1, "int64"))
    assert execute(last.format("5"), np.empty(1, "int64")).tolist() == [5]


def test_an_aliased_output_shares_the_memory_of_an_input():
    x = np.arange(4, dtype="int32")
    execute("function f(x: aliased int32[4], y: inout int32[4])\n  for i in [1, 4):\n    y[i] = x[i - 1] + x[i]", x, x)
    assert x.tolist() == [0, 1, 3, 6]
