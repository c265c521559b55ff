"""The choice of records is measured again: luck does not count, and a network is never slower by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from sateen.graph_ir.ir import Problem
from sateen.graph_ir.records import FAILED, Attempt, Comparison
from sateen.graph_ir.tune import EvolutionarySearch, Record, Timing, Tuning, challenger, keep_what_gains, verified
from sateen.runtime import ExecutionError
from sateen.topi.methods import Method


class Again:
    """Measures anew, with these ratios by method, a process each; others fail."""

    def __init__(self, ratios: dict[Method, Sequence[float]]) -> None:
        self._ratios = {method: list(values) for method, values in ratios.items()}
        self.opened = self.closed = 0

    def open(self) -> Again:
        self.opened += 1
        return self

    def measure(self, problem: Problem, method: Method, against: Method | None) -> Timing:  # noqa: ARG002
        if method not in self._ratios:
            raise ExecutionError(f"{method}: crashed")
        return Timing((self._ratios[method].pop(0),), (1.0,))

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def tuning(land: ModuleType) -> Tuning:
    made: Tuning = land.tuning_of(EvolutionarySearch(), 40)
    list(made.run(land.Surveyor()))
    return made


def ratio(tuning: Tuning, record: Record) -> float:
    """What measuring said."""
    assert tuning.estimated is not None
    return record.seconds / tuning.estimated.seconds


def ranked(tuning: Tuning) -> list[Record]:
    return sorted(tuning.records, key=lambda r: r.rank)


def test_the_worst_of_the_processes_counts(tuning: Tuning) -> None:
    fastest = ranked(tuning)[0]
    true = ratio(tuning, fastest)
    again = Again({fastest.method: (1.04 * true, true, 1.01 * true)})
    *ratios, line, baseline = verified(tuning, again.open)
    assert [r.ratio for r in ratios if isinstance(r, Comparison)] == [1.04 * true, true, 1.01 * true]
    assert isinstance(line, Record)
    assert isinstance(baseline, Record)
    assert (line.method, line.verified, line.seconds) == (fastest.method, 3, pytest.approx(1.04 * fastest.seconds))
    assert (baseline.method, baseline.verified) == (tuning.estimate.method, 3)
    assert line.spread == pytest.approx(0.04 / 1.01)
    assert (again.opened, again.closed) == (3, 3)
    assert tuning.fastest == line
    assert list(verified(tuning, again.open)) == []


def test_what_processes_found_before_a_stop_counts(tuning: Tuning) -> None:
    fastest = ranked(tuning)[0]
    true, found = ratio(tuning, fastest), dict[str, list[float]]()
    for own in (1.04 * true, true):
        line = next(verified(tuning, Again({fastest.method: [own]}).open, found))
        assert isinstance(line, Comparison)
        found.setdefault(line.of, []).append(line.ratio)
    again = Again({fastest.method: [1.01 * true]})
    *_, record, _ = verified(tuning, again.open, found)
    assert isinstance(record, Record)
    assert (record.verified, record.seconds) == (3, pytest.approx(1.04 * fastest.seconds))
    assert again.opened == 1


def test_luck_does_not_count(tuning: Tuning) -> None:
    again = Again({r.method: (0.9, 1.1, 0.9) for r in tuning.records})
    assert len(list(verified(tuning, again.open))) > 2
    assert tuning.fastest is not None
    assert tuning.fastest.method == tuning.estimate.method
    assert challenger(tuning) is None


def test_what_promises_no_more_is_not_compared(tuning: Tuning) -> None:
    first, second, *_ = ranked(tuning)
    tuning.keep(replace(second, seconds=0.99 * first.seconds * 1.04))
    true = ratio(tuning, first)
    assert len(list(verified(tuning, Again({first.method: [1.04 * true] * 3}).open))) == 3 + 2
    assert tuning.fastest is not None
    assert tuning.fastest.method == first.method


def test_what_crashes_when_it_is_measured_again_is_a_failure(tuning: Tuning) -> None:
    first, second, *_ = ranked(tuning)
    lines = list(verified(tuning, Again({second.method: [ratio(tuning, second)] * 3}).open))
    assert [type(line) for line in lines] == [Attempt, *[Comparison] * 3, Record, Record]
    assert isinstance(lines[0], Attempt)
    assert (lines[0].method, lines[0].outcome) == (first.method, FAILED)
    assert first.method in tuning.failures
    assert tuning.record_of(first.method) is None


def test_choices_are_taken_back_while_the_network_is_slower(land: ModuleType) -> None:
    tunings = [land.tuning_of(EvolutionarySearch(), 40, size) for size in (16, 32, 64, 128)]
    for t in tunings:
        list(t.run(land.Surveyor()))
    asked: list[int] = []

    def compare(taken_back: Sequence[Record]) -> tuple[float, float]:
        asked.append(len(taken_back))
        return (1.1, 0.01) if len(taken_back) < 3 else (1.005, 0.01)

    kept = list(keep_what_gains(tunings, [100, 1, 2, 3], compare))
    assert asked == [0, 2, 3]
    assert all(r.preferred for r in kept)
    assert [t.ratio == 1.0 for t in tunings] == [False, True, True, True]
    assert all(t.fastest is not None and t.fastest.method == t.estimate.method for t in tunings[1:])


def test_a_network_that_is_not_slower_keeps_all(tuning: Tuning) -> None:
    def compare(_: Any) -> tuple[float, float]:
        return 0.9, 0.05

    assert list(keep_what_gains([tuning], [1], compare)) == []
