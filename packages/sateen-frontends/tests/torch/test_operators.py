"""Operators as torch defines them, where that is not what a name alone says."""

import re

import numpy as np
import pytest

from sateen.frontends import from_torch
from sateen.runtime.errors import FrontendError

FLOATS = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7
X = FLOATS[0]
INTS = np.array([[7, -7, 5, -5], [1, 2, -1, 0], [3, 3, 3, 3]])


@pytest.mark.parametrize(
    ("target", "arguments", "expected"),
    [
        ("add.Tensor", {"other": 2, "alpha": 3}, X + 6),
        ("sub.Tensor", {"other": 2.5}, X - 2.5),
        ("rsub.Scalar", {"other": 2}, 2 - X),
        ("div.Tensor_mode", {"other": 2.0, "rounding_mode": "floor"}, np.floor(X / 2)),
        ("div.Tensor_mode", {"other": 2.0, "rounding_mode": "trunc"}, np.trunc(X / 2)),
        ("remainder.Scalar", {"other": 3}, np.mod(X, np.float32(3))),
        ("fmod.Scalar", {"other": 3}, np.fmod(X, np.float32(3))),
        ("clamp.default", {"min": -2.0, "max": 1.0}, np.clip(X, -2, 1)),
        ("clamp.default", {"min": 5.0, "max": 1.0}, np.ones_like(X)),
        ("threshold.default", {"threshold": -3.0, "value": 9.0}, np.where(X <= -3, 9, X)),
        ("sum.default", {}, X.sum()),
        ("sum.dim_IntList", {"dim": [-1], "keepdim": True}, X.sum(-1, keepdims=True)),
        ("sum.dim_IntList", {"dim": []}, X.sum()),
        ("var.correction", {"dim": [1], "correction": 1}, X.var(1, ddof=1)),
        ("std.default", {"unbiased": False}, X.std()),
        ("argmax.default", {}, X.argmax()),
        ("cumsum.default", {"dim": -1}, X.cumsum(-1)),
        ("linalg_vector_norm.default", {"ord": float("inf")}, np.abs(X).max()),
        ("permute.default", {"dims": [1, -2]}, X.T),
        ("transpose.int", {"dim0": -1, "dim1": 0}, X.T),
        ("swapaxes.default", {"axis0": -1, "axis1": 0}, X.T),
        ("view.default", {"size": [2, -1]}, X.reshape(2, 6)),
        ("unsqueeze.default", {"dim": -1}, X[..., None]),
        ("squeeze.dims", {"dim": [0]}, X),
        ("expand.default", {"size": [2, -1, 4]}, np.broadcast_to(X, (2, 3, 4))),
        ("slice.Tensor", {"dim": 1, "start": -3, "end": 9223372036854775807, "step": 2}, X[:, -3::2]),
        ("slice.Tensor", {"dim": 1, "start": 3, "end": 1}, X[:, 3:1]),
        ("select.int", {"dim": 1, "index": -1}, X[:, -1]),
        ("narrow.default", {"dim": 1, "start": -2, "length": 2}, X[:, 2:]),
        ("flip.default", {"dims": [0, -1]}, X[::-1, ::-1]),
        ("roll.default", {"shifts": [1, -1], "dims": [0, 1]}, np.roll(X, (1, -1), (0, 1))),
        ("roll.default", {"shifts": [5], "dims": []}, np.roll(X, 5)),
        ("rot90.default", {"k": 3, "dims": [0, 1]}, np.rot90(X, 3)),
        ("repeat.default", {"repeats": [2, 1, 3]}, np.tile(X, (2, 1, 3))),
        ("repeat_interleave.self_int", {"repeats": 2, "dim": 1}, X.repeat(2, 1)),
        ("diagonal.default", {"offset": 1}, X.diagonal(1)),
        ("tril.default", {"diagonal": -1}, np.tril(X, -1)),
        (
            "constant_pad_nd.default", {"pad": [1, 2, 0, -1], "value": 4.0},
            np.pad(X[:2], ((0, 0), (1, 2)), constant_values=4),
        ),
        ("pad.default", {"pad": [2, 1], "mode": "reflect"}, np.pad(X, ((0, 0), (2, 1)), "reflect")),
        ("unfold.default", {"dimension": 1, "size": 2, "step": 1}, np.stack([X[:, i : i + 2] for i in range(3)], 1)),
        ("as_strided.default", {"size": [2, 2], "stride": [1, 3], "storage_offset": 2}, X.ravel()[[[2, 5], [3, 6]]]),
        ("full_like.default", {"fill_value": 3}, np.full_like(X, 3)),
        ("logsumexp.default", {"dim": [1]}, np.log(np.exp(X).sum(1))),
        ("glu.default", {"dim": 1}, X[:, :2] / (1 + np.exp(-X[:, 2:]))),
        ("nan_to_num.default", {}, X),
        ("softplus.default", {"beta": 2.0}, np.where(2 * X > 20, X, np.log1p(np.exp(2 * X)) / 2)),
        ("hardshrink.default", {"lambd": 3.0}, np.where(np.abs(X) <= 3, 0, X)),
        ("round.decimals", {"decimals": 1}, X),
    ],
)  # fmt: skip
def test_operators_of_one_tensor(written, run, target, arguments, expected):
    x = written.input("x", X.shape)
    if target == "full_like.default":
        written.declared["y"] = written.declared["x"]
    y = written.call(f"aten.{target}", self=x, name="y", **arguments)
    (found,) = run(written, [y], x=X)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("target", "other", "expected"),
    [
        ("add.Tensor", 1, INTS + 1),
        ("add.Tensor", 1.5, (INTS + 1.5).astype(np.float32)),
        ("mul.Tensor", True, INTS),
        ("div.Tensor", 2, (INTS / 2).astype(np.float32)),
        ("floor_divide.default", 2, INTS // 2),
        ("remainder.Scalar", 3, INTS % 3),
        ("fmod.Scalar", 3, np.fmod(INTS, 3)),
        ("bitwise_and.Scalar", 3, INTS & 3),
        ("gt.Scalar", 1.5, INTS > 1.5),
        ("maximum.default", 2, np.maximum(INTS, 2)),
    ],
)
def test_integers_and_numbers_are_promoted(written, run, target, other, expected):
    x = written.input("x", INTS.shape, "int64")
    (found,) = run(written, [written.call(f"aten.{target}", self=x, other=other)], x=INTS)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_tensors_without_axes_raise_a_type_only_to_a_higher_category(written, run):
    x, one = written.input("x", (2,), "float16"), written.input("one", (), "float64")
    i, half = written.input("i", (2,), "int32"), written.input("half", (), "float16")
    wide, small = (written.call("aten.add.Tensor", self=a, other=b) for a, b in ((x, one), (i, half)))
    found = run(written, [wide, small], x=np.ones(2, "f2"), one=np.float64(1), i=np.ones(2, "i4"), half=np.float16(1))
    assert [array.dtype for array in found] == [np.float16, np.float16]


