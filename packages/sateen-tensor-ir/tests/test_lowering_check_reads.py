"""Reads out of bounds are refused where they are certain, and nothing else is."""

import re

import pytest

from sateen.runtime import ScheduleError
from sateen.tensor_ir import lower, te

N, M = te.var("n"), te.var("m")
A = te.placeholder((8,), name="A")
S = te.placeholder((N,), name="S")
I = te.placeholder((8,), "int32", name="I")


def lowered(function, extent, *tensors):
    B = te.compute((extent,), function, name="B")
    return lower(te.create_schedule(B), [*tensors, B])


@pytest.mark.parametrize(
    ("function", "extent", "tensor", "index", "reached"),
    [
        (lambda i: A[i + 1], 8, A, "i + 1", "8"),
        (lambda i: A[i - 1], 8, A, "i - 1", "-1"),
        (lambda i: A[i * 2], 5, A, "i * 2", "8"),
        (lambda i: A[7 - i], 9, A, "7 - i", "-1"),
        (lambda i: S[i + 1], N, S, "i + 1", "n"),
        (lambda i: S[N - i], N, S, "n - i", "n"),
        (lambda i: S[i - 2], N, S, "i - 2", "-2"),
    ],
)
def test_an_index_that_certainly_leaves_the_tensor_is_refused(function, extent, tensor, index, reached):
    place = f"dimension 0 has extent {tensor.shape[0]}, index {index} reaches {reached}"
    with pytest.raises(ScheduleError, match=re.escape(f"'B' reads {tensor.name!r} out of its bounds: {place}")):
        lowered(function, extent, tensor)


def test_the_dimension_is_named():
    G = te.placeholder((4, 6), name="G")
    k = te.reduce_axis(3, "k")
    B = te.compute((4, 5), lambda i, j: te.sum(G[i, j + k], axis=k), name="B")
    with pytest.raises(ScheduleError, match=re.escape("dimension 1 has extent 6, index j + k reaches 6")):
        lower(te.create_schedule(B), [G, B])


def test_inlining_does_not_hide_it():
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((8,), lambda i: B[i + 1], name="C")
    s = te.create_schedule(C)
    s[B].compute_inline()
    with pytest.raises(ScheduleError, match="'C' reads 'B' out of its bounds"):
        lower(s, [A, C])


@pytest.mark.parametrize(
    ("function", "extent", "tensors"),
    [
        (lambda i: A[i], 8, [A]),
        (lambda i: A[7 - i], 8, [A]),
        (lambda i: A[i + 1], 0, [A]),
        (lambda i: te.select(i >= 1, A[i - 1], 0.0), 8, [A]),
        (lambda i: te.select(i < 1, 0.0, A[i - 1]), 8, [A]),
        (lambda i: te.select(te.all(i >= 1, A[i - 1] > 0.0), 1.0, 0.0), 8, [A]),
        (lambda i: te.select(te.any(i < 1, A[i - 1] > 0.0), 1.0, 0.0), 8, [A]),
        (lambda i: te.piecewise([0.0, A[i + 6]], i), 2, [A]),
        (lambda i: A[I[i]], 8, [A, I]),
        (lambda i: A[(i * 3) % 8], 8, [A]),
        (lambda i: A[te.minimum(i + 1, 7)], 8, [A]),
        (lambda i: S[i], 5, [S]),
        (lambda i: S[0], 5, [S]),
    ],
)
def test_what_may_be_right_is_left_to_the_caller(function, extent, tensors):
    lowered(function, extent, *tensors)


def test_where_guards_the_terms_of_a_reduction():
    k = te.reduce_axis(3, "k")
    lowered(lambda i: te.sum(A[i + k - 1], axis=k, where=te.all(i + k >= 1, i + k < 9)), 8, A)


def test_parameters_of_unlike_symbols_are_not_compared():
    T = te.placeholder((M,), name="T")
    lowered(lambda i: S[i] + T[i], N, S, T)
