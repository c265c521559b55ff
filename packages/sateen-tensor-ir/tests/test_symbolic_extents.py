"""Schedules of symbolic extents: no condition that always holds, no gather where elements are adjacent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sateen.tensor_ir import build, lower, te
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.ir import Const, Var, substitute

Array = np.ndarray[Any, Any]
SIZES = [(1, 1), (3, 5), (8, 16), (9, 17), (0, 4), (40, 3), (4, 0)]


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


def test_a_stage_at_a_fused_loop_computes_one_element() -> None:
    a, b, c = chain()
    s = te.create_schedule(c)
    s[b].compute_at(s[c], s[c].fuse(*c.op.axis))
    assert body(s, a, c).splitlines() == [
        "for i_j in [0, n * m):",
        "  allocate b: float32[1, 1]",
        "  b[0, 0] = a[i_j // m, i_j % m] * 2.0f",
        "  c[i_j // m, i_j % m] = b[0, 0] + 1.0f",
    ]


def test_a_stage_at_a_block_of_a_fused_loop_computes_the_rows_that_it_touches() -> None:
    a, b, c = chain()
    s = te.create_schedule(c)
    s[b].compute_at(s[c], s[c].split(s[c].fuse(*c.op.axis), factor=8)[0])
    assert body(s, a, c).splitlines()[:4] == [
        "for i_jo in [0, (n * m + 7) // 8):",
        "  allocate b: float32[(m + 6) // m + 1, m]",
        "  for i in [0, min((m + 6) // m + 1, n - i_jo * 8 // m)):",
        "    for j in [0, m):",
    ]


def test_a_stage_at_fused_tiles_computes_a_tile() -> None:
    a, b, c = chain()
    s = te.create_schedule(c)
    yo, xo, _, xi = s[c].tile(*c.op.axis, 4, 8)
    tiles = s[c].fuse(yo, xo)
    s[c].parallel(tiles)
    s[c].vectorize(xi)
    s[b].compute_at(s[c], tiles)
    assert body(s, a, c).splitlines()[:4] == [
        "parallel io_jo in [0, (n + 3) // 4 * ((m + 7) // 8)):",
        "  allocate b: float32[4, 8]",
        "  for i in [0, min(4, n - io_jo // ((m + 7) // 8) * 4)):",
        "    for j in [0, min(8, m - io_jo % ((m + 7) // 8) * 8)):",
    ]


@pytest.mark.parametrize("tail", ["guard", "partition"])
def test_rows_that_tiles_share_are_computed_in_memory_of_their_own(tail: str) -> None:
    n, m = te.var("n"), te.var("m")
    a = te.placeholder((n, m), name="a")
    b = te.compute((n, m), lambda i, j: a[i, j] * 2.0, name="b")
    c = te.compute((n - 2, m), lambda i, j: b[i, j] + b[i + 2, j], name="c")
    s = te.create_schedule(c)
    rows, _ = s[c].split(c.op.axis[0], factor=4, tail=tail)
    s[c].parallel(rows)
    s[b].compute_at(s[c], rows)
    function = lower(s, [a, c])
    assert tail == "guard" or "for i in [0, 6):" in str(function)
    for size in [(2, 3), (3, 5), (6, 1), (9, 17), (40, 3)]:
        x = np.random.default_rng(0).standard_normal(size).astype("float32")
        for execute in (lambda *arrays: run(function, arrays), build(s, [a, c])):
            found = np.zeros((size[0] - 2, size[1]), "float32")
            execute(x, found)
            np.testing.assert_array_equal(found, 2 * x[:-2] + 2 * x[2:])


def test_parts_of_a_number_start_at_zero_or_later() -> None:
    a, b, c = chain()
    s = te.create_schedule(c)
    s[b].compute_at(s[c], s[c].split(c.op.axis[0], nparts=4)[0])
    assert "  for i in [0, max(min((n + 3) // 4, n - io * ((n + 3) // 4)), 0)):" in body(s, a, c).splitlines()


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
    s.rfactor(c, s[c].split(k, factor=8)[1])
    assert "for ko in [0, (m - ki + 7) // 8):" in str(lower(s, [a, c]))
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


def test_what_is_known_of_quotients_by_symbols_holds() -> None:
    """Random comparisons: what the analyzer proves or refutes is so for all sizes, and a good part is decided."""
    n, m, i, j = te.var("n"), te.var("m"), te.var("i"), te.var("j")
    analyzer = Analyzer()
    for size in (n, m):
        analyzer.bind_form(size, analyzer.form(te.const(1)), None)
    analyzer.bind(i, 0, n * m)
    analyzer.bind(j, 0, 4)
    rng, decided = np.random.default_rng(0), 0
    atoms = [
        i // m,
        (i + 3) // m,
        i % m,
        i // (m + 2),
        (i * 4 + j) // m,
        i % (n * m),
        n * j,
        i // m * m,
        (n + 3) // 4 * 4,
        n,
        m,
        i,
        j,
    ]
    for _ in range(400):
        a, b = (
            int(x) * atoms[k] + int(y) * atoms[l] for x, y, k, l in rng.integers((-2, -2, 0, 0), (3, 3, 13, 13), (2, 4))
        )
        condition = te.const(0) + a <= b + int(rng.integers(-2, 3))
        found = analyzer.simplify(condition)
        if not isinstance(found, Const):
            continue
        decided += 1
        values = (
            evaluate_condition(condition, {n: p, m: q, i: r, j: t})
            for p in range(1, 4) for q in range(1, 4) for r in range(p * q) for t in range(4)
        )  # fmt: skip
        assert all(value == found.value for value in values), str(condition)
    assert decided > 60


def evaluate_condition(condition: te.Expr, values: dict[Var, int]) -> bool:
    result = substitute(condition, {v: te.const(value) for v, value in values.items()})
    assert isinstance(result, Const)
    return bool(result.value)
