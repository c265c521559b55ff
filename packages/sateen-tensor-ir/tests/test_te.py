"""Tensor expressions: placeholders, computations, reductions, and the text of each refusal."""

import math
import re

import numpy as np
import pytest

from sateen.runtime.errors import ExpressionError, ScheduleError
from sateen.tensor_ir import te
from sateen.tensor_ir.ir.expr import AxisKind
from sateen.tensor_ir.ir.tensor_expr import Reduce
from sateen.tensor_ir.te.tensor import reads

a = te.placeholder((4, 8), name="a")
r = te.reduce_axis(8, "r")


def refused(message, build):
    with pytest.raises(ExpressionError, match=re.escape(message)):
        build()


def test_a_computation_has_an_axis_for_each_dimension():
    c = te.compute((4, 8), lambda i, j: a[i, j] * 2.0, name="c")
    assert [(v.name, str(v.extent), v.kind) for v in c.op.axis] == [
        ("i", "4", AxisKind.DATA),
        ("j", "8", AxisKind.DATA),
    ]
    assert repr(c) == "Tensor(c: float32[4, 8])"
    assert (c.op.inputs, c.op.reduce_axis, c.ndim) == ((a,), (), 2)
    assert [v.name for v in te.compute((2, 3), lambda *i: a[i]).op.axis] == ["i0", "i1"]


def test_a_reduction_gives_the_computation_its_axes():
    c = te.compute((4,), lambda i: te.sum(a[i, r], axis=r), name="c")
    assert c.op.reduce_axis == (r,)
    assert isinstance(c.op.body[0], Reduce)
    assert [str(e) for e in c.op.body] == ["sum(a[i, r] over r < 8)"]


def test_a_computation_may_have_several_outputs():
    low, high = te.compute((4,), lambda i: (a[i, 0], (a[i, 0] > 0.0)), name="pair")
    assert (low.name, str(low.dtype), high.name, str(high.dtype)) == ("pair.0", "float32", "pair.1", "bool")
    assert low.op is high.op


def test_shapes_may_be_symbolic_and_indices_narrow():
    n = te.var("n")
    b = te.placeholder((n, n * 2), "int32", name="b")
    c = te.compute((n,), lambda i: b[i, b[i, 0]], name="c")
    assert repr(c) == "Tensor(c: int32[n])"
    assert [str(e) for e in c.op.body] == ["b[i, index(b[i, 0])]"]
    assert [read.tensor for read in reads(c.op.body[0])] == [b, b]


def test_an_element_that_is_an_index_is_int64():
    n = te.var("n", "int64")
    assert str(n.dtype) == "index"
    largest = te.comm_reducer(
        lambda x, y: (te.select(x[0] >= y[0], x[0], y[0]), te.select(x[0] >= y[0], x[1], y[1])),
        lambda place, value: (te.const(-1), te.min_value(value)),
    )
    for function, text in (
        (lambda i: i, "int64(i)"),
        (lambda i: i * 2 + n, "int64(i * 2 + n)"),
        (lambda i: te.const(3), "int64(3)"),
        (te.popcount, "popcount(int64(i0))"),
        (lambda i: te.bitwise_and(i, 3), "bitwise_and(int64(i), int64(3))"),
        (lambda i: te.max(i * r, axis=r), "max(int64(i * r) over r < 8)"),
        (lambda i: te.piecewise([0, 1, 1, 0], i), "int64(piecewise[i](0, 1, 1, 0))"),
        (lambda i: te.abs(i - 2), "int64(max(i - 2, 0 - (i - 2)))"),
        (lambda i: largest((r, a[i, r]), axis=r), "reduce#0(int64(r), a[i, r] over r < 8)"),
    ):
        c = te.compute((4,), function, name="c")
        c = c[0] if isinstance(c, tuple) else c
        assert (str(c.dtype), str(c.op.body[0])) == ("int64", text)


def test_a_tensor_without_dimensions_stands_for_its_element():
    scale = te.placeholder((), name="scale")
    c = te.compute((4,), lambda i: a[i, 0] * scale, name="c")
    assert [str(e) for e in c.op.body] == ["a[i, 0] * scale[]"]


def test_constants_are_read_only():
    table = te.constant(np.array([[1, 2]], "int32"), name="table")
    assert repr(table) == "Tensor(table: int32[1, 2])"
    with pytest.raises(ValueError, match="read-only"):
        table.op.data[0, 0] = 5


def test_nodes_know_the_line_that_made_them():
    c = te.compute((4,), lambda i: a[i, 0], name="c")
    assert c.op.span.file == __file__
    assert next(reads(c.op.body[0])).span.line == c.op.span.line


def test_misused_tensors():
    refused("tensor 'a' has 2 dimensions, found 1 indices", lambda: a(0))
    refused("an index of tensor 'a' expects an integer, found float32", lambda: a[0, te.const(1.0)])
    refused("a shape expects integers of at least 0, found -1 (index)", lambda: te.placeholder((-1,)))
    refused("a shape expects integers of at least 0, found 2.5f (float32)", lambda: te.placeholder(2.5))
    refused(
        "compute 'c' has 2 dimensions, but its function takes 1 indices",
        lambda: te.compute((4, 8), lambda i: a[i, 0], name="c"),
    )


