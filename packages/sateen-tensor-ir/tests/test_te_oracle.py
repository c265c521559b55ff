"""Tensors evaluated from their definition."""

import math
import re

import numpy as np
import pytest

from sateen.runtime.errors import ArgumentError, ExecutionError
from sateen.tensor_ir import te
from sateen.tensor_ir.interpret import elements
from sateen.tensor_ir.interpret.te_oracle import evaluate


def of(tensor, inputs=(), **options):
    return evaluate([tensor], dict(inputs), **options)[0]


def elementwise(function, values):
    """`function` of each of `values`, as a list."""
    x = np.asarray(values)
    source = te.placeholder(x.shape, str(x.dtype), name="x")
    return of(te.compute(x.shape, lambda i: function(source[i]), name="y"), {source: x}).tolist()


def test_a_product_of_matrices_in_float64():
    n, m = te.var("n"), te.var("m")
    a, b, r = te.placeholder((n, m), name="a"), te.placeholder((m, n), name="b"), te.reduce_axis(m, "r")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="c")
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(5, 7)).astype("float32"), rng.normal(size=(7, 5)).astype("float32")
    result = of(c, {a: x, b: y})
    assert result.dtype == np.float64
    assert np.allclose(result, x.astype(float) @ y.astype(float), rtol=0, atol=1e-14)


def test_points_and_terms_in_many_parts(monkeypatch):
    monkeypatch.setattr(elements, "MAX_POINTS", 3)
    a, r = te.placeholder((5, 4), "int32", name="a"), te.reduce_axis(4, "r")
    x = np.arange(20, dtype="int32").reshape(5, 4)
    assert np.array_equal(of(te.compute((5,), lambda i: te.sum(a[i, r], axis=r)), {a: x}), x.sum(axis=1))
    assert np.array_equal(of(te.compute((4, 5), lambda i, j: a[j, i]), {a: x}), x.T)


def test_several_tensors_share_what_they_are_computed_from():
    a = te.placeholder((3,), "int32", name="a")
    b = te.compute((3,), lambda i: a[i] + 1, name="b")
    c = te.compute((3,), lambda i: b[i] * b[i], name="c")
    d = te.compute((3,), lambda i: c[2 - i] - b[i], name="d")
    values = evaluate([d, c, a], {a: np.array([1, 2, 3], "int32")})
    assert [v.tolist() for v in values] == [[14, 6, 0], [4, 9, 16], [1, 2, 3]]


def test_a_tensor_that_is_given_is_not_computed():
    a = te.placeholder((2,), "int32", name="a")
    b = te.compute((2,), lambda i: a[i] + 1, name="b")
    c = te.compute((2,), lambda i: b[i] * 2, name="c")
    assert of(c, {b: np.array([5, 6], "int32")}).tolist() == [10, 12]


def test_an_absent_term_is_neither_read_nor_combined():
    a, r = te.placeholder((4,), name="a"), te.reduce_axis(3, "r")
    window = te.compute((6,), lambda i: te.max(a[i + r - 2], axis=r, where=te.all(i + r - 2 >= 0, i + r - 2 < 4)))
    assert of(window, {a: np.array([-1, -2, -3, -4], "float32")}).tolist() == [-1, -1, -1, -2, -3, -4]
    never = te.compute((2,), lambda i: te.sum(a[i + 9], axis=r, where=r > 3))
    assert of(never, {a: np.full(4, math.nan, "float32")}).tolist() == [0, 0]


def test_a_reduction_over_nothing_is_the_identity():
    a, r = te.placeholder((3, 0), name="a"), te.reduce_axis(0, "r")
    assert (
        of(te.compute((3,), lambda i: te.max(a[i, r], axis=r)), {a: np.empty((3, 0), "float32")}).tolist()
        == [-math.inf] * 3
    )


def argmax():
    def combine(left, right):
        keep = left[1] >= right[1]
        return te.select(keep, left[0], right[0]), te.select(keep, left[1], right[1])

    return te.comm_reducer(combine, lambda i, v: (te.const(-1, i), te.min_value(v)), "argmax")


def test_tuple_reductions_take_terms_in_order():
    a, r = te.placeholder((2, 5), name="a"), te.reduce_axis(5, "r")
    place, value = te.compute((2,), lambda i: argmax()((r, a[i, r]), axis=r), name="best")
    x = np.array([[1, 7, 3, 7, 7], [-1, -2, -3, -2, -1]], "float32")
    assert [v.tolist() for v in evaluate([place, value], {a: x})] == [[1, 0], [7, -1]]
    assert place.dtype.is_int


def test_the_operand_that_is_not_chosen_is_not_read():
    a = te.placeholder((2,), name="a")
    x = np.array([1, 2], "float32")
    padded = te.compute((4,), lambda i: te.select(te.all(i >= 1, i < 3), a[i - 1], 0.0))
    assert of(padded, {a: x}).tolist() == [0, 1, 2, 0]
    either = te.compute((4,), lambda i: te.any(i >= 2, a[i] > 1).astype("int32"))
    assert of(either, {a: x}).tolist() == [0, 1, 1, 1]
    pieces = te.compute((3,), lambda i: te.piecewise([a[i], a[i] + 1, 9.0 + a[i - 2]], i))
    assert of(pieces, {a: x}).tolist() == [1, 3, 10]


