"""Logs joined: what is kept of measurements that are in both."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sateen.graph_ir.ir import Problem
from sateen.graph_ir.ops import Conv
from sateen.graph_ir.records import BEGUN, FAILED, Attempt, Record, Records, merged
from sateen.topi.computations.convolution import Direct
from sateen.topi.types import TensorType

TARGET = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4"
PROBLEM = Problem(Conv(), (TensorType.of("float32", (1, 32, 16, 16)), TensorType.of("float32", (32, 32, 3, 3))))
BASE = Record(TARGET, PROBLEM, Direct(1, 1, 1), 1.0, 0.01, 100.0, "a machine", {"sateen-topi": "1"})


def record(columns: int, seconds: float, spread: float = 0.01, verified: int = 0) -> Record:
    return replace(BASE, method=Direct(1, columns, 1), seconds=seconds, spread=spread, verified=verified)


def by_columns(records: Records) -> dict[int, float]:
    return {r.method.columns: r.seconds for r in records.records if isinstance(r.method, Direct)}


def test_times_are_scaled_by_what_both_have_measured() -> None:
    first = Records((record(1, 1.0), record(2, 2.0), record(3, 3.0)))
    slower = Records((record(1, 1.5), record(2, 3.0), record(4, 0.75)))
    assert by_columns(merged([first, slower])) == pytest.approx({1: 1.0, 2: 2.0, 3: 3.0, 4: 0.5})
    assert by_columns(merged([slower, first]))[4] / by_columns(merged([slower, first]))[3] == pytest.approx(1 / 6)


def test_of_the_same_method_the_verified_one_counts_then_that_of_less_spread() -> None:
    first = Records((record(1, 1.0), record(2, 2.0, spread=0.5), record(3, 3.0)))
    second = Records((record(1, 1.0, verified=3, spread=0.2), record(2, 2.2, spread=0.1)))
    joined = {r.method: r for r in merged([first, second]).records}
    assert joined[Direct(1, 1, 1)].verified == 3
    assert joined[Direct(1, 2, 1)].spread == 0.1
    assert len(joined) == 3


def test_a_log_joined_with_itself_is_itself() -> None:
    log = Records((record(1, 1.0), record(2, 2.0), replace(record(3, 3.0), preferred=True)))
    assert merged([log, log]) == merged([log]) == log


def test_targets_machines_and_versions_stay_apart() -> None:
    own = record(1, 1.0)
    others = [
        replace(own, target="llvm -mtriple=aarch64-unknown-linux-gnu", seconds=2.0),
        replace(own, machine="another", seconds=3.0),
        replace(own, versions={"sateen-topi": "2"}, seconds=4.0),
    ]
    joined = merged([Records((own,)), *(Records((r,)) for r in others)])
    assert sorted(r.seconds for r in joined.records) == [1.0, 2.0, 3.0, 4.0]


def test_failures_stay_where_nobody_has_a_record_and_what_was_begun_goes() -> None:
    failed, measured = (Attempt(TARGET, PROBLEM, Direct(1, n, 1), FAILED, "wrong") for n in (5, 1))
    begun = replace(failed, outcome=BEGUN, reason="")
    joined = merged([Records((record(1, 1.0),), (begun, failed)), Records((), (measured, failed))])
    assert joined.attempts == (failed,)


def test_of_the_installed_versions_records_come_first_then_of_the_latest() -> None:
    old = replace(record(1, 0.1), versions={"sateen-topi": "0.9"})
    new = replace(record(2, 5.0), versions={"sateen-topi": "0.10"})
    for order in ((old, new), (new, old)):
        assert Records(order).best(TARGET)(PROBLEM) == (Direct(1, 2, 1),)
