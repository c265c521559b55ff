"""The clauses of docs/semantics.md: the interpreter and generated code give the values that they state.

Scheduling clauses (4.3, 8.2, 9) are tested where their code is: test_loop_oracle.py, test_insert_barriers.py and the
random schedules.
"""

import math

import numpy as np
import pytest

from sateen.runtime.errors import ExecutionError
from sateen.tensor_ir import build, build_functions, te
from sateen.tensor_ir.interpret import evaluate, run
from sateen.tensor_ir.ir.expr import DType
from sateen.tensor_ir.ir.parser import parse_function
from sateen.tensor_ir.lowering import lower

INF, NAN = math.inf, math.nan
TINY = 2.0**-149

ELEMENTWISE = [
    # clause, type of x, values of x, expression, type of y, values of y
    ("1.1", "bool", [True, False], "not x[i]", "bool", [False, True]),
    ("1.2", "float16", [2048.0], "x[i] + float16(1.0) - x[i]", "float16", [1.0]),
    ("1.2", "float16", [2049.0 - 1], "x[i] + float16(1.0)", "float16", [2048.0]),
    ("1.2", "float16", [2050.0], "x[i] + float16(1.0)", "float16", [2052.0]),
    ("1.2", "bfloat16", [256.0, 258.0], "x[i] + bfloat16(1.0)", "bfloat16", [256.0, 260.0]),
    ("1.2", "float16", [0.0], "float32(x[i] + float16(0.1))", "float32", [float(np.float32(0.1))]),
    ("2.2", "int64", [2**63 - 1], "int64(x[i] + int64(1) > x[i])", "int64", [0]),
    ("2.2", "int64", [2**62], "(x[i] * int64(4) + int64(8)) // int64(4)", "int64", [2]),
    ("3.1", "int8", [127, -128], "x[i] + x[i]", "int8", [-2, 0]),
    ("3.1", "uint8", [0, 255], "x[i] - uint8(1)", "uint8", [255, 254]),
    ("3.1", "int32", [65536, 3], "x[i] * x[i]", "int32", [0, 9]),
    ("3.1", "int64", [2**62], "x[i] * int64(2)", "int64", [-(2**63)]),
    ("3.2", "int32", [7, -7, 6], "x[i] // int32(2)", "int32", [3, -4, 3]),
    ("3.2", "int32", [7, -7, 6], "x[i] // int32(-2)", "int32", [-4, 3, -3]),
    ("3.2", "int32", [7, -7, 6], "x[i] % int32(2)", "int32", [1, 1, 0]),
    ("3.2", "int32", [7, -7, 6], "x[i] % int32(-2)", "int32", [-1, -1, 0]),
    ("3.2", "int8", [-128], "x[i] // int8(-1)", "int8", [-128]),
    ("3.2", "int8", [-128], "x[i] % int8(-1)", "int8", [0]),
    ("3.2", "uint8", [200], "x[i] // uint8(7)", "uint8", [28]),
    ("3.4", "int8", [3, -3], "shift_left(x[i], int8(6))", "int8", [-64, 64]),
    ("3.4", "int8", [3, -3], "shift_right(x[i], int8(1))", "int8", [1, -2]),
    ("3.4", "uint8", [255], "shift_right(x[i], uint8(1))", "uint8", [127]),
    ("3.5", "int16", [-8, 7], "bitwise_and(x[i], int16(6))", "int16", [0, 6]),
    ("3.5", "int16", [-8, 7], "bitwise_or(x[i], int16(6))", "int16", [-2, 7]),
    ("3.5", "int16", [-8, 7], "bitwise_xor(x[i], int16(-1))", "int16", [7, -8]),
    ("3.5", "int16", [-8, 7], "popcount(x[i])", "int16", [13, 3]),
    ("4.1", "float32", [2.0**24], "x[i] + 1.0f - x[i]", "float32", [0.0]),
    ("4.1", "float64", [2.0**24], "x[i] + float64(1.0) - x[i]", "float64", [1.0]),
    ("4.1", "float32", [1.0, -1.0, 0.0], "x[i] / 0.0f", "float32", [INF, -INF, NAN]),
    ("4.1", "float32", [2 * TINY, 3.0], "x[i] / 2.0f", "float32", [TINY, 1.5]),
    ("4.1", "float32", [2.0, -1.0], "sqrt(x[i])", "float32", [float(np.sqrt(np.float32(2))), NAN]),
    ("4.1", "float32", [1 + 2.0**-12], "fma(x[i], x[i], -1.0f)", "float32", [2.0**-11 + 2.0**-24]),
    ("4.4", "float32", [INF, NAN, 2.0], "x[i] * 0.0f", "float32", [NAN, NAN, 0.0]),
    ("4.4", "float32", [INF, 1.0], "x[i] - x[i]", "float32", [NAN, 0.0]),
    ("4.5", "float32", [NAN, 1.0], "x[i] < 2.0f", "bool", [False, True]),
    ("4.5", "float32", [NAN, 1.0], "x[i] == x[i]", "bool", [False, True]),
    ("4.5", "float32", [NAN, 1.0], "x[i] != x[i]", "bool", [True, False]),
    ("4.5", "float32", [NAN, 1.0, 3.0], "min(x[i], 2.0f)", "float32", [NAN, 1.0, 2.0]),
    ("4.5", "float32", [NAN, 1.0, 3.0], "max(2.0f, x[i])", "float32", [NAN, 2.0, 3.0]),
    ("4.5", "float32", [1.0], "max(x[i], nanf)", "float32", [NAN]),
    ("4.6", "float32", [-2.5, 2.5, -0.5], "floor(x[i])", "float32", [-3.0, 2.0, -1.0]),
    ("4.6", "float32", [-2.5, 2.5, 0.5], "ceil(x[i])", "float32", [-2.0, 3.0, 1.0]),
    ("4.6", "float32", [-2.5, 2.5, 1e30], "trunc(x[i])", "float32", [-2.0, 2.0, float(np.float32(1e30))]),
    ("4.6", "float32", [-2.5, 2.5, 3.5], "round(x[i])", "float32", [-2.0, 2.0, 4.0]),
    ("4.6", "float32", [-2.5, -INF], "fabs(x[i])", "float32", [2.5, INF]),
    ("4.7", "float32", [0.0, -INF, INF, NAN], "exp(x[i])", "float32", [1.0, 0.0, INF, NAN]),
    ("4.7", "float32", [1.0, 0.0, -1.0, INF], "log(x[i])", "float32", [0.0, -INF, NAN, INF]),
    ("4.7", "float32", [0.0, -INF, INF, NAN], "tanh(x[i])", "float32", [0.0, -1.0, 1.0, NAN]),
    ("4.7", "float32", [0.0, -INF, INF, NAN], "erf(x[i])", "float32", [0.0, -1.0, 1.0, NAN]),
    ("4.7", "float32", [0.0, -INF, INF, NAN], "sigmoid(x[i])", "float32", [0.5, 0.0, 1.0, NAN]),
    ("4.7", "float32", [0.0, INF], "sin(x[i])", "float32", [0.0, NAN]),
    ("4.7", "float32", [0.0, INF], "cos(x[i])", "float32", [1.0, NAN]),
    ("4.7", "float32", [NAN, 2.0, -8.0], "pow(x[i], 0.0f)", "float32", [1.0, 1.0, 1.0]),
    ("4.7", "float32", [3.0, -3.0, 0.0], "pow(x[i], 3.0f)", "float32", [27.0, -27.0, 0.0]),
    ("5.1", "int32", [200, -200], "int8(x[i])", "int8", [-56, 56]),
    ("5.1", "int8", [-1], "uint32(x[i])", "uint32", [2**32 - 1]),
    ("5.1", "uint8", [255], "int32(x[i])", "int32", [255]),
    ("5.2", "int64", [2**60 + 2**36 + 1], "float32(x[i])", "float32", [2.0**60 + 2.0**37]),
    ("5.2", "uint64", [2**64 - 1], "float64(x[i])", "float64", [2.0**64]),
    ("5.2", "float64", [0.1, 1e300], "float32(x[i])", "float32", [float(np.float32(0.1)), INF]),
    ("5.2", "float32", [2049.0, 1e6, -3.0], "float32(float16(x[i]))", "float32", [2048.0, INF, -3.0]),
    ("5.2", "float64", [2049 + 2.0**-40], "float32(float16(x[i]))", "float32", [2048.0]),
    ("5.2", "float32", [257.0], "float32(bfloat16(x[i]))", "float32", [256.0]),
    ("5.3", "float32", [1.9, -1.9, 3e9, -3e9, NAN], "int32(x[i])", "int32", [1, -1, 2**31 - 1, -(2**31), 0]),
    ("5.3", "float32", [300.0, -5.0, INF, NAN], "uint8(x[i])", "uint8", [255, 0, 255, 0]),
    ("5.3", "float64", [1e30, -INF], "int64(x[i])", "int64", [2**63 - 1, -(2**63)]),
    ("5.4", "float32", [0.0, 0.5, NAN], "bool(x[i])", "bool", [False, True, True]),
    ("5.4", "int8", [0, -3], "bool(x[i])", "bool", [False, True]),
    ("5.4", "bool", [True, False], "float32(x[i])", "float32", [1.0, 0.0]),
    ("5.4", "bool", [True, False], "int8(x[i])", "int8", [1, 0]),
    ("5.5", "float32", [1.0, -0.0], "reinterpret:int32(x[i])", "int32", [0x3F800000, -(2**31)]),
    ("5.5", "uint16", [0x3C00], "reinterpret:float16(x[i])", "float16", [1.0]),
    ("6.1", "int32", [5, 6], "select(i < 1, x[i], select(i < 0, x[i - 70000000], int32(9)))", "int32", [5, 9]),
    ("6.1", "int32", [5, 6], "int32(i > 5 and x[i + 70000000] > int32(0))", "int32", [0, 0]),
    ("6.1", "int32", [5, 6], "int32(i < 5 or x[i + 70000000] > int32(0))", "int32", [1, 1]),
    ("6.1", "int32", [5, 6], "piecewise[i](x[i], x[i * 0] + x[i])", "int32", [5, 11]),
]

