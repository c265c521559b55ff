"""Tuning: what is measured, what comes of it, and measuring in a child process."""

from dataclasses import replace

import numpy as np
import pytest

from sateen.graph_ir import GraphBuilder, workloads
from sateen.graph_ir.ir import Problem
from sateen.graph_ir.ops import Conv, GlobalAveragePool, MatMul, MaxPool
from sateen.graph_ir.records import BEGUN, FAILED, installed_versions, machine_text
from sateen.graph_ir.tune import (
    Attempt,
    EstimateSearch,
    RandomSearch,
    Record,
    Records,
    SessionMeasurer,
    Timing,
    problems_of,
    tunings_of,
)
from sateen.runtime import (
    ExecutionError,
    Target,
)
from sateen.tensor_ir import Machine
from sateen.topi.computations.convolution import Direct
from sateen.topi.computations.products import Packed, Strassen
from sateen.topi.types import TensorType

TARGET = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4")


def problem(size, channels, outputs):
    shapes = (1, channels, size, size), (outputs, channels, 3, 3), (outputs,)
    return Problem(Conv((1, 1), (1, 1, 1, 1), (1, 1)), tuple(TensorType.of("float32", s) for s in shapes))


PROBLEM = problem(8, 32, 32)


class FakeMeasurer:
    """Knows the times of methods; those that it does not know fail."""

    def __init__(self, seconds, speed=lambda call: 1.0):
        self.seconds, self.speed = seconds, speed
        self.asked = []

    def measure(self, problem, method, against):  # noqa: ARG002  # of all problems the same
        self.asked.append((method, against))
        if method not in self.seconds:
            raise ExecutionError(f"{method}: wrong")
        factor = self.speed(len(self.asked))
        own, other = self.seconds[method] * factor, self.seconds[against or method] * factor
        return Timing((own,) * 3, (other,) * 3)


def tuning(most=5, known=None, search=None, tries_again=False):
    (made,) = tunings_of([PROBLEM], TARGET, most, known, search=search, tries_again=tries_again)
    return made


def sequence(search, most=5):
    """The methods in the order in which a search takes them, where all take the same time."""
    t = tuning(most, search=search)
    list(t.run(FakeMeasurer({c.method: 1.0 for c in t.candidates})))
    return [r.method for r in t.records]


ORDER = sequence(EstimateSearch(), 25)


def test_each_candidate_is_measured_in_turns_with_the_fastest_so_far():
    t = tuning()
    first, second, third, *rest = ORDER[:5]
    measurer = FakeMeasurer({first: 2.0, second: 1.0, third: 3.0, **dict.fromkeys(rest, 4.0)})
    assert [type(line) for line in t.run(measurer)] == [Attempt, Record] * 5
    assert measurer.asked[:4] == [(first, None), (second, first), (third, second), (rest[0], second)]
    assert t.fastest.method == second
    assert (t.estimate.method, t.estimated.seconds, t.ratio) == (first, 2.0, 0.5)
    assert t.remaining == 0


def test_that_a_measurement_begins_is_told_before_it_does():
    t, measurer = tuning(), FakeMeasurer({ORDER[0]: 1.0})
    begun = next(t.run(measurer))
    assert (begun.method, begun.outcome, measurer.asked) == (ORDER[0], BEGUN, [])


def test_seconds_compare_although_the_machine_becomes_slower():
    t = tuning()
    times = {method: float(i + 1) for i, method in enumerate(ORDER[:5])}
    list(t.run(FakeMeasurer(times, speed=float)))
    assert {r.method: r.seconds for r in t.records} == pytest.approx(times)


def test_what_fails_is_told_and_is_no_record():
    t = tuning()
    lines = list(t.run(FakeMeasurer({ORDER[1]: 1.0})))
    failures = [line for line in lines if isinstance(line, Attempt) and line.outcome == FAILED]
    assert [f.method for f in failures] == [ORDER[0], *ORDER[2:5]]
    assert failures[0].reason == t.failures[ORDER[0]] == f"{ORDER[0]}: wrong"
    assert [r.method for r in t.records] == [ORDER[1]]
    assert t.ratio is None


def lines_of(t, measurer, count):
    """Records of the first lines that a tuning gives."""
    lines = [line for line, _ in zip(t.run(measurer), range(count), strict=False)]
    return Records(
        tuple(line for line in lines if isinstance(line, Record)),
        tuple(line for line in lines if isinstance(line, Attempt)),
    )


def test_what_is_known_is_not_measured_again():
    times = dict.fromkeys(ORDER[1:], 1.0)
    known = lines_of(tuning(), FakeMeasurer(times), 4)
    second, measurer = tuning(known=known), FakeMeasurer(times)
    list(second.run(measurer))
    assert [method for method, _ in measurer.asked] == ORDER[2:5]
    assert second.failures == {ORDER[0]: f"{ORDER[0]}: wrong"}
    again, measurer = tuning(known=known, tries_again=True), FakeMeasurer(times)
    list(again.run(measurer))
    assert measurer.asked[0] == (ORDER[0], ORDER[1])


