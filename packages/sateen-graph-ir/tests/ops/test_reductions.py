"""Reductions, running sums and the largest elements, against NumPy."""

import itertools
import re

import numpy as np
import pytest

from sateen.graph_ir import ops
from sateen.graph_ir.ir import TensorType
from sateen.runtime.errors import InferenceError
from sateen.topi.types import Layout

RANDOM = np.random.default_rng(0)


def mean(x, **where):
    return np.trunc(np.mean(x, **where)) if x.dtype.kind == "i" else np.mean(x, **where)


REDUCTIONS = {
    ops.ReduceSum: np.sum,
    ops.ReduceMean: mean,
    ops.ReduceMax: np.max,
    ops.ReduceMin: np.min,
    ops.ReduceProd: np.prod,
    ops.ReduceSumSquare: lambda x, **where: np.sum(x * x, **where),
    ops.ReduceL1: lambda x, **where: np.sum(np.abs(x), **where),
    ops.ReduceL2: lambda x, **where: np.sqrt(np.sum(x * x, **where)),
    ops.ReduceLogSum: lambda x, **where: np.log(np.sum(x, **where)),
    ops.ReduceLogSumExp: lambda x, **where: np.log(np.sum(np.exp(x), **where)),
}
CASES = [((3, 5, 33), axes) for n in range(4) for axes in itertools.combinations(range(3), n)] + [
    ((100,), (0,)),
    ((1, 70, 1), (1,)),
    ((2, 3, 7, 20), (0, 2)),
    ((2, 3, 7, 20), (1, 3)),
]
"""Shape and axes: along memory, across it, both; lengths that vectors don't divide."""


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize(("shape", "axes"), CASES, ids=str)
def test_values(check_op, op, shape, axes):
    x = (RANDOM.random(shape) + 0.5).astype("float32")
    for keepdims in (True, False):
        expected = REDUCTIONS[op](x.astype("float64"), axis=axes, keepdims=keepdims)
        check_op(op(axes=axes, keepdims=keepdims), [x], [np.asarray(expected, "float32")])


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "int64"])
def test_element_types(check_op, op, dtype):
    x = RANDOM.integers(1, 4, (4, 9)).astype(dtype)
    wide = x.astype("int64") if np.dtype(dtype).kind == "i" else x.astype("float64")
    expected = REDUCTIONS[op](wide, axis=(1,), keepdims=True)
    check_op(op(axes=(1,), keepdims=True), [x], [np.asarray(expected).astype(dtype)])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint64"])
def test_the_mean_of_integers_fits_where_their_sum_or_number_does_not(check_op, dtype):
    limits = np.iinfo(dtype)
    for extremum in (limits.min, min(limits.max, 1 << 55)):
        x = np.full((7, 40), extremum, dtype)
        check_op(ops.ReduceMean(axes=(0, 1), keepdims=False), [x], [np.array(extremum, dtype)])


@pytest.mark.parametrize("op", [ops.ReduceMean, ops.ReduceMax, ops.ReduceLogSumExp])
def test_reduction_over_space_of_a_blocked_layout(check_op, op):
    x = RANDOM.normal(size=(2, 20, 4, 5)).astype("float32")
    for keepdims in (True, False):
        expected = REDUCTIONS[op](x, axis=(2, 3), keepdims=keepdims)
        check_op(op(axes=(2, 3), keepdims=keepdims), [x], [expected], Layout.blocked(4, 1, 16))


def test_bool_extrema_are_any_and_all(check_op):
    x = RANDOM.random((5, 3)) < 0.5
    check_op(ops.ReduceMax(axes=(1,), keepdims=False), [x], [x.any(axis=1)])
    check_op(ops.ReduceMin(axes=(1,), keepdims=False), [x], [x.all(axis=1)])


def test_reductions_of_nothing(check_op):
    x = np.zeros((2, 0), "float32")
    check_op(ops.ReduceSum(axes=(1,), keepdims=False), [x], [np.zeros(2, "float32")])
    check_op(ops.ReduceProd(axes=(1,), keepdims=False), [x], [np.ones(2, "float32")])
    check_op(ops.ReduceMax(axes=(1,), keepdims=False), [x], [np.full(2, -np.inf, "float32")])


def test_special_values(check_op):
    x = np.array([[1, np.nan, 2], [np.inf, -np.inf, 0], [-np.inf, -np.inf, -np.inf]], "float32")
    largest = np.array([np.nan, np.inf, -np.inf], "float32")
    check_op(ops.ReduceMax(axes=(1,), keepdims=False), [x], [largest])
    check_op(ops.ReduceLogSumExp(axes=(1,), keepdims=False), [x], [largest])
    check_op(ops.ArgMax(axis=1, keepdims=False), [x], [np.array([1, 0, 0])])
    big = np.array([[1000, 1000]], "float32")
    check_op(ops.ReduceLogSumExp(axes=(1,), keepdims=False), [big], [np.array([1000.6931], "float32")])


