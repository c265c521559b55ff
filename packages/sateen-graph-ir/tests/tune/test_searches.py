"""Searches on a known landscape: who finds the land.best, in how many trials."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from sateen.graph_ir.tune import EstimateSearch, EvolutionarySearch, ModelSearch, RandomSearch, Records, Search
from sateen.runtime import ArgumentError

TRIALS, FEW = 95, 65
"""Of 1,600 candidates."""
SIZES = 32, 64, 128


def fastest(land: ModuleType, search: Search, most: int = TRIALS, size: int = 64) -> float:
    return min(r.seconds for r in land.records_of(land.tuning_of(search, most, size)))


def test_a_random_search_does_not_find_the_best_in_so_many_trials(land: ModuleType) -> None:
    assert all(fastest(land, RandomSearch(), size=size) > 1.3 for size in SIZES)


def test_the_estimate_does_not_find_what_it_is_wrong_about(land: ModuleType) -> None:
    assert all(fastest(land, EstimateSearch(), size=size) > 1.3 for size in SIZES)


def test_evolution_finds_the_best(land: ModuleType) -> None:
    assert all(fastest(land, EvolutionarySearch(), size=size) < 1.2 for size in SIZES)


def test_a_model_finds_the_best_sooner(land: ModuleType) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    assert fastest(land, ModelSearch(), FEW) < 1.2 < fastest(land, EvolutionarySearch(), FEW)


def test_a_model_learns_from_other_problems(land: ModuleType) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    known = land.records_of(land.tuning_of(RandomSearch(), 200, size=32))
    assert fastest(land, ModelSearch(known), 12, size=64) < 1.4
    assert fastest(land, ModelSearch(), 12, size=64) > 1.4


def test_a_search_by_a_model_asks_for_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(ArgumentError, match=r"expected scikit-learn, .* extra learn"):
        ModelSearch()


@pytest.mark.parametrize("kind", [EstimateSearch, RandomSearch, EvolutionarySearch, ModelSearch])
def test_a_search_goes_on_as_if_it_had_not_been_stopped(land: ModuleType, kind: type[Search]) -> None:
    if kind is ModelSearch:
        pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    whole = [r.method for r in land.records_of(land.tuning_of(kind(), 20))]
    assert len(set(whole)) == 20
    assert whole[0] == land.tuning_of(kind(), 20).estimate.method
    begun = land.records_of(land.tuning_of(kind(), 9))
    surveyor = land.Surveyor()
    rest = land.tuning_of(kind(), 20, known=Records(begun))
    assert [r.method for r in land.records_of(rest, surveyor)] == whole
    assert [method for _, method in surveyor.asked] == whole[9:]


@pytest.mark.parametrize("kind", [EstimateSearch, RandomSearch, EvolutionarySearch])
def test_all_candidates_are_found_in_the_end(land: ModuleType, kind: type[Search]) -> None:
    tuning = land.tuning_of(kind(), 10_000)
    tuning.candidates = tuning.candidates[:60]
    assert {r.method for r in land.records_of(tuning)} == {c.method for c in tuning.candidates}
    assert tuning.remaining == 0


def test_evolution_crosses_methods_of_one_class_and_keeps_away_from_what_failed(land: ModuleType) -> None:
    tuning = land.tuning_of(EvolutionarySearch(), TRIALS)
    surveyor = land.Surveyor(lambda method: isinstance(method, land.Hilly) and method.depth == 12)
    list(tuning.run(surveyor))
    assert min(r.seconds for r in tuning.records) == pytest.approx(1.0)
    assert len({method for _, method in surveyor.asked}) == TRIALS
    assert all(method.depth == 12 for method in tuning.failures if isinstance(method, land.Hilly))


def test_the_landscape_is_as_told(land: ModuleType) -> None:
    candidates = land.problem_of().candidates(None)  # type: ignore[arg-type]  # it depends on no machine
    assert min((land.seconds(c.method), str(c.method)) for c in candidates) == (1.0, str(land.best()))
    assert sum(isinstance(c.method, land.Flat) for c in candidates) == 8
