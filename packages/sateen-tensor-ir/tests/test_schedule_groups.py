"""Stages that are placed together, and stages that are inlined by what they compute."""

import numpy as np
import pytest

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir import build, te

A = te.placeholder((8, 4), name="A")
B = te.compute((8, 4), lambda i, j: A[i, j] * 2.0, name="B")
C = te.compute((8, 4), lambda i, j: B[i, j] + A[i, j], name="C")
T = te.compute((4, 8), lambda i, j: C[j, i], name="T")
k = te.reduce_axis(4, "k")
R = te.compute((8,), lambda i: te.sum(T[k, i], axis=k), name="R")
D = te.compute((8,), lambda i: R[i] + 1.0, name="D")


def check(s):
    a, found = np.arange(32, dtype="float32").reshape(8, 4), np.empty(8, "float32")
    build(s, [A, D])(a, found)
    np.testing.assert_array_equal(found, (3 * a).sum(axis=1) + 1)


def names(group):
    return [stage.name for stage in group.stages]


def test_a_group_is_placed_and_taken_back_as_a_whole():
    s = te.create_schedule(D)
    group = s.create_group(outputs=T, inputs=A)
    assert names(group) == ["B", "C", "T"]
    assert repr(group) == "Group(B, C, T)"
    group.compute_at(s[R], R.op.axis[0])
    assert [s[t].attach == (s[R], R.op.axis[0]) for t in (B, C, T)] == [True] * 3
    check(s)
    group.compute_root()
    assert [s[t].attach for t in (B, C, T)] == [None] * 3
    check(s)


def test_a_group_has_the_stages_on_all_ways():
    s = te.create_schedule(D)
    assert names(s.create_group(R, B)) == ["C", "T", "R"]
    assert names(s.create_group([R], [B], include_inputs=True)) == ["B", "C", "T", "R"]


def test_a_group_that_is_refused_stays_as_it_was():
    s = te.create_schedule(D)
    s[T].compute_inline()
    group = s.create_group(D, B)
    with pytest.raises(ScheduleError, match="stage 'R' can't be computed inside itself"):
        group.compute_at(s[R], R.op.axis[0])
    assert s[T].inlined
    assert s[C].attach is None


def test_what_is_not_between_is_no_group():
    s = te.create_schedule(D)
    with pytest.raises(ScheduleError, match="create_group: 'B' is not computed from the inputs"):
        s.create_group(B, C)
    with pytest.raises(ScheduleError, match="create_group: expects tensors as outputs and as inputs, found none"):
        s.create_group(B, [])
    with pytest.raises(ScheduleError, match="expected a tensor of this schedule"):
        s.create_group(B, [3])


def test_stages_are_inlined_by_what_they_compute():
    s = te.create_schedule(D)
    s.auto_inline_elementwise()
    assert [stage.name for stage in s.stages if stage.inlined] == ["B", "C"]
    check(s)
    s.auto_inline_injective()
    assert [stage.name for stage in s.stages if stage.inlined] == ["B", "C", "T"]
    check(s)


def test_what_needs_storage_is_not_inlined():
    E = te.extern((8, 4), [B], lambda ins, outs: te.call_packed("copy", ins[0], outs[0]), name="E")
    state = te.placeholder((8, 4), name="state")
    first = te.compute((1, 4), lambda t, j: A[0, j], name="first")
    update = te.compute((8, 4), lambda t, j: state[t - 1, j] + A[t, j], name="update")
    S = te.scan(first, update, state, name="S")
    s = te.create_schedule([E, S])
    s.auto_inline_injective()
    assert [stage.name for stage in s.stages if stage.inlined] == []
