"""Region inference: what a stage computes at a loop, by the index that is read there (docs/design/regions.md)."""

import re
from textwrap import dedent

import pytest

from sateen.runtime import ScheduleError
from sateen.tensor_ir import lower, te

A = te.placeholder((64,), name="A")
B = te.compute((64,), lambda i: A[i] * 2.0, name="B")
INDICES = te.placeholder((32,), "int32", name="I")


def nest(function, extent=32, factor=4):
    """The lines of the nest of B where it is computed per tile of C[i] = function(i)."""
    C = te.compute((extent,), function, name="C")
    s = te.create_schedule(C)
    outer, _ = s[C].split(C.op.axis[0], factor)
    s[B].compute_at(s[C], outer)
    given = [t for t in (A, INDICES) if t in {x for stage in s.stages for x in stage.outputs}]
    lines = [line.strip() for line in str(lower(s, [*given, C]).body).splitlines()]
    return lines[1 : next(n for n, line in enumerate(lines) if line.startswith("for ii"))]


def text(block):
    return dedent(block).strip()


REGIONS = {
    "a shift moves the base": (lambda i: B[i + 10], 4, "A[io * 4 + i + 10]"),
    "a stride spreads the region": (lambda i: B[i * 2], 7, "A[io * 8 + i]"),
    "a negative stride swaps its ends": (lambda i: B[63 - i], 4, "A[i - io * 4 + 60]"),
    "a quotient of aligned tiles": (lambda i: B[i // 2], 2, "A[io * 2 + i]"),
    "a quotient whose tiles straddle": (lambda i: B[i // 3], 2, "A[io + io // 3 + i]"),
    "a remainder of tiles within a period": (lambda i: B[i % 8], 4, "A[io % 2 * 4 + i]"),
    "a remainder of tiles across periods": (lambda i: B[i % 6], 6, "A[i]"),
    "two reads are united": (lambda i: B[i] + B[i + 10], 14, "A[io * 4 + i]"),
    "a minimum": (lambda i: B[te.minimum(i, 20)], 21, "A[min(io * 4, 20) + i]"),
    "a maximum": (lambda i: B[te.maximum(i, 5)], 27, "A[max(io * 4, 5) + i]"),
    "loaded data: the whole dimension": (lambda i: B[INDICES[i]], 64, "A[i]"),
}


@pytest.mark.parametrize("case", REGIONS)
def test_the_region_covers_the_index_over_the_loops_inside(case):
    function, extent, source = REGIONS[case]
    assert nest(function) == [
        f"allocate B: float32[{extent}]",
        f"for i in [0, {extent}):",
        f"B[i] = {source} * 2.0f",
    ]


def test_a_quotient_that_a_tile_shares_is_one_element():
    assert nest(lambda i: B[i // 8]) == ["allocate B: float32[1]", "B[0] = A[io // 2] * 2.0f"]


def test_what_sticks_out_of_the_tensor_is_not_computed():
    assert nest(lambda i: B[i + 30], extent=34, factor=8) == [
        "allocate B: float32[8]",
        "for i in [0, min(8, io * -8 + 34)):",
        "B[i] = A[io * 8 + i + 30] * 2.0f",
    ]


class Grid:
    """H[i, j] = 2·G[i, j], then K[i, j] = H[i, j] + 1, whose loops are fused and split by `factor`."""

    def __init__(self, factor):
        G = te.placeholder((4, 6), name="G")
        H = te.compute((4, 6), lambda i, j: G[i, j] * 2.0, name="H")
        K = te.compute((4, 6), lambda i, j: H[i, j] + 1.0, name="K")
        s = te.create_schedule(K)
        outer, _ = s[K].split(s[K].fuse(*K.op.axis), factor)
        s[H].compute_at(s[K], outer)
        self.loops = str(lower(s, [G, K]).body)


def test_a_block_of_a_fused_axis_that_divides_the_row_passes_exactly():
    assert "allocate H: float32[1, 3]" in Grid(3).loops
    assert "allocate H: float32[2, 6]" in Grid(12).loops


def test_a_block_of_a_fused_axis_that_straddles_rows_takes_both():
    assert "allocate H: float32[2, 6]" in Grid(4).loops


def test_threads_share_what_is_wider_than_their_own_scope():
    C = te.compute((32,), lambda i: B[i] + 1.0, name="C")
    for scope, extent in (("local", 1), ("shared", 8)):
        s = te.create_schedule(C)
        block, thread = s[C].split(C.op.axis[0], 8)
        s[C].bind(block, te.thread_axis("blockIdx.x"))
        s[C].bind(thread, te.thread_axis("threadIdx.x"))
        s[B].set_scope(scope)
        s[B].compute_at(s[C], thread)
        assert f"allocate B: {scope} float32[{extent}]" in str(lower(s, [A, C]).body)


def test_symbolic_extents_keep_the_tile_constant():
    n = te.var("n")
    P = te.placeholder((n,), name="P")
    Q = te.compute((n,), lambda i: P[i] * 2.0, name="Q")
    R = te.compute((n,), lambda i: Q[i] + 1.0, name="R")
    s = te.create_schedule(R)
    outer, _ = s[R].split(R.op.axis[0], 4)
    s[Q].compute_at(s[R], outer)
    assert str(lower(s, [P, R]).body) == text("""
        for io in [0, (n + 3) // 4):
          allocate Q: float32[4]
          for i in [0, min(4, n - io * 4)):
            Q[i] = P[io * 4 + i] * 2.0f
          for ii in [0, min(4, n - io * 4)):
            R[io * 4 + ii] = Q[ii] + 1.0f
    """)


def test_storage_that_grows_from_iteration_to_iteration_is_refused():
    n = te.var("n")
    P = te.placeholder((n, n), name="P")
    Q = te.compute((n, n), lambda i, j: P[i, j] * 2.0, name="Q")
    r = te.reduce_axis(n, "r")
    R = te.compute((n,), lambda i: te.sum(Q[i, r], axis=r), name="R")
    s = te.create_schedule(R)
    fused = s[R].fuse(*s[R].split(R.op.axis[0], 4))
    s[Q].compute_at(s[R], fused)
    assert "allocate Q: float32[1, n]" in str(lower(s, [P, R]).body)
    S = te.compute((n,), lambda i: Q[i // 2, i % 2 * i] + Q[i, 0], name="S")
    s = te.create_schedule(S)
    s[Q].compute_at(s[S], S.op.axis[0])
    with pytest.raises(ScheduleError, match=re.escape("compute_at: two reads are at positions whose distance")):
        lower(s, [P, S])
