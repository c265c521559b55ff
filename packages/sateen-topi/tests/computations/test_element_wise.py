"""Accuracy of element-wise functions over their whole range."""

import numpy as np
import pytest

from sateen.topi.computations import element_wise as ew

RANDOM = np.random.default_rng(0)
WIDE = np.concatenate([
    *(RANDOM.normal(size=2000) * scale for scale in (1e-6, 1e-3, 0.1, 1, 30)),
    [0, 1, -1, np.inf, -np.inf, np.nan, 1e10, -1e10, 1e20, 89, -89],
])  # fmt: skip
ACCURATE = {
    ew.log1p: np.log1p,
    ew.expm1: np.expm1,
    ew.atan: np.arctan,
    ew.asin: np.arcsin,
    ew.acos: np.arccos,
    ew.sinh: np.sinh,
    ew.cosh: np.cosh,
    ew.asinh: np.arcsinh,
    ew.acosh: np.arccosh,
    ew.atanh: np.arctanh,
    lambda x: ew.elu(x, 1.5): lambda x: np.where(x < 0, 1.5 * np.expm1(x), x),
    lambda x: ew.selu(x, 1.5, 1.25): lambda x: 1.25 * np.where(x < 0, 1.5 * np.expm1(x), x),
    lambda x: ew.celu(x, 0.5): lambda x: np.where(x < 0, 0.5 * np.expm1(x / 0.5), x),
    lambda x: ew.celu(x, -0.5): lambda x: np.where(x < 0, -0.5 * np.expm1(x / -0.5), x),
}


@pytest.mark.parametrize("function", ACCURATE)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_errors_of_few_units_and_special_values(computed, function, dtype):
    x = WIDE.astype(dtype)
    found = computed(lambda v: ew.unary(v, function, "f"), x)
    with np.errstate(all="ignore"):
        expected = ACCURATE[function](x.astype("float64")).astype(dtype)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    np.testing.assert_allclose(found[finite], expected[finite], rtol=4 * np.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_approximation_of_gelu_keeps_its_relative_accuracy_where_it_vanishes(computed, dtype):
    x = np.concatenate([np.linspace(-8, 8, 4001), RANDOM.normal(size=1000) * 1e-6]).astype(dtype)
    found, wide = computed(lambda v: ew.unary(v, ew.gelu_tanh, "f"), x), x.astype("longdouble")
    expected = wide / (1 + np.exp(-np.sqrt(8 / np.longdouble(np.pi)) * (wide + np.longdouble("0.044715") * wide**3)))
    np.testing.assert_allclose(found, expected.astype(dtype), rtol=100 * np.finfo(dtype).eps)  # exponents reach 51


def test_softplus_neither_overflows_nor_vanishes(computed):
    x = np.array([-80, -20, 0, 20, 200], "float32")
    found = computed(lambda v: ew.unary(v, ew.softplus, "f"), x)
    np.testing.assert_allclose(found, np.logaddexp(x.astype("float64"), 0), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats_are_computed_in_float32_and_rounded_once(computed, dtype):
    kind = np.dtype(getattr(pytest.importorskip("ml_dtypes"), dtype) if dtype == "bfloat16" else dtype)
    x = RANDOM.normal(size=500).astype(kind)
    found = computed(lambda v: ew.unary(v, ew.mish, "f"), x)
    wide = x.astype("float64")
    exact = wide * np.tanh(np.logaddexp(wide, 0))
    size = np.abs(found)
    ulp = np.float64(np.nextafter(size, kind.type(np.inf))) - np.float64(size)
    assert np.all(np.abs(np.float64(found) - exact) <= 0.51 * ulp + 1e-6)


def test_limits_beyond_an_integer_type_are_no_limits(computed):
    x = np.array([-128, 0, 127], "int8")
    assert computed(lambda v: ew.unary(v, lambda e: ew.clip(e, -1e9, 1e9), "f"), x).tolist() == x.tolist()