def test_integers_are_exact_and_wrap():
    assert elementwise(lambda x: x + te.const(1, "int8"), np.array([127], "int8")) == [-128]
    assert elementwise(lambda x: x * x, np.array([1 << 33], "int64")) == [0]
    assert elementwise(lambda x: x // te.const(-2, "int32"), np.array([7, -7], "int32")) == [-4, 3]
    assert elementwise(lambda x: x % te.const(-2, "int32"), np.array([7, -7], "int32")) == [-1, -1]
    assert elementwise(lambda x: x - te.const(1, "uint16"), np.array([0], "uint16")) == [65535]
    a, r = te.placeholder((300,), "uint8", name="a"), te.reduce_axis(300, "r")
    assert of(te.compute((1,), lambda i: te.sum(a[r], axis=r)), {a: np.full(300, 3, "uint8")}).tolist() == [900 % 256]


def test_literals_have_the_value_of_their_type():
    assert elementwise(lambda x: x + 0.1, np.array([0], "float32")) == [float(np.float32(0.1))]
    assert elementwise(lambda x: x + 0.1, np.array([0], "float64")) == [0.1]


def test_conversions():
    floats = np.array([1.9, -1.9, 3e9, math.nan, -math.inf], "float32")
    assert elementwise(lambda x: x.astype("int32"), floats) == [1, -1, 2**31 - 1, 0, -(2**31)]
    assert elementwise(lambda x: x.astype("int8"), np.array([200], "int32")) == [-56]
    assert elementwise(lambda x: x.astype("bool"), np.array([0, 2], "int32")) == [False, True]
    assert elementwise(lambda x: x.astype("float32"), np.array([2**24 + 1], "int32")) == [2**24 + 1]


def test_functions():
    x = np.array([0.5, 1.5], "float32")
    assert elementwise(te.erf, x) == [math.erf(0.5), math.erf(1.5)]
    assert elementwise(te.sigmoid, x) == pytest.approx([1 / (1 + math.exp(-0.5)), 1 / (1 + math.exp(-1.5))], rel=1e-15)
    assert elementwise(lambda v: te.power(v, 2.0), x) == [0.25, 2.25]
    assert elementwise(te.round, x) == [0, 2]
    assert elementwise(lambda v: te.fma(v, v, v), x) == [0.75, 3.75]
    assert elementwise(lambda v: te.reinterpret("int32", v), np.array([1], "float32")) == [0x3F800000]
    n = np.array([-8, 7], "int32")
    assert elementwise(te.popcount, n) == [29, 3]
    assert elementwise(te.bitwise_not, n) == [7, -8]
    assert elementwise(lambda v: te.left_shift(v, 29), n) == [0, 7 * 2**29 - 2**32]
    assert elementwise(lambda v: te.right_shift(v, 1), n) == [-4, 3]
    assert elementwise(lambda v: te.bitwise_or(te.bitwise_and(v, 6), te.bitwise_xor(v, v)), n) == [0, 6]


def test_not_and_nan():
    x = np.array([math.nan, 1], "float32")
    assert elementwise(lambda v: (~te.isnan(v)).astype("int32"), x) == [0, 1]
    assert elementwise(lambda v: te.maximum(v, 0.0), x)[1] == 1
    assert math.isnan(elementwise(lambda v: te.minimum(0.0, v), x)[0])


def test_constants_and_tensors_without_dimensions():
    table = te.constant(np.array([3, 1, 2], "int32"), name="table")
    r = te.reduce_axis(3, "r")
    total = te.compute((), lambda: te.sum(table[r], axis=r))
    assert of(te.compute((3,), lambda i: table[2 - i] * total)).tolist() == [12, 6, 18]


def test_extern_operations_run_in_their_own_types():
    a = te.placeholder((4,), name="a")

    def body(ins, outs):
        ib = te.ir_builder.create()
        source, sums, count = ib.buffer_ptr(ins[0]), *map(ib.buffer_ptr, outs)
        sums[0] = source[0]
        with ib.for_range(1, 4) as i:
            sums[i] = sums[i - 1] + source[i]
        count[()] = 4
        return ib.get()

    sums, count = te.extern([(4,), ()], [a], body, "sums", ["float32", "int64"])
    twice = te.compute((4,), lambda i: sums[i] * 2.0)
    x = np.array([2.0**24, 1, 1, 1], "float32")
    results = evaluate([twice, count], {a: x})
    assert results[0].dtype == np.float64
    assert [v.tolist() for v in results] == [[2.0**25] * 4, 4]


def test_symbols_and_functions_of_the_user():
    n = te.var("n")
    a = te.placeholder((n * 2,), name="a")
    b = te.compute((n,), lambda i: te.call("cube", a[i + n]) + n.astype("float32"), name="b")
    x = np.array([1, 2, 3, 4], "float32")
    options = {"symbols": {n: 2}, "functions": {"cube": lambda v: v**3}}
    assert of(b, {a: x}, **options).tolist() == [29, 66]


def refused(message, tensor, inputs, error=ExecutionError, **options):
    with pytest.raises(error, match=re.escape(message)):
        of(tensor, inputs, **options)


def test_faults_name_the_tensor_the_expression_and_the_point():
    a = te.placeholder((2, 3), "int32", name="a")
    r = te.reduce_axis(4, "r")
    x = {a: np.zeros((2, 3), "int32")}
    beyond = te.compute((2,), lambda i: te.sum(a[i, r], axis=r), name="beyond")
    refused("tensor 'beyond': a[i, r] reads dimension 1 of extent 3 at 3\n  i = 0\n  r = 3\n  from ", beyond, x)
    below = te.compute((2,), lambda i: a[i - 1, 0], name="below")
    refused("tensor 'below': a[i - 1, 0] reads dimension 0 of extent 2 at -1\n  i = 0", below, x)
    ratio = te.compute((2,), lambda i: a[i, 0] // a[0, 1], name="ratio")
    refused("tensor 'ratio': division by zero in a[i, 0] // a[0, 1]\n  i = 0", ratio, x)
    shifted = te.compute((2,), lambda i: te.left_shift(a[i, 0], 40), name="shifted")
    refused("tensor 'shifted': shift_left of int32 expects an amount in [0, 32), found 40\n  i = 0", shifted, x)
    piece = te.compute((2,), lambda i: te.piecewise([1, 2], i + 1), name="piece")
    refused("tensor 'piece': piecewise expects an index in [0, 2)\n  i = 1", piece, {})
    cubed = te.compute((2,), lambda i: te.call("cube", a[i, 0]), name="cubed")
    refused("tensor 'cubed': call of 'cube', which is no native function; give its meaning in functions=", cubed, x)
    scaled = te.compute((2,), lambda i: te.var("scale") + a[i, 0].astype("int64"), name="scaled")
    refused("tensor 'scaled': variable 'scale' has no value; pass it in symbols=", scaled, x)


def test_arrays_that_are_missing_or_do_not_fit():
    a = te.placeholder((2,), "int32", name="a")
    b = te.compute((2,), lambda i: a[i], name="b")
    refused("no array is given for placeholder 'a'", b, {}, ArgumentError)
    refused("argument 'a' expects elements of int32, found float64", b, {a: np.zeros(2)}, ArgumentError)
    refused("argument 'a' expects shape [2], found [3]", b, {a: np.zeros(3, "int32")}, ArgumentError)


class Unknown:
    """A number that is not known: it can be moved, and added to another; it is above all numbers."""

    def __add__(self, other):
        return (self, other)

    def __lt__(self, other):
        if isinstance(other, Unknown):
            raise ExecutionError("which is less?")
        return False


def test_numbers_that_are_not_known_are_moved_and_computed_with_as_far_as_they_can():
    n = Unknown()
    x = te.placeholder((2,), "int64", "x")
    given = {x: np.array([n, 7], object)}
    turned = te.compute((3,), lambda i: te.if_then_else(i < 2, x[1 - i], 5))
    assert of(turned, given).tolist() == [7, n, 5]
    more = te.compute((2,), lambda i: te.if_then_else(x[i] < 9, x[i], x[i] + 1))
    assert of(more, given).tolist() == [(n, 1), 7]


@pytest.mark.parametrize(
    ("element", "message"),
    [
        (lambda x, i: x[i] * x[i], "of numbers that are not known: unsupported operand"),
        (lambda x, i: te.if_then_else(x[i] < x[0], 1, 0), "of numbers that are not known: which is less"),
        (lambda x, i: te.if_then_else(x[i].equal(7), 1, 0), "of numbers that are not known: unsupported operand"),
        (lambda x, i: x[i].astype("float32"), "a number that is not known does not become float32"),
        (lambda x, i: x[x[i]], "a number that is not known does not become index"),
        (lambda x, i: te.popcount(x[i]), "popcount asks for a number that is not known"),
        (lambda x, i: te.reinterpret("float64", x[i]), "the bits of a number that is not known do not become float64"),
    ],
)
def test_what_needs_a_number_that_is_not_known_is_refused(element, message):
    x = te.placeholder((2,), "int64", "x")
    y = te.compute((2,), lambda i: element(x, i))
    with pytest.raises(ExecutionError, match=message):
        of(y, {x: np.array([Unknown(), Unknown()], object)})


def test_only_integers_may_be_unknown():
    x = te.placeholder((1,), "float32", "x")
    with pytest.raises(ArgumentError, match="found 'object'"):
        evaluate([te.compute((1,), lambda i: x[i])], {x: np.array([Unknown()], object)})
