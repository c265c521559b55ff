"""Rows by blocks of threads, on the first OpenCL device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sateen.tensor_ir import te
from sateen.topi.computations.normalization import layer_normalization
from sateen.topi.computations.softmaxes import softmax
from sateen.topi.types import View, compute


@pytest.mark.parametrize(("shape", "axis"), [((3, 1000), 1), ((5, 7), 1), ((1, 1), 1), ((300,), 0), ((2, 3, 33), 2)])
def test_rows_of_any_length(on_device: Any, random: Any, shape: tuple[int, ...], axis: int) -> None:
    x = random.standard_normal(shape).astype(np.float32)
    (found,) = on_device(lambda v: softmax(v, axis), x, epilogue=doubled)
    power = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    np.testing.assert_allclose(found, 2 * power / power.sum(axis, keepdims=True), rtol=1e-5)


def test_statistics_of_statistics(on_device: Any, random: Any) -> None:
    x = random.standard_normal((5, 3, 77)).astype(np.float32)
    (found,) = on_device(lambda v: layer_normalization(v, None, None, 1, 1e-5), x)
    mean, variance = x.mean((1, 2), keepdims=True, dtype=np.float64), x.var((1, 2), keepdims=True, dtype=np.float64)
    np.testing.assert_allclose(found, (x - mean) / np.sqrt(variance + 1e-5), rtol=1e-5, atol=1e-5)


def doubled(x: View) -> View:
    return compute(x.shape, lambda *i: x(*i) * te.const(2.0, x.dtype), "doubled")