STATEMENTS = [
    # clause, body over x: int32[4] and y: int32[4], values of y where x is 1, 2, 3, 4
    ("8.1", "for i in [1, 4):\n    y[i] = x[i]\n  y[0] = int32(0)", [0, 2, 3, 4]),
    ("8.1", "for i in [0, 4):\n    y[i] = int32(7)\n  for i in [0, 0 - 3):\n    y[i] = int32(8)", [7, 7, 7, 7]),
    ("8.1", "unrolled i in [0, 4):\n    y[i] = x[i] + int32(i)", [1, 3, 5, 7]),
    ("8.2", "vectorized i in [0, 4):\n    y[i] = x[3 - i]", [4, 3, 2, 1]),
    ("8.2", "parallel i in [0, 4):\n    y[i] = x[3 - i]", [4, 3, 2, 1]),
    (
        "8.3",
        "for i in [0, 4):\n    y[i] = x[i]\n  let a = y[0]\n  y[0] = y[3]\n  y[3] = a\n  y[1] = y[1] + y[0]",
        [4, 6, 3, 1],
    ),
    (
        "8.4",
        (
            "allocate n: local int8[1]\n  n[0] = int8(0)\n  while n[0] < int8(4):\n"
            "    y[index(n[0])] = x[0]\n    n[0] = n[0] + int8(1)"
        ),
        [1, 1, 1, 1],
    ),
    ("8.6", "for i in [0, 4):\n    prefetch x[i + 1000000000]\n    y[i] = x[i]", [1, 2, 3, 4]),
]


