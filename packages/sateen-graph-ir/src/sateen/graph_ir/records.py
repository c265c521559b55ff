"""Measurements of problems, one JSON object per line, which `sateen tune` writes and `build(…, records=)` uses.

A file may come from anywhere: its size and the length of its lines are bounded, and known fields are checked; unknown
ones are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from sateen.graph_ir.ir import OpSet, Problem, parse_problem
from sateen.graph_ir.ops import OPS
from sateen.graph_ir.passes import Known
from sateen.runtime.errors import ArgumentError, TargetError
from sateen.runtime.target import Target
from sateen.topi.methods import Method, parse_method

MOST_BYTES = 64 << 20
"""The most bytes of a file of records."""
MOST_LINE_BYTES = 4096
"""The most bytes of one record."""
LARGEST = 1e18
"""The largest number in a record."""

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Record:
    """One measurement: a problem solved by a method takes `seconds`, the median, on one thread of a target.

    `spread` is the range between the quartiles over the median; `cycles` is the operator's estimate. `machine`
    describes the machine that measured, `versions` the packages that made the code.
    """

    target: str
    problem: Problem
    method: Method
    seconds: float
    spread: float = 0.0
    cycles: float = 0.0
    machine: str = ""
    versions: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        """Its line in a file, without the line end."""
        fields = {
            "target": self.target,
            "problem": str(self.problem),
            "method": str(self.method),
            "seconds": self.seconds,
            "spread": self.spread,
            "cycles": self.cycles,
            "machine": self.machine,
            "versions": dict(self.versions),
        }
        return json.dumps(fields, allow_nan=False)


def parse_record(line: str | bytes, operators: OpSet = OPS) -> Record:
    """The record that `str` writes as this line, for problems of these operators. Raises ArgumentError for an invalid
    line."""
    if len(line) > MOST_LINE_BYTES:
        raise ArgumentError(f"expected at most {MOST_LINE_BYTES} bytes, found {len(line)}")
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"expected a record as JSON: {error}") from None
    if not isinstance(fields, dict):
        raise ArgumentError(f"expected a record as a JSON object, found {type(fields).__name__}")
    seconds = _number(fields, "seconds")
    if seconds == 0.0:
        raise ArgumentError("expected seconds of more than 0, found 0")
    problem = _read(fields, "problem", lambda text: parse_problem(text, operators))
    return Record(
        _read(fields, "target", lambda text: str(Target.parse(text))),
        problem,
        _read(fields, "method", lambda text: parse_method(text, problem.op.methods)),
        seconds,
        _number(fields, "spread", 0.0),
        _number(fields, "cycles", 0.0),
        _read(fields, "machine", str, ""),
        _versions(fields.get("versions", {})),
    )


def _read(fields: Mapping[str, object], name: str, parse: Callable[[str], V], default: str | None = None) -> V:
    value = fields.get(name, default)
    if not isinstance(value, str):
        raise ArgumentError(f"expected {name} as text, found {value!r:.64}")
    try:
        return parse(value)
    except (ArgumentError, TargetError) as error:
        raise ArgumentError(f"{name}: {error}") from None


def _number(fields: Mapping[str, object], name: str, default: float | None = None) -> float:
    value = fields.get(name, default)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < LARGEST:
        raise ArgumentError(f"expected {name} as a number of 0 or more, found {value!r:.64}")
    return float(value)


def _versions(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(version, str) for version in value.values()):
        raise ArgumentError(f"expected versions as an object of texts, found {value!r:.64}")
    return value


@dataclass(frozen=True)
class Records:
    """Measurements; of two of the same problem, method and target the later one counts."""

    records: Sequence[Record] = ()

    def __repr__(self) -> str:
        return f"Records({len(self.records)} measurements)"

    @staticmethod
    def read(path: Path, operators: OpSet = OPS) -> Records:
        """The records in a file, of problems of these operators.

        Raises ArgumentError, which names the invalid line or says what is too large.
        """
        if not path.is_file():
            raise ArgumentError(f"expected a file of records, found {str(path)!r}")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ArgumentError(f"{path}: expected at most {MOST_BYTES} bytes of records, found more")
        records = []
        for number, line in enumerate(content.removesuffix(b"\n").split(b"\n") if content else (), 1):
            try:
                records.append(parse_record(line, operators))
            except ArgumentError as error:
                raise ArgumentError(f"{path}:{number}: {error}") from None
        return Records(tuple(records))

    def of(self, target: Target | str) -> dict[Problem, list[Record]]:
        """The records of a target by problem, fastest first."""
        text = str(Target.of(target))
        found: dict[Problem, list[Record]] = {}
        for record in self._latest.values():
            if record.target == text:
                found.setdefault(record.problem, []).append(record)
        for records in found.values():
            records.sort(key=lambda r: (r.seconds, str(r.method)))
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
    def _latest(self) -> dict[tuple[str, Problem, Method], Record]:
        return {(r.target, r.problem, r.method): r for r in self.records}
