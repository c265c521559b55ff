"""Chains of choices whose operands may be loaded only where they are chosen: code grows with the links, not as 2 to
their power."""

from __future__ import annotations

import numpy as np
import pytest

from sateen.tensor_ir import build, lower, te
from sateen.tensor_ir.interpret import run

LANES = {"scalar": 1, "vectors": 16}


def chain(links, lanes, dtype="float32"):
    """A schedule of x = P[i] > link ? x + A[P[i]] : x - A[P[(i + link) % 64]], `links` times from A[i] on."""
    A, P = te.placeholder((64,), dtype, name="A"), te.placeholder((64,), "int32", name="P")

    def element(i):
        x = A[i]
        for link in range(links):
            x = te.select(P[i] > link, x + A[P[i]], x - A[P[(i + link) % 64]])
        return x

    C = te.compute((64,), element, name="C")
    s = te.create_schedule(C)
    s[C].vectorize(s[C].split(C.op.axis[0], factor=lanes)[1])
    return s, [A, P, C]


@pytest.mark.parametrize("lanes", LANES.values(), ids=LANES)
@pytest.mark.parametrize("target", ["llvm", "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3", "aarch64", "c"])
def test_what_both_sides_need_is_there_once(target, lanes):
    sizes = []
    for links in (6, 12):
        module = build(*chain(links, lanes), target=target)
        sizes.append(len(module.source if target == "c" else module.assembly()))
    assert sizes[1] < 3 * sizes[0]


@pytest.mark.parametrize("lanes", LANES.values(), ids=LANES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_a_chain_is_as_numpy_says(dtype, lanes):
    a, p = (np.arange(64) % 11 - 5).astype(dtype), np.arange(64, dtype="int32")[::-1].copy()
    expected = a.copy()
    for link in range(12):
        expected = np.where(p > link, expected + a[p], expected - a[p[(np.arange(64) + link) % 64]])
    s, arguments = chain(12, lanes, dtype)
    native, interpreted = np.zeros(64, dtype), np.zeros(64, dtype)
    build(s, arguments)(a, p, native)
    run(lower(s, arguments), [a, p, interpreted])
    np.testing.assert_array_equal(native, expected)
    np.testing.assert_array_equal(interpreted, expected)