def numpy_type(name):
    return DType.of(name).numpy


def text_of(position, x_type, expression, y_type, count):
    sizes = [np.dtype(numpy_type(t)).itemsize for t in (x_type, y_type)]
    x, y = (f"{t}[{count}] align {size}" for t, size in zip((x_type, y_type), sizes, strict=True))
    return f"function f{position}(x: {x}, y: out {y})\n  for i in [0, {count}):\n    y[i] = {expression}"


def statement_of(position, body):
    return f"function g{position}(x: int32[4] align 4, y: out int32[4] align 4)\n  {body}"


@pytest.fixture(scope="module")
def compiled():
    texts = [text_of(p, x, e, y, len(v)) for p, (_, x, v, e, y, _) in enumerate(ELEMENTWISE)]
    texts += [statement_of(p, body) for p, (_, body, _) in enumerate(STATEMENTS)]
    return build_functions([parse_function(text) for text in texts])


def same(found, expected):
    pairs = zip(found.tolist(), expected, strict=True)
    return all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in pairs)


@pytest.mark.parametrize("position", range(len(ELEMENTWISE)), ids=[f"{c[0]}-{c[3]}" for c in ELEMENTWISE])
def test_clauses_of_expressions(compiled, position):
    _, x_type, values, expression, y_type, expected = ELEMENTWISE[position]
    x = np.array(values, numpy_type(x_type))
    interpreted, executed = (np.zeros(len(values), numpy_type(y_type)) for _ in range(2))
    run(parse_function(text_of(position, x_type, expression, y_type, len(values))), [x, interpreted])
    assert same(interpreted, expected), f"interpreter: {interpreted}"
    compiled[f"f{position}"](x, executed)
    assert same(executed, expected), f"generated code: {executed}"


@pytest.mark.parametrize("position", range(len(STATEMENTS)), ids=[c[0] for c in STATEMENTS])
def test_clauses_of_statements(compiled, position):
    _, body, expected = STATEMENTS[position]
    x = np.arange(1, 5, dtype="int32")
    interpreted, executed = np.zeros(4, "int32"), np.zeros(4, "int32")
    run(parse_function(statement_of(position, body)), [x, interpreted])
    assert interpreted.tolist() == expected
    compiled[f"g{position}"](x, executed)
    assert executed.tolist() == expected


