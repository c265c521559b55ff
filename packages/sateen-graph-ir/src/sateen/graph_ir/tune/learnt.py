"""Search by a model that is learnt from records: how much longer than its estimate a method takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import log
from statistics import fmean
from threading import Lock
from typing import Any

import numpy as np

from sateen.graph_ir.ir import Array, Problem
from sateen.graph_ir.records import Record
from sateen.graph_ir.tune.evolution import EvolutionarySearch
from sateen.graph_ir.tune.features import Features, ProblemFeatures
from sateen.graph_ir.tune.search import OTHERS, Space
from sateen.runtime.errors import ArgumentError
from sateen.topi.methods import Candidate, Method

MISSING = "expected scikit-learn, which is not installed; extra learn of sateen-graph-ir brings it"
LEAST_RECORDS = 24
"""The least records that a model is learnt from."""
MORE = 8
"""After so many new records it is learnt again."""
MOST_CANDIDATES = 4000
"""The most candidates of a problem, the best by estimate, whose times are predicted."""
TREES = 60


class ModelSearch(EvolutionarySearch):
    """The candidate of the least predicted time. Each fifth comes from evolution, as it does while there are few
    records: a model that only confirms itself learns nothing.

    `known` are records of the same machine and versions, of any problems. Raises ArgumentError without scikit-learn.
    """

    def __init__(self, known: Sequence[Record] = ()) -> None:
        self._records = list(known)
        self._model: Model | None = None
        self._learnt_from = 0
        self._problems: dict[Problem, ProblemFeatures] = {}
        self._candidates: dict[Problem, Mapping[Method, Features]] = {}
        self._forest = _forest()
        self._lock = Lock()

    def learn(self, record: Record) -> None:
        self._records.append(record)

    def next(self, space: Space) -> Candidate | None:
        if len(self._records) < LEAST_RECORDS or not space.tried or len(space.tried) % OTHERS == OTHERS - 1:
            return super().next(space)
        model = self._latest()
        possible = [c for c in space.candidates[:MOST_CANDIDATES] if c.method not in space.tried]
        if not possible:
            return super().next(space)
        known = self._features_of_candidates(space)
        slowness = model.predict([known[c.method] for c in possible])
        return possible[int(np.argmin([log(1 + c.cycles) + s for c, s in zip(possible, slowness, strict=True)]))]

    def _features_of_candidates(self, space: Space) -> Mapping[Method, Features]:
        if space.problem not in self._candidates:
            features, best = self._features(space.problem), space.candidates[0].cycles
            self._candidates[space.problem] = {
                c.method: features.with_method(c.method, c.cycles, best) for c in space.candidates[:MOST_CANDIDATES]
            }
        return self._candidates[space.problem]

    def _latest(self) -> Model:
        with self._lock:
            if self._model is None or len(self._records) >= self._learnt_from + MORE:
                self._learnt_from = len(self._records)
                self._model = Model.of(self._records[: self._learnt_from], self._features, self._forest())
            return self._model

    def _features(self, problem: Problem) -> ProblemFeatures:
        if problem not in self._problems:
            self._problems[problem] = ProblemFeatures.of(problem)
        return self._problems[problem]


class Model:
    """Predicts the logarithm of a time over its estimate, up to a number of its problem."""

    def __init__(self, names: Sequence[str], forest: Any) -> None:
        self._names, self._forest = names, forest

    @staticmethod
    def of(records: Sequence[Record], features_of: Callable[[Problem], ProblemFeatures], forest: Any) -> Model:
        """The model learnt from records. What a problem's records have in common is no matter of methods: they are
        taken relative to their mean."""
        by_problem: dict[Problem, list[Record]] = {}
        for record in records:
            by_problem.setdefault(record.problem, []).append(record)
        rows: list[Features] = []
        slowness: list[float] = []
        for problem, own in by_problem.items():
            features, best = features_of(problem), min(r.cycles for r in own)
            found = [log(r.seconds) - log(1 + r.cycles) for r in own]
            rows += [features.with_method(r.method, r.cycles, best) for r in own]
            slowness += [value - fmean(found) for value in found]
        names = sorted({name for row in rows for name in row})
        forest.fit(_matrix(rows, names), slowness)
        return Model(names, forest)

    def predict(self, rows: Sequence[Features]) -> list[float]:
        found: list[float] = self._forest.predict(_matrix(rows, self._names)).tolist()
        return found


def _matrix(rows: Sequence[Mapping[str, float]], names: Sequence[str]) -> Array:
    """A row of numbers each; -1 where one doesn't apply."""
    return np.array([[row.get(name, -1.0) for name in names] for row in rows], np.float32)


def _forest() -> Callable[[], Any]:
    """Makes untrained forests. They run on one thread, so that no other spins while candidates are measured."""
    try:
        ensemble = import_module("sklearn.ensemble")
    except ImportError as error:
        raise ArgumentError(MISSING) from error
    return lambda: ensemble.ExtraTreesRegressor(TREES, min_samples_leaf=2, random_state=0)
