"""Reductions across threads, executed thread by thread by the interpreter, which traps races and missing barriers."""

import re

import numpy as np
import pytest

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir import build_functions, te
from sateen.tensor_ir.interpret.loop_oracle import run
from sateen.tensor_ir.lowering import lower

BLOCK, THREAD_X, THREAD_Y = map(te.thread_axis, ("blockIdx.x", "threadIdx.x", "threadIdx.y"))


def execute(schedule, tensors, arrays):
    """Run a schedule by its host's program; returns its kernels."""
    program = build_functions([lower(schedule, tensors, "f")], "opencl").program
    run(program.host, arrays, kernels=program.kernels)
    return program.kernels


def row_sum(rows=3, columns=22, where=None):
    a = te.placeholder((rows, columns), name="A")
    k = te.reduce_axis(columns, "k")
    b = te.compute((rows,), lambda i: te.sum(a[i, k], axis=k, where=where and where(i, k)), name="B")
    return te.create_schedule(b), a, b, k


def inputs(rows=3, columns=22):
    a = np.random.default_rng(0).integers(-8, 8, (rows, columns)).astype("float32")
    return a, np.zeros(rows, "float32")


def test_the_steps_of_a_tree():
    s, a, b, k = row_sum(2, 6)
    s[b].bind(b.op.axis[0], BLOCK)
    s[b].bind(k, THREAD_X)
    assert str(lower(s, [a, b], "f")).splitlines() == [
        "function f(A: float32[2, 6] align 4, B: out float32[2] align 4)",
        "  thread blockIdx.x i in [0, 2):",
        "    allocate B.partial: shared float32[6]",
        "    thread threadIdx.x k in [0, 6):",
        "      allocate B.share: register float32[1]",
        "      B.share[0] = 0.0f",
        "      B.share[0] = B.share[0] + A[i, k]",
        "      B.partial[k] = B.share[0]",
        "    thread threadIdx.x t in [0, 6):",
        "      if t < 3:",
        "        B.partial[t] = B.partial[t] + B.partial[t + 3]",
        "    thread threadIdx.x t_1 in [0, 6):",
        "      if t_1 < 1:",
        "        B.partial[t_1] = B.partial[t_1] + B.partial[t_1 + 2]",
        "    thread threadIdx.x t_2 in [0, 6):",
        "      if t_2 < 1:",
        "        B.partial[t_2] = B.partial[t_2] + B.partial[t_2 + 1]",
        "    B[i] = B.partial[0]",
    ]


@pytest.mark.parametrize("threads", [1, 2, 5, 8, 22])
def test_any_number_of_threads(threads):
    s, a, b, k = row_sum()
    s[b].bind(b.op.axis[0], BLOCK)
    s[b].bind(s[b].split(k, threads)[1], THREAD_X)
    x, y = inputs()
    (kernel,) = execute(s, [a, b], [x, y])
    np.testing.assert_array_equal(y, x.sum(1))
    assert (kernel.block, kernel.shared_bytes) == ((threads, 1, 1), 4 * threads)


def test_threads_take_contiguous_parts():
    s, a, b, k = row_sum()
    s[b].bind(b.op.axis[0], BLOCK)
    s[b].bind(s[b].split(k, nparts=4)[0], THREAD_X)
    x, y = inputs()
    execute(s, [a, b], [x, y])
    np.testing.assert_array_equal(y, x.sum(1))


def test_rows_on_one_axis_and_terms_on_the_other():
    s, a, b, k = row_sum(5)
    block, row = s[b].split(b.op.axis[0], 3)
    s[b].bind(block, BLOCK)
    s[b].bind(row, THREAD_Y)
    s[b].bind(s[b].split(k, 4)[1], THREAD_X)
    x, y = inputs(5)
    (kernel,) = execute(s, [a, b], [x, y])
    np.testing.assert_array_equal(y, x.sum(1))
    assert (kernel.block, kernel.shared_bytes) == ((4, 3, 1), 48)


def test_absent_terms():
    s, a, b, k = row_sum(where=lambda i, k: k >= i * 8)
    s[b].bind(b.op.axis[0], BLOCK)
    s[b].bind(s[b].split(k, 4)[1], THREAD_X)
    x, y = inputs()
    execute(s, [a, b], [x, y])
    np.testing.assert_array_equal(y, [x[i, i * 8 :].sum() for i in range(3)])


