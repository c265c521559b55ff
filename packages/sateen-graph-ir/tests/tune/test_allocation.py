"""Which problem comes next, and when the time is over."""

from __future__ import annotations

from types import ModuleType

import pytest

from sateen.graph_ir.tune import Allocation, EstimateSearch, EvolutionarySearch, Gain, Record, measure_all


class Clock:
    """Advances by a second with each look."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 1.0
        return self.seconds


def test_each_gets_a_visit_then_the_one_that_may_gain_most(land: ModuleType) -> None:
    rare, often = (land.tuning_of(EvolutionarySearch(), 40, size) for size in (32, 64))
    allocation = Allocation([rare, often], [1, 50])
    first = allocation.take()
    second = allocation.take()
    assert [first, second] == [often, rare]
    for tuning in (rare, often):
        list(tuning.run(land.Surveyor(), 4))
        allocation.give_back(tuning)
    assert allocation.take() is often
    assert allocation.take() is rare


def test_what_gains_gets_more_of_the_time_than_what_does_not(land: ModuleType) -> None:
    class Level(land.Surveyor):  # type: ignore[misc, name-defined]  # a class of a module that is a fixture
        """One problem takes the same time by all methods."""

        def measure(self, problem, method, against):  # type: ignore[no-untyped-def]
            timing = super().measure(problem, method, against)
            return timing if problem == steep.problem else type(timing)((1.0,), (1.0,))

    steep, level = land.tuning_of(EvolutionarySearch(), 60, 32), land.tuning_of(EvolutionarySearch(), 60, 64)
    lines = measure_all(Allocation([steep, level], [1, 1]), [Level()])
    records = [line for _, line in lines if isinstance(line, Record)][:60]
    assert sum(r.problem == steep.problem for r in records) > 40


def test_the_time_is_kept(land: ModuleType) -> None:
    tuning = land.tuning_of(EstimateSearch(), 500)
    lines = measure_all(Allocation([tuning], [1], 20.0, Clock()), [land.Surveyor()])
    records = [line for _, line in lines if isinstance(line, Record)]
    assert len(records) == 16  # each visit, to four candidates, looks at the clock five times
    assert tuning.remaining == 484


def test_the_gain_of_a_network_counts_its_nodes(land: ModuleType) -> None:
    one, other = (land.tuning_of(EvolutionarySearch(), 30, size) for size in (32, 64))
    assert Gain.of([one, other], [1, 3]) == Gain(0.0, 0.0)
    assert Gain.of([one, other], [1, 3]).part == 0.0
    list(one.run(land.Surveyor()))
    list(other.run(land.Surveyor()))
    gain = Gain.of([one, other], [1, 3])
    assert gain.estimated == pytest.approx(one.estimated.seconds + 3 * other.estimated.seconds)
    assert gain.fastest == pytest.approx(one.fastest.seconds + 3 * other.fastest.seconds)
    assert str(Gain(0.010, 0.009)) == "10.0% of 10 ms"
