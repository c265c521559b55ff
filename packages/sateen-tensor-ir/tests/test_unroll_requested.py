"""The pragma auto_unroll_max_step."""

from __future__ import annotations

import pytest

from sateen.runtime.errors import ScheduleError
from sateen.tensor_ir import lower, te


def _body(limit: int, keep: bool = False) -> str:
    a = te.placeholder((10, 6), name="A")
    c = te.compute((10, 6), lambda i, j: a[i, j] + 1.0, name="C")
    s = te.create_schedule(c)
    i, j = c.op.axis
    s[c].pragma(i, "auto_unroll_max_step", limit)
    if keep:
        s[c].pragma(j, "keep")
    return str(lower(s, [a, c]).body)


def test_the_limit_says_which_loops_are_unrolled():
    assert _body(5).count("unrolled") == 0
    assert _body(6).count("unrolled") == _body(59).count("unrolled") == 1
    assert _body(60).count("unrolled") == 2


def test_a_loop_that_is_kept_is_not_unrolled_nor_one_around_it():
    assert "unrolled" not in _body(60, keep=True)


@pytest.mark.parametrize("value", [True, -1, "8", 1.5])
def test_another_limit_is_refused(value):
    c = te.compute((10,), lambda i: i, name="C")
    with pytest.raises(ScheduleError, match="axis 'i': auto_unroll_max_step expects an integer of at least 0"):
        te.create_schedule(c)[c].pragma(c.op.axis[0], "auto_unroll_max_step", value)
