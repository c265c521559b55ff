"""Quantised numbers are those of torch to the integer."""

import numpy as np
import pytest

from sateen.frontends import from_torch
from sateen.runtime.errors import FrontendError

X = np.array([[-9.0, -0.149, 0.05], [0.1, 0.15, 40.0]], np.float32)
Q = "quantized_decomposed."
INT8 = {"quant_min": -128, "quant_max": 127, "dtype": {"as_scalar_type": 2}}


def _quantized(x, scale, zero):
    inverse = (np.float64(1) / scale).astype(np.float32)
    return np.clip(np.round(x * inverse) + np.float32(zero), -128, 127).astype(np.int8)


@pytest.mark.parametrize("end", ["", ".tensor"])
def test_one_scale_for_all(written, run, end):
    x = written.input("x", X.shape)
    scale, zero = 0.1, 3
    if end:
        scale, zero = written.parameter("scale", np.array([0.1])), written.parameter("zero", np.array([3]))
    q = written.call(f"{Q}quantize_per_tensor{end or '.default'}", input=x, scale=scale, zero_point=zero, **INT8)
    y = written.call(f"{Q}dequantize_per_tensor{end or '.default'}", input=q, scale=scale, zero_point=zero, **INT8)
    found = run(written, [q, y], x=X)
    expected = _quantized(X, np.float64(0.1), 3)
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1], (expected.astype(np.float32) - 3) * np.float32(0.1))


def test_a_scale_per_channel(written, run):
    x = written.input("x", X.shape)
    scales, zeros = np.array([0.1, 0.3, 0.5], np.float32), np.array([0, -2, 5])
    given = {"scales": written.parameter("s", scales), "zero_points": written.parameter("z", zeros), "axis": 1}
    q = written.call(f"{Q}quantize_per_channel.default", input=x, **given, **INT8)
    y = written.call(f"{Q}dequantize_per_channel.default", input=q, **given, **INT8)
    found = run(written, [q, y], x=X)
    expected = np.clip(np.round(X * (np.float32(1) / scales)) + zeros, -128, 127).astype(np.int8)
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1], (expected - zeros).astype(np.float32) * scales)


def test_quantised_and_back_at_once_with_what_the_limits_left(written, run):
    x = written.input("x", X.shape)
    limits = {"quant_min": -128, "quant_max": 127}
    y, mask = written.call(
        "aten.fake_quantize_per_tensor_affine_cachemask.default", results=2, self=x, scale=0.1, zero_point=3, **limits
    )
    found = run(written, [y, mask], x=X)
    q = _quantized(X, np.float64(0.1), 3).astype(np.float32)
    np.testing.assert_array_equal(found[0], (q - 3) * np.float32(0.1))
    np.testing.assert_array_equal(found[1], np.abs(X) < 12)


@pytest.mark.parametrize("symmetric", [False, True])
def test_scales_of_the_range_of_data(written, run, symmetric):
    x = written.input("x", X.shape)
    name = "choose_qparams_symmetric" if symmetric else "choose_qparams"
    scale, zero = written.call(f"{Q}{name}.tensor", results=2, input=x, eps=1e-5, **INT8)
    found = run(written, [scale, zero], x=X)
    extent = np.float32(40) / np.float32(127.5) if symmetric else np.float32(49) / np.float32(255)
    np.testing.assert_array_equal(found[0], [np.float64(extent)])
    np.testing.assert_array_equal(found[1], [0 if symmetric else -128 + 47])


def test_zero_points_of_wide_integers_are_gaps(written):
    x = written.input("x", X.shape, "int32")
    y = written.call(f"{Q}dequantize_per_tensor.default", input=x, scale=0.1, zero_point=1, **INT8)
    with pytest.raises(FrontendError, match="zero points of integers of more than 16 bits are not supported"):
        from_torch(written.data(y))
