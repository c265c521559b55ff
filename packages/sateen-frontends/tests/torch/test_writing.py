"""Operators that write into tensors become values: of the tensor, and of those that share its memory."""

import numpy as np
import pytest

from sateen.frontends import from_torch
from sateen.runtime.errors import FrontendError

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_a_tensor_written_into_is_read_as_it_is_then(written, run):
    x = written.input("x", X.shape)
    before = written.call("aten.add.Tensor", self=x, other=0)
    y = written.call("aten.exp.default", self=x)
    written.call("aten.mul_.Tensor", self=y, other=2)
    after = written.call("aten.add.Tensor", self=y, other=1)
    np.testing.assert_allclose(run(written, [before, after], x=X)[1], np.exp(X) * 2 + 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("view", "arguments", "place"),
    [
        ("select.int", {"dim": 1, "index": 1}, np.s_[:, 1]),
        ("slice.Tensor", {"dim": 1, "start": 1, "end": 3}, np.s_[:, 1:3]),
        ("slice.Tensor", {"dim": 1, "start": 0, "end": 9223372036854775807, "step": 3}, np.s_[:, ::3]),
        ("transpose.int", {"dim0": 0, "dim1": 1}, np.s_[:]),
        ("permute.default", {"dims": [1, 0]}, np.s_[:]),
        ("view.default", {"size": [2, 6]}, np.s_[:]),
        ("unsqueeze.default", {"dim": 0}, np.s_[:]),
        ("detach.default", {}, np.s_[:]),
    ],
)
def test_writing_into_a_view_changes_what_it_is_a_view_of(written, run, view, arguments, place):
    x = written.input("x", X.shape)
    y = written.call("aten.clone.default", self=x)
    part = written.call(f"aten.{view}", self=y, **arguments)
    written.call("aten.mul_.Tensor", self=part, other=-1)
    sums = written.call("aten.add.Tensor", self=y, other=0)
    expected = X.copy()
    expected[place] *= -1
    np.testing.assert_array_equal(run(written, [sums], x=X)[0], expected)


def test_the_diagonal_is_written_into(written, run):
    x = written.input("x", X.shape)
    y = written.call("aten.clone.default", self=x)
    part = written.call("aten.diagonal.default", self=y, offset=1)
    written.declared["filled"] = {**written.declared["x"], "sizes": [{"as_int": 3}]}
    written.call("aten.fill_.Scalar", self=part, value=9, name="filled")
    expected = X.copy()
    expected[[0, 1, 2], [1, 2, 3]] = 9
    np.testing.assert_array_equal(run(written, [written.call("aten.add.Tensor", self=y, other=0)], x=X)[0], expected)


def test_views_of_views_and_other_views_follow(written, run):
    x = written.input("x", X.shape)
    y = written.call("aten.clone.default", self=x)
    rows = written.call("aten.slice.Tensor", self=y, dim=0, start=1, end=3)
    row = written.call("aten.select.int", self=rows, dim=0, index=0)
    other = written.call("aten.select.int", self=y, dim=1, index=2)
    written.call("aten.add_.Tensor", self=row, other=100)
    results = [written.call("aten.add.Tensor", self=v, other=0) for v in (y, rows, other)]
    expected = X.copy()
    expected[1] += 100
    found = run(written, results, x=X)
    for one, wanted in zip(found, (expected, expected[1:], expected[:, 2]), strict=True):
        np.testing.assert_array_equal(one, wanted)


def test_a_tensor_that_may_share_the_memory_is_refused_where_it_is_read(written):
    x = written.input("x", X.shape)
    y = written.call("aten.exp.default", self=x)
    flat = written.call("aten.reshape.default", self=y, shape=[12])
    changed = written.call("aten.relu_.default", self=flat, name="changed")
    assert from_torch(written.data(changed))
    both = written.call("aten.add.Tensor", self=y, other=1)
    with pytest.raises(FrontendError, match=r"'exp_0' may share memory .*'changed' writes; save what program.run_dec"):
        from_torch(written.data(changed, both))