@pytest.mark.parametrize(
    ("indices", "expected"),
    [
        ([None, "a"], lambda x, a, b: x[:, a]),
        (["a", "b"], lambda x, a, b: x[a, b]),
        ([None, "a", "b"], lambda x, a, b: x[:, a, b]),
        (["a", None, "b"], lambda x, a, b: x[a, :, b]),
    ],
)
def test_several_indices_go_where_numpy_puts_them(written, run, indices, expected):
    a, b = np.array([[0], [-1]]), np.array([1, 0, -1])
    x = written.input("x", FLOATS.shape)
    given = {"a": written.input("a", a.shape, "int64"), "b": written.input("b", b.shape, "int64")}
    y = written.call("aten.index.Tensor", self=x, indices=[i and given[i] for i in indices])
    np.testing.assert_array_equal(run(written, [y], x=FLOATS, a=a, b=b)[0], expected(FLOATS, a, b))


@pytest.mark.parametrize("accumulate", [False, True])
def test_what_indices_choose_is_replaced_or_increased(written, run, accumulate):
    places, values = np.array([2, 0, 2 if accumulate else 1]), np.array([[1.0], [2.0], [3.0]], np.float32)
    x, i, v = written.input("x", FLOATS.shape), written.input("i", (3,), "int64"), written.input("v", (3, 1))
    y = written.call("aten.index_put.default", self=x, indices=[None, None, i], values=v, accumulate=accumulate)
    expected = FLOATS.copy()
    if accumulate:
        np.add.at(expected, np.s_[:, :, places], values)
    else:
        expected[:, :, places] = values
    np.testing.assert_array_equal(run(written, [y], x=FLOATS, i=places, v=values)[0], expected)


def test_a_mask_with_one_value_is_a_choice(written, run):
    x, mask = written.input("x", X.shape), written.input("mask", X.shape, "bool")
    value = written.parameter("value", np.array(5, np.float32))
    y = written.call("aten.index_put.default", self=x, indices=[mask], values=value)
    np.testing.assert_array_equal(run(written, [y], x=X, mask=X > 0)[0], np.where(X > 0, 5, X))


def test_a_mask_that_chooses_elements_is_a_gap(written):
    x, mask = written.input("x", X.shape), written.input("mask", X.shape, "bool")
    y = written.call("aten.index.Tensor", self=x, indices=[mask])
    with pytest.raises(FrontendError, match=re.escape("how many elements a mask chooses is known at run time only")):
        from_torch(written.data(y))


