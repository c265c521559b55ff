"""Many measurers at once: who measures what, and what happens when devices go."""

from __future__ import annotations

from threading import Barrier

import pytest

from sateen.graph_ir.ir import Problem
from sateen.graph_ir.ops import Conv
from sateen.graph_ir.tune import Timing, Tuning, measure_all, tuning_of
from sateen.runtime import ExecutionError, SessionLostError, Target
from sateen.topi.methods import Method
from sateen.topi.types import TensorType

TARGET = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4")


def tunings(count: int) -> list[Tuning]:
    """Problems with five candidates each."""
    shapes = [((1, 32, size, size), (32, 32, 3, 3)) for size in range(8, 8 + count)]
    op = Conv((1, 1), (1, 1, 1, 1), (1, 1))
    problems = [Problem(op, tuple(TensorType.of("float32", s) for s in pair)) for pair in shapes]
    return [tuning_of(problem, TARGET, 4) for problem in problems]


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
    found = [record for _, record in measure_all(given, measurers)]
    assert len({(r.problem, r.method) for r in found if r is not None}) == len(found) == 20
    asked = [pair for m in measurers for pair in m.asked]
    assert len(set(asked)) == len(asked) == 20
    assert all(m.asked and m.is_closed for m in measurers)
    assert all(r is not None and r.machine.startswith("board, ") for r in found)


def test_who_has_no_device_hands_on_its_problem() -> None:
    given, together = tunings(4), Barrier(2)
    lost, kept = FakeMeasurer(2, together), FakeMeasurer(together=together)
    found = [record for _, record in measure_all(given, [lost, kept])]
    assert len(found) == 20
    assert (len(lost.asked), len(kept.asked)) == (2, 18)
    assert all(not t.remaining for t in given)


def test_without_any_device_measuring_ends_and_what_was_found_is_kept() -> None:
    given, found = tunings(2), []
    with pytest.raises(SessionLostError, match="no device"):
        found.extend(measure_all(given, [FakeMeasurer(3), FakeMeasurer(0)]))
    assert len(found) == 3
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
        list(measure_all([given], [first]))
    list(measure_all([given], [second]))
    assert not {m for _, m in first.asked} & {m for _, m in second.asked}
    assert len(given.failures) == 2


def test_a_tuning_of_which_nothing_can_be_measured_ends_all() -> None:
    class Failing(FakeMeasurer):
        def measure(self, problem: Problem, method: Method, against: Method | None) -> Timing:  # noqa: ARG002
            raise ExecutionError("wrong")

    measurers = [Failing(), Failing()]
    with pytest.raises(ExecutionError, match="no candidate of conv"):
        list(measure_all(tunings(2), measurers))
    assert all(m.is_closed for m in measurers)
