"""The text form of expressions and statements."""

import numpy as np

from sateen.tensor_ir import te
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Load, Scope, decl_buffer
from sateen.tensor_ir.ir.expr import Const, Var, const
from sateen.tensor_ir.ir.stmt import (
    EMPTY,
    Allocate,
    Barrier,
    Evaluate,
    For,
    Function,
    If,
    Let,
    LoopKind,
    Prefetch,
    Seq,
    Store,
    While,
)
from sateen.tensor_ir.ir.types import FLOAT32, INT64
from sateen.tensor_ir.te.ir_builder import create

x, y = Var("x"), Var("y")
p, q = x < 1, y < 2


def test_parentheses_are_only_where_they_are_needed():
    assert str((x + y) * 2 - x // (y * 3)) == "(x + y) * 2 - x // (y * 3)"
    assert str(ex.Sub(x, ex.Sub(y, ex.Add(x, y)))) == "x - (y - (x + y))"
    assert str(x * 2 % 3 + y) == "x * 2 % 3 + y"
    assert str((p | q) & ~(p & q)) == "(x < 1 or y < 2) and not (x < 1 and y < 2)"
    assert str(~p) == "not x < 1"
    assert str(ex.EQ(p, q)) == "x < 1 == (y < 2)"
    assert str((p & q) | p) == "x < 1 and y < 2 or x < 1"


def test_literals_show_their_types():
    assert [str(const(v)) for v in (5, -5, True, False, 0.5, 1e-30)] == ["5", "-5", "true", "false", "0.5f", "1e-30f"]
    assert [str(const(v)) for v in (float("inf"), float("-inf"), float("nan"))] == ["inff", "-inff", "nanf"]
    assert [str(const(-1, t)) for t in ("int32", "float64", "bfloat16")] == [
        "int32(-1)",
        "float64(-1.0)",
        "bfloat16(-1.0)",
    ]


def test_operations_that_read_as_functions():
    f = x.astype("float32")
    assert str(ex.minimum(x, ex.maximum(y, 3))) == "min(x, max(y, 3))"
    assert str(te.select(p, x, y)) == "select(x < 1, x, y)"
    assert str(te.exp(f)) == "exp(float32(x))"
    assert str(te.reinterpret("int32", f)) == "reinterpret:int32(float32(x))"
    assert str(ex.call("now", [], INT64)) == "now:int64()"
    assert str(te.piecewise([x, y], x)) == "piecewise[x](x, y)"


def test_tensor_expressions():
    a = te.placeholder((4, 4), name="a")
    r = te.reduce_axis(4, "r")
    assert str(te.sum(a[r, 1], axis=r)) == "sum(a[r, 1] over r < 4)"
    assert str(te.max(a[r, r], axis=r, where=r > 1)) == "max(a[r, r] over r < 4 where r > 1)"


def test_every_statement():
    buffer = decl_buffer((4,), name="b", scope="local")
    element = Load(buffer, (x,), FLOAT32)
    statement = Allocate(
        buffer,
        Seq(
            (
                For(
                    x,
                    const(0),
                    const(4),
                    LoopKind.VECTORIZED,
                    Store(buffer, (x,), const(0.0)),
                    pragmas=(("k", 3), ("p", True)),
                ),
                While(element > 0.0, Prefetch(buffer, (x,))),
                If(p, Barrier(Scope.SHARED), Evaluate(ex.call("f", [x]))),
                Let(y, x + 1, EMPTY),
            )
        ),
    )
    assert str(statement).splitlines() == [
        "allocate b: local float32[4]",
        "vectorized x in [0, 4) k=3 p:",
        "  b[x] = 0.0f",
        "while b[x] > 0.0f:",
        "  prefetch b[x]",
        "if x < 1:",
        "  barrier shared",
        "else:",
        "  f(int64(x))",
        "let y = x + 1",
        "pass",
    ]


def chain(length):
    """A term that the next one reads three times, and so on."""
    e = Load(decl_buffer((4,), name="a"), (x,), FLOAT32)
    for _ in range(length):
        e = te.select(te.exp(e) + te.log(e) < 0.5, te.sqrt(e), te.exp(e) * te.log(e) + te.sin(e) * 2.0)
    return e


def test_what_a_statement_has_in_several_places_is_written_once():
    store = Store(decl_buffer((4,), name="b"), (x,), chain(2))
    assert str(store).splitlines() == [
        "given term = select(exp(a[x]) + log(a[x]) < 0.5f, sqrt(a[x]), exp(a[x]) * log(a[x]) + sin(a[x]) * 2.0f)",
        "b[x] = select(exp(term) + log(term) < 0.5f, sqrt(term), exp(term) * log(term) + sin(term) * 2.0f)",
    ]
    shared = (x + 1) * 2
    assert (
        str(Store(decl_buffer((4, 4), name="b"), (shared, shared), const(0.0))) == "b[(x + 1) * 2, (x + 1) * 2] = 0.0f"
    )


def test_text_grows_with_the_nodes_of_an_expression():
    twenty, thirty, forty = (len(str(chain(length))) for length in (20, 30, 40))
    assert forty - thirty == thirty - twenty
    assert str(chain(2)).startswith("given term = select(")
    assert str(chain(2)).count(" in select(exp(term) + log(term)") == 1


def test_where_a_block_goes_on_after_a_let_its_body_is_indented():
    store = Store(decl_buffer((4,), name="b"), (x,), const(0.0))
    assert str(Seq((Let(y, x, store), store))) == "let y = x\n  b[x] = 0.0f\nb[x] = 0.0f"
    assert str(Seq((store, Let(y, x, Seq((store, store)))))) == "b[x] = 0.0f\nlet y = x\nb[x] = 0.0f\nb[x] = 0.0f"


def test_the_range_of_a_loop():
    def header(start, extent):
        return str(For(x, start, extent, LoopKind.SERIAL, EMPTY)).splitlines()[0]

    assert header(const(0), y) == "for x in [0, y):"
    assert header(const(2), const(3)) == "for x in [2, 5):"
    assert header(y * 2, const(3)) == "for x in [0, 3) + y * 2:"
    assert header(const(1), y) == "for x in [0, y) + 1:"


def test_the_header_of_a_function():
    n, s = Var("n"), Var("s")
    a = Buffer("A", (n, n), FLOAT32, strides=(s, const(1)), alignment=4)
    b, c, d = (decl_buffer((n,), name=name) for name in "BCD")
    w = Buffer("W", (const(2),), FLOAT32, data=np.array([1, 2], "float32"))
    body = Store(b, (const(0),), Load(w, (const(1),), FLOAT32))
    function = Function("f", (a, b, c, d), frozenset({b, c}), body, frozenset({c, d}))
    inputs_and_outputs = "B: out float32[n], C: inout float32[n], D: aliased float32[n]"
    assert str(function).splitlines() == [
        f"function f[n, s](A: float32[n, n] strides [s, 1] align 4, {inputs_and_outputs})",
        '  constant W: float32[2] = "AACAPwAAAEA="',
        "  B[0] = W[1]",
    ]


def test_names_are_unique_and_no_words_of_the_text_form():
    builder = create()
    with builder.for_range(0, 2, "i") as i, builder.for_range(0, 2, "i") as j, builder.for_range(0, 2, "max") as k:
        builder.let("9 lives", i + j + k)
    assert str(builder.get()).splitlines() == [
        "for i in [0, 2):",
        "  for i_1 in [0, 2):",
        "    for max_1 in [0, 2):",
        "      let v9_lives = i + i_1 + max_1",
        "      pass",
    ]


def test_a_float_literal_keeps_all_its_digits():
    assert str(Const(0.1 + 0.2, ex.DType.of("float64"))) == "float64(0.30000000000000004)"
