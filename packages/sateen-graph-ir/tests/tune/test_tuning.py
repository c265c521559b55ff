"""Tuning: what is measured, what comes of it, and measuring in a child process."""

import numpy as np
import pytest

from sateen.graph_ir import GraphBuilder, workloads
from sateen.graph_ir.ir import Problem
from sateen.graph_ir.ops import Conv, MatMul
from sateen.graph_ir.tune import Record, SessionMeasurer, Timing, problems_of, tuning_of
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


def tuning(count=4, records=()):
    return tuning_of(PROBLEM, TARGET, count, records)


def test_each_candidate_is_measured_in_turns_with_the_fastest_so_far():
    t = tuning()
    first, second, third, *rest = (c.method for c in t.trials)
    measurer = FakeMeasurer({first: 2.0, second: 1.0, third: 3.0, **dict.fromkeys(rest, 4.0)})
    assert len(list(t.run(measurer))) == 5
    assert measurer.asked[:4] == [(first, None), (second, first), (third, second), (rest[0], second)]
    assert t.fastest.method == second
    assert (t.estimate.method, t.estimated.seconds, t.ratio) == (first, 2.0, 0.5)
    assert t.remaining == []


def test_seconds_compare_although_the_machine_becomes_slower():
    t = tuning()
    times = {c.method: float(i + 1) for i, c in enumerate(t.trials)}
    list(t.run(FakeMeasurer(times, speed=float)))
    assert {r.method: r.seconds for r in t.records} == pytest.approx(times)


def test_what_fails_is_told_and_not_recorded():
    t = tuning()
    methods = [c.method for c in t.trials]
    found = list(t.run(FakeMeasurer({methods[1]: 1.0})))
    assert [r and r.method for r in found] == [None, methods[1], None, None, None]
    assert t.failures[methods[0]] == f"{methods[0]}: wrong"
    assert t.ratio is None


def test_where_nothing_can_be_measured_the_first_failure_is_told():
    t = tuning()
    with pytest.raises(ExecutionError, match=r"no candidate of conv\(float32.* can be measured; the first: .*: wrong"):
        list(t.run(FakeMeasurer({})))


def test_what_is_recorded_is_not_measured_again():
    first = tuning()
    times = {c.method: 1.0 for c in first.trials}
    begun = [r for r, _ in zip(first.run(FakeMeasurer(times)), range(2), strict=False)]
    second = tuning(records=begun)
    measurer = FakeMeasurer(times)
    list(second.run(measurer))
    assert [method for method, _ in measurer.asked] == [c.method for c in second.trials[2:]]


def test_a_record_of_what_is_no_candidate_is_left_alone():
    stale = Record(str(TARGET), PROBLEM, Direct(9, 9, 9), 1e-9)
    assert tuning(records=[stale]).records == []


def test_trials_are_the_best_estimates_and_some_others():
    possible = PROBLEM.candidates(Machine.of(TARGET))
    chosen = tuning_of(PROBLEM, TARGET, 8).trials
    assert chosen[:8] == possible[:8]
    assert len(chosen) == len(set(chosen)) == 10
    assert chosen == tuning_of(PROBLEM, TARGET, 8).trials
    assert len(tuning_of(PROBLEM, TARGET, 1000).trials) == len(possible)


def test_a_sample_is_drawn_from_all():
    possible = PROBLEM.candidates(Machine.of(TARGET))
    chosen = tuning_of(PROBLEM, TARGET, 8, sample=True).trials
    assert chosen[0] == possible[0]
    assert len(set(chosen)) == 10
    assert chosen[1:8] != possible[1:8]


def test_strict_trials_are_direct():
    assert all(isinstance(c.method, Direct) for c in tuning_of(PROBLEM, TARGET, 8, numerics="strict").trials)


def test_problems_of_a_network_are_counted_after_the_passes_that_change_them():
    found = problems_of(workloads.resnet(), TARGET)
    assert found[problem(56, 64, 64)] == 4
    assert len(found) == 12
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
    t = tuning_of(PROBLEM, target, 3)
    if not t.trials:
        pytest.skip("no vectors to block channels by")
    with SessionMeasurer(target, seconds=60.0) as process:
        list(t.run(process))
    assert t.failures == {}
    assert len(t.records) == len(t.trials)
    assert all(r.seconds > 0 for r in t.records)
