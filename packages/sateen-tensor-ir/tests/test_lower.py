"""Which arguments a schedule is lowered with."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from sateen.runtime import ScheduleError
from sateen.tensor_ir import build, build_functions, lower, te
from sateen.tensor_ir.interpret import run
from sateen.tensor_ir.ir.stmt import Allocate
from sateen.tensor_ir.ir.visit import walk

A = te.placeholder((8,), name="A")
B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
OTHER = te.compute((8,), lambda i: A[i] - 1.0, name="other")
TABLE = te.constant([1.0, 2.0], name="table")
D = te.compute((2,), lambda i: TABLE[i], name="D")


@pytest.mark.parametrize(
    ("output", "arguments", "message"),
    [
        (C, [A, A, C], "'A' is among the arguments twice"),
        (C, [OTHER, A, C], "argument 'other' is no tensor of the schedule: nothing in it reads it"),
        (C, [te.placeholder((8,), name="A"), A, C], "'A' is no tensor of the schedule: another tensor of that name is"),
        (C, [C], "'A' is read, but is not among the arguments"),
        (C, [A], "output 'C' is not among the arguments"),
        (D, [TABLE, D], "'table' is a constant, not an argument"),
    ],
)
def test_arguments_are_the_inputs_and_the_outputs(output: te.Tensor, arguments: list[te.Tensor], message: str) -> None:
    with pytest.raises(ScheduleError, match=re.escape(message)):
        lower(te.create_schedule(output), arguments)


def test_an_intermediate_tensor_may_be_an_output_as_well() -> None:
    function = lower(te.create_schedule([B, C]), [A, B, C])
    assert [b.name for b in function.parameters if b in function.outputs] == ["B", "C"]


def test_an_intermediate_argument_is_written_to_the_callers_memory() -> None:
    a, b, c = np.arange(8, dtype=np.float32), np.zeros(8, np.float32), np.zeros(8, np.float32)
    build(te.create_schedule(C), [A, B, C])(a, b, c)
    np.testing.assert_array_equal(b, a * 2)
    np.testing.assert_array_equal(c, a * 2 + 1)


@pytest.mark.parametrize("is_first", [True, False])
def test_outputs_of_a_tuple_are_arguments_or_stay_inside(is_first: bool) -> None:
    first, second = te.compute((8,), lambda i: (A[i] + 1.0, A[i] - 1.0), name="both")
    wanted = first if is_first else second
    a, found, other = np.arange(8, dtype=np.float32), np.zeros(8, np.float32), np.zeros(8, np.float32)
    build(te.create_schedule(wanted), [A, wanted])(a, found)
    np.testing.assert_array_equal(found, a + 1 if is_first else a - 1)
    build(te.create_schedule(wanted), [A, first, second])(a, found, other)
    np.testing.assert_array_equal(other, a - 1)


@pytest.mark.parametrize("kind", ["serial", "vectorized"])
def test_values_of_a_tuple_are_complete_before_one_overwrites_what_others_read(kind: str) -> None:
    first, second = te.compute((8,), lambda i: (A[i] + 1.0, A[i] * 2.0), name="both")
    schedule = te.create_schedule([first, second])
    if kind == "vectorized":
        schedule[first].vectorize(first.op.axis[0])
    function = lower(schedule, [A, first, second], aliased=[A, first])
    given = np.arange(8, dtype=np.float32)
    for execute in (build_functions([function]), lambda *arrays: run(function, list(arrays))):
        shared, other = given.copy(), np.zeros(8, np.float32)
        execute(shared, shared, other)
        np.testing.assert_array_equal(shared, given + 1)
        np.testing.assert_array_equal(other, given * 2)


def test_an_operation_named_twice_gives_its_outputs_once() -> None:
    first, second = te.compute((8,), lambda i: (A[i] + 1.0, A[i] - 1.0), name="both")
    schedule = te.create_schedule([first.op, second.op, second])
    assert schedule.outputs == (first, second)
    lower(schedule, [A, *schedule.outputs])


def test_a_placeholder_that_nothing_reads_may_be_an_argument() -> None:
    unread = te.placeholder((3,), name="unread")
    function = lower(te.create_schedule(B), [A, unread, B])
    assert [b.name for b in function.parameters] == ["A", "unread", "B"]
    b = np.zeros(8, np.float32)
    build(te.create_schedule(B), [A, unread, B])(np.ones(8, np.float32), np.ones(3, np.float32), b)
    np.testing.assert_array_equal(b, np.full(8, 2))


def _inlined(s: te.Schedule) -> None:
    s[B].compute_inline()


def _attached(s: te.Schedule) -> None:
    s[B].compute_at(s[C], C.op.axis[0])


def _in_local_memory(s: te.Schedule) -> None:
    s[B].set_scope("local")


def _rounded_up(s: te.Schedule) -> None:
    s[B].split(B.op.axis[0], 3, tail="round_up")


def _padded(s: te.Schedule) -> None:
    s[B].storage_align(B.op.axis[0], 16)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_inlined, "is inlined"),
        (_attached, "is computed at loop 'i' of 'C'"),
        (_in_local_memory, "is in local memory"),
        (_rounded_up, "has storage that is larger than itself"),
        (_padded, "has storage that is larger than itself"),
    ],
)
def test_an_argument_is_computed_as_a_whole(change: Callable[[te.Schedule], None], reason: str) -> None:
    schedule = te.create_schedule(C)
    change(schedule)
    message = f"argument 'B' {reason}, so the caller's memory can't hold it; compute it as a whole at root or leave"
    with pytest.raises(ScheduleError, match=re.escape(message)):
        lower(schedule, [A, B, C])


def extern_pair() -> list[te.Tensor]:
    def body(ins: list[te.Buffer], outs: list[te.Buffer]) -> te.Stmt:
        ib = te.ir_builder.create()
        a, x, y = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0]), ib.buffer_ptr(outs[1])
        with ib.for_range(0, 8) as i:
            x[i] = a[i] + 1.0
            y[i] = a[i] - 1.0
        return ib.get()

    return list(te.extern([(8,), (8,)], [A], body, name="both", dtype="float32"))


@pytest.mark.parametrize("pair", [te.compute((8,), lambda i: (A[i] + 1.0, A[i] - 1.0), name="both"), extern_pair()])
def test_each_output_of_several_may_be_wanted_alone(pair: list[te.Tensor]) -> None:
    a = np.arange(8, dtype="float32")
    for tensor, expected in zip(pair, (a + 1, a - 1), strict=True):
        found = np.zeros(8, "float32")
        build(te.create_schedule(tensor), [A, tensor])(a, found)
        assert found.tolist() == expected.tolist()
        assert sum(isinstance(n, Allocate) for n in walk(lower(te.create_schedule(tensor), [A, tensor]).body)) == 1


def chain_of(stored: int) -> tuple[te.Schedule, list[te.Tensor]]:
    x = A
    for i in range(stored + 1):
        x = te.compute((8,), lambda j, x=x: x[j] + 1.0, name=f"stage{i}")
    return te.create_schedule(x), [A, x]


def test_as_many_stages_as_passes_can_visit() -> None:
    found = np.zeros(8, "float32")
    build(*chain_of(150))(np.zeros(8, "float32"), found)
    assert found.tolist() == [151.0] * 8
    message = "at most 150 stages whose results are stored in between, found 151, 'stage0' to 'stage150'"
    with pytest.raises(ScheduleError, match=message):
        lower(*chain_of(151))