def test_two_reduce_loops_on_two_axes():
    a = te.placeholder((6, 7), name="A")
    r, c = te.reduce_axis(6, "r"), te.reduce_axis(7, "c")
    b = te.compute((1,), lambda i: te.max(a[r, c], axis=[r, c]), name="B")
    s = te.create_schedule(b)
    s[b].bind(b.op.axis[0], BLOCK)
    s[b].bind(r, THREAD_Y)
    s[b].bind(s[b].split(c, 3)[1], THREAD_X)
    x, y = inputs(6, 7)[0], np.zeros(1, "float32")
    execute(s, [a, b], [x, y])
    assert y[0] == x.max()


def test_argmax_keeps_value_and_place_together():
    a = te.placeholder((3, 22), name="A")
    k = te.reduce_axis(22, "k")

    def better(left, right):
        take = (left[0] > right[0]) | (left[0].equal(right[0]) & (left[1] < right[1]))
        return te.select(take, left[0], right[0]), te.select(take, left[1], right[1])

    argmax = te.comm_reducer(better, lambda v, i: (te.min_value(v), te.max_value(i)), "argmax")
    values, places = te.compute((3,), lambda i: argmax((a[i, k], k), axis=k), name="B")
    s = te.create_schedule([values, places])
    s[values].bind(values.op.axis[0], BLOCK)
    s[values].bind(s[values].split(k, 8)[1], THREAD_X)
    x, best = inputs()
    place = np.zeros(3, "int64")
    execute(s, [a, values, places], [x, best, place])
    np.testing.assert_array_equal(best, x.max(1))
    np.testing.assert_array_equal(place, x.argmax(1))


def test_rfactor_computes_the_share_of_each_thread():
    s, a, b, k = row_sum()
    partial = s.rfactor(b, s[b].split(k, 8)[1])
    s[b].bind(b.op.axis[0], BLOCK)
    (last,) = s[b].op.reduce_axis
    s[b].bind(last, THREAD_X)
    s[partial].set_scope("local")
    s[partial].compute_at(s[b], last)
    x, y = inputs()
    (kernel,) = execute(s, [a, b], [x, y])
    np.testing.assert_array_equal(y, x.sum(1))
    assert kernel.block == (8, 1, 1)


@pytest.mark.parametrize("scope", ["shared", "local"])
def test_all_threads_use_the_result(scope):
    a = te.placeholder((3, 22), name="A")
    k = te.reduce_axis(22, "k")
    total = te.compute((3,), lambda i: te.sum(a[i, k], axis=k), name="total")
    b = te.compute((3, 22), lambda i, j: a[i, j] + total[i], name="B")
    s = te.create_schedule(b)
    row, column = b.op.axis
    outer, inner = s[b].split(column, 4)
    s[b].reorder(row, inner, outer)
    s[b].bind(row, BLOCK)
    s[b].bind(inner, THREAD_X)
    s[total].set_scope(scope)
    s[total].compute_at(s[b], row if scope == "shared" else inner)
    s[total].bind(s[total].split(k, 4)[1], THREAD_X)
    x, y = inputs()[0], np.zeros((3, 22), "float32")
    execute(s, [a, b], [x, y])
    np.testing.assert_array_equal(y, x + x.sum(1, keepdims=True))


# Errors.


def test_a_data_loop_inside_of_the_reduction_is_refused():
    s, a, b, k = row_sum()
    s[b].reorder(k, b.op.axis[0])
    s[b].bind(k, THREAD_X)
    message = "bind in stage 'B', axis 'k': a reduction across threads must be inside of loop i; reorder first"
    with pytest.raises(ScheduleError, match=re.escape(message)):
        lower(s, [a, b])


def test_a_symbolic_number_of_terms_is_refused():
    n = te.var("n")
    s, a, b, k = row_sum(2, n)
    s[b].bind(k, THREAD_X)
    message = "bind in stage 'B', axis 'k': a loop bound to threadIdx.x expects a constant extent, found n; split it"
    with pytest.raises(ScheduleError, match=re.escape(message)):
        lower(s, [a, b])


def test_a_result_that_depends_on_the_threads_that_reduce_it_is_refused():
    a = te.placeholder((8, 8), name="A")
    k = te.reduce_axis(8, "k")
    total = te.compute((8,), lambda i: te.sum(a[i, k], axis=k), name="total")
    b = te.compute((8,), lambda i: total[i] * 2.0, name="B")
    s = te.create_schedule(b)
    s[b].bind(b.op.axis[0], THREAD_X)
    s[total].set_scope("local")
    s[total].compute_at(s[b], b.op.axis[0])
    s[total].bind(k, THREAD_X)
    message = "bind in stage 'total': it depends on loop 'i', which is bound to the same threads as its reduction"
    with pytest.raises(ScheduleError, match=re.escape(message)):
        lower(s, [a, b])
