"""Candidates in sessions: what is measured, and what becomes of sessions and candidates that end badly."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from math import inf
from typing import Any

import numpy as np
import pytest

from sateen.graph_ir.ir import Problem
from sateen.graph_ir.ops import Conv, MatMul
from sateen.graph_ir.tune import SessionMeasurer, problem_bench, session_measurer
from sateen.graph_ir.tune.problem_bench import ROUNDS, ROUNDS_OF_SLOW, ProblemData
from sateen.runtime import (
    ArgumentError,
    ExecutionError,
    LocalSession,
    Session,
    SessionCrashedError,
    SessionLostError,
    SessionRefusedError,
    Target,
)
from sateen.tensor_ir import Machine
from sateen.tensor_ir.codegen import CompilerPool
from sateen.topi.computations.convolution import Direct, DirectBfloat, Winograd
from sateen.topi.computations.products import PackedBfloat
from sateen.topi.types import TensorType

pytestmark = pytest.mark.skipif(os.name != "posix", reason="local sessions need setrlimit of POSIX")
HERE = Target.host()
SHAPES = (1, 32, 8, 8), (32, 32, 3, 3), (32,)
PROBLEM = Problem(Conv((1, 1), (1, 1, 1, 1), (1, 1)), tuple(TensorType.of("float32", s) for s in SHAPES))
METHOD = Direct(1, 4, 1)


class Ending(LocalSession):
    """A session in which something happens whenever a candidate is timed."""

    def __init__(self, happens: Callable[[LocalSession], None]) -> None:
        self._happens = happens
        super().__init__()

    def time_in_turns(self, *arguments: Any, **options: Any) -> Any:
        self._happens(self)
        return super().time_in_turns(*arguments, **options)


def measurer(*happens: Callable[[LocalSession], None]) -> SessionMeasurer:
    """One that gets these sessions, one after the other."""
    given: Iterator[Session] = (Ending(happening) for happening in happens)
    return SessionMeasurer(HERE, lambda: next(given))


def nothing(_session: LocalSession) -> None:
    """Nothing happens."""


def lose(session: LocalSession) -> None:
    raise SessionLostError(f"{session.info()['machine']} lost its power")


def kill(session: LocalSession) -> None:
    os.kill(session._child.number, signal.SIGKILL)


@pytest.mark.parametrize(("slow", "samples"), [(inf, ROUNDS), (0.0, ROUNDS_OF_SLOW)])
def test_candidates_are_compiled_by_others_and_timed_in_turns_that_are_fewer_if_they_are_slow(
    monkeypatch: pytest.MonkeyPatch, slow: float, samples: int
) -> None:
    monkeypatch.setattr(problem_bench, "SLOW", slow)
    with CompilerPool(1) as compilers, SessionMeasurer(HERE, compilers=compilers) as opened:
        alone = opened.measure(PROBLEM, METHOD, None)
        assert alone.ratio == 1.0
        turns = opened.measure(PROBLEM, Direct(1, 8, 1), METHOD)
    assert len(turns.seconds) == len(turns.against) == samples
    assert turns.machine == os.uname().machine


def test_a_candidate_that_can_not_be_computed_is_an_error_of_its_own() -> None:
    with SessionMeasurer(HERE) as opened:
        with pytest.raises(ExecutionError, match=r"winograd\(tile=9, rows=1, columns=1, vectors=1\): KeyError"):
            opened.measure(PROBLEM, Winograd(9, 1, 1, 1), None)
        assert opened.measure(PROBLEM, METHOD, None).ratio == 1.0


def test_a_candidate_that_computes_something_else_is_refused() -> None:
    data = ProblemData(PROBLEM)
    data.expected = data.terms = [np.ones((1, 32, 8, 8), np.float32)]
    data.require_right([np.ones((1, 32, 8, 8), np.float32)])
    with pytest.raises(ExecutionError, match=r"expected the result of the default within 0\.0001 of its largest"):
        data.require_right([np.full((1, 32, 8, 8), 1.001, np.float32)])


@pytest.mark.parametrize(
    ("operator", "shapes", "method"),
    [
        (MatMul(), ((9, 64), (64, 40)), PackedBfloat(4, 1)),
        (Conv(), ((1, 32, 8, 8), (32, 32, 1, 1)), DirectBfloat(1, 4, 1)),
    ],
)
def test_methods_that_round_operands_get_them_rounded(operator, shapes, method):
    pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    if not Machine.of(HERE).multiplies_pairs:
        pytest.skip("this processor has no fast dot products of bfloat16")
    problem = Problem(operator, tuple(TensorType.of("float32", shape) for shape in shapes))
    with SessionMeasurer(HERE) as opened:
        assert opened.measure(problem, method, None).ratio == 1.0


def test_results_of_rounded_operands_are_right_within_what_rounding_costs() -> None:
    data = ProblemData(PROBLEM)
    data.expected = data.terms = [np.ones((3, 3), np.float32)]
    data.require_right([np.full((3, 3), 1.003, np.float32)], are_rounded=True)
    with pytest.raises(ExecutionError, match=r"within 0\.0039 of the terms of each element, found 0\.01"):
        data.require_right([np.full((3, 3), 1.01, np.float32)], are_rounded=True)


def test_a_candidate_that_crashes_ends_its_session_and_the_next_one_gets_another() -> None:
    with measurer(kill, nothing) as opened:
        crashed = r"direct\(rows=1, columns=4, vectors=1\): time: the session's process died of SIGKILL"
        with pytest.raises(SessionCrashedError, match=crashed):
            opened.measure(PROBLEM, METHOD, None)
        assert opened.measure(PROBLEM, METHOD, None).ratio == 1.0


def test_a_candidate_whose_device_is_lost_is_measured_elsewhere() -> None:
    with measurer(lose, nothing) as opened:
        assert opened.measure(PROBLEM, METHOD, None).ratio == 1.0


def test_a_candidate_that_costs_two_devices_is_put_aside_with_both_stories() -> None:
    with measurer(lose, lose, nothing) as opened:
        lost = r"put aside, since 2 devices were lost: \S+ lost its power; \S+ lost its power"
        with pytest.raises(ExecutionError, match=lost):
            opened.measure(PROBLEM, METHOD, None)
        assert opened.measure(PROBLEM, Direct(1, 8, 1), None).ratio == 1.0


def test_devices_that_come_back_are_waited_for() -> None:
    refusals = [SessionLostError("no tracker"), SessionRefusedError("in use")]

    def come_back() -> Session:
        if refusals:
            raise refusals.pop()
        return LocalSession()

    with SessionMeasurer(HERE, come_back) as opened:
        assert opened.measure(PROBLEM, METHOD, None).ratio == 1.0
    assert not refusals


def test_a_device_that_is_given_after_the_end_is_given_back() -> None:
    given: list[LocalSession] = []

    def late() -> Session:
        opened.close()
        given.append(LocalSession())
        return given[0]

    opened = SessionMeasurer(HERE, late)
    with pytest.raises(SessionLostError, match="a measurer that is open"):
        opened.measure(PROBLEM, METHOD, None)
    assert given[0]._child.wait(0) is not None


def test_devices_that_stay_away_end_the_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_measurer, "PATIENCE", 0.0)

    def stay_away() -> Session:
        raise SessionLostError("no tracker")

    with SessionMeasurer(HERE, stay_away) as opened, pytest.raises(SessionLostError, match="no tracker"):
        opened.measure(PROBLEM, METHOD, None)


def test_a_closed_measurer_measures_nothing() -> None:
    opened = SessionMeasurer(HERE)
    opened.close()
    with pytest.raises(SessionLostError, match="a measurer that is open"):
        opened.measure(PROBLEM, METHOD, None)


def test_a_limit_must_be_positive() -> None:
    with pytest.raises(ArgumentError, match="expected a positive limit of seconds, found 0"):
        SessionMeasurer(HERE, seconds=0)
