"""Tuning: measures methods for the problems of a network, including those that the estimate considers best."""

from __future__ import annotations

import platform
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from statistics import median

from sateen.graph_ir.ir import Graph, Node, Problem, subgraphs
from sateen.graph_ir.passes import preparation, run_pipeline
from sateen.graph_ir.records import Record
from sateen.graph_ir.tune.measuring import Measurer
from sateen.runtime.errors import ExecutionError, SateenError, SessionLostError, SessionRefusedError
from sateen.runtime.target import Target
from sateen.tensor_ir import Machine
from sateen.tensor_ir.targets import machine_digest
from sateen.topi.methods import NUMERICS, Candidate, Method

OTHERS = 4
"""For this many candidates with the best estimates one other candidate is measured."""
PACKAGES = ("sateen-graph-ir", "sateen-topi", "sateen-tensor-ir", "llvmlite")
"""The packages whose versions determine the code of a candidate."""


def problems_of(
    graph: Graph, target: Target, numerics: str = "default", machine: Machine | None = None
) -> dict[Problem, int]:
    """The problems of a network with a choice of methods, in order, and the number of nodes with each."""
    machine = Machine.of(target) if machine is None else machine
    found: dict[Problem, int] = {}
    for node in _nodes_of(run_pipeline(graph, preparation(machine, numerics))):
        problem = Problem.of(node)
        if len(problem.candidates(machine)) > 1:
            found[problem] = found.get(problem, 0) + 1
    return found


def _nodes_of(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and of bodies in it."""
    for node in graph.nodes:
        yield node
        for body in subgraphs(node.op).values():
            yield from _nodes_of(body)


@dataclass(slots=True, eq=False)
class Tuning:
    """A problem on a target: the candidates to measure, with the estimate's choice first, and its known records.

    `failures` say by method why a candidate can't be measured or gives a wrong result.
    """

    problem: Problem
    target: Target
    trials: Sequence[Candidate]
    records: list[Record]
    failures: dict[Method, str] = field(default_factory=dict)
    machine: Machine | None = None
    """What estimates asked; None: that of the target."""

    @property
    def estimate(self) -> Candidate:
        """The method that is chosen without records."""
        return self.trials[0]

    @property
    def estimated(self) -> Record | None:
        """The measurement of the estimate's choice."""
        return next((r for r in self.records if r.method == self.estimate.method), None)

    @property
    def fastest(self) -> Record | None:
        return min(self.records, key=lambda r: (r.seconds, str(r.method)), default=None)

    @property
    def ratio(self) -> float | None:
        """The time of the fastest over that of the estimate's choice: 1 if the estimate is right."""
        if self.estimated is None or self.fastest is None:
            return None
        return self.fastest.seconds / self.estimated.seconds

    @property
    def remaining(self) -> list[Candidate]:
        """The candidates that are neither measured nor failed yet."""
        measured = {record.method for record in self.records} | self.failures.keys()
        return [c for c in self.trials if c.method not in measured]

    def run(self, measurer: Measurer) -> Iterator[Record | None]:
        """Measure the remaining candidates, each in turns with the fastest so far; yields None for one that fails.

        The seconds of a record are the fastest one's times the ratio of both, so that records of a problem compare
        even if the machine was slower at some times than at others. Raises ExecutionError if none can be measured,
        SessionLostError or SessionRefusedError if the measurer has no device; then another may go on.
        """
        versions = {name: version(name) for name in PACKAGES}
        for candidate in self.remaining:
            fastest = self.fastest
            try:
                found = measurer.measure(self.problem, candidate.method, None if fastest is None else fastest.method)
            except (SessionLostError, SessionRefusedError):
                raise
            except SateenError as error:
                self.failures[candidate.method] = str(error)
                yield None
                continue
            seconds = median(found.seconds) if fastest is None else fastest.seconds * found.ratio
            record = Record(
                str(self.target), self.problem, candidate.method, seconds, found.spread, candidate.cycles,
                machine_text(self.target, found.machine, self.machine), versions,
            )  # fmt: skip
            self.records.append(record)
            yield record
        if not self.records:
            failure = next(iter(self.failures.values()))
            raise ExecutionError(f"no candidate of {self.problem} can be measured; the first: {failure}")


def tuning_of(
    problem: Problem,
    target: Target,
    count: int,
    known: Sequence[Record] = (),
    *,
    sample: bool = False,
    numerics: str = "default",
    machine: Machine | None = None,
) -> Tuning:
    """The candidates of a problem that numerics allow, and the known records for them.

    These are the `count` candidates with the best estimates, and one other for every four of them; with `sample` all
    except the first are drawn from all with equal chances, which judges the estimate. The draw depends only on the
    problem. `machine` is what estimates ask, by default that of the target.
    """
    level = NUMERICS.index(numerics)
    own = Machine.of(target) if machine is None else machine
    possible = [c for c in problem.candidates(own) if NUMERICS.index(c.method.numerics) <= level]
    first = 1 if sample else count
    rest = possible[first:]
    drawn = random.Random(str(problem)).sample(rest, min(len(rest), count + count // OTHERS - first))
    methods = {c.method for c in possible}
    trials = possible[:first] + drawn
    return Tuning(problem, target, trials, [r for r in known if r.method in methods], machine=own)


def machine_text(target: Target, machine: str = "", chosen_for: Machine | None = None) -> str:
    """The description of the machine that determines the estimates, `chosen_for` or that of the target. `machine` is
    the name that the system has for the device that measured, by default for this machine."""
    m = Machine.of(target) if chosen_for is None else chosen_for
    if m.gpu is not None:
        g = m.gpu
        return f"{machine}, {g.units} units, blocks of {g.block_threads} threads with {g.shared_bytes >> 10} KB"
    caches = ", ".join(f"{size >> 10} KB" for size in (m.l1_bytes, m.l2_bytes, m.l3_bytes))
    own = "" if machine_digest(m) == machine_digest(Machine.of(target)) else f", rates {machine_digest(m)[:12]}"
    name = machine or platform.machine()
    return f"{name}, {m.vector_registers} registers of {m.vector_bytes} bytes, caches of {caches}{own}"
