"""Tuning: measures methods for the problems of a network, beginning with the one that the estimate considers best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from sateen.graph_ir.ir import Graph, Node, Problem, subgraphs
from sateen.graph_ir.passes import preparation, run_pipeline
from sateen.graph_ir.records import BEGUN, FAILED, Attempt, Record, Records, installed_versions, machine_text
from sateen.graph_ir.tune.measuring import Measurer
from sateen.graph_ir.tune.search import EstimateSearch, Search, Space
from sateen.runtime.errors import SateenError, SessionLostError, SessionRefusedError
from sateen.runtime.target import Target
from sateen.tensor_ir import Machine
from sateen.topi.methods import NUMERICS, Candidate, Method

MOST_BEGUN = 3
"""A candidate that was begun so many times, and never finished, is put aside."""
HOPE = 0.05
"""What the first other candidate is expected to gain, as a part of the time: the estimate is right within as much."""
RECENT = 6
"""The candidates whose gain says what the next one may gain."""


def problems_of(
    graph: Graph, target: Target, numerics: str = "default", machine: Machine | None = None
) -> dict[Problem, int]:
    """The problems of a network with a choice of methods, in order, and the number of nodes with each."""
    machine = Machine.of(target) if machine is None else machine
    found: dict[Problem, int] = {}
    for node in _nodes_of(run_pipeline(graph, preparation(machine, numerics))):
        problem = Problem.of(node)
        if problem in found:
            found[problem] += 1
        elif len(_allowed(problem, machine, numerics)) > 1:
            found[problem] = 1
    return found


def _allowed(problem: Problem, machine: Machine, numerics: str) -> list[Candidate]:
    """The candidates of a problem that numerics allow, best first."""
    level = NUMERICS.index(numerics)
    return [c for c in problem.candidates(machine) if NUMERICS.index(c.method.numerics) <= level]


def _nodes_of(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and of bodies in it."""
    for node in graph.nodes:
        yield node
        for body in subgraphs(node.op).values():
            yield from _nodes_of(body)


