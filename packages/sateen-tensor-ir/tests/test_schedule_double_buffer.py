"""double_buffer: two parts of a stage, one of which is computed an iteration ahead."""

import re
from textwrap import dedent

import numpy as np
import pytest

from sateen.runtime import ScheduleError
from sateen.tensor_ir import build, explain, lower, te
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.lowering.insert_barriers import insert_barriers


class Chain:
    """B[i, j] = 2·A[i, j], C[i, j] = B[i, j] + 1, then D[i, j] = B[i, j]·C[i, j]."""

    def __init__(self, rows=7):
        self.A = te.placeholder((rows, 6), name="A")
        self.B = te.compute((rows, 6), lambda i, j: self.A[i, j] * 2.0, name="B")
        self.C = te.compute((rows, 6), lambda i, j: self.B[i, j] + 1.0, name="C")
        self.D = te.compute((rows, 6), lambda i, j: self.B[i, j] * self.C[i, j], name="D")
        self.s = te.create_schedule(self.D)
        self.b, self.c, self.d = self.s[self.B], self.s[self.C], self.s[self.D]
        self.i, self.j = self.D.op.axis

    def lower(self):
        return lower(self.s, [self.A, self.D])

    def is_right(self, rows=7):
        """Whether code and interpreter agree with the definition."""
        a = np.random.default_rng(0).integers(-4, 5, (rows, 6)).astype(np.float32)
        results = [np.zeros_like(a), np.zeros_like(a)]
        build(self.s, [self.A, self.D])(a, results[0])
        run(self.lower(), [a, results[1]])
        return all(np.array_equal(d, 2 * a * (2 * a + 1)) for d in results)


def refuses(message, call):
    with pytest.raises(ScheduleError, match=re.escape(message)):
        call()


def test_stages_of_one_loop_that_read_each_other_run_ahead_together():
    chain = Chain()
    for stage in (chain.b, chain.c):
        stage.compute_at(chain.d, chain.i)
    chain.c.double_buffer()
    refuses(
        "double_buffer of 'C': it reads 'B', which each iteration of loop 'i' of 'D' computes for itself; "
        "double_buffer 'B', too, or compute it elsewhere",
        chain.lower,
    )
    chain.b.double_buffer()
    assert (
        str(chain.lower().body)
        == dedent("""
        allocate B: float32[2, 1, 6]
        allocate C: float32[2, 1, 6]
        for j in [0, 6):
          B[0, 0, j] = A[0, j] * 2.0f
        for j_1 in [0, 6):
          C[0, 0, j_1] = B[0, 0, j_1] + 1.0f
        for i in [0, 7):
          if i + 1 < 7:
            for j_2 in [0, 6):
              B[(i + 1) % 2, 0, j_2] = A[i + 1, j_2] * 2.0f
            for j_3 in [0, 6):
              C[(i + 1) % 2, 0, j_3] = B[(i + 1) % 2, 0, j_3] + 1.0f
          for j_4 in [0, 6):
            D[i, j_4] = B[i % 2, 0, j_4] * C[i % 2, 0, j_4]
    """).strip()
    )
    assert chain.is_right()


def test_a_loop_without_iterations_has_no_first_part():
    m = te.var("m")
    chain = Chain(rows=m)
    io, _ = chain.d.split(chain.i, factor=4)
    for stage in (chain.b, chain.c):
        stage.compute_at(chain.d, io)
    chain.b.double_buffer()
    chain.b.storage_align(chain.B.op.axis[0], 4, 1)
    assert "allocate B: float32[2, 4, 6] strides [36, 9, 1]" in str(chain.lower())
    assert chain.is_right(rows=7)
    assert chain.is_right(rows=0)


def test_parts_in_registers_and_of_virtual_threads():
    chain = Chain(rows=8)
    v, i = chain.d.split(chain.i, nparts=2)
    chain.d.bind(v, te.thread_axis("vthread"))
    chain.c.compute_inline()
    chain.b.compute_at(chain.d, i)
    chain.b.double_buffer()
    chain.b.set_scope("register")
    for stage, axis in ((chain.d, i), (chain.d, chain.j), (chain.b, chain.B.op.axis[1])):
        stage.unroll(axis)
    assert "allocate B: register float32[2, 2, 1, 6]" in str(chain.lower())
    assert chain.is_right(rows=8)


