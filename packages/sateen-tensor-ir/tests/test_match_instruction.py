"""Which loops an instruction stands for: groups, conditions, several outputs, stages of scans and around K-blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir import build, explain, te
from sateen.tensor_ir.interpret import evaluate, run
from sateen.tensor_ir.interpret.symbols import evaluate_shape
from sateen.tensor_ir.intrinsics import TensorIntrinsic
from sateen.tensor_ir.ir.stmt import Intrinsic
from sateen.tensor_ir.ir.visit import walk
from sateen.tensor_ir.lowering import lower


def defined(output: Any, name: str) -> TensorIntrinsic:
    """An instruction that runs its definition."""
    return te.decl_tensor_intrin(output.op, name=name, otherwise="definition")


def doubling(n: int = 4) -> TensorIntrinsic:
    x = te.placeholder((n,), name="x")
    return defined(te.compute((n,), lambda i: x[i] * 2.0, name="y"), "double")


def dot(n: int = 4) -> TensorIntrinsic:
    x, y, k = te.placeholder((n,), name="x"), te.placeholder((n,), name="y"), te.reduce_axis(n, "k")
    return defined(te.compute((), lambda: te.sum(x[k] * y[k], axis=k), name="z"), "dot")


def check(s: te.Schedule, arguments: Sequence[te.Tensor], sizes: dict[Any, int] | None = None, uses: int = 1) -> str:
    """Check loops and machine code against the definition of the last argument; the text of the loops."""
    function = lower(s, arguments)
    assert len([n for n in walk(function.body) if isinstance(n, Intrinsic)]) == uses
    rng = np.random.default_rng(0)
    sizes = sizes or {}
    shapes = {t: tuple(evaluate_shape(t.shape, sizes)) for t in arguments}
    given = {t: rng.integers(-9, 9, shapes[t]).astype(t.dtype.numpy) for t in arguments if t.op.is_given}
    expected = evaluate(arguments[len(given) :], given, sizes)
    for execute in (lambda *arrays: run(function, list(arrays)), build(s, arguments)):
        results = [np.zeros(shapes[t], t.dtype.numpy) for t in arguments[len(given) :]]
        execute(*given.values(), *results)
        for found, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
    return str(function.body)


def test_two_loops_stand_for_one_axis() -> None:
    a = te.placeholder((3, 8), name="A")
    c = te.compute((3, 8), lambda i, j: a[i, j] * 2.0, name="C")
    s = te.create_schedule(c)
    i, j = c.op.axis
    jo, ji = s[c].split(j, factor=2)
    s[c].reorder(i, ji, jo)
    s[c].tensorize(ji, doubling(8))
    check(s, [a, c])


def test_a_rounded_up_tile_is_whole_also_where_less_is_needed() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((5,), lambda i: a[i] * 2.0, name="B")
    c = te.compute((5,), lambda i: b[i] + 1.0, name="C")
    s = te.create_schedule(c)
    _, inner = s[b].split(b.op.axis[0], 8, tail="round_up")
    s[b].tensorize(inner, doubling(8))
    check(s, [a, c])


def test_many_small_loops_are_told_apart_in_time() -> None:
    a = te.placeholder((1024,), name="A")
    c = te.compute((1024,), lambda i: a[i] + 2.0, name="C")
    s = te.create_schedule(c)
    (loop,) = c.op.axis
    for _ in range(9):
        _, loop = s[c].split(loop, nparts=2)
    s[c].tensorize(s[c].leaves[0], doubling(1024))
    with pytest.raises(ScheduleError, match="the computation: expected x"):
        lower(s, [a, c])


def test_the_parts_of_a_reduction_stand_for_its_axis() -> None:
    a, b, k = te.placeholder((3, 16), name="A"), te.placeholder((16,), name="B"), te.reduce_axis(16, "k")
    c = te.compute((3,), lambda i: te.sum(a[i, k] * b[k], axis=k), name="C")
    s = te.create_schedule(c)
    _, rest = s[c].split(k, factor=8)
    km, _ = s[c].split(rest, factor=2)
    s[c].tensorize(km, dot(8))
    text = check(s, [a, b, c], uses=2)
    assert "intrinsic dot.update C[i] = C[i], A[i, ko * 8:8], B[ko * 8:8]" in text
    assert explain(s, [a, b, c]).stages[0].loops == "i:3 ko:2 dot for kio:4 kii:2"


def test_a_shifted_tail_makes_tiles_whole() -> None:
    a = te.placeholder((10,), name="A")
    c = te.compute((10,), lambda i: a[i] * 2.0, name="C")
    s = te.create_schedule(c)
    s[c].tensorize(s[c].split(c.op.axis[0], factor=4, tail="shift")[1], doubling())
    assert "intrinsic double C[min(io * 4, 6):4] = A[min(io * 4, 6):4]" in check(s, [a, c])
    s = te.create_schedule(c)
    s[c].tensorize(s[c].split(c.op.axis[0], factor=4)[1], doubling())
    message = "expects whole tiles, found iterations only where .*tail='shift' or 'round_up', or pad"
    with pytest.raises(ScheduleError, match=message):
        lower(s, [a, c])


def test_extents_outside_may_be_symbolic_and_strides_variables() -> None:
    n, m = te.var("n"), te.var("m")
    a = te.placeholder((4 * n, 8 * m), name="A")
    c = te.compute((4 * n, 8 * m), lambda i, j: a[i, j] * 2.0, name="C")
    x = te.placeholder((4, 8), name="x")
    y = te.compute((4, 8), lambda i, j: x[i, j] * 2.0, name="y")
    binds = {
        t: te.decl_buffer(t.shape, t.dtype, t.name, strides=[te.var(f"{t.name}_step"), 1], offset_factor=1)
        for t in (x, y)
    }
    tile = te.decl_tensor_intrin(y.op, name="double_tile", binds=binds, otherwise="definition")
    s = te.create_schedule(c)
    s[c].tensorize(s[c].tile(*c.op.axis, 4, 8)[2], tile)
    text = check(s, [te.placeholder((n, m), name="sizes"), a, c], {n: 3, m: 2})
    assert "intrinsic double_tile C[io * 4:4, jo * 8:8] = A[io * 4:4, jo * 8:8]" in text


def test_an_input_may_be_read_at_several_places_of_one_block() -> None:
    x = te.placeholder((6,), name="x")
    blur = defined(te.compute((4,), lambda i: x[i] + x[i + 1] * 2.0 + x[i + 2], name="y"), "blur")
    a = te.placeholder((18,), name="A")
    c = te.compute((16,), lambda i: a[i] + a[i + 1] * 2.0 + a[i + 2], name="C")
    s = te.create_schedule(c)
    s[c].tensorize(s[c].split(c.op.axis[0], factor=4)[1], blur)
    assert "intrinsic blur C[io * 4:4] = A[io * 4:6]" in check(s, [a, c])
    c = te.compute((16,), lambda i: a[i] + a[i + 1] * 2.0 + a[i], name="C")
    s = te.create_schedule(c)
    s[c].tensorize(s[c].split(c.op.axis[0], factor=4)[1], blur)
    message = r"operand 'x': expected A\[io \* 4:6\], found A\[io \* 4 - 2:6\] in A\[io \* 4 \+ ii\]"
    with pytest.raises(ScheduleError, match=message):
        lower(s, [a, c])


def test_indices_need_not_be_affine() -> None:
    def spread(name: str) -> tuple[te.Tensor, te.Tensor]:
        x = te.placeholder((5, 5), name="x")
        return x, te.compute((9, 9), lambda i, j: x[j // 3 + i % 3, j % 3 + i // 3], name=name)

    a, c = spread("C")
    s = te.create_schedule(c)
    s[c].tensorize(c.op.axis[0], defined(spread("y")[1], "spread"))
    assert "intrinsic spread C[0:9, 0:9] = x[0:5, 0:5]" in check(s, [a, c])


def test_a_block_of_which_little_is_read_must_exist() -> None:
    x = te.placeholder((8,), name="x")
    even = defined(te.compute((4,), lambda i: x[2 * i], name="y"), "even")
    a = te.placeholder((15,), name="A")
    c = te.compute((8,), lambda i: a[2 * i], name="C")
    s = te.create_schedule(c)
    s[c].tensorize(s[c].split(c.op.axis[0], factor=4)[1], even)
    with pytest.raises(
        ScheduleError, match=r"operand 'x' in A\[io \* 8:8\]: expected 8 elements from io \* 8 on, found 15"
    ):
        lower(s, [a, c])


@pytest.mark.parametrize("kind", ["select", "where", "second of and"])
def test_a_block_that_is_read_only_where_data_says_must_exist(kind: str) -> None:
    def chosen(n: int, shift: int, size: int, name: str) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
        m, x, k = te.placeholder((n,), name="M"), te.placeholder((size,), name="X"), te.reduce_axis(n, "k")
        if kind == "select":
            result = te.compute((n,), lambda i: te.select(m[i] > 0.0, x[i - shift], 0.0), name=name)
        elif kind == "where":
            result = te.compute((), lambda: te.sum(x[k - shift], axis=k, where=m[k] > 0.0), name=name)
        else:  # a definition may have the conditions in the other order
            parts = [m[k] > 0.0, x[k - shift] > 0.0] if shift else [x[k] > 0.0, m[k] > 0.0]
            result = te.compute((), lambda: te.sum(m[k], axis=k, where=te.all(*parts)), name=name)
        return m, x, result

    instruction = defined(chosen(4, 0, 4, "y")[2], "chosen")
    for size in (64, 128):
        m, x, c = chosen(128, 128 - size, size, "C")
        s = te.create_schedule(c)
        s[c].tensorize(s[c].split((*c.op.axis, *c.op.reduce_axis)[0], factor=4)[1], instruction)
        if size == 128:
            lower(s, [m, x, c])
            continue
        message = r"in X\[.* \* 4 - 64:4\]: expected 4 elements from .* on, found 64; the stage reads it only where a"
        with pytest.raises(ScheduleError, match=message):
            lower(s, [m, x, c])


def test_several_outputs_are_one_instruction() -> None:
    best = te.comm_reducer(
        lambda x, y: (te.select(x[1] >= y[1], x[0], y[0]), te.select(x[1] >= y[1], x[1], y[1])),
        lambda index, value: (te.const(-1, index), te.min_value(value)),
        name="argmax",
    )

    def argmax(rows: int, columns: int, name: str) -> tuple[te.Tensor, te.Tensor, Any]:
        places = te.placeholder((rows, columns), "int32", name=f"{name}_places")
        values, k = te.placeholder((rows, columns), name=f"{name}_values"), te.reduce_axis(columns, "k")
        found = te.compute((rows,), lambda i: best((places[i, k], values[i, k]), axis=k), name=name)
        return places, values, found

    *_, small = argmax(1, 4, "argmax4")
    places, values, found = argmax(5, 8, "found")
    s = te.create_schedule(found[0])
    stage = s[found[0]]
    stage.tensorize(stage.split(found[0].op.reduce_axis[0], factor=4)[1], defined(small[0], "argmax4"))
    text = check(s, [places, values, *found], uses=2)
    assert "intrinsic argmax4.update found.0[i], found.1[i] = found.0[i], found.1[i], " in text


def test_a_condition_on_loops_around_stays_around() -> None:
    a, b, k = te.placeholder((3, 8), name="A"), te.placeholder((8,), name="B"), te.reduce_axis(8, "k")
    c = te.compute((3,), lambda i: te.sum(a[i, k] * b[k], axis=k, where=te.all(i > 0, k >= 4)), name="C")
    s = te.create_schedule(c)
    _, ki = s[c].split(k, factor=4)
    s[c].tensorize(ki, dot())
    with pytest.raises(ScheduleError, match=r"expected true of bool, found ko \* 4 \+ ki >= 4 of bool"):
        lower(s, [a, b, c])
    c = te.compute((3,), lambda i: te.sum(a[i, k] * b[k], axis=k, where=i > 0), name="C")
    s = te.create_schedule(c)
    s[c].tensorize(s[c].split(k, factor=4)[1], dot())
    assert "if i > 0:\n    for ko in [0, 2):\n      intrinsic dot.update" in check(s, [a, b, c], uses=2)


def test_a_condition_of_the_definition_is_that_of_the_stage() -> None:
    def positive(n: int, rows: int, name: str) -> tuple[te.Tensor, te.Tensor]:
        x, k = te.placeholder((rows, n), name="x"), te.reduce_axis(n, "k")
        total = te.compute((rows,), lambda i: te.sum(x[i, k], axis=k, where=x[i, k] > 0.0), name=name)
        return x, total

    instruction = defined(positive(4, 1, "total")[1], "positive")
    a, c = positive(8, 3, "C")
    s = te.create_schedule(c)
    s[c].tensorize(s[c].split(c.op.reduce_axis[0], factor=4)[1], instruction)
    check(s, [a, c], uses=2)


def test_an_axis_may_be_data_if_it_has_the_same_values() -> None:
    x = te.placeholder((4,), name="x")
    ramp = defined(te.compute((4,), lambda i: x[i] + i.astype("float32"), name="y"), "ramp")
    a = te.placeholder((3, 4), name="A")
    c = te.compute((3, 4), lambda i, j: a[i, j] + j.astype("float32"), name="C")
    s = te.create_schedule(c)
    s[c].tensorize(c.op.axis[1], ramp)
    check(s, [a, c])
    c = te.compute((3, 4), lambda i, j: a[i, j] + (i + j).astype("float32"), name="C")
    s = te.create_schedule(c)
    s[c].tensorize(c.op.axis[1], ramp)
    with pytest.raises(ScheduleError, match="the computation: expected i, which is j, found i \\+ j"):
        lower(s, [a, c])


def test_a_step_of_a_scan() -> None:
    a, state = te.placeholder((5, 8), name="A"), te.placeholder((5, 8), name="state")
    first = te.compute((1, 8), lambda _, i: a[0, i], name="first")
    update = te.compute((5, 8), lambda t, i: state[t - 1, i] + a[t, i], name="update")
    result = te.scan(first, update, state, name="S")
    x, y = te.placeholder((4,), name="x"), te.placeholder((4,), name="y")
    addition = defined(te.compute((4,), lambda i: x[i] + y[i], name="z"), "add4")
    s = te.create_schedule(result)
    s[update].tensorize(s[update].split(update.op.axis[1], factor=4)[1], addition)
    assert "intrinsic add4 S[t + 1, io * 4:4] = S[t, io * 4:4], A[t + 1, io * 4:4]" in check(s, [a, result])


def test_a_stage_around_which_blocks_of_a_reduction_run() -> None:
    a, b, k = te.placeholder((3, 8), name="A"), te.placeholder((4, 8), name="B"), te.reduce_axis(8, "k")
    r = te.compute((3, 4), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="R")
    d = te.compute((3, 4), lambda i, j: r[i, j] * 2.0, name="D")
    s = te.create_schedule(d)
    i, j = d.op.axis
    s[r].compute_at(s[d], i)
    ko, _ = s[r].split(k, factor=4)
    s[d].reorder(ko, i)
    s[d].tensorize(j, doubling())
    text = check(s, [a, b, d])
    assert "if ko == 1:\n      intrinsic double D[i, 0:4] = R[0, 0:4]" in text


def test_rows_beyond_the_end_are_left_alone_in_every_block_of_a_reduction() -> None:
    a, b, k = te.placeholder((9, 8), name="A"), te.placeholder((4, 8), name="B"), te.reduce_axis(8, "k")
    r = te.compute((9, 4), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="R")
    d = te.compute((9, 4), lambda i, j: r[i, j] * 2.0, name="D")
    s = te.create_schedule(d)
    i, j = d.op.axis
    io, ii = s[d].split(i, factor=4)
    s[r].compute_at(s[d], io)
    ko, _ = s[r].split(k, factor=4)
    s[d].reorder(ko, io, ii)
    s[d].tensorize(j, doubling())
    s[d].unroll(io)
    check(s, [a, b, d])


def test_blocks_of_a_reduction_go_on_from_what_the_stage_around_keeps() -> None:
    a, b, k = te.placeholder((3, 16), name="A"), te.placeholder((4, 16), name="B"), te.reduce_axis(16, "k")
    r = te.compute((3, 4), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="R")
    d = te.compute((3, 4), lambda i, j: r[i, j] * 2.0, name="D")
    s = te.create_schedule(d)
    i, _ = d.op.axis
    s[r].compute_at(s[d], i)
    ko, rest = s[r].split(k, factor=8)
    s[d].reorder(ko, i)
    s[r].tensorize(s[r].split(rest, factor=4)[1], dot())
    check(s, [a, b, d])


def test_virtual_threads_and_double_buffers_are_around() -> None:
    a, b, k = te.placeholder((8, 16), name="A"), te.placeholder((6, 16), name="B"), te.reduce_axis(16, "k")
    c = te.compute((8, 6), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")
    s = te.create_schedule(c)
    near = s.cache_read(a, "local", [c])
    ko, ki = s[c].split(k, factor=4)
    s[c].bind(c.op.axis[0], te.thread_axis("vthread"))
    s[near].compute_at(s[c], ko)
    s[near].double_buffer()
    s[c].tensorize(ki, dot())
    check(s, [a, b, c], uses=2)


def test_outputs_of_several_computations_are_no_pattern() -> None:
    x = te.placeholder((4,), name="x")
    y, z = (te.compute((4,), lambda i, f=f: x[i] * f, name=name) for f, name in ((2.0, "y"), (3.0, "z")))
    a = te.placeholder((4,), name="A")
    c = te.compute((4,), lambda i: a[i] * 2.0, name="C")
    s = te.create_schedule(c)
    s[c].tensorize(c.op.axis[0], TensorIntrinsic("both", (x,), (y, z)))
    with pytest.raises(ScheduleError, match="expects 'both' to have the outputs of one computation, found y, z"):
        lower(s, [a, c])
