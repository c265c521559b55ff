"""Searches: which candidate of a problem to measure next. What they say depends on the records alone, so that tuning
goes on after any stop as if there had been none."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from sateen.graph_ir.ir import Problem
from sateen.graph_ir.records import Record
from sateen.topi.methods import Candidate, Method

OTHERS = 5
"""Of so many candidates, the search by estimate draws one from all."""


@dataclass(frozen=True, slots=True)
class Space:
    """The candidates of a problem, best first by estimate, and what is known of them: the records in the order of
    measuring, and the methods that are out of question, since they were measured or failed."""

    problem: Problem
    candidates: Sequence[Candidate]
    records: Sequence[Record]
    tried: frozenset[Method]
    by_method: Mapping[Method, Candidate] = field(repr=False)

    @property
    def open(self) -> Iterator[Candidate]:
        """The candidates that were not tried, best first by estimate."""
        return (c for c in self.candidates if c.method not in self.tried)

    @property
    def ranked(self) -> list[Record]:
        """The records, fastest first."""
        return sorted(self.records, key=lambda r: (r.seconds, str(r.method)))

    def random(self, use: str) -> random.Random:
        """Random numbers for a use, the same whenever as much is known."""
        return random.Random(f"{use} {self.problem} {len(self.tried)}")

    def drawn(self) -> Iterator[Candidate]:
        """All candidates in an order that depends on the problem alone."""
        return iter(random.Random(str(self.problem)).sample(self.candidates, len(self.candidates)))


class Search(ABC):
    """Says which candidate to measure next. The estimate's choice always comes first."""

    @abstractmethod
    def next(self, space: Space) -> Candidate | None:
        """A candidate that was not tried; None if all were."""

    def learn(self, record: Record) -> None:
        """Take note of a new record, of any problem; most searches look at those of a problem alone."""
        del record


class EstimateSearch(Search):
    """The best estimates in order; each fifth candidate is drawn from all, since the estimate may be wrong."""

    def next(self, space: Space) -> Candidate | None:
        if len(space.tried) % OTHERS == OTHERS - 1:
            return first_open(space.drawn(), space)
        return next(space.open, None)


class RandomSearch(Search):
    """All candidates with equal chances, after the estimate's choice: this judges the estimate well."""

    def next(self, space: Space) -> Candidate | None:
        return first_open(chain(space.candidates[:1], space.drawn()), space)


def first_open(candidates: Iterable[Candidate], space: Space) -> Candidate | None:
    """The first of candidates that was not tried."""
    return next((c for c in candidates if c.method not in space.tried), None)
