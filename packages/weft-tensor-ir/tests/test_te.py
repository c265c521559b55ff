"""Tensor expressions: placeholders, computations, reductions, and the text of each refusal."""

import re

import numpy as np
import pytest

from weft.runtime.errors import ExpressionError
from weft.tensor_ir import te
from weft.tensor_ir.ir.expr import AxisKind, Reduce
from weft.tensor_ir.te.tensor import reads

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
    assert [str(e) for e in c.op.body] == ["b[i, int64(b[i, 0])]"]
    assert [read.tensor for read in reads(c.op.body[0])] == [b, b]


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
    refused("tensor 'a' has 2 dimensions, found 1 indices", lambda: a[0])
    refused("an index of tensor 'a' expects an integer, found float32", lambda: a[0, te.const(1.0)])
    refused("a shape expects integers of at least 0, found -1 (int64)", lambda: te.placeholder((-1,)))
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
    refused("where= of max expects a condition (bool), found int64", lambda: te.max(a[0, r], axis=r, where=r))
    refused("reduce_axis 'r' expects a domain that starts at 0, found 2", lambda: te.reduce_axis((2, 8)))
    refused("reduce_axis 'k' expects an integer extent, found float32", lambda: te.reduce_axis(2.5, "k"))


def test_misused_functions():
    n = te.var("n")
    refused("exp expects floating-point operands of one type, found int64", lambda: te.exp(n))
    refused("bitwise_and expects integers of one type, found float32", lambda: te.bitwise_and(a[0, 0], 1))
    refused("reinterpret expects types of equal width, found int64 as float32", lambda: te.reinterpret("float32", n))
    i = te.compute((3,), lambda i: i.astype("float32")).op.axis[0]
    refused("piecewise over axis 'i' of extent 3 expects as many bodies, found 2",
            lambda: te.tensor.piecewise([n, n], i))  # fmt: skip


def test_extreme_values():
    assert [str(te.min_value(t)) for t in ("int8", "uint8", "float32")] == ["int8(-128)", "uint8(0)", "-inff"]
    assert [str(te.max_value(t)) for t in ("int8", "uint8", "float32")] == ["int8(127)", "uint8(255)", "inff"]
