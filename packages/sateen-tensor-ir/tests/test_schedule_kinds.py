"""Primitives that say how a loop runs: vectorize, unroll, parallel, bind, pragma, prefetch."""

import re
from textwrap import dedent

import pytest

from sateen.runtime import ScheduleError
from sateen.runtime.errors import CodegenError
from sateen.tensor_ir import build_functions, lower, te


class Chain:
    """B[i, j] = 2·A[i, j], then C[i, j] = B[i, j] + 1."""

    def __init__(self, rows=4, columns=6):
        self.A = te.placeholder((rows, columns), name="A")
        self.B = te.compute(self.A.shape, lambda i, j: self.A[i, j] * 2.0, name="B")
        self.C = te.compute(self.A.shape, lambda i, j: self.B[i, j] + 1.0, name="C")
        self.s = te.create_schedule(self.C)
        self.b, self.c = self.s[self.B], self.s[self.C]
        self.i, self.j = self.C.op.axis

    def loops(self):
        return str(lower(self.s, [self.A, self.C]).body)


def fused_chain(**extents):
    """The chain as one nest."""
    chain = Chain(**extents)
    chain.b.compute_inline()
    return chain


def text(block):
    return dedent(block).strip()


def refuses(message, call, error=ScheduleError):
    with pytest.raises(error, match=re.escape(message)):
        call()


def row_sums():
    A, k = te.placeholder((4, 6), name="A"), te.reduce_axis(6, "k")
    S = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="S")
    s = te.create_schedule(S)
    return A, S, s, s[S], k


def test_vectorize_and_parallel_mark_their_loops():
    chain = fused_chain()
    chain.c.parallel(chain.i)
    chain.c.vectorize(chain.j)
    assert chain.loops() == text("""
        parallel i in [0, 4):
          vectorized j in [0, 6):
            C[i, j] = A[i, j] * 2.0f + 1.0f
    """)


def test_a_vectorized_loop_outside_a_sum_initialises_in_lanes_too():
    A, S, s, stage, _ = row_sums()
    stage.vectorize(S.op.axis[0])
    assert str(lower(s, [A, S]).body) == text("""
        vectorized i in [0, 4):
          S[i] = 0.0f
          for k in [0, 6):
            S[i] = S[i] + A[i, k]
    """)


def test_unroll_marks_its_loop():
    chain = fused_chain()
    chain.c.unroll(chain.j)
    assert chain.loops() == text("""
        for i in [0, 4):
          unrolled j in [0, 6):
            C[i, j] = A[i, j] * 2.0f + 1.0f
    """)


def test_a_loop_of_one_iteration_is_none():
    chain = fused_chain(columns=1)
    chain.c.vectorize(chain.j)
    assert chain.loops() == text("""
        for i in [0, 4):
          C[i, 0] = A[i, 0] * 2.0f + 1.0f
    """)


def test_bind_names_the_hardware_axis():
    chain = fused_chain()
    chain.c.bind(chain.i, te.thread_axis("blockIdx.x"))
    chain.c.bind(chain.j, te.thread_axis("threadIdx.x"))
    assert chain.loops() == text("""
        thread blockIdx.x i in [0, 4):
          thread threadIdx.x j in [0, 6):
            C[i, j] = A[i, j] * 2.0f + 1.0f
    """)


def test_the_pragma_partition_cuts_a_loop_where_its_conditions_change():
    A = te.placeholder((8,), name="A")
    B = te.compute((10,), lambda i: te.select(te.all(i >= 1, i < 9), A[i - 1], 0.0), name="B")
    s = te.create_schedule(B)
    s[B].pragma(B.op.axis[0], "partition")
    assert str(lower(s, [A, B]).body) == text("""
        B[0] = 0.0f
        for i in [1, 9):
          B[i] = A[i - 1]
        B[9] = 0.0f
    """)