def test_attention_of_a_query_that_may_look_at_nothing_is_zero(written, run):
    q = written.input("q", (1, 2, 4))
    mask = written.parameter("mask", np.array([[True, False], [False, False]]))
    y = written.call("aten.scaled_dot_product_attention.default", query=q, key=q, value=q, attn_mask=mask)
    data = FLOATS[:1, :2]
    (found,) = run(written, [y], q=data)
    np.testing.assert_allclose(found[0], [data[0, 0], np.zeros(4)], rtol=1e-6)


def test_pieces_of_a_split_are_named_by_the_program(written, run):
    x = written.input("x", X.shape)
    pieces = written.call("aten.split.Tensor", results=-2, name="piece", self=x, split_size=3, dim=1)
    found = run(written, pieces, x=X)
    np.testing.assert_array_equal(found[0], X[:, :3])
    np.testing.assert_array_equal(found[1], X[:, 3:])


def test_recurrent_layers_have_the_gates_of_torch(written, run):
    rng = np.random.default_rng(0)
    w, r, bias = (rng.standard_normal(shape, dtype=np.float32) for shape in ((8, 3), (8, 2), (8,)))
    data, state = rng.standard_normal((4, 1, 3), dtype=np.float32), np.zeros((1, 1, 2), np.float32)
    x = written.input("x", data.shape)
    h, c = (written.parameter(name, state + i) for i, name in enumerate("hc"))
    params = [written.parameter(f"p.{i}", value) for i, value in enumerate((w, r, bias, bias))]
    y, *_ = written.call(
        "aten.lstm.input", results=3, input=x, hx=[h, c], params=params, has_biases=True, num_layers=1, dropout=0.0,
        train=False, bidirectional=False, batch_first=False,
    )  # fmt: skip
    hidden, cell, expected = state[0], state[0] + 1, []
    for step in data:
        i, f, g, o = np.split(step @ w.T + hidden @ r.T + 2 * bias, 4, 1)
        cell = cell / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        hidden = np.tanh(cell) / (1 + np.exp(-o))
        expected.append(hidden)
    np.testing.assert_allclose(run(written, [y], x=data)[0], np.stack(expected), rtol=1e-5)


def test_values_are_looked_up_in_sequences(written, run):
    sequence = np.array([1.0, 3.0, 3.0, 7.0], np.float32)
    x, edges = written.input("x", X.shape), written.parameter("edges", sequence)
    left = written.call("aten.searchsorted.Tensor", sorted_sequence=edges, self=x)
    right = written.call("aten.bucketize.Tensor", self=x, boundaries=edges, right=True, out_int32=True)
    found = run(written, [left, right], x=X + 8)
    np.testing.assert_array_equal(found[0], np.searchsorted(sequence, X + 8))
    np.testing.assert_array_equal(found[1], np.searchsorted(sequence, X + 8, "right").astype(np.int32))


def test_maxima_of_unequal_windows_and_their_places(written, run):
    data = np.random.default_rng(0).permutation(35).astype(np.float32).reshape(1, 5, 7)
    x = written.input("x", data.shape)
    values, places = written.call("aten.adaptive_max_pool2d.default", results=2, self=x, output_size=[2, 3])
    found = run(written, [values, places], x=data)
    rows, columns = [(0, 3), (2, 5)], [(0, 3), (2, 5), (4, 7)]
    expected = [[data[0, a:b, c:d].max() for c, d in columns] for a, b in rows]
    np.testing.assert_array_equal(found[0][0], expected)
    np.testing.assert_array_equal(data[0].ravel()[found[1][0]], expected)


def test_dropout_of_training_is_a_gap(written):
    y = written.call("aten.dropout.default", input=written.input("x", (2, 3)), p=0.5, train=True)
    with pytest.raises(FrontendError, match=r"dropout of training is not supported(.|\n)*export the module after eval"):
        from_torch(written.data(y))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array(5, np.float32), lambda x, mask: np.where(mask, 5, x)),
        (np.array([5], np.float32), lambda x, mask: np.where(mask, 5, x)),
        (np.arange(4, dtype=np.float32), lambda x, mask: np.where(mask, (mask.cumsum() - 1).reshape(mask.shape), x)),
    ],
)
def test_what_a_mask_chooses_is_replaced_in_order(written, run, values, expected):
    x, mask = written.input("x", X.shape), written.input("mask", X.shape, "bool")
    given = written.parameter("values", values)
    y = written.call("aten.index_put.default", self=x, indices=[mask], values=given)
    np.testing.assert_array_equal(run(written, [y], x=X, mask=X > 0)[0], expected(X.copy(), X > 0))


