"""float16 on x86-64 without F16C: conversions of our own, against NumPy's."""

import numpy as np
import pytest

from sateen.runtime import Target, load_module
from sateen.tensor_ir import build, te

pytestmark = pytest.mark.skipif(Target.host().architecture != "x86_64", reason="other processors convert float16")


def converted(values: np.ndarray, dtype: str) -> np.ndarray:
    """The values in another type, by code for x86-64-v2."""
    target = Target("llvm", Target.host().triple, "x86-64-v2")
    x = te.placeholder(values.shape, dtype=str(values.dtype), name="x")
    y = te.compute(values.shape, lambda i: x[i].astype(dtype), name="y")
    result = np.empty(values.shape, dtype)
    load_module(build(te.create_schedule(y), [x, y], target).library())["run"](values, result)
    return result


def test_every_float16_widens_to_its_value() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    np.testing.assert_array_equal(converted(every, "float32"), every.astype(np.float32))


def test_narrowing_rounds_to_nearest_even() -> None:
    every = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    above = np.nextafter(every, np.float32(np.inf))
    halves = (every[:-1] + every[1:]) / 2
    edges = [0.0, 65504, 65519.99, 65520, 65536, 1e30, np.inf, np.nan, 1e-30, 2.0**-25, 2.0**-24]
    values = np.concatenate([every, above, halves, np.nextafter(halves, np.float32(0)), np.array(edges, np.float32)])
    values = np.concatenate([values, -values])
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16)
    np.testing.assert_array_equal(converted(values, "float16"), expected)
    assert np.signbit(converted(np.array([-0.0], np.float32), "float16"))[0]
