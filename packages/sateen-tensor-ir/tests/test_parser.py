"""The text form read back: what is printed parses to the same structure, and to the same text."""

import re

import numpy as np
import pytest

from sateen.tensor_ir import te
from sateen.tensor_ir.arith import StructuralKeys
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load
from sateen.tensor_ir.ir.digests import digest
from sateen.tensor_ir.ir.equal import structural_equal, why_different
from sateen.tensor_ir.ir.expr import Var, const
from sateen.tensor_ir.ir.parser import parse_expr, parse_function, parse_stmt
from sateen.tensor_ir.ir.stmt import EMPTY, Allocate, For, Function, Let, LoopKind, Seq, Store
from sateen.tensor_ir.ir.tokens import ParseError
from sateen.tensor_ir.ir.types import FLOAT32, INDEX, INT64, int_range
from sateen.tensor_ir.lowering import lower

PROGRAM = """\
function everything[n](A: float32[n, 4] strides [8, 1] align 4, B: out float32[n], C: inout int32[2], D: aliased bool[])
  constant W: float32[2, 2] align 16 = "AACAPwAAAEAAAEBAAACAQA=="
  parallel i in [0, n):
    allocate acc: register float32[4] align 32
      unrolled u in [0, 4):
        acc[u] = select(i < n - 1 and (D[] or not u == 2), A[i, u] * -0.5f, -inff)
      vectorized v in [2, 4) step=2 note='two words' deep:
        acc[v] = fma(acc[v], W[v // 4, v % 2], float32(v) / 3.0f)
    B[i] = max(acc[0], min(acc[1], 1e-05f)) + float32(float16(2.5))
    let t = int32(i) + int32(-7)
    if t >= int32(0) or t != C[0]:
      prefetch A[i + 1, 0]
      C[0] = shift_left(t, int32(uint8(3)))
    else:
      while D[]:
        C[1] = piecewise[i % 2](t, reinterpret:int32(B[i]))
        pass
      notify:int32()
  thread blockIdx.x bx in [0, 2):
    thread threadIdx.y t.y in [0, n) + bx * 4:
      barrier shared
"""


ENTRY = """\
function run(x: float32[4], y: out float32[4], clock: out int64[2] align 8, workspace: out uint8[64])
  timestamp clock[0]
  for i in [0, 3):
    invoke k0_relu(x + 0, workspace + i * 16 + 16)
  invoke k1_empty()
  timestamp clock[1]"""


def is_round_trip(function):
    again = parse_function(str(function))
    assert str(again) == str(function)
    assert why_different(function, again) is None


def test_every_construct():
    function = parse_function(PROGRAM)
    assert str(function) == PROGRAM.replace("        pass\n", "").rstrip()
    is_round_trip(function)


def test_the_entry_of_a_network():
    function = parse_function(ENTRY)
    assert str(function) == ENTRY
    is_round_trip(function)


def test_what_is_parsed_has_the_structure_that_the_text_shows():
    n, b = Var("n"), Buffer("B", (const(4),), FLOAT32)
    s = parse_stmt("for i in [0, n) + 2:\n  B[i] = 1.0f", {"n": n, "B": b})
    assert isinstance(s, For)
    assert isinstance(s.body, Store)
    assert (s.extent, s.body.buffer, s.body.indices[0], s.kind) == (n, b, s.var, LoopKind.SERIAL)
    e = parse_expr("n - 1 - n", {"n": n})
    assert isinstance(e, ex.Sub)
    assert isinstance(e.a, ex.Sub)
    assert e.b is n
    assert isinstance(parse_expr("n + 0", {"n": n}), ex.Add)


def test_where_a_let_ends_is_kept():
    b, x = Buffer("b", (const(4),), INT64), Var("x")
    store = Store(b, (const(0),), const(1))
    for body in (Seq((Let(x, const(1), store), store)), Let(x, const(1), Seq((store, store))), Let(x, const(1), EMPTY)):
        is_round_trip(Function("f", (b,), frozenset({b}), body))


def test_a_buffer_that_is_allocated_in_two_places_stays_one():
    b, t = Buffer("b", (const(4),), FLOAT32), Buffer("t", (const(1),), FLOAT32)
    use = Allocate(t, Store(t, (const(0),), const(1.0)))
    is_round_trip(Function("f", (b,), frozenset({b}), Seq((use, use))))


