"""Schedules of symbolic extents: no condition that always holds, no gather where elements are adjacent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sateen.tensor_ir import build, lower, te
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.interpret import run

Array = np.ndarray[Any, Any]
SIZES = [(1, 1), (3, 5), (8, 16), (9, 17), (0, 4), (40, 3)]


def chain() -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    """a → b = 2 a → c = b + 1."""
    n, m = te.var("n"), te.var("m")
    a = te.placeholder((n, m), name="a")
    b = te.compute((n, m), lambda i, j: a[i, j] * 2.0, name="b")
    return a, b, te.compute((n, m), lambda i, j: b[i, j] + 1.0, name="c")


def body(s: te.Schedule, a: te.Tensor, c: te.Tensor) -> str:
    """The loops, after they have given 2 a + 1 for all sizes."""
    function, compiled = lower(s, [a, c]), build(s, [a, c])
    for size in SIZES:
        x = np.random.default_rng(0).standard_normal(size).astype("float32")
        for execute in (lambda *arrays: run(function, arrays), compiled):
            found = np.zeros(size, "float32")
            execute(x, found)
            np.testing.assert_array_equal(found, 2 * x + 1)
    assert compiled.report.gathers == 0
    return str(function.body)


def test_a_fused_loop_has_one_condition_and_adjacent_elements() -> None:
    a, b, c = chain()
    s = te.create_schedule(c)
    s[b].compute_inline()
    s[c].vectorize(s[c].split(s[c].fuse(*c.op.axis), factor=8)[1])
    assert "if i_jo * 8 + i_ji < n * m:" in body(s, a, c)


def test_a_tile_that_covers_a_dimension_has_its_extent() -> None:
    a, b, c = chain()
    s = te.create_schedule(c)
    i, j = c.op.axis
    s[c].vectorize(s[c].split(j, factor=8)[1])
    s[b].compute_at(s[c], i)
    assert "allocate b: float32[1, m]" in body(s, a, c)


def test_tiles_are_partitioned_into_whole_ones_and_the_last() -> None:
    a, b, c = chain()
    s = te.create_schedule(c)
    s[b].compute_inline()
    *_, ji = s[c].tile(*c.op.axis, 4, 8, tail="partition")
    s[c].vectorize(ji)
    assert body(s, a, c).splitlines()[:10] == [
        "for io in [0, n // 4):",
        "  for jo in [0, m // 8):",
        "    for ii in [0, 4):",
        "      vectorized ji in [0, 8):",
        "        c[io * 4 + ii, jo * 8 + ji] = a[io * 4 + ii, jo * 8 + ji] * 2.0f + 1.0f",
        "  for jo_1 in [0, (m + 7) // 8 - m // 8) + m // 8:",
        "    for ii_1 in [0, 4):",
        "      vectorized ji_1 in [0, 8):",
        "        if jo_1 * 8 + ji_1 < m:",
        "          c[io * 4 + ii_1, jo_1 * 8 + ji_1] = a[io * 4 + ii_1, jo_1 * 8 + ji_1] * 2.0f + 1.0f",
    ]


@pytest.mark.parametrize("first", [0, 3])
def test_both_ends_are_cut_off(first: int) -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="a")
    c = te.compute(
        (n,), lambda i: te.select(te.all(i >= first, i + 2 < n), a[te.maximum(i - first, 0)] + a[i], 0.0), name="c"
    )
    s = te.create_schedule(c)
    s[c].pragma(c.op.axis[0], "partition")
    function, compiled = lower(s, [a, c]), build(s, [a, c])
    for size in range(8):
        x = np.arange(1, size + 1, dtype="float32")
        expected = [x[i - first] + x[i] if first <= i < size - 2 else 0 for i in range(size)]
        for execute in (lambda *arrays: run(function, arrays), compiled):
            found = np.full(size, -1, "float32")
            execute(x, found)
            assert found.tolist() == expected


def test_a_partial_result_of_symbolic_extent() -> None:
    n, m = te.var("n"), te.var("m")
    a, k = te.placeholder((n, m), name="a"), te.reduce_axis((0, m), "k")
    c = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="c")
    s = te.create_schedule(c)
    s.rfactor(c, k)
    compiled = build(s, [a, c])
    for size in SIZES:
        x = np.random.default_rng(0).standard_normal(size).astype("float32")
        found = np.zeros(size[0], "float32")
        compiled(x, found)
        np.testing.assert_allclose(found, x.sum(axis=1), rtol=1e-5, atol=1e-5)


def test_quotients_are_bounded_by_what_they_divide() -> None:
    analyzer, n, i = Analyzer(), te.var("n"), te.var("i")
    analyzer.bind_form(n, analyzer.form(te.const(0)), None)
    assert analyzer.prove((n + 7) // 8 * 8 >= n)
    assert analyzer.prove(n // 8 * 8 <= n)
    assert analyzer.prove(n // 8 <= (n + 7) // 8)
    assert analyzer.prove((n + 15) // 8 - n // 8 <= 2)
    assert not analyzer.prove((n + 6) // 8 * 8 >= n)
    assert not analyzer.prove(n // 8 * 8 + 6 >= n)
    assert not analyzer.prove((n + 15) // 8 - n // 8 >= 2)
    m = te.var("m")
    assert str(analyzer.simplify(i // m * m * 3 + i % m * 3)) == "i * 3"
    assert str(analyzer.simplify(i // m * n + i % m)) == "i // m * n + i % m"