def test_explain_tells_of_two_parts():
    chain = Chain()
    chain.c.compute_inline()
    chain.b.compute_at(chain.d, chain.i)
    chain.b.double_buffer()
    (report,) = (s for s in explain(chain.s, [chain.A, chain.D]).stages if s.name == "B")
    assert (report.scope, report.bytes) == ("global, double", 2 * 6 * 4)


def test_threads_wait_once_for_each_part_of_a_reduction():
    A, B = te.placeholder((8, 9), name="A"), te.placeholder((9, 8), name="B")
    k = te.reduce_axis(9, "k")
    C = te.compute((8, 8), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C)
    part = s.cache_write(C, "local")
    rows = s.cache_read(A, "shared", [part])
    block, thread = te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")
    s[C].bind(C.op.axis[0], block)
    s[C].bind(C.op.axis[1], thread)
    s[part].compute_at(s[C], C.op.axis[1])
    ko, _ = s[part].split(part.op.reduce_axis[0], factor=4)
    s[rows].compute_at(s[part], ko)
    s[rows].bind(rows.op.axis[1], thread)
    a, b = np.random.default_rng(0).integers(-4, 5, (2, 72)).astype(np.float32)
    for expected in (2, 1):
        f = lower(s, [A, B, C])
        threads = insert_barriers(f.body)
        assert str(threads).split("for ko")[1].count("barrier shared") == expected
        c = np.zeros((8, 8), np.float32)
        run(f, [a.reshape(8, 9), b.reshape(9, 8), c])
        assert np.array_equal(c, a.reshape(8, 9) @ b.reshape(9, 8))
        s[rows].double_buffer()


def test_what_has_no_next_part_is_refused():
    chain = Chain()
    refuses("double_buffer: 'D' is an output of the schedule", chain.d.double_buffer)
    refuses("double_buffer: 'A' is not computed, it is given", chain.s[chain.A].double_buffer)
    chain.c.compute_inline()
    refuses("double_buffer: 'C' is inlined, so it has no storage", chain.c.double_buffer)
    chain.b.double_buffer()
    refuses("compute_inline: 'B' is double-buffered, so it needs storage", chain.b.compute_inline)
    refuses("double_buffer of 'B': it is computed as a whole; compute_at a loop", chain.lower)
    chain.b.compute_at(chain.d, chain.i)
    chain.d.parallel(chain.i)
    refuses("double_buffer of 'B': the iterations of parallel loop 'i' of 'D' do not follow one another", chain.lower)


def test_a_step_of_a_scan_is_not_ahead_of_its_state():
    A = te.placeholder((5, 4), name="A")
    T = te.placeholder((5, 4), name="T")
    first = te.compute((1, 4), lambda t, j: A[0, j], name="first")
    half = te.compute((5, 4), lambda t, j: T[t - 1, j] * 0.5, name="half")
    rows = te.compute((5, 4), lambda t, j: A[t, j] * 2.0, name="rows")
    update = te.compute((5, 4), lambda t, j: half[t, j] + rows[t, j], name="update")
    S = te.scan(first, update, T, name="S")
    s = te.create_schedule(S)
    refuses("double_buffer: 'update' is an update of scan 'S'", s[update].double_buffer)
    s[rows].compute_at(s[S], S.op.scan_axis)
    s[rows].double_buffer()
    a, c = np.random.default_rng(0).integers(-4, 5, (5, 4)).astype(np.float32), np.zeros((5, 4), np.float32)
    build(s, [A, S])(a, c)
    expected = [a[0]]
    for t in range(1, 5):
        expected.append(expected[-1] * 0.5 + a[t] * 2)
    assert np.array_equal(c, np.stack(expected))
    s[half].double_buffer()
    refuses(
        "double_buffer of 'half': it reads 'T', the state of scan 'S', which a step ahead", lambda: lower(s, [A, S])
    )