def test_clause_3_3_division_by_zero_does_not_fault_in_generated_code():
    text = (
        "function f(x: int32[2] align 4, y: out int32[2] align 4)\n"
        "  for i in [0, 2):\n    y[i] = select(x[i] == int32(0), int32(-1), int32(12) // x[i] + int32(12) % x[i])"
    )
    x, y, z = np.array([0, 5], "int32"), np.zeros(2, "int32"), np.zeros(2, "int32")
    run(parse_function(text), [x, y])
    build_functions([parse_function(text)])(x, z)
    assert y.tolist() == z.tolist() == [-1, 4]
    unguarded = parse_function(text.replace("select(x[i] == int32(0), int32(-1), ", "max(int32(-9), "))
    build_functions([unguarded])(x, z)
    assert z[1] == 4
    with pytest.raises(ExecutionError, match="division by zero"):
        run(unguarded, [x, y])


def test_clause_2_2_what_is_loaded_or_converted_wraps_through_every_pass():
    a = te.placeholder((6,), "int64", name="a")

    def body(ins, outs):
        ib = te.ir_builder.create()
        source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 6, "i") as i:
            x = ib.let("x", source[i])
            result[i, 0] = te.select(x + 1 > x, te.const(1), te.const(0))
            result[i, 1] = x * 4 // 4
            result[i, 2] = te.minimum(x + 1, x)
            result[i, 3] = x * (1 << 62) * 6
            result[i, 4] = te.select((i - 3).astype("uint64").astype("int64") >= 0, te.const(1), te.const(0))
            with ib.for_range(0, 3, "j") as j:
                result[i, 5 + j] = 0
                with ib.if_scope(j - 1 < x):
                    result[i, 5 + j] = 1
        return ib.get()

    c = te.extern((6, 8), [a], body, name="c", dtype="int64")
    x = np.array([0, 5, 2**63 - 1, -(2**63), 2**62 + 3, -1])
    with np.errstate(over="ignore"):
        columns = x + 1 > x, x * 4 // 4, np.minimum(x + 1, x), x * 2**62 * 6, np.arange(6) >= 3, x > -1, x > 0, x > 1
    expected = np.stack(columns, axis=1)
    interpreted, executed = np.zeros((6, 8), "int64"), np.zeros((6, 8), "int64")
    run(lower(te.create_schedule(c), [a, c]), [x, interpreted])
    built(a, c)(x, executed)
    assert interpreted.tolist() == executed.tolist() == expected.tolist()


def test_clause_4_2_a_product_may_stay_unrounded():
    text = text_of(0, "float32", "x[i] * x[i] - 1.0f", "float32", 1)
    x, y = np.array([1 + 2.0**-12], "float32"), np.zeros(1, "float32")
    build_functions([parse_function(text)])(x, y)
    assert y[0] in (2.0**-11, 2.0**-11 + 2.0**-24)


def built(*tensors):
    return build(te.create_schedule(tensors[-1].op), tensors)


def test_clauses_7_1_and_7_2_absent_terms():
    a, r = te.placeholder((4,), name="a"), te.reduce_axis(3, "r")
    total = te.compute((6,), lambda i: te.sum(a[i + r - 2], axis=r, where=te.all(i + r >= 2, i + r < 6)), name="total")
    least = te.compute((2,), lambda i: te.min(a[r], axis=r, where=r > i + 5), name="least")
    x = np.array([1, 2, 4, 8], "float32")
    for tensor, expected in ((total, [1, 3, 7, 14, 12, 8]), (least, [INF, INF])):
        assert evaluate([tensor], {a: x})[0].tolist() == expected
        y = np.zeros(len(expected), "float32")
        built(a, tensor)(x, y)
        assert y.tolist() == expected


def test_clause_7_4_the_state_of_a_tuple_changes_at_once():
    a, r = te.placeholder((6,), "int32", name="a"), te.reduce_axis(6, "r")

    def combine(left, right):  # the second result still sees the old left[0]
        return te.minimum(left[0], right[0]), te.select(left[0] <= right[0], left[1], right[1])

    argmin = te.comm_reducer(combine, lambda v, i: (te.max_value(v), te.const(-1, i)), "argmin")
    low, place = te.compute((1,), lambda i: argmin((a[r], r), axis=r), name="least")
    x = np.array([5, 3, 9, 2, 7, 2], "int32")
    assert [v.tolist() for v in evaluate([low, place], {a: x})] == [[2], [3]]
    found, where = np.zeros(1, "int32"), np.zeros(1, "int64")
    built(a, low, place)(x, found, where)
    assert (found[0], where[0]) == (2, 3)