def test_misused_reductions():
    total = te.sum(a[0, r], axis=r)
    refused("compute 'c': a reduction must stand alone at the top; compute it as a tensor of its own",
            lambda: te.compute((4,), lambda i: total + 1.0, name="c"))  # fmt: skip
    refused("compute 'c': axis 'r' is used, but no reduction over it declares it",
            lambda: te.compute((4,), lambda i: a[i, r], name="c"))  # fmt: skip
    refused("compute 'c': a tuple reduction gives all its outputs, in order, from one reducer",
            lambda: te.compute((4,), lambda i: (total, a[i, 0]), name="c"))  # fmt: skip
    refused("sum expects at least one reduce axis, found none", lambda: te.sum(a[0, 0], axis=[]))
    refused("sum expects axes made by te.reduce_axis, found ", lambda: te.sum(a[0, 0], axis=te.var("i")))
    refused("where= of max expects a condition (bool), found index", lambda: te.max(a[0, r], axis=r, where=r))
    refused("reduce_axis 'r' expects a domain (0, extent), found (2, 8)", lambda: te.reduce_axis((2, 8)))
    refused("reduce_axis 'k' expects an integer extent, found float32", lambda: te.reduce_axis(2.5, "k"))


def test_a_reducer_without_axes_combines_expressions():
    x, n = te.var("x", "float32"), te.var("n")
    assert [str(te.max(x, 0)), str(te.min(0.0, x))] == [str(te.maximum(x, 0)), str(te.minimum(0.0, x))]
    assert str(te.max(x, 0.0, te.exp(x))) == str(te.maximum(te.maximum(x, 0.0), te.exp(x)))
    total = te.comm_reducer(lambda x, y: x + y, lambda t: te.const(0, t), "total")
    assert str(total(n, te.var("m"))) == "n + m"
    refused("max expects axes made by te.reduce_axis, found 1", lambda: te.max(a[0, r], axis=1))
    refused("max expects axes made by te.reduce_axis, found none", lambda: te.max(a[0, r]))
    refused("max expects axes made by te.reduce_axis, found 3 beside them", lambda: te.max(a[0, r], 3, axis=r))
    refused("max expects a source, its axes and a condition, found 4 by place", lambda: te.max(a[0, r], r, None, 3))


def test_misused_functions():
    n = te.var("n")
    refused("exp expects floating-point operands of one type, found int64", lambda: te.exp(n))
    refused("bitwise_and expects integers of one type, found float32", lambda: te.bitwise_and(a[0, 0], 1))
    refused("reinterpret expects types of equal width, found int64 as float32", lambda: te.reinterpret("float32", n))
    i = te.compute((3,), lambda i: i.astype("float32")).op.axis[0]
    refused("piecewise over axis 'i' of extent 3 expects as many bodies, found 2",
            lambda: te.piecewise([n, n], i))  # fmt: skip


def test_extreme_values():
    assert [str(te.min_value(t)) for t in ("int8", "uint8", "float32")] == ["int8(-128)", "uint8(0)", "-inff"]
    assert [str(te.max_value(t)) for t in ("int8", "uint8", "float32")] == ["int8(127)", "uint8(255)", "inff"]


def test_values_that_are_no_numbers_are_refused():
    refused("expected an expression or a number, found str: '1'", lambda: te.const("1"))
    refused("expected an expression or a number, found complex: 1j", lambda: te.const(1j))
    refused("expected an integer for a literal of type int32, found nan", lambda: te.const(float("nan"), "int32"))


def test_elements_of_several_lanes_are_refused():
    lanes = "expected an element type of one lane, found float32x4; the lanes are a last dimension of 4 of float32"
    refused(lanes, lambda: te.placeholder((4,), "float32x4"))
    refused(lanes, lambda: te.const(1, "float32x4"))
    refused(lanes, lambda: te.const(1).astype("float32x4"))


def test_misused_functions_of_a_compute():
    refused("compute 'c' expects a function of its indices, found 3", lambda: te.compute((4,), 3, "c"))
    refused(
        "compute 'c' expects an expression from its function, found an empty",
        lambda: te.compute((4,), lambda i: (), "c"),
    )


def test_misused_domains_and_axes_of_reductions():
    a = te.placeholder((4,), name="a")
    refused("reduce_axis 'r' expects an extent of at least 0, found -4", lambda: te.reduce_axis(-4))
    refused("reduce_axis 'r' expects a domain (0, extent), found (0, 4, 2)", lambda: te.reduce_axis((0, 4, 2)))
    refused("sum expects axes made by te.reduce_axis, found 0", lambda: te.sum(a[0], axis=0))
    refused("sum expects axes made by te.reduce_axis, found none", lambda: te.sum(a[0]))
    refused("prod expects axes made by te.reduce_axis, found none", lambda: te.prod(a[0]))