def test_a_name_that_is_bound_again_is_another_variable():
    function = parse_function("function f(A: out int8[4])\n  for i in [0, 4):\n    pass\n  for i in [0, 4):\n    pass")
    assert str(function).count("for i_1 in") == 1
    is_round_trip(function)


def test_a_function_may_have_any_name():
    is_round_trip(parse_function("function max(A: out int8[4])\n  pass"))


def test_literals_of_every_type():
    for dtype in ("int8", "uint8", "int16", "uint64", "int64"):
        low, high = int_range(ex.DType.of(dtype))
        for value in (low, high):
            e = parse_expr(str(const(value, dtype)))
            assert (e.value, str(e.dtype)) == (value, dtype)
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        for value in (0.1, -0.0, 1e300, 5e-324, float("inf"), float("-inf"), float("nan")):
            e = parse_expr(str(const(value, dtype)))
            assert (repr(e.value), str(e.dtype)) == (repr(value), dtype)


def test_a_conversion_is_told_from_a_literal():
    n = Var("n")
    for e in (ex.Cast(const(2.0), ex.DType.of("float64")), ex.Cast(n, FLOAT32), ex.Cast(const(True), INT64)):
        again = parse_expr(str(e), {"n": n})
        assert why_different(e, again) is None
        assert isinstance(again, ex.Cast)


def test_an_index_is_told_from_data():
    n, d = Var("n"), Var("d", INT64)
    keys = StructuralKeys()
    for index, data, texts in (
        (const(5), const(5, INT64), ("5", "int64(5)")),
        (ex.cast(INDEX, d), d, ("index(d)", "d")),
        (n, ex.cast(INT64, n), ("n", "int64(n)")),
        (ex.cast(INDEX, d) * 5 + n, d * 5 + n, ("index(d) * 5 + n", "d * int64(5) + int64(n)")),
    ):
        assert (str(index), str(data)) == texts
        for e, dtype in ((index, INDEX), (data, INT64)):
            again = parse_expr(str(e), {"n": n, "d": d})
            assert why_different(e, again) is None
            assert again.dtype == e.dtype == dtype
            assert keys.of(again) == keys.of(e)
        assert keys.of(index) != keys.of(data)
        assert why_different(index, data) is not None
    text = "function f(y: out int64[1])\n  for i in [0, 1):\n    let k = {}\n    y[0] = int64(k)"
    assert digest(parse_function(text.format("5"))) != digest(parse_function(text.format("int64(5)")))
    assert digest(parse_function(text.format("i"))) != digest(parse_function(text.format("int64(i)")))


def conv():
    image, weights = te.placeholder((10, 12), name="image"), te.constant(np.eye(3, dtype="float32"), name="weights")
    u, v = te.reduce_axis(3, "u"), te.reduce_axis(3, "v")
    result = te.compute((8, 10), lambda i, j: te.sum(image[i + u, j + v] * weights[u, v], axis=(u, v)), name="conv")
    return image, result, te.compute((8, 10), lambda i, j: te.maximum(result[i, j], 0.0), name="relu")


def test_scheduled_functions():
    image, result, relu = conv()
    s = te.create_schedule(relu.op)
    is_round_trip(lower(s, [image, relu]))
    i, j = relu.op.axis
    outer, inner = s[relu].split(j, 4)
    s[relu].vectorize(inner)
    s[relu].parallel(i)
    s[result].compute_at(s[relu], outer)
    s[result].unroll(result.op.reduce_axis[0])
    is_round_trip(lower(s, [image, relu]))


def test_symbolic_functions():
    n, m = te.var("n"), te.var("m")
    a, b, r = te.placeholder((n, m), name="a"), te.placeholder((m,), name="b"), te.reduce_axis(m, "r")
    c = te.compute((n,), lambda i: te.sum(a[i, r] * b[r], axis=r), name="c")
    s = te.create_schedule(c.op)
    s[c].split(c.op.axis[0], 4)
    is_round_trip(lower(s, [a, b, c]))


