"""The candidates of resizes and adaptive pools, and what their estimate says."""

import pytest

from sateen.runtime import DType
from sateen.tensor_ir import Machine
from sateen.topi.computations.pass_methods import Pass, Passes, PassShapes, pass_candidates, rows_at_once

AVX512 = Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4")


def shapes(before=56, after=112, *, channels=64, axes=(2, 3), dtype="float32"):
    passes = tuple(Pass(axis, after, 2) for axis in axes)
    return PassShapes((1, channels, before, before), DType.of(dtype), passes, is_maximum=False)


def methods(shapes):
    return [c.method for c in pass_candidates(shapes, AVX512)]


def test_long_rows_are_kept_alone_and_short_ones_together():
    assert methods(shapes(112, 224))[0] == Passes(112)
    assert methods(shapes(14, 28))[0].vectors > 14


def test_rows_without_blocks_are_counted_in_vectors_along_them():
    assert min(m.vectors for m in methods(shapes(channels=3))) == 4  # 56 columns
    assert min(m.vectors for m in methods(shapes(channels=3, axes=(3, 2)))) == 56 * 7  # planes of 56 rows


def test_rows_leave_no_rest_if_that_takes_no_more_than_half_of_them():
    def rows(extent, vectors):
        return rows_at_once((1, extent, 20, 16), 2, vectors * 20, 16)

    assert [rows(95, n) for n in (1, 2, 8, 64, 200)] == [1, 1, 5, 48, 95]
    assert [rows(56, n) for n in (1, 2, 8, 10, 30)] == [1, 2, 8, 8, 28]


@pytest.mark.parametrize("after", [9, 33, 39, 49, 112])
def test_each_candidate_keeps_another_number_of_rows(after):
    kept = (1, 4, after, 56, 16)
    rows = [rows_at_once(kept, 3, m.vectors, 16) for m in methods(shapes(after=after))]
    assert 1 in rows
    assert len(set(rows)) == len(rows) >= 4


def test_what_is_kept_beyond_the_first_cache_costs_more():
    cost = {c.method.vectors: c.cycles for c in pass_candidates(shapes(112, 224), AVX512)}
    few, many = 2 * 112, max(cost)
    assert many * AVX512.vector_bytes > AVX512.l1_bytes
    assert cost[few] < cost[many]


def test_others_have_no_methods():
    given = [shapes(axes=(3,)), shapes(axes=()), shapes(axes=(1, 0)), shapes(dtype="float16"), shapes(before=0)]
    assert all(pass_candidates(s, AVX512) == [] for s in given)
    assert pass_candidates(shapes(), Machine.of("opencl")) == []
    assert pass_candidates(shapes(), Machine.of("c")) == []