@pytest.mark.parametrize(("shape", "axis"), [((7,), 0), ((3, 5, 33), 0), ((3, 5, 33), 1), ((3, 5, 33), 2)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_places_of_extrema(check_op, shape, axis, dtype):
    x = RANDOM.integers(0, 4, shape).astype(dtype)
    for keepdims in (True, False):
        first = (np.argmax(x, axis, keepdims=keepdims), np.argmin(x, axis, keepdims=keepdims))
        mirrored = np.flip(x, axis)
        last = [shape[axis] - 1 - f(mirrored, axis, keepdims=keepdims) for f in (np.argmax, np.argmin)]
        for op, expected in zip((ops.ArgMax, ops.ArgMin), first, strict=True):
            check_op(op(axis=axis, keepdims=keepdims), [x], [np.asarray(expected)])
        for op, expected in zip((ops.ArgMax, ops.ArgMin), last, strict=True):
            check_op(op(axis=axis, keepdims=keepdims, select_last_index=True), [x], [np.asarray(expected)])


@pytest.mark.parametrize(("shape", "axis"), [((7,), 0), ((2, 70), 1), ((3, 5, 33), 0), ((3, 5, 33), 1)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_running_sums(check_op, shape, axis, dtype):
    x = RANDOM.integers(0, 9, shape).astype(dtype)
    for exclusive, reverse in itertools.product((False, True), repeat=2):
        turned = np.flip(x, axis) if reverse else x
        total = np.cumsum(turned, axis, dtype=dtype) - (turned if exclusive else 0)
        expected = np.flip(total, axis) if reverse else total
        op = ops.CumSum(axis=axis, exclusive=exclusive, reverse=reverse)
        check_op(op, [x], [expected.astype(dtype)])


def test_running_products(check_op):
    x = RANDOM.integers(1, 4, (3, 6, 5)).astype("int32")
    for exclusive, reverse in itertools.product((False, True), repeat=2):
        turned = np.flip(x, 1) if reverse else x
        total = np.cumprod(turned, 1, dtype="int32") // (turned if exclusive else 1)
        op = ops.CumProd(axis=1, exclusive=exclusive, reverse=reverse)
        check_op(op, [x], [np.flip(total, 1) if reverse else total])


@pytest.mark.parametrize(("shape", "axis"), [((7,), 0), ((2, 70), 1), ((3, 5, 6), 1)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_largest_elements_keep_the_order_of_equal_ones(check_op, shape, axis, dtype):
    x = RANDOM.integers(0, 9, shape).astype(dtype)
    for k, largest in itertools.product((1, 3, shape[axis]), (True, False)):
        places = np.argsort(-x if largest else x, axis, kind="stable").take(range(k), axis)
        expected = [np.take_along_axis(x, places, axis), places]
        check_op(ops.TopK(k=k, axis=axis, largest=largest), [x], expected)


def test_nan_is_larger_than_all(check_op):
    x = np.array([1, np.nan, 3], "float32")
    check_op(ops.TopK(k=2, axis=0), [x], [np.array([np.nan, 3], "float32"), np.array([1, 2])])
    check_op(ops.TopK(k=2, axis=0, largest=False), [x], [np.array([1, 3], "float32"), np.array([0, 2])])


@pytest.mark.parametrize(
    ("op", "shape", "message"),
    [
        (ops.ReduceSum(axes=(2,)), (2, 3), "reduce_sum: axis expects 0 to 1, found 2"),
        (ops.ReduceSum(axes=(1, 1)), (2, 3), "reduce_sum: axes expects each axis once, found [1, 1]"),
        (ops.ReduceMean(axes=(1,)), (2, 0), "reduce_mean: data float32[2, 0] has no elements along axes [1]"),
        (ops.ArgMax(axis=1), (2, 0), "arg_max: axis 1 expects 1 to 2^31 - 1 elements, found float32[2, 0]"),
        (ops.CumSum(axis=-1), (2, 3), "cum_sum: axis expects 0 to 1, found -1"),
        (ops.TopK(k=4, axis=1), (2, 3), "top_k: k expects 1 to 3, the extent of axis 1, found 4"),
    ],
)
def test_attributes_that_do_not_fit_are_refused(op, shape, message):
    with pytest.raises(InferenceError, match=f"^{re.escape(message)}$"):
        op.infer(TensorType.of("float32", shape))


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("extent", [1, 2, 7, 8, 100])
def test_places_in_a_sorted_sequence(check_op, extent, right):
    sequence = np.sort(RANDOM.integers(0, 20, extent)).astype("float32")
    values = np.array([*RANDOM.integers(-2, 22, 30), np.nan, np.inf, -np.inf], "float32").reshape(3, 11)
    expected = np.searchsorted(sequence, values, side="right" if right else "left")
    check_op(ops.SearchSorted(right), [sequence, values], [expected])


def test_places_in_a_sequence_for_each_row(check_op):
    sequence, values = np.sort(RANDOM.integers(0, 20, (2, 3, 9))), RANDOM.integers(0, 20, (2, 3, 4))
    expected = [
        [np.searchsorted(s, v) for s, v in zip(*rows, strict=True)] for rows in zip(sequence, values, strict=True)
    ]
    check_op(ops.SearchSorted(), [sequence, values], [np.array(expected)])
    with pytest.raises(InferenceError, match="search_sorted: expects a sequence of one axis, or as many as values"):
        ops.SearchSorted().infer(TensorType.of("int8", (2, 3)), TensorType.of("int8", (3, 3)))