def refused(text, message):
    with pytest.raises(ParseError, match=re.escape(message)):
        parse_function(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(" * 5000 + "1", "expected text that nests less deep, found '('"),
        ("not " * 5000 + "true", "expected text that nests less deep, found 'not'"),
        ("9" * 5000, "line 1, column 1: expected a number of at most 1000 characters, found 5000"),
    ],
)
def test_expressions_beyond_the_limits_of_python(text, message):
    with pytest.raises(ParseError, match=re.escape(message)):
        parse_expr(text)


def test_loops_beyond_the_limits_of_python():
    loops = "".join("  " * (k + 1) + f"for i{k} in [0, 2):\n" for k in range(2000))
    refused(f"function f(A: out int8[4])\n{loops}", "expected text that nests less deep")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: expected loop IR, found nothing"),
        ("function f(", "line 1, column 12: expected a name, found the end of the line"),
        ("function f()", "line 1, column 13: expected a statement indented by 2, found the end of the line"),
        ("function f(A: float33[4])", "line 1, column 15: expected an element type, found 'float33'"),
        ("function f(A: int8[4] of)", "line 1, column 23: expected ',', found 'of'"),
        ("function f[n = A](B: int8[n])", "line 1, column 16: expected a parameter, found 'A'"),
        ("function f(max: int8[4])", "line 1, column 12: expected a name, found 'max'"),
        (
            "function f[n](A: int8[4])\n  for i in [1, n):\n    pass",
            "line 2, column 16: expected an integer, found 'n'",
        ),
    ],
)
def test_errors_in_a_header(text, message):
    refused(text, message)


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("B[0] = 1", 3, "a variable or an element of a buffer, found 'B'"),
        ("A[0 = 1", 7, "',', found '='"),
        ("A[0] = 1 1", 12, "the end of the line, found '1'"),
        ("A[0] ? 1", 8, "loop IR, found '?'"),
        ("A[0] = 1.0", 10, "an integer, or a number with a type: 1.0f, float64(1.0), found '1.0'"),
        ("A[0] = -A[0]", 11, "a number, found 'A'"),
        ("A[0] = min(1)", 10, "2 operands of 'min', found 'min'"),
        ("A[0] = now()", 10, "a type, as in f:int32(), of a call without arguments, found 'now'"),
        ("A[0] = piecewise[0]()", 24, "at least one branch, found the end of the line"),
        ("A[0] + 1", 3, "a statement, found 'A'"),
        ("for i in [0, 4) k=1.0f:", 21, "a number, a string, False or None, found '1.0f'"),
        ("thread warp i in [0, 4):", 10, "a thread axis (blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, "),
        ("barrier A", 11, "a scope, found 'A'"),
        ("prefetch 1", 12, "an element of a buffer, found '1'"),
        ("given 1 = 2", 9, "a name, found '1'"),
        ("given t = u", 13, "a variable or an element of a buffer, found 'u'"),
        ("invoke f(1)", 12, "a buffer, found '1'"),
        ("invoke f(A)", 13, "'+', found ')'"),
        ("timestamp n[0]", 13, "a buffer, found 'n'"),
        ("allocate A: int16[4]", 15, "the type that buffer 'A' was allocated with before, found 'int16'"),
        ('constant W: int8[4] = "AA=="', 25, "4 bytes in base64, found '\"AA==\"'"),
        ('constant W: int8[4] = "?"', 25, "data in base64, found '\"?\"'"),
        ("constant W: int8[4] = 4", 25, "data in base64 of a constant shape, found '4'"),
    ],
)
def test_errors_in_a_line(line, column, message):
    refused(f"function f(A: int8[4])\n  {line}\n  pass", f"line 2, column {column}: expected {message}")


def test_a_term_in_several_places_is_one_expression():
    text = """\
function f(A: inout float32[4])
  for i in [0, 4):
    given term = exp(A[i]) + log(A[i])
    given term_1 = term * term
    if term_1 > 1.0f:
      A[i] = term_1"""
    branch = parse_function(text).body.body
    assert branch.condition.a is branch.then.value
    assert branch.condition.a.a is branch.condition.a.b
    e = parse_expr("given t = n + 1, u = t * t in u * u", {"n": Var("n")})
    assert e.a is e.b
    assert e.a.a is e.a.b