def test_what_was_begun_three_times_is_put_aside():
    begun = Attempt(str(TARGET), PROBLEM, ORDER[0], BEGUN, versions=dict(installed_versions()))
    assert tuning(known=Records((), (begun, begun))).failures == {}
    t = tuning(known=Records((), (begun, begun, begun)))
    assert t.failures == {ORDER[0]: f"{ORDER[0]}: begun 3 times, never finished"}
    assert t.remaining == 4


def test_a_record_of_what_is_no_candidate_or_of_other_versions_or_machines_is_left_alone():
    own = Record(str(TARGET), PROBLEM, ORDER[0], 1.0, machine=machine_text(TARGET), versions=dict(installed_versions()))
    assert tuning(known=Records((own,))).records == [own]
    stale = replace(own, method=Direct(9, 9, 9))
    older = replace(own, versions={**own.versions, "sateen-topi": "0.0.1"})
    other = replace(own, machine="x86_64, 16 registers of 32 bytes, caches of 32 KB, 512 KB, 0 KB")
    assert tuning(known=Records((stale, older, other))).records == []


def test_the_estimate_takes_the_best_and_each_fifth_from_all():
    possible = [c.method for c in PROBLEM.candidates(Machine.of(TARGET))]
    chosen = sequence(EstimateSearch(), 10)
    assert chosen[:4] == possible[:4]
    assert chosen[5:9] == [m for m in possible if m not in chosen[:5]][:4]
    assert len(chosen) == len(set(chosen)) == 10
    assert len(sequence(EstimateSearch(), 1000)) == len(possible)


def test_a_random_search_draws_from_all_after_the_estimate():
    possible = [c.method for c in PROBLEM.candidates(Machine.of(TARGET))]
    chosen = sequence(RandomSearch(), 10)
    assert chosen[0] == possible[0]
    assert len(set(chosen)) == 10
    assert chosen[1:8] != possible[1:8]
    assert chosen == sequence(RandomSearch(), 10)


def test_strict_candidates_are_direct():
    (t,) = tunings_of([PROBLEM], TARGET, 8, numerics="strict")
    assert all(isinstance(c.method, Direct) for c in t.candidates)


def test_gains_are_expected_where_the_last_ones_were_large():
    t = tuning(8)
    times = [1.0] * 4 + [0.5]
    hopes = []
    for method, seconds in zip(ORDER, times, strict=False):
        list(t.run(FakeMeasurer(dict.fromkeys(ORDER, 1.0) | {method: seconds}), 1))
        hopes.append(t.expected_gain)
    assert hopes[:4] == pytest.approx([0.05, 0.025, 0.05 / 3, 0.0125])
    assert hopes[4] == pytest.approx(0.1)


def test_problems_of_a_network_are_counted_after_the_passes_that_change_them():
    found = problems_of(workloads.resnet(), TARGET)
    assert found[problem(56, 64, 64)] == 4
    assert [str(p) for p in found if isinstance(p.op, MaxPool)] == [
        "max_pool(float32[1, 64, 112, 112]) {kernel=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1)}"
    ]
    assert [str(p) for p in found if isinstance(p.op, GlobalAveragePool)] == [
        "global_average_pool(float32[1, 512, 7, 7])"
    ]
    assert len(found) == 14
    products = [p for p in found if isinstance(p.op, MatMul)]
    assert [str(p) for p in products] == ["mat_mul(float32[1, 512], float32[512, 1000])"]
    assert all(isinstance(c.method, Packed | Strassen) for c in products[0].candidates(Machine.of(TARGET)))


def test_a_convolution_without_a_choice_is_none_to_tune():
    g = GraphBuilder("test")
    x, w = g.input("x", "float32", (1, 32, 8, 8)), g.parameter("w", np.ones((4, 32, 3, 3), "float32"))
    g.output(g.add(Conv(), x, w))
    assert problems_of(g.finish(), TARGET) == {}


@pytest.mark.parametrize("text", ["llvm", "llvm -mcpu=x86-64-v3"])
def test_candidates_are_measured_on_this_machine(text):
    target = Target.of(text)
    if Target.host().missing_features(target):
        pytest.skip("this machine does not run the target's code")
    (t,) = tunings_of([PROBLEM], target, 3)
    if not t.candidates:
        pytest.skip("no vectors to block channels by")
    with SessionMeasurer(target, seconds=60.0) as process:
        list(t.run(process))
    assert t.failures == {}
    assert [r.method for r in t.records] == [c.method for c in t.candidates[:3]]
