"""The lines of a file of records, one JSON object each, which `sateen tune` writes and `build(…, records=)` uses.

A file may come from anywhere: the length of its lines is bounded, and known fields are checked; unknown ones are
ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TypeVar

from sateen.graph_ir.ir import OpSet, Problem, parse_problem
from sateen.graph_ir.ops import OPS
from sateen.runtime.errors import ArgumentError, TargetError
from sateen.runtime.target import Target
from sateen.topi.methods import Method, parse_method

MOST_LINE_BYTES = 4096
"""The most bytes of one record."""
MOST_REASON = 300
"""The most characters of the reason of a failure."""
LARGEST = 1e18
"""The largest number in a record."""
BEGUN, FAILED = "begun", "failed"
"""The outcomes of an attempt."""
BEGINNING = b'{"target": '
"""The first bytes of each line that is written."""

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Record:
    """One measurement: a problem solved by a method takes `seconds`, the median, on one thread of a target.

    `spread` is the range between the quartiles over the median; `cycles` is the operator's estimate. `machine`
    describes the machine that measured, `versions` the packages that made the code. `verified` is the number of
    processes that measured it again, against the estimate's choice. Of a problem's records the `preferred` one counts,
    whatever others take alone: within a network it was the fastest.
    """

    target: str
    problem: Problem
    method: Method
    seconds: float
    spread: float = 0.0
    cycles: float = 0.0
    machine: str = ""
    versions: Mapping[str, str] = field(default_factory=dict, hash=False)
    verified: int = 0
    preferred: bool = False

    @property
    def rank(self) -> tuple[object, ...]:
        """Of a problem's records the least counts: the preferred one, then those that were verified, then the
        fastest."""
        return not self.preferred, self.verified == 0, self.seconds, str(self.method)

    def __str__(self) -> str:
        """Its line in a file, without the line end."""
        fields: dict[str, object] = {
            "target": self.target,
            "problem": str(self.problem),
            "method": str(self.method),
            "seconds": self.seconds,
            "spread": self.spread,
            "cycles": self.cycles,
            "machine": self.machine,
            "versions": dict(self.versions),
            **({"verified": self.verified} if self.verified else {}),
            **({"preferred": True} if self.preferred else {}),
        }
        return json.dumps(fields, allow_nan=False)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A measurement without a result: one that was `begun`, or one that `failed`, with the reason."""

    target: str
    problem: Problem
    method: Method
    outcome: str
    reason: str = ""
    versions: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        """Its line in a file, without the line end."""
        fields = {
            "target": self.target,
            "problem": str(self.problem),
            "method": str(self.method),
            "outcome": self.outcome,
            **({"reason": self.reason[:MOST_REASON]} if self.reason else {}),
            "versions": dict(self.versions),
        }
        return json.dumps(fields)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The time of one thing over that of another, in one process or one turn of several, of which a verdict is made.
    `of` says what was compared."""

    target: str
    of: str
    ratio: float
    machine: str = ""
    versions: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        """Its line in a file, without the line end."""
        return json.dumps(asdict(self), allow_nan=False)


def parse_line(
    line: str | bytes, operators: OpSet = OPS, problems: dict[str, Problem] | None = None
) -> Record | Attempt | Comparison:
    """The record, attempt or comparison that `str` writes as this line, for problems of these operators. Raises
    ArgumentError for an invalid line.

    `problems` keeps those of other lines by their text, since most lines repeat one.
    """
    if len(line) > MOST_LINE_BYTES:
        raise ArgumentError(f"expected at most {MOST_LINE_BYTES} bytes, found {len(line)}")
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"expected a record as JSON: {error}") from None
    if not isinstance(fields, dict):
        raise ArgumentError(f"expected a record as a JSON object, found {type(fields).__name__}")
    read_problems = {} if problems is None else problems

    def problem_of(text: str) -> Problem:
        if text not in read_problems:
            read_problems[text] = parse_problem(text, operators)
        return read_problems[text]

    if "of" in fields and "problem" not in fields:
        machine = _read(fields, "machine", str, "")
        return Comparison(
            _target(fields), _read(fields, "of", str), _positive(fields, "ratio"), machine, _versions(fields)
        )
    if "outcome" in fields:
        outcome = fields["outcome"]
        if not isinstance(outcome, str) or outcome not in {BEGUN, FAILED}:
            raise ArgumentError(f"expected outcome {BEGUN} or {FAILED}, found {outcome!r:.64}")
        return Attempt(*_task(fields, problem_of), outcome, _read(fields, "reason", str, ""), _versions(fields))
    seconds = _positive(fields, "seconds")
    return Record(
        *_task(fields, problem_of),
        seconds,
        _number(fields, "spread", 0.0),
        _number(fields, "cycles", 0.0),
        _read(fields, "machine", str, ""),
        _versions(fields),
        int(_number(fields, "verified", 0.0)),
        _flag(fields, "preferred"),
    )


def is_cut(line: bytes) -> bool:
    """Whether a last line without an end is the beginning of one: its writer was stopped."""
    if len(line) > MOST_LINE_BYTES or not (line.startswith(BEGINNING) or BEGINNING.startswith(line)):
        return False
    try:
        json.loads(line)
    except ValueError:
        return True
    return False


def _task(fields: Mapping[str, object], problem_of: Callable[[str], Problem]) -> tuple[str, Problem, Method]:
    """What every line has: target, problem and method."""
    problem = _read(fields, "problem", problem_of)
    return (
        _target(fields),
        problem,
        _read(fields, "method", lambda text: parse_method(text, problem.op.methods)),
    )


def _target(fields: Mapping[str, object]) -> str:
    return _read(fields, "target", lambda text: str(Target.parse(text)))


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


def _positive(fields: Mapping[str, object], name: str) -> float:
    value = _number(fields, name)
    if value == 0.0:
        raise ArgumentError(f"expected {name} of more than 0, found 0")
    return value


def _flag(fields: Mapping[str, object], name: str) -> bool:
    value = fields.get(name, False)
    if not isinstance(value, bool):
        raise ArgumentError(f"expected {name} as true or false, found {value!r:.64}")
    return value


def _versions(fields: Mapping[str, object]) -> dict[str, str]:
    value = fields.get("versions", {})
    if not isinstance(value, dict) or not all(isinstance(version, str) for version in value.values()):
        raise ArgumentError(f"expected versions as an object of texts, found {value!r:.64}")
    return value