def test_a_reducer_gives_a_value_per_source():
    a, r = te.placeholder((4,), name="a"), te.reduce_axis(4)
    short = te.comm_reducer(lambda x, y: (x[0],), lambda s, t: (0.0, 0.0), "short")
    refused("short expects a tuple of 2 values from combine, found 1", lambda: short((a[r], a[r]), axis=r))
    other = te.comm_reducer(lambda x, y: x < y, lambda t: 0.0, "other")
    refused("other expects values of float32 from combine, found bool", lambda: other(a[r], axis=r))
    pair = "calls combine with two values, as the source is no tuple, which fails: "
    refused(f"short {pair}'Var' object is not subscriptable", lambda: short(a[r], axis=r))
    single = te.comm_reducer(lambda x: x, lambda t: te.const(0, t), "single")
    refused(f"single {pair}", lambda: single(a[r], axis=r))
    start = te.comm_reducer(lambda x, y: x, lambda t: (0.0, 0.0), "start")
    refused("start calls identity with 2 types, which fails: ", lambda: start((a[r], a[r]), axis=r))


def test_a_constant_is_a_copy():
    data = np.ones((2, 2), "float32")
    te.constant(data)
    data[0, 0] = 2  # still the caller's own
    refused("constant 'w' expects the data of an array: ", lambda: te.constant([[1], [1, 2]], "w"))


def test_misused_calls_and_indices():
    refused("a call of 'f' without arguments expects dtype=, found none", lambda: te.call("f"))
    refused("piecewise expects an integer as index, found float32", lambda: te.piecewise([1.0], te.const(0.5)))
    refused("extern 'e' expects tensors as inputs, found int", lambda: te.extern((4,), [3], lambda i, o: None, "e"))


def test_misused_buffers():
    refused("decl_buffer of 'b': expected 1 strides, found 2", lambda: te.decl_buffer((4,), name="b", strides=(4, 1)))
    refused(
        "decl_buffer of 'b': expected an alignment of a power of two, found 3",
        lambda: te.decl_buffer(4, name="b", alignment=3),
    )
    refused("a shape expects integers of at least 0, found 4.5f (float32)", lambda: te.decl_buffer((4.5,)))
    with pytest.raises(
        ScheduleError, match="decl_buffer of 'b': expects one of register, local, warp, shared, global, found 'l2'"
    ):
        te.decl_buffer((4,), name="b", scope="l2")


def test_functions_of_values_do_not_take_expressions():
    x = a[0, 0]
    refused("numpy.exp computes values, and an expression has none while it is being built", lambda: np.exp(x))
    refused("numpy.add computes values, and an expression has none", lambda: np.add.reduce(x))
    refused("has no value while it is being built; use te's functions of expressions", lambda: math.exp(x))
    refused("0 <= i < 3 is te.all(0 <= i, i < 3)", lambda: 0 <= r < 3)


def test_a_number_of_numpy_may_be_the_left_operand():
    x = a[0, 0]
    for built, expected in (
        (np.float32(2) * x, "2.0f * a[0, 0]"),
        (np.float32(2) - x, "2.0f - a[0, 0]"),
        (np.float32(2) / x, "2.0f / a[0, 0]"),
        (np.float32(2) < x, "2.0f < a[0, 0]"),
        (np.int64(7) // r, "7 // r"),
    ):
        assert str(built) == expected


def test_whole_tensors_are_no_elements():
    advice = "found tensor 'a'; use its elements, such as a[i, j] in te.compute(shape, lambda i, j: ...)"
    refused(f"this operator takes elements, {advice}", lambda: a < 2)
    refused(f"expected an expression, {advice}", lambda: te.exp(a))
    refused(f"expected an expression, {advice}", lambda: te.compute((4, 4), lambda i, j: a[i, j] + a))
    refused("the elements of tensor 'a' can't be iterated over", lambda: list(a))


def test_a_reduction_over_what_is_no_reduce_axis_names_it():
    refused("sum expects axes made by te.reduce_axis, found 1", lambda: te.sum(a[0, r], axis=1))
    refused(
        "sum expects axes made by te.reduce_axis, found IterVar(i)",
        lambda: te.compute((4,), lambda i: te.sum(a[i, 0], axis=i)),
    )


def test_the_repr_of_an_expression_is_its_text_cut_short():
    assert repr(a[0, r] + 1.0) == "Add(a[0, r] + 1.0f)"
    long = te.all(*[r < n for n in range(100)])
    assert repr(long).endswith("...)")
    assert len(repr(long)) <= 90


def test_tags_and_attributes_are_words_of_the_user():
    c = te.compute((4,), lambda i: a[i, 0], "c", tag="broadcast", attrs={"tile": 4, "order": [0, 1]})
    assert (c.op.tag, dict(c.op.attrs)) == ("broadcast", {"tile": 4, "order": (0, 1)})
    assert (a.op.tag, a.op.attrs) == ("", {})
    refused("'c' expects a text as its tag, found int: 3", lambda: te.compute((4,), lambda i: a[i, 0], "c", 3))
    refused(
        "'c' expects attrs= of texts, numbers and lists of them by name, found {'k': {}}",
        lambda: te.compute((4,), lambda i: a[i, 0], "c", attrs={"k": {}}),
    )
