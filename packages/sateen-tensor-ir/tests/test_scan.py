"""Scans: states over time, their steps scheduled like any stages, and what a step may not read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from sateen.runtime.errors import ExecutionError, ExpressionError, ScheduleError
from sateen.tensor_ir import build, explain, lower, te
from sateen.tensor_ir.interpret import evaluate, run
from sateen.tensor_ir.te.tensor import Tensor

Array = np.ndarray[Any, Any]


def running_sum(rows: Any = 5, columns: Any = 7) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """x, the state, its first row, the update, and the sum of the rows of x up to each."""
    x = te.placeholder((rows, columns), name="x")
    state = te.placeholder((rows, columns), name="state")
    first = te.compute((1, columns), lambda _, i: x[0, i], name="first")
    update = te.compute((rows, columns), lambda t, i: state[t - 1, i] + x[t, i], name="update")
    return x, state, first, update, te.scan(first, update, state, inputs=[x], name="total")


def random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def agrees(s: te.Schedule, arguments: Sequence[Tensor], given: Mapping[Tensor, Array]) -> str:
    """The loops of a schedule, after interpreter and machine code have given what the definition gives."""
    function = lower(s, arguments)
    wanted = evaluate([a for a in arguments if a not in given], given)
    for execute in (lambda *arrays: run(function, arrays), build(s, arguments)):
        results = [np.zeros(w.shape, t.dtype.numpy) for t, w in zip(arguments[len(given) :], wanted, strict=True)]
        execute(*given.values(), *results)
        for found, expected in zip(results, wanted, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    return str(function.body)


def refused(kind: type[Exception], message: str, use: Callable[[], object]) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        use()


def test_each_step_is_stored_in_the_result_and_read_from_it() -> None:
    m, n = te.var("m"), te.var("n")
    x, *_, total = running_sum(m, n)
    a = random(5, 7)
    assert agrees(te.create_schedule(total), [x, total], {x: a}).splitlines() == [
        "if 0 < m:",
        "  for i in [0, n):",
        "    total[0, i] = x[0, i]",
        "for t in [0, m - 1):",
        "  for i_1 in [0, n):",
        "    total[t + 1, i_1] = total[t, i_1] + x[t + 1, i_1]",
    ]
    np.testing.assert_allclose(evaluate([total], {x: a})[0], np.cumsum(a.astype("float64"), 0))
    build(te.create_schedule(total), [x, total])(a[:0], a[:0].copy())  # no rows: nothing is stored
    x, *_, total = running_sum(1)
    assert "total[t" not in agrees(te.create_schedule(total), [x, total], {x: a[:1]})  # no steps


def test_the_loops_of_a_step_are_scheduled_as_any() -> None:
    x, state, first, update, total = running_sum(6, 20)
    y = te.compute((6, 20), lambda t, i: total[t, i] * 2.0, name="y")
    s = te.create_schedule(y)
    before = s.cache_read(state, "local", [update])
    cached = s.cache_write(update, "local")
    io, ii = s[update].split(update.op.axis[1], factor=8)
    s[update].vectorize(ii)
    s[update].parallel(io)
    s[cached].compute_at(s[update], io)
    s[first].vectorize(s[first].split(first.op.axis[1], factor=4)[1])
    s[before].compute_at(s[y], y.op.axis[0])
    refused(ScheduleError, "'update.local' reads 'state.local', but is not computed inside", lambda: lower(s, [x, y]))
    s[before].compute_root()
    text = agrees(s, [x, y], {x: random(6, 20)})
    assert "for t in [0, 5):\n  allocate state.local: local float32[1, 20]" in text
    assert "parallel io_1 in [0, 3):\n    allocate update.local: local float32[1, 8]" in text
    assert re.search(r"total +at root +global +\[6, 20\] +480 +t:5", str(explain(s, [x, y])))


def fibonacci_like() -> tuple[list[Tensor], Tensor]:
    """Two initial rows; two stages between the state and the update, one of them a reduction."""
    m, n = 7, 4
    w = te.placeholder((n, n), name="w")
    start = te.placeholder((2, n), name="start")
    state = te.placeholder((m, n), name="state")
    k = te.reduce_axis(n, "k")
    mixed = te.compute((m, n), lambda t, i: te.sum(w[i, k] * state[t - 1, k], axis=k), name="mixed")
    halved = te.compute((m, n), lambda t, i: mixed[t, i] * 0.5, name="halved")
    update = te.compute((m, n), lambda t, i: halved[t, i] + state[t - 2, i], name="update")
    return [w, start, mixed, halved, update], te.scan(start, update, state, name="f")


def test_steps_of_several_stages_read_rows_further_back() -> None:
    (w, start, mixed, halved, update), f = fibonacci_like()
    given = {w: random(4, 4), start: random(2, 4)}
    s = te.create_schedule(f)
    text = agrees(s, [w, start, f], given)
    assert "f[i0, i1] = start[i0, i1]" in text
    assert "for t in [0, 5):\n  allocate mixed: float32[1, 4]\n  allocate halved: float32[1, 4]\n" in text
    s[halved].compute_inline()
    s[mixed].compute_at(s[update], update.op.axis[1])
    assert "allocate mixed: float32[1, 1]" in agrees(s, [w, start, f], given)
    s = te.create_schedule(f)
    s.rfactor(mixed, s[mixed].split(mixed.op.reduce_axis[0], factor=2)[1])
    assert "allocate mixed.rf: float32[2, 1, 4]" in agrees(s, [w, start, f], given)


BLOCK, THREAD = te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")


def recurrent(bound: te.ThreadAxis) -> tuple[te.Schedule, list[Tensor]]:
    """Each element of a step is the sum of a row of w times the step before; one kernel for all steps."""
    w, x, state = (te.placeholder(shape, name=name) for shape, name in (((8, 8), "w"), ((6, 8), "x"), ((6, 8), "h")))
    k = te.reduce_axis(8, "k")
    first = te.compute((1, 8), lambda _, i: x[0, i], name="first")
    mixed = te.compute((6, 8), lambda t, i: te.sum(w[i, k] * state[t - 1, k], axis=k), name="mixed")
    update = te.compute((6, 8), lambda t, i: mixed[t, i] * 0.25 + x[t, i], name="update")
    h = te.scan(first, update, state, name="H")
    s = te.create_schedule(h)
    s[h].env_threads([bound])
    s[first].bind(first.op.axis[1], THREAD)
    s[update].bind(update.op.axis[1], bound)
    s[mixed].compute_at(s[update], update.op.axis[1])
    return s, [w, x, h]


def test_threads_that_stay_from_step_to_step_wait_for_what_others_compute(launch: Any) -> None:
    s, (w, x, h) = recurrent(THREAD)
    function = lower(s, [w, x, h])
    assert "thread blockIdx.x block_x in [0, 1):\n  for t in [0, 5):\n    thread threadIdx.x" in str(function.body)
    given = {w: random(8, 8), x: random(6, 8)}
    interpreted, found = (np.zeros((6, 8), "float32") for _ in range(2))
    run(function, [*given.values(), interpreted])
    compiled = launch(function, *given.values(), found)
    assert compiled.source.count("barrier(CLK_GLOBAL_MEM_FENCE)") == 1
    wanted = evaluate([h], given)[0]
    np.testing.assert_allclose(interpreted, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_blocks_that_stay_from_step_to_step_compute_their_own_part(launch: Any) -> None:
    x, _, first, update, total = running_sum(5, 10)
    s = te.create_schedule(total)
    s[total].env_threads((BLOCK, THREAD))
    for stage in (s[first], s[update]):
        io, ii = stage.split(stage.leaves[1], factor=4)
        stage.bind(io, BLOCK)
        stage.bind(ii, THREAD)
    function = lower(s, [x, total])
    assert "thread blockIdx.x block_x in [0, 3):\n  for t in [0, 4):\n    thread threadIdx.x" in str(function.body)
    a, found = random(5, 10), np.zeros((5, 10), "float32")
    assert "barrier" not in launch(function, a, found).source
    np.testing.assert_allclose(found, np.cumsum(a, 0), rtol=1e-5, atol=1e-6)


def test_updates_with_fewer_blocks_than_others_leave_the_rest_idle() -> None:
    x, sizes = te.placeholder((4, 8), name="x"), (2, 8)
    states = [te.placeholder((4, n), name=f"h{n}") for n in sizes]
    first = [te.compute((1, n), lambda _, i: x[0, i], name=f"first{n}") for n in sizes]
    updates = [
        te.compute((4, h.shape[1]), lambda t, i, h=h: h[t - 1, i] + x[t, i], name=f"next_{h.name}") for h in states
    ]
    results = te.scan(first, updates, states, name="s")
    s = te.create_schedule(results)
    s[results[0]].env_threads([BLOCK])
    for update in updates:
        s[update].bind(update.op.axis[1], BLOCK)
    function = lower(s, [x, *results])
    assert "thread blockIdx.x block_x in [0, 8):\n  for t in [0, 3):\n    if block_x < 2:" in str(function.body)
    found = [np.zeros((4, n), "float32") for n in sizes]
    run(function, [random(4, 8), *found])
    for array, n in zip(found, sizes, strict=True):
        np.testing.assert_allclose(array, np.cumsum(random(4, 8), 0)[:, :n], rtol=1e-5)


def test_env_threads_refuses_what_blocks_or_threads_can_not_do() -> None:
    s, arguments = recurrent(BLOCK)
    message = "'mixed' reads h[t - 1, k], which another block may have computed, and blocks can't wait for each other"
    refused(ScheduleError, message, lambda: lower(s, arguments))
    x, _, _, update, total = running_sum()
    s = te.create_schedule(total)
    refused(ScheduleError, "expects the stage of a scan, found ComputeOp", lambda: s[update].env_threads([BLOCK]))
    refused(ScheduleError, "expects a list of axes made by te.thread_axis", lambda: s[total].env_threads("threadIdx.x"))
    refused(ScheduleError, "expects different axes of hardware, found none", lambda: s[total].env_threads([]))
    s[total].env_threads([BLOCK])
    refused(ScheduleError, "around all steps of the scan", lambda: s[total].split(s[total].leaves[0], 2))
    refused(ScheduleError, "it has been called already", lambda: s[total].env_threads([THREAD]))
    refused(ScheduleError, "no loop of a step is bound to blockIdx.x", lambda: lower(s, [x, total]))
    outer, inner = s[update].split(update.op.axis[1], factor=4)
    s[update].bind(outer, BLOCK)
    s[update].bind(inner, THREAD)
    refused(ScheduleError, "loop 'ii' of 'update' is bound to threadIdx.x; name all axes", lambda: lower(s, [x, total]))


def test_blocks_of_which_several_would_compute_the_same_are_refused() -> None:
    x, _, _, update, total = running_sum(5, 8)
    s = te.create_schedule(total)
    half = s.cache_write(update, "local")
    s[total].env_threads([BLOCK])
    s[half].bind(half.op.axis[1], BLOCK)
    refused(ScheduleError, "several blocks would compute the same of update 'update'", lambda: lower(s, [x, total]))


def test_initial_rows_that_others_need_are_copied() -> None:
    x, _, first, _, total = running_sum()
    other = te.compute((1, 7), lambda t, i: first[t, i] * 3.0, name="other")
    given = {x: random(5, 7)}
    text = agrees(te.create_schedule([total, other]), [x, total, other], given)
    assert "total[0, i1] = first[0, i1]" in text
    assert "total[0, i1] = first[0, i1]" in agrees(te.create_schedule(total), [x, total, first], given)


def lstm(steps: int, batch: int, inputs: int, hidden: int) -> tuple[list[Tensor], list[Tensor]]:
    """The long short-term memory of Hochreiter and Schmidhuber with gates i, f, g, o: states h and c."""
    x = te.placeholder((steps, batch, inputs), name="x")
    wi, wh = te.placeholder((4, hidden, inputs), name="wi"), te.placeholder((4, hidden, hidden), name="wh")
    shape = (steps, batch, hidden)
    h, c = te.placeholder(shape, name="h"), te.placeholder(shape, name="c")
    zeros = [te.compute((1, batch, hidden), lambda *_: te.const(0, "float32"), name=f"{s}0") for s in "hc"]
    k, r = te.reduce_axis(inputs, "k"), te.reduce_axis(hidden, "r")
    given = te.compute(
        (steps, 4, batch, hidden), lambda t, q, b, j: te.sum(x[t, b, k] * wi[q, j, k], axis=k), name="given"
    )
    kept = te.compute(
        (steps, 4, batch, hidden), lambda t, q, b, j: te.sum(h[t - 1, b, r] * wh[q, j, r], axis=r), name="kept"
    )
    gates = te.compute((steps, 4, batch, hidden), lambda *i: given(*i) + kept(*i), name="gates")
    next_c = te.compute(
        shape,
        lambda t, b, j: (
            te.sigmoid(gates[t, 1, b, j]) * c[t - 1, b, j] + te.sigmoid(gates[t, 0, b, j]) * te.tanh(gates[t, 2, b, j])
        ),
        name="next_c",
    )
    next_h = te.compute(shape, lambda t, b, j: te.sigmoid(gates[t, 3, b, j]) * te.tanh(next_c[t, b, j]), name="next_h")
    results = te.scan(zeros, [next_h, next_c], [h, c], inputs=[x], name="lstm")
    return [x, wi, wh], [*results, gates, kept]


def test_an_lstm_has_two_states_and_one_reads_the_other() -> None:
    given, (h, c, gates, kept) = lstm(4, 2, 3, 5)
    arrays = [random(4, 2, 3), random(4, 5, 3), random(4, 5, 5)]
    s = te.create_schedule([h, c])
    s[gates].compute_inline()
    s[kept].reorder(kept.op.axis[2], kept.op.axis[3], kept.op.axis[1])
    s[kept].vectorize(kept.op.axis[1])
    agrees(s, [*given, h, c], dict(zip(given, arrays, strict=True)))
    state = memory = np.zeros((2, 5))
    expected = []
    x, wi, wh = (a.astype("float64") for a in arrays)
    for t in range(4):
        if t:
            i, f, g, o = np.einsum("bk,qjk->qbj", x[t], wi) + np.einsum("bk,qjk->qbj", state, wh)
            memory = memory / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
            state = np.tanh(memory) / (1 + np.exp(-o))
        expected.append(state)
    np.testing.assert_allclose(evaluate([h], dict(zip(given, arrays, strict=True)))[0], expected, rtol=1e-9)


def test_steps_run_as_kernels_of_a_device(launch: Callable[..., object]) -> None:
    x, _, first, update, total = running_sum()
    s = te.create_schedule(total)
    for tensor in (first, update):
        s[tensor].bind(tensor.op.axis[1], te.thread_axis("threadIdx.x"))
    a, found = random(5, 7), np.zeros((5, 7), "float32")
    launch(lower(s, [x, total]), a, found)
    np.testing.assert_allclose(found, np.cumsum(a, 0), rtol=1e-5)


def test_a_row_may_be_read_only_once_it_is_known() -> None:
    def lowered(read: Callable[[Any, Any, Any], Any], rows: int = 1) -> None:
        state, place = te.placeholder((6, 3), name="state"), te.placeholder((6,), "int32", name="place")
        first = te.compute((rows, 3), lambda t, i: te.const(1, "float32"), name="first")
        update = te.compute((6, 3), lambda t, i: read(state, (t, place), i), name="update")
        result = te.scan(first, update, state, name="r")
        agrees(te.create_schedule(result), [place, result], {place: np.zeros(6, "int32")})

    later = "in scan 'r' a step may read only rows that are provably before its own"
    refused(ScheduleError, f"lower: 'update' reads state[t, i]; {later}", lambda: lowered(lambda s, t, i: s[t[0], i]))
    refused(ScheduleError, later, lambda: lowered(lambda s, t, i: s[t[1][t[0]], i]))
    refused(ScheduleError, later, lambda: lowered(lambda s, t, i: s[5 - t[0], i]))
    early = "that may be before the first row, as init has 1 of them; give more, or select"
    refused(ScheduleError, early, lambda: lowered(lambda s, t, i: s[t[0] - 2, i]))
    lowered(lambda s, t, i: s[t[0] - 2, i] + s[0, i], rows=2)
    lowered(lambda s, t, i: te.select(t[0] > 1, s[t[0] - 2, i], s[t[0] - 1, i] * 2.0))
    lowered(lambda s, t, i: s[t[0] // 2, i], rows=1)


def test_the_definition_traps_what_no_step_knows() -> None:
    state = te.placeholder((6, 3), name="state")
    first = te.compute((1, 3), lambda t, i: te.const(1, "float32"), name="first")
    update = te.compute((6, 3), lambda t, i: state[t, i], name="update")
    result = te.scan(first, update, state, name="r")
    refused(
        ExecutionError, "scan 'r': step 1 reads row 1 of state 'state', which is not", lambda: evaluate([result], {})
    )


def test_scans_refuse_what_disagrees() -> None:
    x, state, first, update, _ = running_sum()
    long = te.placeholder((6, 7), name="long")
    whole = te.placeholder((5, 7), "int32", name="whole")
    narrow = te.placeholder((1, 6), name="narrow")

    def scanned(*arguments: Any) -> Callable[[], object]:
        return lambda: te.scan(*arguments, name="r")

    refused(ExpressionError, "expects as many tensors as init, update", scanned([first], [update, update], [state]))
    refused(ExpressionError, "expects tensors as update, found float", scanned(first, 1.0, state))
    refused(ExpressionError, "expects a placeholder with time as first dimension", scanned(first, update, first))
    refused(ExpressionError, "expects updates made by te.compute, found 'x'", scanned(first, x, state))
    refused(ExpressionError, "of one type and rank, found float32[1, 7], float32[5, 7]", scanned(first, update, whole))
    refused(ExpressionError, "expects the shape of state float32[6, 7]", scanned(first, update, long))
    refused(ExpressionError, "expects rows like those of state float32[5, 7]", scanned(narrow, update, state))
    refused(ExpressionError, "init 'long' has 6 rows, more than the 5", scanned(long, update, state))
    twice = ([first, first], [update, update], [state, state])
    refused(ExpressionError, "an update of its own for each state", scanned(*twice))
    early = te.compute((1, 7), lambda t, i: update[t, i], name="early")
    refused(ExpressionError, "the initial rows 'early' depend on the state", scanned(early, update, state))

    def copy(_: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        ib = te.ir_builder.create()
        ib.store(outs[0], (0, 0), 1.0)
        return ib.get()

    opaque = te.extern((5, 7), [state], copy, name="opaque")
    after = te.compute((5, 7), lambda t, i: opaque[t - 1, i])
    refused(ExpressionError, "'opaque' depends on the state, and is no compute", scanned(first, after, state))


def test_schedules_keep_the_steps_in_order() -> None:
    x, state, first, update, total = running_sum()
    s = te.create_schedule(total)
    time = total.op.scan_axis
    for primitive in ("vectorize", "parallel"):
        refused(
            ScheduleError,
            f"{primitive} in stage 'total', axis 't': it is the time of a scan",
            lambda p=primitive: getattr(s[total], p)(time),
        )
    refused(ScheduleError, "split in stage 'total', axis 't': it is the time", lambda: s[total].split(time, factor=2))
    refused(ScheduleError, "reorder in stage 'total', axis 't': it is", lambda: s[total].reorder(time))
    refused(
        ScheduleError,
        "bind in stage 'total', axis 't': it is",
        lambda: s[total].bind(time, te.thread_axis("blockIdx.x")),
    )
    step = "'update' is an update of scan 'total', computed in each of its steps and stored in its result"
    refused(ScheduleError, f"compute_inline: {step}", s[update].compute_inline)
    refused(ScheduleError, step, lambda: s[update].compute_at(s[total], time))
    refused(ScheduleError, step, lambda: s[update].set_scope("local"))
    refused(ScheduleError, step, lambda: s[update].storage_align(update.op.axis[0], 8))
    refused(ScheduleError, step, lambda: s[update].split(update.op.axis[1], factor=4, tail="round_up"))
    refused(ScheduleError, "'first' is read as a whole by 'total', so it needs storage", s[first].compute_inline)
    refused(ScheduleError, "argument 'state' is the state of scan 'total'", lambda: lower(s, [x, state, total]))
    refused(ScheduleError, "argument 'update' is computed at loop 't'", lambda: lower(s, [x, update, total]))
    outside = te.compute((5, 7), lambda t, i: update[t, i] + total[t, i], name="outside")
    refused(
        ScheduleError,
        "create_schedule: outside reads 'update', which exists within a step of scan 'total'; read 'total'",
        lambda: te.create_schedule(outside),
    )
    again = te.compute((5, 7), lambda t, i: update[t, i] * state[t - 1, i], name="again")
    twin = te.compute((5, 7), lambda t, i: update[t - 1, i] + state[t - 1, i], name="twin")
    other = te.placeholder((5, 7), name="other")
    _, wrong = te.scan([first, first], [update, twin], [state, other], name="wrong")
    refused(
        ScheduleError, "a step of scan 'wrong' reads rows of update 'update' other than its own",
        lambda: lower(te.create_schedule(wrong), [x, *wrong.op.outputs]),
    )  # fmt: skip
    with pytest.raises(ScheduleError, match="exists within a step of scan"):
        te.create_schedule([total, te.scan(first, again, state, name="second")])
