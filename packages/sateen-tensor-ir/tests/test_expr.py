"""Expressions: operators, literals and what their constructors fold and refuse."""

import re

import numpy as np
import pytest

from sateen.runtime.errors import ExpressionError
from sateen.tensor_ir import te
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.choices import conjuncts
from sateen.tensor_ir.ir.expr import Const, Var, as_expr, const
from sateen.tensor_ir.ir.identity import is_among, position, same_nodes
from sateen.tensor_ir.ir.types import BOOL, FLOAT32, INT64

x, y = Var("x"), Var("y")
f = Var("f", FLOAT32)
p = Var("p", BOOL)
d32 = Var("d", ex.DType.of("int32"))


def literal(e):
    assert isinstance(e, Const)
    return e.value, str(e.dtype)


def refused(message, build):
    with pytest.raises(ExpressionError, match=re.escape(message)):
        build()


def test_operators_build_nodes_of_the_operands_type():
    assert [type(e) for e in (x + y, x - y, x * y, x // y, x % y, f / f)] == [
        ex.Add, ex.Sub, ex.Mul, ex.FloorDiv, ex.FloorMod, ex.Div,
    ]  # fmt: skip
    assert [type(e) for e in (x < y, x <= y, x > y, x >= y, x.equal(y), x.not_equal(y))] == [
        ex.LT, ex.LE, ex.GT, ex.GE, ex.EQ, ex.NE,
    ]  # fmt: skip
    assert (f + f).dtype == FLOAT32 == "float32"
    assert (f < 1).dtype == BOOL
    assert (x + y).dtype == "index" != INT64 != (x + y).dtype != "int64"
    assert [str(e) for e in (-x, -f, 1 - x, 2 * f, 8 // x, 7 % x, 1 / f)] == [
        "0 - x", "f * -1.0f", "1 - x", "2.0f * f", "8 // x", "7 % x", "1.0f / f",
    ]  # fmt: skip


def test_a_number_takes_the_type_of_the_other_operand():
    short = Var("s", ex.DType.of("uint8"))
    assert str(short + 3) == "s + uint8(3)"
    assert str(f + 1) == "f + 1.0f"
    assert str(as_expr(np.float32(0.5)) + f) == "0.5f + f"
    refused("literal 300 is out of the range of uint8: [0, 255]", lambda: short + 300)
    refused("expected an integer for a literal of type index, found 0.5", lambda: x + 0.5)


def test_literals():
    assert [literal(const(v)) for v in (3, 0.5, True)] == [(3, "index"), (0.5, "float32"), (True, "bool")]
    assert literal(const(3, "float32")) == (3.0, "float32")
    for kind in ("uint8", "int32", "float16", "float32", "float64", "bool"):
        assert literal(const(np.dtype(kind).type(1))) == (1, kind)
    assert literal(const(np.float64(3), "int32")) == (3, "int32")
    assert (f + np.float64(0.5)).dtype == FLOAT32
    assert literal(const(2.0, "int32")) == (2, "int32")
    refused("expected an integer for a literal of type int32, found nan", lambda: const(float("nan"), "int32"))
    refused("expected an integer for a literal of type int32, found inf", lambda: const(float("inf"), "int32"))
    refused("literal -1 is out of the range of uint8: [0, 255]", lambda: const(-1, "uint8"))
    refused("expected an expression or a number, found str: 'x'", lambda: as_expr("x"))


def test_integers_fold_and_wrap():
    a, b = const(100, "int8"), const(50, "int8")
    assert literal(a + b) == (-106, "int8")
    assert literal(a * b) == (5000 - 20 * 256, "int8")
    assert literal(const(-128, "int8") // const(-1, "int8")) == (-128, "int8")
    assert literal(-const(-128, "int8")) == (-128, "int8")
    assert literal(-const(1, "uint8")) == (255, "uint8")
    assert literal(const(-7) // const(2)) == (-4, "index")
    assert literal(const(-7) % const(2)) == (1, "index")
    assert literal(ex.cast("int8", const(200))) == (-56, "int8")
    assert literal(ex.minimum(const(3), const(4))) == (3, "index")
    assert literal(ex.maximum(const(3), const(4))) == (4, "index")
    assert literal(const(3) < const(4)) == (True, "bool")


def test_identities_fold_for_integers_only():
    assert all(e is x for e in (x + 0, 0 + x, x - 0, x * 1, 1 * x, x // 1))
    assert literal(x * 0) == literal(0 * x) == literal(x % 1) == (0, "index")
    assert str(f + 0.0) == "f + 0.0f"  # -0.0 + 0.0 is 0.0
    assert str(f * 1.0) == "f * 1.0f"
    assert str(const(0.5) + const(0.5)) == "0.5f + 0.5f"


def test_literals_of_floats_are_compared_when_they_have_been_rounded():
    third = const(1 / 3)
    assert str(third.equal(const(float(np.float32(1 / 3))))) == "0.3333333333333333f == 0.3333333432674408f"


def test_conditions_fold():
    yes, no = const(True), const(False)
    assert p & yes is p
    assert p | no is p
    assert literal(p & no) == literal(~yes) == (False, "bool")
    assert literal(p | yes) == (True, "bool")
    assert ~~p is p
    assert te.select(yes, x, y) is x
    assert te.select(no, x, y) is y
    assert te.all() is ex.TRUE
    assert next(conjuncts((p & (x < y)) & ex.TRUE)) is p


def test_conversion_to_the_same_type_is_nothing():
    assert x.astype("index") is x
    assert f.astype("float32") is f
    assert str(x.astype("float32")) == "float32(x)"
    assert te.isnan(f).dtype == BOOL


def test_an_index_becomes_data_beside_data():
    data = Var("d", INT64)
    assert [str(e) for e in (x + data, data * x, x < data, te.select(p, data, x))] == [
        "int64(x) + d", "d * int64(x)", "int64(x) < d", "select(p, d, int64(x))"
    ]  # fmt: skip
    assert (x + data).dtype == INT64
    assert str(te.piecewise([x, data], y)) == "piecewise[y](int64(x), d)"
    assert str(ex.call("f", [x, 1])) == "f(int64(x), int64(1))"
    refused("operands of '+' have types index and int32; convert one with .astype(...)", lambda: x + d32)


def test_a_literal_is_data_or_an_index_as_it_is_needed():
    data, five = Var("d", INT64), const(5, "int64")
    assert [str(e) for e in (x + five, five + x, data + const(5), data + 5)] == [
        "x + 5", "5 + x", "d + int64(5)", "d + int64(5)"
    ]  # fmt: skip
    assert literal(five + const(3)) == (8, "int64")


def test_conversions_between_an_index_and_int64_are_exact():
    data = Var("d", INT64)
    assert x.astype("int64").astype("index") is x
    assert data.astype("index").astype("int64") is data
    assert str(d32.astype("int64").astype("index")) == "index(d)"
    assert literal(const(7, "int64").astype("index")) == (7, "index")
    refused("expected an element type such as 'int64', found index", lambda: te.placeholder((4,), "index"))


def test_a_subscript_of_data_is_converted_where_it_is_written():
    data = Var("d", INT64)
    array = te.placeholder((9,), name="A")
    subscripts = [data, d32, data + x, x - data, data - x - 3, 2 - (data - x), data * 4 + x, te.minimum(data, 3)]
    assert [str(array[e]) for e in subscripts] == [
        "A[index(d)]", "A[index(d)]", "A[index(d) + x]", "A[x - index(d)]", "A[index(d) + (-3 - x)]",
        "A[2 + x - index(d)]", "A[index(d * int64(4)) + x]", "A[index(min(d, int64(3)))]",
    ]  # fmt: skip
    assert str(te.piecewise([f, f], data)) == "piecewise[index(d)](f, f)"


def test_pieces_of_a_constant_index():
    assert te.piecewise([x, y], const(1)) is y
    refused("piecewise expects at least one branch, found none", lambda: te.piecewise([], x))
    refused("branches of piecewise have types index and float32", lambda: te.piecewise([x, f], x))
    refused("piecewise expects an index in [0, 2), found 2", lambda: te.piecewise([x, y], const(2)))


def test_types_that_do_not_fit():
    refused("operands of '+' have types index and float32; convert one with .astype(...)", lambda: x + f)
    refused("operands of 'select' have types index and float32", lambda: te.select(p, x, f))
    refused("'+' needs numbers, found bool; convert with .astype(...)", lambda: p + p)
    refused("'/' is the division of floating-point numbers, found index; use // for integers", lambda: x / y)
    refused("'//' is the floor division of integers, found float32", lambda: f // f)
    refused("'//' by the constant 0", lambda: x // 0)
    refused("'%' by the constant 0", lambda: x % 0)
    refused("te.all expects a condition (bool), found index; compare it with something first", lambda: te.all(p, x))
    refused("expected a number of index, found True, which Python has decided already", lambda: x + True)
    refused("expected a number of float32, found False", lambda: te.select(p, f, x is y))
    refused("select expects a condition (bool), found index", lambda: te.select(x, x, y))


def test_operators_of_bits_are_logical_on_conditions():
    assert [str(e) for e in (d32 & 1, 1 | d32, d32 ^ -1, ~d32, d32 << 2, 1 << d32, d32 >> d32)] == [
        "bitwise_and(d, int32(1))", "bitwise_or(int32(1), d)", "bitwise_xor(d, int32(-1))", "int32(-1) - d",
        "shift_left(d, int32(2))", "shift_left(int32(1), d)", "shift_right(d, d)",
    ]  # fmt: skip
    assert [str(e) for e in (p & (x < y), p | (x < y), p ^ (x < y), ~p)] == [
        "p and x < y", "p or x < y", "p != (x < y)", "not p"
    ]  # fmt: skip
    assert str(~Var("u", ex.DType.of("uint8"))) == "uint8(255) - u"
    assert str(np.int32(6) & d32) == "bitwise_and(int32(6), d)"
    literals = [const(6, "int8") & 3, const(6, "int8") | 1, const(6, "int8") ^ 5, const(-6, "int8") >> 1]
    assert [literal(e) for e in (*literals, const(100, "int8") << 1, ~const(6, "int8"))] == [
        (2, "int8"), (7, "int8"), (3, "int8"), (-3, "int8"), (-56, "int8"), (-7, "int8")
    ]  # fmt: skip
    refused("'&' expects two conditions or two integers, found bool and index", lambda: p & x)
    refused("'|' expects two conditions or two integers, found index and bool", lambda: 1 | p)
    refused("'^' expects integers, found float32", lambda: f ^ f)
    refused("'~' expects an integer or a condition, found float32", lambda: ~f)
    refused("'<<' of int32 expects an amount in [0, 32), found 32", lambda: d32 << 32)
    refused("'>>' expects integers, found bool", lambda: p >> p)
    refused("operands of '&' have types index and int32", lambda: x & d32)


def test_an_index_stays_one_where_bits_are_arithmetic():
    assert [str(e) for e in (x << 3, x >> 3, x & 7)] == ["x * 8", "x // 8", "x % 8"]
    assert [str(e) for e in (x & 6, x | 1, ~x)] == [
        "bitwise_and(int64(x), int64(6))", "bitwise_or(int64(x), int64(1))", "-1 - x"
    ]  # fmt: skip


def test_powers_are_products_where_the_exponent_is_a_number():
    assert [str(e) for e in (f**2, d32**1, x**3, f**0.5, 2**f, f**f)] == [
        "f * f", "d", "x * (x * x)", "pow(f, 0.5f)", "pow(2.0f, f)", "pow(f, f)"
    ]  # fmt: skip
    assert [literal(e) for e in (x**0, const(3, "int8") ** 5)] == [(1, "index"), (-13, "int8")]
    refused("'**' of int32 expects a number of at least 0 as exponent, found d; 1 << x is a power", lambda: 2**d32)
    refused("'**' of index expects a number of at least 0 as exponent, found -1", lambda: x**-1)
    refused("'**' needs numbers, found bool", lambda: p**2)


def test_an_expression_has_no_truth_value():
    refused("an expression (LT, bool) has no truth value while it is being built", lambda: bool(x < y))
    refused("use te.select or te.if_then_else, te.minimum and te.maximum, te.all and te.any", lambda: max(x, y))


def test_python_s_functions_of_numbers():
    assert [str(abs(e)) for e in (f, x)] == [str(te.abs(e)) for e in (f, x)]
    refused("an expression has none while it is being built; use te.round", lambda: round(f))
    refused("this operator takes elements, found tensor 'A'", lambda: round(te.placeholder((4,), name="A")))


def test_equality_builds_comparisons():
    assert [str(e) for e in (x == y, x != 3, x == 3, np.int64(3) == x, np.int64(3) != x)] == [
        "x == y", "x != 3", "x == 3", "3 == x", "3 != x"
    ]  # fmt: skip
    assert type(x == y) is ex.EQ
    assert type(x != y) is ex.NE
    refused("an expression (EQ, bool) has no truth value while it is being built", lambda: bool(x == y))
    refused("whether two are the same axis or expression is `a is b`", lambda: y in [x, y])
    refused("whether two are the same axis or expression is `a is b`", lambda: [x, y].index(y))
    refused("operands of '==' have types index and float32", lambda: x == f)
    refused("expected an expression or a number, found str: 'x'", lambda: x == "x")


def test_dictionaries_and_sets_go_by_identity():
    twin = Var("x")
    assert len({x, y, x, twin}) == 3
    assert {x: 1, twin: 2}[x] == 1
    assert is_among(x, [y, x])
    assert not is_among(x, [y, twin])
    assert position(x, [twin, y, x]) == 2
    assert same_nodes([x, y], (x, y))
    assert not same_nodes([x, y], [twin, y])
    assert not same_nodes([x, y], [x])


@pytest.mark.parametrize("decided", [True, np.True_, x is y])
@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("select", lambda c: te.select(c, x, y)),
        ("select", lambda c: te.if_then_else(c, x, y)),
        ("te.all", lambda c: te.all(p, c)),
        ("te.any", lambda c: te.any(c, p)),
        ("likely", te.likely),
        ("'and'", lambda c: p & c),
        ("'or'", lambda c: p | c),
        ("where= of sum", lambda c: te.sum(f, axis=te.reduce_axis(3), where=c)),
        ("if_scope", lambda c: te.ir_builder.create().if_scope(c).__enter__()),
        ("while_scope", lambda c: te.ir_builder.create().while_scope(c).__enter__()),
    ],
)
def test_conditions_that_python_has_decided_are_refused(name, use, decided):
    refused(
        f"{name} expects a condition on expressions, found {decided}, which Python has decided already; "
        f"compare expressions, or write te.const({decided})",
        lambda: use(decided),
    )