def test_rows_that_a_mask_chooses_are_increased(written, run):
    x, mask = written.input("x", X.shape), written.input("mask", (3,), "bool")
    rows = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.float32)
    values, chosen = written.parameter("values", rows), np.array([True, False, True])
    y = written.call("aten.index_put.default", self=x, indices=[mask], values=values, accumulate=True)
    expected = X.copy()
    expected[chosen] += rows
    np.testing.assert_array_equal(run(written, [y], x=X, mask=chosen)[0], expected)


CLASSES, WEIGHTS = np.array([2, 1, 0]), np.array([1, 2, 3, 4], np.float32)


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [
        (0, lambda losses, weights: losses),
        (1, lambda losses, weights: losses.sum() / weights.sum()),
        (2, lambda losses, weights: losses.sum()),
    ],
)
def test_the_loss_of_classes_is_weighted_and_ignores_a_target(written, run, reduction, expected):
    x, target = written.input("x", X.shape), written.input("target", (3,), "int64")
    weight = written.parameter("weight", WEIGHTS)
    y = written.call(
        "aten.cross_entropy_loss.default", self=x, target=target, weight=weight, reduction=reduction, ignore_index=1
    )
    logs = X - np.log(np.exp(X).sum(1, keepdims=True))
    weights = np.where(CLASSES == 1, 0, WEIGHTS[CLASSES])
    losses = -logs[np.arange(3), CLASSES] * weights
    found = run(written, [y], x=X, target=CLASSES)[0]
    np.testing.assert_allclose(found, expected(losses, weights), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("order", "axes", "expected"),
    [
        (None, None, np.sqrt((X**2).sum())),
        ("fro", [0, 1], np.sqrt((X**2).sum())),
        (1, [0, 1], np.abs(X).sum(0).max()),
        (float("-inf"), [0, 1], np.abs(X).sum(1).min()),
        (1, [1, 0], np.abs(X).sum(1).max()),
        (1, [1], np.abs(X).sum(1)),
    ],
)
def test_norms_of_vectors_and_matrices(written, run, order, axes, expected):
    x = written.input("x", X.shape)
    y = written.call("aten.linalg_norm.default", self=x, ord=order, dim=axes)
    np.testing.assert_allclose(run(written, [y], x=X)[0], expected, rtol=1e-6)


def test_norms_by_singular_values_are_gaps(written):
    y = written.call("aten.linalg_norm.default", self=written.input("x", X.shape), ord=2, dim=[0, 1])
    with pytest.raises(FrontendError, match="the norm 2 of a matrix, which needs its singular values"):
        from_torch(written.data(y))


def test_a_sum_of_products_of_three(written, run):
    a, b = written.input("a", (3, 4)), written.input("b", (3, 4))
    data = np.random.default_rng(0).standard_normal((5, 4, 4), dtype=np.float32)
    weight = written.parameter("weight", data)
    y = written.call(
        "aten._trilinear.default", i1=a, i2=weight, i3=b, expand1=[1, 3], expand2=[0], expand3=[1, 2], sumdim=[2, 3]
    )
    found = run(written, [y], a=X, b=X + 1)[0]
    np.testing.assert_allclose(found, np.einsum("ni,oij,nj->no", X, data, X + 1), rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1])
def test_medians_along_an_axis_are_lower_elements_or_nan(written, run, axis):
    data = np.array([[4, 1, 3, 2], [np.nan, 0, 9, 5]], np.float32)
    x = written.input("x", data.shape)
    values, places = written.call("aten.median.dim", results=2, self=x, dim=axis, keepdim=True)
    found = run(written, [values, places], x=data)
    expected = np.array([[2], [np.nan]]) if axis else np.array([[np.nan, 0, 3, 2]])
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(np.take_along_axis(data, found[1], axis), expected)


def test_distances_of_all_pairs_of_rows(written, run):
    x, y = written.input("x", FLOATS.shape), written.input("y", (2, 5, 4))
    other = np.random.default_rng(0).standard_normal((2, 5, 4), dtype=np.float32)
    pairs = [written.call("aten.cdist.default", x1=x, x2=y, p=p) for p in (2.0, 1.0)]
    apart = FLOATS[:, :, None] - other[:, None]
    found = run(written, pairs, x=FLOATS, y=other)
    np.testing.assert_allclose(found[0], np.sqrt((apart**2).sum(-1)), rtol=1e-6)
    np.testing.assert_allclose(found[1], np.abs(apart).sum(-1), rtol=1e-6)


def test_a_sequence_is_sorted_by_indices(written, run):
    values, order = np.array([7, 1, 3], np.float32), np.array([1, 2, 0])
    x, edges, sorter = written.input("x", (2,)), written.parameter("edges", values), written.parameter("order", order)
    y = written.call("aten.searchsorted.Tensor", sorted_sequence=edges, self=x, sorter=sorter)
    np.testing.assert_array_equal(run(written, [y], x=np.array([2, 8], np.float32))[0], [1, 3])