def test_prefetch_reads_the_first_element_of_an_iteration_to_come():
    chain = Chain()
    outer, _ = chain.c.split(chain.i, 2)
    chain.c.prefetch(chain.B, outer, 3)
    assert chain.loops() == text("""
        allocate B: float32[4, 6]
        for i in [0, 4):
          for j in [0, 6):
            B[i, j] = A[i, j] * 2.0f
        for io in [0, 2):
          prefetch B[io * 2 + 6, 0]
          for ii in [0, 2):
            for j_1 in [0, 6):
              C[io * 2 + ii, j_1] = B[io * 2 + ii, j_1] + 1.0f
    """)


def test_prefetch_is_no_part_of_what_initialises_a_sum():
    A, k = te.placeholder((4, 6), name="A"), te.reduce_axis(6, "k")
    S = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="S")
    s = te.create_schedule(S)
    s[S].reorder(k, S.op.axis[0])
    s[S].prefetch(A, S.op.axis[0])
    assert str(lower(s, [A, S]).body) == text("""
        for i in [0, 4):
          S[i] = 0.0f
        for k in [0, 6):
          for i_1 in [0, 4):
            prefetch A[i_1 + 1, k]
            S[i_1] = S[i_1] + A[i_1, k]
    """)


def test_loop_kinds_that_would_race_or_have_no_count_are_refused():
    *_, stage, k = row_sums()
    n = te.var("n")
    symbolic = fused_chain(rows=n)
    where = "in stage 'S', axis 'k': it is a reduction, "
    refuses(f"vectorize {where}its lanes would race for the result; rfactor it first", lambda: stage.vectorize(k))
    refuses(f"parallel {where}its threads would race for the result; rfactor it first", lambda: stage.parallel(k))
    where = "in stage 'C', axis 'i': expects a constant extent, found n; split it first"
    refuses(f"vectorize {where}", lambda: symbolic.c.vectorize(symbolic.i))
    refuses(f"unroll {where}", lambda: symbolic.c.unroll(symbolic.i))


def test_one_loop_of_a_stage_is_vectorized():
    chain = Chain()
    chain.c.vectorize(chain.j)
    chain.c.vectorize(chain.j)
    refuses(
        "vectorize in stage 'C', axis 'i': loop 'j' is vectorized already; one loop of a stage is",
        lambda: chain.c.vectorize(chain.i),
    )


def test_bind_refusals():
    chain = Chain()
    *_, stage, k = row_sums()
    refuses("thread_axis expects one of blockIdx.x", lambda: te.thread_axis("lane"))
    chain.c.bind(chain.i, te.thread_axis("threadIdx.x"))
    refuses(
        "bind in stage 'C', axis 'j': another loop of the stage is already bound to threadIdx.x",
        lambda: chain.c.bind(chain.j, te.thread_axis("threadIdx.x")),
    )
    refuses(
        "bind in stage 'S', axis 'k': a reduction is combined across threadIdx only, found blockIdx.x",
        lambda: stage.bind(k, te.thread_axis("blockIdx.x")),
    )


