"""Candidates on a device: what is measured, what is refused, and what becomes of a device that is lost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf
from typing import Any

import pytest

from sateen import runtime
from sateen.graph_ir import GraphBuilder, build
from sateen.graph_ir.ir import Problem
from sateen.graph_ir.ops import Conv, MatMul
from sateen.graph_ir.records import Record, Records
from sateen.graph_ir.tune import SessionMeasurer, problem_bench, problems_of, tunings_of
from sateen.graph_ir.tune.problem_bench import ROUNDS
from sateen.runtime import (
    DeviceError,
    DeviceLostError,
    ExecutionError,
    LocalSession,
    Session,
    SessionRefusedError,
    Target,
)
from sateen.topi.computations.products import Tiled
from sateen.topi.types import TensorType

OPENCL = Target.parse("opencl")
PROBLEM = Problem(MatMul(), tuple(TensorType.of("float32", s) for s in ((12, 20), (20, 16))))
WIDE = Problem(MatMul(), tuple(TensorType.of("float32", s) for s in ((128, 2), (2, 1 << 14))))
METHOD = Tiled(2, 2, 4, 2, 4)


@pytest.fixture(autouse=True)
def _opencl() -> None:
    if os.name != "posix":
        pytest.skip("local sessions need setrlimit of POSIX")
    try:
        runtime.open_device("opencl")
    except DeviceError as error:
        pytest.skip(str(error))


class Watched(LocalSession):
    """A session in which something happens whenever a candidate is timed; it counts the networks that it loads."""

    def __init__(self, happens: Callable[[], None]) -> None:
        self.loads = 0
        self._happens = happens
        super().__init__()

    def load_model(self, *arguments: Any, **options: Any) -> Any:
        self.loads += 1
        return super().load_model(*arguments, **options)

    def time_networks(self, *arguments: Any, **options: Any) -> Any:
        self._happens()
        return super().time_networks(*arguments, **options)


def nothing() -> None:
    """Nothing happens."""


def lose() -> None:
    raise DeviceLostError("opencl(0): it was reset")


def measurer(*sessions: Watched) -> SessionMeasurer:
    """One that gets these sessions, one after the other."""
    given: Iterator[Session] = iter(sessions)
    return SessionMeasurer(OPENCL, lambda: next(given))


@pytest.mark.parametrize("target", ["opencl", "opencl -mcpu=processor"])
def test_a_problem_is_tuned_on_a_device_and_its_records_are_used(target: str) -> None:
    g = GraphBuilder("net")
    x, w = g.input("x", "float32", (1, 3, 9, 9)), g.input("w", "float32", (8, 3, 3, 3))
    g.output(g.add(Conv(pads=(1, 1, 1, 1)), x, w, name="y"))
    graph = g.finish()
    (problem,) = problems_of(graph, Target.parse(target))
    (tuning,) = tunings_of([problem], Target.parse(target), 2)
    with SessionMeasurer(Target.parse(target)) as opened:
        records = [line for line in tuning.run(opened) if isinstance(line, Record)]
    assert [r.method for r in records] == [c.method for c in tuning.candidates[:2]]
    name = runtime.open_device("opencl").description.name
    assert {r.machine.split(",")[0] for r in records} == {name}
    slow = Records([*records, replace(records[-1], seconds=1e-12)])
    artifact = build(graph, target, records=slow)
    assert artifact.options["records"] == slow.digest
    assert artifact.kernels != build(graph, target).kernels


def test_methods_are_timed_in_turns_on_arrays_that_stay_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem_bench, "SLOW", inf)
    with measurer(Watched(nothing)) as opened:
        alone = opened.measure(PROBLEM, METHOD, None)
        assert alone.ratio == 1.0
        turns = opened.measure(PROBLEM, Tiled(4, 1, 4, 1, 2), METHOD)
    assert len(turns.seconds) == len(turns.against) == ROUNDS


def test_what_exceeds_the_device_is_refused_before_it_is_launched() -> None:
    most = runtime.open_device("opencl").description.block_threads
    with measurer(Watched(nothing)) as opened:
        words = rf"tiled\(threads_y=128, .*\): .*expects blocks of {256 * most} threads, the device has at most {most}"
        with pytest.raises(ExecutionError, match=words):
            opened.measure(WIDE, Tiled(128, 1, 2 * most, 1, 1), None)
        assert opened.measure(PROBLEM, METHOD, None).ratio == 1.0


def test_a_candidate_whose_device_is_lost_is_measured_on_the_next() -> None:
    with measurer(Watched(lose), Watched(nothing)) as opened:
        assert opened.measure(PROBLEM, METHOD, None).ratio == 1.0


def test_a_candidate_that_costs_two_devices_is_put_aside_with_both_stories() -> None:
    with measurer(Watched(lose), Watched(lose), Watched(nothing)) as opened:
        lost = (
            r"tiled\(.*\): put aside, since 2 devices were lost: opencl\(0\): it was reset; opencl\(0\): it was reset"
        )
        with pytest.raises(ExecutionError, match=lost):
            opened.measure(PROBLEM, METHOD, None)
        assert opened.measure(PROBLEM, Tiled(4, 1, 4, 1, 2), None).ratio == 1.0


def test_a_session_without_the_device_measures_nothing() -> None:
    with (
        SessionMeasurer(OPENCL, device=runtime.opencl(99)) as opened,
        pytest.raises(SessionRefusedError, match=r"expected opencl\(99\)"),
    ):
        opened.measure(PROBLEM, METHOD, None)
