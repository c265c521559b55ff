"""Schedules as a whole: what they are made for, and how stages are found."""

import re

import pytest

from sateen.runtime import ScheduleError
from sateen.tensor_ir import lower, te
from sateen.tensor_ir.te import ir_builder

A = te.placeholder((8,), name="A")
B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
TABLE = te.constant([1.0, 2.0], name="table")


def refuses(message, call):
    with pytest.raises(ScheduleError, match=re.escape(message)):
        call()


def test_stages_are_found_by_tensor_and_by_operation():
    s = te.create_schedule(C.op)
    assert s[B] is s[B.op]
    assert [stage.name for stage in s.stages] == ["A", "B", "C"]
    assert s.consumers(s[A]) == [s[B]]


def test_the_default_schedule_computes_every_stage_at_root():
    assert str(lower(te.create_schedule(C), [A, C]).body).splitlines() == [
        "allocate B: float32[8]",
        "for i in [0, 8):",
        "  B[i] = A[i] * 2.0f",
        "for i_1 in [0, 8):",
        "  C[i_1] = B[i_1] + 1.0f",
    ]


def test_a_schedule_is_of_tensors_that_are_computed():
    message = "create_schedule expects tensors that te.compute or te.extern made, found int: 3"
    refuses(message, lambda: te.create_schedule(3))
    refuses("create_schedule expects at least one tensor, found none", lambda: te.create_schedule([]))
    refuses("create_schedule: 'A' is given, not computed", lambda: te.create_schedule(A))
    refuses("create_schedule: 'table' is given, not computed", lambda: te.create_schedule(TABLE))
    refuses("'C' is no tensor of this schedule", lambda: te.create_schedule(B)[C])
    refuses("expected a tensor of this schedule (A, B), found str: 'x'", lambda: te.create_schedule(B)["x"])


def test_an_extern_stage_is_computed_as_a_whole():
    def copy(ins, outs):
        ib = ir_builder.create()
        with ib.for_range(0, 8) as i:
            ib.store(outs[0], (i,), ib.buffer_ptr(ins[0])[i])
        return ib.get()

    E = te.extern((8,), [A], copy, name="E")
    D = te.compute((8,), lambda i: E[i] * 2.0, name="D")
    s = te.create_schedule(D)
    s[E].compute_at(s[D], D.op.axis[0])
    refuses("compute_at: 'E' is computed as a whole, at root", lambda: lower(s, [A, D]))
    refuses("compute_inline: 'E' is not a compute", s[E].compute_inline)
