"""Sampling and determinants against NumPy; all modes are tested against ONNX in sateen-frontends."""

import numpy as np
import pytest

from sateen.topi.computations import sampling
from sateen.topi.computations.products import determinant


@pytest.mark.parametrize("mode", sampling.SAMPLING_MODES)
@pytest.mark.parametrize("padding", sampling.PADDING_MODES)
def test_one_axis_of_a_ramp(computed, mode, padding):
    data = np.arange(9, dtype="float32").reshape(1, 1, 9)
    at = np.array([3, 4, 5, 6] if mode == "cubic" else [3, 4, 4.4, 5.25], "float32")
    grid = (at / 4 - 1).reshape(1, 4, 1)
    y = computed(lambda d, g: sampling.grid_sample(d, g, mode, padding, True), data, grid)
    expected = np.round(at) if mode == "nearest" else at
    np.testing.assert_allclose(y[0, 0], expected, atol=1e-5)


def test_beyond_the_ends(computed):
    data = np.array([1, 2, 4], "float32").reshape(1, 1, 3)
    grid = np.array([-2.0, 2.0, -1.6], "float32").reshape(1, 3, 1)
    values = {"zeros": (0, 0, 0.4), "border": (1, 4, 1), "reflection": (2, 2, 1.6)}
    for padding, expected in values.items():
        y = computed(lambda d, g, p=padding: sampling.grid_sample(d, g, "linear", p, True), data, grid)
        np.testing.assert_allclose(y[0, 0], expected, atol=1e-5)


@pytest.mark.parametrize("mode", sampling.SAMPLING_MODES)
def test_beyond_the_ends_is_nothing_of_an_infinite_element_at_the_end(computed, mode):
    data = np.array([np.inf, 1, 2, 4, np.nan], "float32").reshape(1, 1, 5)
    grid = np.array([-3.0, 3.0], "float32").reshape(1, 2, 1)
    y = computed(lambda d, g: sampling.grid_sample(d, g, mode, "zeros", True), data, grid)
    np.testing.assert_array_equal(y[0, 0], [0, 0])


def test_determinants(computed, random):
    x = random.standard_normal((4, 6, 6)).astype("float32")
    np.testing.assert_allclose(computed(determinant, x), np.linalg.det(x.astype("float64")), rtol=1e-4)


@pytest.mark.parametrize("shape", [(3, 5, 5), (9, 9), (14, 14), (2, 1, 1), (0, 2, 2)], ids=str)
def test_determinants_on_devices(as_defined, random, shape):
    matrices = random.integers(-3, 4, shape).astype("float64")
    if matrices.ndim == 3 and len(matrices) > 2:
        matrices[0, 1] = matrices[0, 2]
    as_defined(determinant, matrices, rtol=1e-12)
