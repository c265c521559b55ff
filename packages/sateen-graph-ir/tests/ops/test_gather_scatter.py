"""Gather and scatter against NumPy."""

import re

import numpy as np
import pytest

from sateen.graph_ir import ops
from sateen.graph_ir.ir import TensorType
from sateen.runtime.errors import InferenceError

X = np.arange(3 * 4 * 20, dtype="float32").reshape(3, 4, 20)
RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_gather(check_op, axis, dtype):
    indices = np.array([[0, -1], [2, 1]], dtype)
    check_op(ops.Gather(axis=axis), [X, indices], [np.take(X, indices, axis)])
    check_op(ops.Gather(axis=axis), [X, np.array(-2, dtype)], [np.take(X, -2, axis)])


def test_gather_of_other_types(check_op):
    for dtype in ("bool", "int64", "float16"):
        x = (X[0] % 2).astype(dtype)
        check_op(ops.Gather(axis=1), [x, np.array([3, 0])], [x[:, [3, 0]]])


@pytest.mark.parametrize("axis", range(3))
def test_gather_elements(check_op, axis):
    indices = RANDOM.integers(-X.shape[axis], X.shape[axis], (3, 4, 20))
    check_op(ops.GatherElements(axis=axis), [X, indices], [np.take_along_axis(X, indices % X.shape[axis], axis)])


def test_gather_nd(check_op):
    pairs = np.array([[[0, 1], [-1, 2]], [[2, -4], [1, 3]]])
    check_op(ops.GatherND(), [X, pairs], [X[pairs[..., 0], pairs[..., 1]]])
    batched = np.array([[[1]], [[-1]], [[0]]])
    check_op(ops.GatherND(batch_dims=1), [X, batched], [np.stack([X[i, batched[i, :, 0]] for i in range(3)])])


@pytest.mark.parametrize("circular", [False, True])
def test_updates_of_a_cache(check_op, circular):
    cache, update = X.reshape(3, 2, 8, 5), -RANDOM.random((3, 2, 3, 5), "float32")
    starts, expected = np.array([0, 6, 4]), cache.copy()
    for b, t in np.ndindex(3, 3):
        place = (starts[b] + t) % 8 if circular else starts[b] + t
        if place < 8:
            expected[b, :, place] = update[b, :, t]
    check_op(ops.TensorScatter(axis=2, circular=circular), [cache, update, starts], [expected])
    check_op(ops.TensorScatter(axis=2), [cache, update], [np.concatenate([update, cache[:, :, 3:]], 2)])


def test_an_update_that_does_not_fit_its_cache_is_refused():
    with pytest.raises(InferenceError, match=r"update float32\[3, 9\] does not fit cache float32\[3, 8\] along axis 1"):
        ops.TensorScatter(axis=1).infer(TensorType.of("float32", (3, 8)), TensorType.of("float32", (3, 9)))


def test_an_index_out_of_range_reads_the_nearest_element(check_op):
    check_op(ops.Gather(axis=0), [X, np.array([99, -99])], [X[[2, 0]]])


REDUCTIONS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def updated(old, new, reduction):
    return new if reduction == "none" else REDUCTIONS[reduction](old, new)


@pytest.mark.parametrize("reduction", ["none", *REDUCTIONS])
@pytest.mark.parametrize("axis", range(3))
def test_scatter_elements_in_order(check_op, reduction, axis):
    indices = RANDOM.integers(-X.shape[axis], X.shape[axis], (2, 3, 4))
    updates = RANDOM.integers(0, 9, indices.shape).astype("float32")
    expected = X.copy()
    for place in np.ndindex(indices.shape):
        target = (*place[:axis], indices[place], *place[axis + 1 :])
        expected[target] = updated(expected[target], updates[place], reduction)
    op = ops.ScatterElements(axis=axis, reduction=reduction)
    check_op(op, [X, indices, updates], [expected])


@pytest.mark.parametrize("reduction", ["none", *REDUCTIONS])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_scatter_nd_in_order(check_op, reduction, depth):
    indices = RANDOM.integers(-3, 3, (5, depth))
    updates = RANDOM.integers(0, 9, (5, *X.shape[depth:])).astype("float32")
    expected = X.copy()
    for i, place in enumerate(indices):
        expected[tuple(place)] = updated(expected[tuple(place)], updates[i], reduction)
    check_op(ops.ScatterND(reduction=reduction), [X, indices, updates], [expected])


def test_an_update_out_of_range_is_left_out(check_op):
    expected = X.copy()
    expected[1] = 7
    updates = np.full((3, 4, 20), 7, "float32")
    check_op(ops.ScatterND(), [X, np.array([[3], [1], [-4]]), updates], [expected])


def test_scatter_of_bool(check_op):
    x = np.array([True, True, True])
    check_op(ops.ScatterElements(), [x, np.array([1]), np.array([False])], [np.array([True, False, True])])


def types(*given):
    return [TensorType.of(dtype, shape) for dtype, shape in given]


DATA, INDICES = ("float32", (2, 3)), ("int64", (2, 3))


@pytest.mark.parametrize(
    ("op", "inputs", "message"),
    [
        (ops.Gather(axis=2), types(DATA, INDICES), "gather: axis expects 0 to 1, found 2"),
        (ops.Gather(), types(DATA, DATA), "gather: indices expects integers, found float32"),
        (
            ops.Gather(),
            types(("float32", (0, 3)), INDICES),
            "gather: data float32[0, 3] has no elements to choose from",
        ),
        (
            ops.GatherElements(axis=0),
            types(DATA, ("int64", (2, 4))),
            "gather_elements: indices int64[2, 4] reach beyond data float32[2, 3] along axis 1",
        ),
        (
            ops.GatherElements(),
            types(DATA, ("int64", (2,))),
            "gather_elements: data float32[2, 3] and indices int64[2] expect as many axes",
        ),
        (ops.GatherND(), types(DATA, INDICES), "gather_nd: the last axis of indices expects 1 to 2 elements, found 3"),
        (
            ops.GatherND(batch_dims=-1),
            types(DATA, ("int64", (2, 1))),
            "gather_nd: expects batch_dims of at least 0, found -1",
        ),
        (
            ops.GatherND(batch_dims=1),
            types(DATA, ("int64", (3, 1))),
            "gather_nd: the first 1 axes of data float32[2, 3] and indices int64[3, 1] differ",
        ),
        (
            ops.ScatterElements(reduction="sub"),
            types(DATA, INDICES, DATA),
            "scatter_elements: reduction expects one of none, add, mul, max, min, found 'sub'",
        ),
        (
            ops.ScatterElements(),
            types(DATA, INDICES, ("float32", (2, 2))),
            "scatter_elements: updates float32[2, 2] and indices int64[2, 3] expect one shape",
        ),
        (
            ops.ScatterND(),
            types(DATA, ("int64", (4, 1)), ("float32", (4, 2))),
            "scatter_nd: updates expect the shape float32[4, 3], found float32[4, 2]",
        ),
        (
            ops.ScatterND(),
            types(DATA, ("int64", (4, 1)), ("int64", (4, 3))),
            "scatter_nd: data and updates expect one type, found float32[2, 3] and int64[4, 3]",
        ),
    ],
)
def test_operands_that_do_not_fit_are_refused(op, inputs, message):
    with pytest.raises(InferenceError, match=f"^{re.escape(message)}$"):
        op.infer(*inputs)
