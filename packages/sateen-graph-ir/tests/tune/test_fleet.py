"""Many measurers at once: who measures what, and what happens when devices go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Barrier

import pytest

from sateen.graph_ir.ir import Problem
from sateen.graph_ir.ops import Conv
from sateen.graph_ir.tune import Allocation, Measurer, Record, Timing, Tuning, measure_all, tunings_of
from sateen.runtime import ExecutionError, SessionLostError, Target
from sateen.topi.methods import Method
from sateen.topi.types import TensorType

TARGET = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4")


def tunings(count: int) -> list[Tuning]:
    """Problems with five candidates each."""
    shapes = [((1, 32, size, size), (32, 32, 3, 3)) for size in range(8, 8 + count)]
    op = Conv((1, 1), (1, 1, 1, 1), (1, 1))
    problems = [Problem(op, tuple(TensorType.of("float32", s) for s in pair)) for pair in shapes]
    return tunings_of(problems, TARGET, 5)


def measured(given: list[Tuning], measurers: Sequence[Measurer]) -> Iterator[Record]:
    """The records that measurers find."""
    lines = measure_all(Allocation(given, [1] * len(given)), measurers)
    return (line for _, line in lines if isinstance(line, Record))


class FakeMeasurer:
    """Has a device for `count` measurements; without a barrier it starts at once."""

    def __init__(self, count: int = 1000, together: Barrier | None = None) -> None:
        self.count, self.together = count, together
        self.asked: list[tuple[Problem, Method]] = []
        self.is_closed = False

    def measure(self, problem: Problem, method: Method, against: Method | None) -> Timing:
        if self.together is not None and not self.asked:
            self.together.wait(60)
        if len(self.asked) == self.count:
            raise SessionLostError("no device")
        self.asked.append((problem, method))
        return Timing((1.0,) * 3, (1.0 if against is None else 2.0,) * 3, "board")

    def close(self) -> None:
        self.is_closed = True


def test_all_is_measured_once_by_all_together() -> None:
    given, together = tunings(4), Barrier(2)
    measurers = [FakeMeasurer(together=together), FakeMeasurer(together=together)]
    found = list(measured(given, measurers))
    assert len({(r.problem, r.method) for r in found}) == len(found) == 20
    asked = [pair for m in measurers for pair in m.asked]
    assert len(set(asked)) == len(asked) == 20
    assert all(m.asked and m.is_closed for m in measurers)
    assert all(r.machine.startswith("board, ") for r in found)


def test_who_has_no_device_hands_on_its_problem() -> None:
    given, together = tunings(4), Barrier(2)
    lost, kept = FakeMeasurer(2, together), FakeMeasurer(together=together)
    assert len(list(measured(given, [lost, kept]))) == 20
    assert (len(lost.asked), len(kept.asked)) == (2, 18)
    assert all(not t.remaining for t in given)


def test_without_any_device_measuring_ends_and_what_was_found_is_kept() -> None:
    given = tunings(2)
    with pytest.raises(SessionLostError, match="no device"):
        list(measured(given, [FakeMeasurer(3), FakeMeasurer(0)]))
    assert sum(len(t.records) for t in given) == 3


def test_what_fails_is_not_tried_again_by_another() -> None:
    class Failing(FakeMeasurer):
        def measure(self, problem: Problem, method: Method, against: Method | None) -> Timing:  # noqa: ARG002
            if self.count == len(self.asked):
                raise SessionLostError("no device")
            self.asked.append((problem, method))
            raise ExecutionError("wrong")

    (given,) = tunings(1)
    first, second = Failing(2), FakeMeasurer()
    with pytest.raises(SessionLostError):
        list(measured([given], [first]))
    list(measured([given], [second]))
    assert not {m for _, m in first.asked} & {m for _, m in second.asked}
    assert (len(given.failures), len(given.records)) == (2, 3)


def test_where_nothing_of_any_problem_can_be_measured_the_first_failure_is_told() -> None:
    class Failing(FakeMeasurer):
        def measure(self, problem: Problem, method: Method, against: Method | None) -> Timing:  # noqa: ARG002
            raise ExecutionError("wrong")

    measurers = [Failing(), Failing()]
    with pytest.raises(ExecutionError, match=r"no candidate of conv.* nor of another; the first: wrong"):
        list(measured(tunings(2), measurers))
    assert all(m.is_closed for m in measurers)


def test_a_problem_of_which_nothing_can_be_measured_is_no_end_for_others() -> None:
    given = tunings(2)

    class Choosy(FakeMeasurer):
        def measure(self, problem: Problem, method: Method, against: Method | None) -> Timing:
            if problem == given[0].problem:
                raise ExecutionError("wrong")
            return super().measure(problem, method, against)

    assert len(list(measured(given, [Choosy()]))) == 5
    assert (len(given[0].failures), len(given[0].records)) == (5, 0)
