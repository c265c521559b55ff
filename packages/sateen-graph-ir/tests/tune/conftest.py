"""Operators whose methods are known landscapes, and a measurer that knows their times: searches are judged by them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import log2
from types import ModuleType
from typing import Any, ClassVar

import pytest

from sateen.graph_ir.ir import Problem
from sateen.graph_ir.tune import Record, Records, Search, Timing, Tuning, tunings_of
from sateen.runtime import ExecutionError, Target
from sateen.topi.methods import Candidate, Method
from sateen.topi.operators import Operator
from sateen.topi.types import TensorType

TARGET = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4")
VALUES = (1, 2, 3, 4, 6, 8, 12, 16)


@dataclass(frozen=True, slots=True)
class Hilly(Method):
    """A method of four numbers."""

    rows: int
    columns: int
    vectors: int
    depth: int


@dataclass(frozen=True, slots=True)
class Flat(Method):
    """A method of another class, which is always slow."""

    steps: int


@dataclass(frozen=True, slots=True)
class Land(Operator):
    """An operator with some 3,000 candidates. Its estimate is the time of `guess`, which may be wrong."""

    name: ClassVar[str] = "test.Land"
    methods: ClassVar[tuple[type[Method], ...]] = (Hilly, Flat)

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        return (x,)

    def candidates(self, inputs: Sequence[TensorType | None], outputs: Any, machine: Any) -> Sequence[Candidate]:  # noqa: ARG002
        hilly = [Hilly(*values) for values in product(VALUES, repeat=4) if values[0] * values[1] * values[2] <= 64]
        found = [Candidate(m, estimate(m)) for m in (*hilly, *map(Flat, VALUES))]
        return sorted(found, key=lambda c: c.cycles)


def estimate(method: Method) -> float:
    """What the operator believes: that only few rows matter."""
    return 1000.0 * method.rows if isinstance(method, Hilly) else 1e5


def seconds(method: Method, size: int = 32) -> float:
    """The time: a valley, whose bottom depends on the size of the problem a little."""
    if not isinstance(method, Hilly):
        return 9.0
    place = method.rows, method.columns, method.vectors, method.depth
    bottom = (2, 6 if size < 64 else 8, 3, 8)
    return 1.0 + sum((log2(a) - log2(b)) ** 2 for a, b in zip(place, bottom, strict=True))


def best(size: int = 32) -> Method:
    return Hilly(2, 6 if size < 64 else 8, 3, 8)


class Surveyor:
    """Measures by the landscape; methods that `fails` names fail."""

    def __init__(self, fails: Callable[[Method], bool] = lambda _: False) -> None:
        self._fails = fails
        self.asked: list[tuple[Problem, Method]] = []

    def measure(self, problem: Problem, method: Method, against: Method | None) -> Timing:
        self.asked.append((problem, method))
        if self._fails(method):
            raise ExecutionError(f"{method}: wrong")
        size = problem.outputs[0].static_shape[-1]
        own, other = seconds(method, size), seconds(against or method, size)
        return Timing((own,) * 3, (other,) * 3)

    def close(self) -> None:
        """Nothing to give back."""


def problem_of(size: int = 32) -> Problem:
    return Problem(Land(), (TensorType.of("float32", (4, size)),))


def tuning_of(search: Search, most: int, size: int = 32, known: Records | None = None) -> Tuning:
    (made,) = tunings_of([problem_of(size)], TARGET, most, known, search=search)
    return made


def records_of(tuning: Tuning, surveyor: Surveyor | None = None) -> list[Record]:
    """All records of a tuning."""
    list(tuning.run(surveyor or Surveyor()))
    return tuning.records


@pytest.fixture(scope="session")
def land() -> ModuleType:
    """The names of this module."""
    return sys.modules[__name__]