def test_a_thread_axis_may_say_how_many_iterations_its_loop_has():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="B")

    def bound(blocks, threads):
        s = te.create_schedule(b)
        block, thread = s[b].split(b.op.axis[0], 8)
        s[b].bind(block, te.thread_axis(blocks, "blockIdx.x"))
        s[b].bind(thread, te.thread_axis(threads, "threadIdx.x", name="tx"))
        return lower(s, [a, b])

    assert str(bound((0, (n + 7) // 8), (0, 8))) == str(bound(None, 8))
    refuses(
        "bind in stage 'B', axis 'ii': thread axis 'tx' (threadIdx.x) expects 16 iterations, found 8; split by that",
        lambda: bound(None, 16),
    )
    refuses("bind in stage 'B', axis 'io': thread axis blockIdx.x expects n iterations", lambda: bound(n, 8))
    refuses("thread_axis threadIdx.x expects a domain (0, extent), found (1, 8)", lambda: bound(None, (1, 8)))
    for extent in (0, -4):
        expected = f"thread_axis threadIdx.x expects an extent of at least 1, found {extent}"
        refuses(expected, lambda extent=extent: bound(None, (0, extent)))
    refuses("thread_axis threadIdx.x expects an integer extent, found 2.5", lambda: bound(None, 2.5))


def test_the_extent_of_a_thread_axis_is_that_of_the_part_which_is_computed_there():
    a = te.placeholder((32, 8), name="A")
    b = te.compute((32, 8), lambda i, j: a[i, j] + 1.0, name="B")
    s = te.create_schedule(b)
    copy = s.cache_read(a, "shared", [b])
    block, row = s[b].split(b.op.axis[0], 4)
    s[b].bind(block, te.thread_axis("blockIdx.x"))
    rows = te.thread_axis((0, 4), "threadIdx.x")
    s[b].bind(row, rows)
    s[copy].compute_at(s[b], block)
    s[copy].bind(copy.op.axis[0], rows)
    assert "thread threadIdx.x ax0 in [0, 4)" in str(lower(s, [a, b]))


def test_prefetch_refusals():
    chain = Chain()
    where = "prefetch in stage 'C', axis 'i': "
    refuses(where + "'C' does not read 'A'", lambda: chain.c.prefetch(chain.A, chain.i))
    message = "expects an integer of at least 1 as distance, found 0"
    refuses(where + message, lambda: chain.c.prefetch(chain.B, chain.i, 0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda chain: chain.b.compute_at(chain.c, chain.j),
            "'B' is computed inside that loop, at 'j', so there is nothing to read ahead",
        ),
        (lambda chain: chain.b.set_scope("register"), "'B' is in registers, which are not read ahead"),
        (
            lambda chain: chain.c.split(chain.i, 2),
            "it is no loop of the stage any more; call prefetch after split, fuse and reorder",
        ),
    ],
)
def test_a_prefetch_that_later_primitives_make_void_is_refused(change, message):
    chain = Chain()
    chain.c.prefetch(chain.B, chain.i)
    change(chain)
    refuses(f"prefetch in stage 'C', axis 'i': {message}", chain.loops)


def test_a_parallel_loop_inside_lanes_is_refused():
    for rows in (4, 1):
        chain = fused_chain(rows=rows)
        chain.c.vectorize(chain.i)
        chain.c.parallel(chain.j)
        if rows == 1:  # a loop of one iteration is none
            assert chain.loops().startswith("parallel j")
        else:
            refuses(
                "parallel in stage 'C', axis 'j': it is inside the vectorized loop 'i', whose lanes start no threads; "
                "reorder 'j' before 'i'",
                chain.loops,
            )


def test_hardware_threads_are_refused_by_a_target_that_has_none():
    chain = fused_chain()
    chain.c.bind(chain.i, te.thread_axis("threadIdx.x"))
    refuses(
        "loop 'i' is bound to threadIdx.x; processors have no such threads: build for a device, such as opencl, or "
        "call parallel or vectorize instead of bind",
        lambda: build_functions([lower(chain.s, [chain.A, chain.C])]),
        CodegenError,
    )


KINDS = {
    "vectorize": ("vectorized", lambda stage, axis: stage.vectorize(axis)),
    "unroll": ("unrolled", lambda stage, axis: stage.unroll(axis)),
    "parallel": ("parallel", lambda stage, axis: stage.parallel(axis)),
    "bind": ("bound to threadIdx.x", lambda stage, axis: stage.bind(axis, te.thread_axis("threadIdx.x"))),
}


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_a_loop_runs_in_one_way(first, second):
    chain = fused_chain()
    KINDS[first][1](chain.c, chain.j)
    if first == second != "bind":
        KINDS[second][1](chain.c, chain.j)
        return
    message = f"{second} in stage 'C', axis 'j': the loop is {KINDS[first][0]} already; call split before both and"
    if first == second:
        message = "bind in stage 'C', axis 'j': another loop of the stage is already bound to threadIdx.x"
    refuses(message, lambda: KINDS[second][1](chain.c, chain.j))
    other = te.thread_axis("blockIdx.y")
    if first == "bind":
        refuses("the loop is bound to threadIdx.x already", lambda: chain.c.bind(chain.j, other))


@pytest.mark.parametrize("kind", [*KINDS, "vthread", "keep"])
def test_a_loop_that_runs_in_some_way_is_not_replaced(kind):
    mark = {
        "vthread": ("bound to vthread", lambda stage, axis: stage.bind(axis, te.thread_axis("vthread"))),
        "keep": ("marked by pragma keep", lambda stage, axis: stage.pragma(axis, "keep")),
    }
    now, run = {**KINDS, **mark}[kind]
    chain = fused_chain()
    run(chain.c, chain.j)
    before = repr(chain.c)
    there = f"the loop is {now} already, and those in its place would not be; call"
    refuses(f"split in stage 'C', axis 'j': {there} split first", lambda: chain.c.split(chain.j, 2))
    refuses(f"split in stage 'C', axis 'j': {there} split first", lambda: chain.c.tile(chain.i, chain.j, 2, 2))
    refuses(f"fuse in stage 'C', axis 'j': {there} fuse first", lambda: chain.c.fuse(chain.i, chain.j))
    assert chain.c.fuse(chain.j) is chain.j
    assert repr(chain.c) == before


def test_marked_reduce_loops_are_not_replaced():
    A, k = te.placeholder((4, 8), name="A"), te.reduce_axis(8, "k")
    R = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="R")
    s = te.create_schedule(R)
    s[R].unroll(k)
    there = "the loop is unrolled already, and those in its place would not be; call"
    refuses(f"cache_write of 'R', axis 'k': {there} cache_write first", lambda: s.cache_write(R, "local"))
    refuses(f"rfactor of 'R', axis 'k': {there} rfactor first", lambda: s.rfactor(R, k))


def test_an_axis_from_before_an_rfactor_is_told_from_the_new_one():
    A, k = te.placeholder((4, 8), name="A"), te.reduce_axis(8, "k")
    R = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="R")
    s = te.create_schedule(R)
    ko, ki = s[R].split(k, 2)
    RF = s.rfactor(R, ki)
    end = "'ko': it is no loop of this stage, whose loops are ki, i, ko; that one is another axis: rfactor"
    refuses(f"reorder in stage 'R.rf', axis {end}", lambda: s[RF].reorder(ko, RF.op.axis[0]))
    refuses(f"split in stage 'R.rf', axis {end}", lambda: s[RF].split(ko, 2))


def test_lanes_are_not_partitioned():
    chain = fused_chain()
    chain.c.pragma(chain.j, "partition")
    message = "vectorize in stage 'C', axis 'j': it is partitioned, and lanes can't be"
    refuses(message, lambda: chain.c.vectorize(chain.j))
    chain = fused_chain()
    chain.c.vectorize(chain.j)
    refuses(
        "pragma in stage 'C', axis 'j': it is vectorized, and lanes can't be partitioned",
        lambda: chain.c.pragma(chain.j, "partition"),
    )


def test_a_place_that_is_data_is_not_prefetched():
    P, A = te.placeholder((5,), "int32", name="P"), te.placeholder((9,), name="A")
    C = te.compute((5,), lambda i: A[P[i]], name="C")
    s = te.create_schedule(C)
    s[C].prefetch(A, C.op.axis[0], 2)
    message = "prefetch in stage 'C', axis 'i': where it reads 'A' is data, which may not exist that far ahead"
    with pytest.raises(ScheduleError, match=message):
        lower(s, [P, A, C])
