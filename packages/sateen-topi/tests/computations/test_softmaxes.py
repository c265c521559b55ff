"""Softmax and its logarithm against NumPy in float64."""

import numpy as np
import pytest

from sateen.topi.computations.softmaxes import log_softmax, softmax
from sateen.topi.types import compute

CASES = [((5, 33), 1), ((12, 64), 1), ((2, 21, 7, 9), 1), ((10,), 0), ((3, 5, 7), 0), ((3, 5, 1, 1), 1), ((5, 1), 1)]


def reference(x, axis):
    shifted = x.astype(np.float64) - x.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


@pytest.mark.parametrize(("shape", "axis"), CASES)
def test_values(run_views, view, error, random, shape, axis):
    x = (random.standard_normal(shape) * 3).astype("float32")
    data = view(x, "x")
    (y,) = run_views(softmax(data, axis), [data], [x])
    assert error(y, np.exp(reference(x, axis))) < 1e-6
    (y,) = run_views(log_softmax(data, axis), [data], [x])
    assert error(y, reference(x, axis)) < 1e-6


def test_large_values_don_t_overflow(run_views, view):
    x = np.array([[1e30, 1e30, -1e30]], "float32")
    data = view(x, "x")
    (y,) = run_views(softmax(data, 1), [data], [x])
    np.testing.assert_array_equal(y, [[0.5, 0.5, 0]])


def test_float16_and_a_fused_epilogue(run_views, view, error, random):
    x = random.standard_normal((3, 40)).astype("float16")
    data = view(x, "x")
    (y,) = run_views(softmax(data, 1), [data], [x], lambda v: compute(v.shape, lambda *i: v(*i) * 2.0, "doubled"))
    assert error(y, 2 * np.exp(reference(x, 1))) < 1e-3
