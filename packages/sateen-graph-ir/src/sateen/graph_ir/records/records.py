"""Many records: a file of them, and which ones count for a target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from sateen.graph_ir.ir import OpSet, Problem
from sateen.graph_ir.ops import OPS
from sateen.graph_ir.passes import Known
from sateen.graph_ir.records.machine import installed_versions, machine_facts
from sateen.graph_ir.records.record import FAILED, Attempt, Comparison, Record, is_cut, parse_line
from sateen.runtime.errors import ArgumentError
from sateen.runtime.target import Target
from sateen.tensor_ir import Machine
from sateen.topi.methods import Method

MOST_BYTES = 64 << 20
"""The most bytes of a file of records."""

Origin = tuple[str, tuple[tuple[str, str], ...]]
"""The machine that measured and the versions that made the code: times of different origins don't compare."""


def origin_of(record: Record) -> Origin:
    return record.machine, tuple(sorted(record.versions.items()))


@dataclass(frozen=True)
class Records:
    """Measurements; of two of the same problem, method, target and origin the later one counts. `attempts` are those
    without a result. In a file, one that failed takes earlier records of its method away. `comparisons` are those of
    verdicts that may not be there yet."""

    records: Sequence[Record] = ()
    attempts: Sequence[Attempt] = ()
    comparisons: Sequence[Comparison] = ()

    def __repr__(self) -> str:
        return f"Records({len(self.records)} measurements)"

    @staticmethod
    def read(path: Path, operators: OpSet = OPS) -> Records:
        """The records in a file, of problems of these operators. A last line that is cut off does not count.

        Raises ArgumentError, which names the invalid line or says what is too large.
        """
        if not path.is_file():
            raise ArgumentError(f"expected a file of records, found {str(path)!r}")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ArgumentError(f"{path}: expected at most {MOST_BYTES} bytes of records, found more")
        return Records.parse(content, str(path), operators)

    @staticmethod
    def parse(content: bytes, name: str, operators: OpSet = OPS) -> Records:
        """The records in the content of a file of this name, as `read`."""
        records: list[Record] = []
        attempts: list[Attempt] = []
        comparisons: list[Comparison] = []
        problems: dict[str, Problem] = {}
        *lines, last = content.split(b"\n")
        if last and not is_cut(last):
            lines.append(last)
        for number, line in enumerate(lines, 1):
            try:
                found = parse_line(line, operators, problems)
            except ArgumentError as error:
                raise ArgumentError(f"{name}:{number}: {error}") from None
            if isinstance(found, Record):
                records.append(found)
                continue
            if isinstance(found, Comparison):
                comparisons.append(found)
                continue
            attempts.append(found)
            if found.outcome == FAILED:
                task = found.target, found.problem, found.method
                records = [r for r in records if (r.target, r.problem, r.method) != task]
        return Records(tuple(records), tuple(attempts), tuple(comparisons))

    def of(self, target: Target | str) -> dict[Problem, list[Record]]:
        """The records of a target by problem, by rank: those that were verified come first, then the fastest.

        Those of a problem have one origin, as times of different machines or versions don't compare: the versions that
        are installed here, and the target's machine, if there are such records; otherwise the latest versions, then
        the machine with most records.
        """
        complete = Target.of(target)
        text = str(complete)
        by_origin: dict[Problem, dict[Origin, list[Record]]] = {}
        for record in self._latest.values():
            if record.target == text:
                by_origin.setdefault(record.problem, {}).setdefault(origin_of(record), []).append(record)
        facts = machine_facts(complete) if by_origin else ""
        return {problem: _ranked(_of_best_origin(found, facts)) for problem, found in by_origin.items()}

    def measured_here(self, target: Target, machine: Machine | None = None) -> dict[Problem, list[Record]]:
        """Those of `of` that the installed versions and a machine, by default the target's, would give again, so that
        tuning goes on from them, in the order in which they were measured."""
        facts, versions = machine_facts(target, machine), installed_versions()
        found: dict[Problem, list[Record]] = {}
        for record in self._latest.values():
            if record.target == str(target) and _is_here(origin_of(record), facts, versions):
                found.setdefault(record.problem, []).append(record)
        return found

    def attempts_here(self, target: Target) -> dict[Problem, list[Attempt]]:
        """The attempts on a target with the installed versions."""
        versions = dict(installed_versions())
        found: dict[Problem, list[Attempt]] = {}
        for attempt in self.attempts:
            if attempt.target == str(target) and attempt.versions == versions:
                found.setdefault(attempt.problem, []).append(attempt)
        return found

    def compared_here(self, target: Target, machine: Machine | None = None) -> dict[str, list[float]]:
        """The ratios on a target, with the installed versions and a machine, by default the target's, by what was
        compared."""
        facts, versions = machine_facts(target, machine), dict(installed_versions())
        found: dict[str, list[float]] = {}
        for comparison in self.comparisons:
            is_here = comparison.machine.endswith(facts) and comparison.versions == versions
            if comparison.target == str(target) and is_here:
                found.setdefault(comparison.of, []).append(comparison.ratio)
        return found

    def best(self, target: Target | str) -> Known:
        """The methods measured on a target, for `default_pipeline`."""
        methods = {problem: tuple(r.method for r in records) for problem, records in self.of(target).items()}
        return lambda problem: methods.get(problem, ())

    @property
    def digest(self) -> str:
        """SHA-256 of the records that count, in hexadecimal, independent of their order."""
        return sha256("\n".join(sorted(map(str, self._latest.values()))).encode()).hexdigest()

    @cached_property
    def _latest(self) -> Mapping[tuple[str, Origin, Problem, Method], Record]:
        return {(r.target, origin_of(r), r.problem, r.method): r for r in self.records}


def _is_here(origin: Origin, facts: str, versions: Iterable[tuple[str, str]]) -> bool:
    machine, made = origin
    return machine.endswith(facts) and made == tuple(sorted(versions))


def _of_best_origin(by_origin: Mapping[Origin, list[Record]], facts: str) -> list[Record]:
    installed = tuple(sorted(installed_versions()))

    def rank(origin: Origin) -> tuple[object, ...]:
        machine, versions = origin
        numbers = tuple((name, _numbers(version)) for name, version in versions)
        return versions == installed, numbers, machine.endswith(facts), len(by_origin[origin]), machine, versions

    return by_origin[max(by_origin, key=rank)]


def _numbers(version: str) -> tuple[int, ...]:
    """1.10.2 as numbers, which order as versions do."""
    return tuple(int("".join(filter(str.isdigit, part)) or 0) for part in version.split("."))


def _ranked(records: Iterable[Record]) -> list[Record]:
    return sorted(records, key=lambda r: r.rank)
