"""Minima and maxima on machines where one instruction gives them: NaN where an operand is NaN, exact otherwise."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from sateen.tensor_ir import build, te

SPECIAL = (0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, 3.4e38, -3.4e38, float("inf"), -float("inf"), float("nan"))


@pytest.fixture
def emulator(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent / "fuzz")
    return importlib.import_module("emulator")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("vectorized", [False, True])
def test_extrema_of_aarch64_are_those_of_numpy(emulator, tmp_path, dtype, vectorized):
    """NaN, infinities and the smallest numbers bit for bit; of zeros either may be given (docs/semantics.md)."""
    if reason := emulator.AARCH64.why_not():
        pytest.skip(reason)
    a, b = (x.ravel().astype(dtype) for x in np.meshgrid(SPECIAL, SPECIAL))
    A, B = (te.placeholder(a.shape, dtype, name=name) for name in "AB")
    results = [
        te.compute(a.shape, lambda i: te.maximum(A[i], B[i]), name="most"),
        te.compute(a.shape, lambda i: te.minimum(A[i], B[i]), name="least"),
        te.compute(a.shape, lambda i: te.maximum(A[i], te.const(1.0, dtype)), name="most_of_one"),
    ]
    s = te.create_schedule(results)
    for result in results if vectorized else ():
        _, lane = s[result].split(result.op.axis[0], 4, tail="partition")
        s[result].vectorize(lane)
    module = build(s, [A, B, *results], "aarch64", name="extrema")
    found = [np.zeros_like(a) for _ in results]
    emulator.Emulator(tmp_path, emulator.AARCH64).call(module.library(), "extrema", [a, b, *found])
    for y, expected in zip(found, (np.maximum(a, b), np.minimum(a, b), np.maximum(a, 1)), strict=True):
        np.testing.assert_array_equal(y, expected.astype(dtype))