@dataclass(slots=True, eq=False)
class Tuning:
    """A problem on a target: its candidates, best first by estimate, how they are searched, how many of them at most,
    and its records in the order of measuring.

    `failures` say by method why a candidate can't be measured or gives a wrong result.
    """

    problem: Problem
    target: Target
    candidates: Sequence[Candidate]
    search: Search
    most: int
    records: list[Record] = field(default_factory=list)
    failures: dict[Method, str] = field(default_factory=dict)
    machine: Machine | None = None
    """What estimates asked; None: that of the target."""
    _by_method: dict[Method, Candidate] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._by_method = {c.method: c for c in self.candidates}

    @property
    def estimate(self) -> Candidate:
        """The method that is chosen without records."""
        return self.candidates[0]

    @property
    def estimated(self) -> Record | None:
        """The measurement of the estimate's choice."""
        return self.record_of(self.estimate.method)

    @property
    def fastest(self) -> Record | None:
        """The one that counts, by rank."""
        return min(self.records, key=lambda r: r.rank, default=None)

    @property
    def ratio(self) -> float | None:
        """The time of the fastest over that of the estimate's choice: 1 if the estimate is right."""
        if self.estimated is None or self.fastest is None:
            return None
        return self.fastest.seconds / self.estimated.seconds

    @property
    def remaining(self) -> int:
        """How many candidates are still to be tried."""
        return max(0, min(self.most, len(self.candidates)) - len(self._tried))

    @property
    def expected_gain(self) -> float:
        """What the next candidate may gain, as a part of the time: what the last ones have gained each, or a hope that
        shrinks with their number."""
        times = [record.seconds for record in self.records]
        if not times:
            return HOPE
        now, before = min(times), min(times[:-RECENT] or times[:1])
        return max((1 - now / before) / min(RECENT, len(times)), HOPE / len(self._tried))

    def record_of(self, method: Method) -> Record | None:
        return next((r for r in self.records if r.method == method), None)

    def keep(self, record: Record) -> None:
        """Take a record in the place of the one of its method, if there is one."""
        self.records = [record if r.method == record.method else r for r in self.records]
        if record not in self.records:
            self.records.append(record)

    def drop(self, record: Record, reason: str) -> None:
        """Take a record away, whose method has failed since."""
        self.records = [r for r in self.records if r.method != record.method]
        self.failures[record.method] = reason

    def run(self, measurer: Measurer, most: int | None = None) -> Iterator[Record | Attempt]:
        """Measure the remaining candidates, `most` of them, each in turns with the fastest so far.

        Yields what a log keeps: that a measurement begins, before it does, and its record or its failure. The seconds
        of a record are the fastest one's times the ratio of both, so that records of a problem compare even if the
        machine was slower at some times than at others. Raises SessionLostError or SessionRefusedError if the measurer
        has no device; then another may go on.
        """
        left = self.remaining if most is None else min(most, self.remaining)
        for _ in range(left):
            candidate = self.search.next(self._space)
            if candidate is None:
                return
            yield self._attempt(candidate, BEGUN)
            yield self._measured(candidate, measurer)

    def _measured(self, candidate: Candidate, measurer: Measurer) -> Record | Attempt:
        fastest = min(self.records, key=lambda r: r.seconds, default=None)
        try:
            found = measurer.measure(self.problem, candidate.method, None if fastest is None else fastest.method)
        except (SessionLostError, SessionRefusedError):
            raise
        except SateenError as error:
            self.failures[candidate.method] = str(error)
            return self._attempt(candidate, FAILED, str(error))
        record = Record(
            str(self.target),
            self.problem,
            candidate.method,
            median(found.seconds) if fastest is None else fastest.seconds * found.ratio,
            found.spread,
            candidate.cycles,
            machine_text(self.target, found.machine, self.machine),
            dict(installed_versions()),
        )
        self.records.append(record)
        self.search.learn(record)
        return record

    def _attempt(self, candidate: Candidate, outcome: str, reason: str = "") -> Attempt:
        versions = dict(installed_versions())
        return Attempt(str(self.target), self.problem, candidate.method, outcome, reason, versions)

    @property
    def _tried(self) -> frozenset[Method]:
        return frozenset(r.method for r in self.records) | self.failures.keys()

    @property
    def _space(self) -> Space:
        return Space(self.problem, self.candidates, self.records, self._tried, self._by_method)


def tunings_of(
    problems: Sequence[Problem],
    target: Target,
    most: int,
    known: Records | None = None,
    *,
    search: Search | None = None,
    numerics: str = "default",
    machine: Machine | None = None,
    tries_again: bool = False,
) -> list[Tuning]:
    """What is to be measured of each problem: at most so many of the candidates that numerics allow, less those that
    are known.

    A candidate that failed is not measured again, nor one that was begun MOST_BEGUN times and never finished, unless
    `tries_again`. `search` is by estimate, if not given; `machine` is what estimates ask, by default that of the
    target.
    """
    given = Records() if known is None else known
    records, attempts = given.measured_here(target, machine), {} if tries_again else given.attempts_here(target)
    chosen_for = Machine.of(target) if machine is None else machine
    used = EstimateSearch() if search is None else search
    found = []
    for problem in problems:
        possible = _allowed(problem, chosen_for, numerics)
        methods = {c.method for c in possible}
        own = [r for r in records.get(problem, ()) if r.method in methods]
        failures = _failures(attempts.get(problem, ()), methods - {r.method for r in own})
        found.append(Tuning(problem, target, possible, used, most, own, failures, machine))
    return found


def _failures(attempts: Sequence[Attempt], methods: set[Method]) -> dict[Method, str]:
    """Why some of these methods are not tried again."""
    begun: dict[Method, int] = {}
    reasons: dict[Method, str] = {}
    for attempt in attempts:
        if attempt.method not in methods:
            continue
        if attempt.outcome == FAILED:
            reasons[attempt.method] = attempt.reason
            continue
        begun[attempt.method] = begun.get(attempt.method, 0) + 1
        if begun[attempt.method] >= MOST_BEGUN:
            reasons.setdefault(attempt.method, f"{attempt.method}: begun {MOST_BEGUN} times, never finished")
    return reasons