def test_what_repeats_is_read_back():
    i = Var("i")
    buffer = Buffer("A", (const(4),), FLOAT32)
    e = Load(buffer, (i,), FLOAT32)
    for _ in range(60):
        e = te.select(te.exp(e) + te.log(e) < 0.5, te.sqrt(e), te.exp(e) * te.log(e) + te.sin(e) * 2.0)
    loop = For(i, const(0), const(4), LoopKind.SERIAL, Store(buffer, (i,), e))
    is_round_trip(Function("f", (buffer,), frozenset({buffer}), loop))
    assert why_different(e, parse_expr(str(e), {"A": buffer, "i": i})) is None


def test_errors_in_the_indentation():
    start = "function f(A: int8[4])\n"
    refused(f"{start}  for i in [0, 4):\n  A[0] = 1", "line 3, column 3: expected a statement indented by 4, found 'A'")
    refused(f"{start}  pass\n    pass", "line 3, column 5: expected a statement indented by 2, found 'pass'")
    refused(f"{start}  given t = 1", "line 2, column 14: expected a statement indented by 2, found the end of the line")
    refused(f"{start}  pass\n pass", "line 3, column 2: expected the end of the text, found 'pass'")


def test_an_expression_or_a_statement_is_all_of_the_text():
    with pytest.raises(ParseError, match="line 2, column 1: expected the end of the text, found '2'"):
        parse_expr("1\n2")
    with pytest.raises(ParseError, match="line 1, column 3: expected the end of the line, found '2'"):
        parse_expr("1 2")


# Structural equality.


def statement(text):
    return parse_function(f"function f[n](A: inout float32[n], B: float32[n] align 4)\n  {text}")


def test_names_do_not_matter_to_equality():
    a = "function f[n](A: out int64[n])\n  for i in [0, n):\n    let j = i + 1\n    A[i] = j"
    b = "function f[size](B: out int64[size])\n  for k in [0, size):\n    let l = k + 1\n    B[k] = l"
    assert structural_equal(parse_function(a), parse_function(b))


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ("A[0] = 1.0f", "A[1] = 1.0f", "Function.body.indices[0].value: 0 against 1"),
        ("A[0] = -0.0f", "A[0] = 0.0f", "Function.body.value.value: -0.0 against 0.0"),
        ("A[0] = 1.0f", "pass", "Function.body.body: 1 of them against 0 of them"),
        ("A[n] = 1.0f", "A[n + 1] = 1.0f", "Function.body.indices[0]: Var n against Add n + 1"),
        ("A[0] = A[0]", "A[0] = B[0]", "Function.body.value.buffer: A against B"),
        (
            "for i in [0, 4):\n    pass",
            "parallel i in [0, 4):\n    pass",
            "Function.body.kind: LoopKind.SERIAL against",
        ),
        (
            "for i in [0, 4):\n    for j in [0, 4):\n      A[i] = 0.0f",
            "for i in [0, 4):\n    for j in [0, 4):\n      A[j] = 0.0f",
            "Function.body.body.body.indices[0]: i against j",
        ),
        (
            "allocate t: int8[4]\n  pass",
            "allocate t: int8[5]\n  pass",
            "Function.body.buffer.shape[0].value: 4 against 5",
        ),
        ("A[0] = exp(B[0])", "A[0] = log(B[0])", "Function.body.value.name: exp against log"),
    ],
)
def test_differences_are_told(a, b, message):
    assert (why_different(statement(a), statement(b)) or "").startswith(message)
    assert not structural_equal(statement(b), statement(a))


def test_roles_and_data_are_compared():
    def function(role, data):
        return parse_function(f'function f(A: {role} int8[1])\n  constant W: int8[1] = "{data}"\n  A[0] = W[0]')

    assert (
        why_different(function("out", "AA=="), function("out", "AQ=="))
        == "Function.body.value.buffer.data: [0] against [1]"
    )
    assert "(output, aliased)[1]: False against True" in (
        why_different(function("out", "AA=="), function("inout", "AA==")) or ""
    )


def test_free_variables_are_equal_only_to_themselves():
    assert not structural_equal(Var("n") + 1, Var("n") + 1)
    n = Var("n")
    assert structural_equal(n + 1, n + 1)
