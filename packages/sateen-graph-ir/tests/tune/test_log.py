"""The log of tuning: what is in it after any stop."""

from __future__ import annotations

import os
import random
import signal
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sateen.graph_ir.ir import OpSet, Problem
from sateen.graph_ir.records import BEGUN, FAILED, Attempt, Comparison, installed_versions, machine_text
from sateen.graph_ir.tune import (
    Allocation,
    EvolutionarySearch,
    Record,
    Records,
    Timing,
    TuningLog,
    is_log,
    measure_all,
    tunings_of,
)
from sateen.runtime import ArgumentError, Target
from sateen.topi.methods import Method

SIZES, TRIALS = (16, 32), 8


@pytest.fixture
def operators(land: ModuleType) -> OpSet:
    return OpSet.of(land.Land)


@pytest.fixture
def lines(land: ModuleType) -> list[Record | Attempt]:
    """A failure, a record and what was begun."""
    tuning = land.tuning_of(EvolutionarySearch(), 3)
    first = tuning.estimate.method
    return list(tuning.run(land.Surveyor(lambda method: method == first)))


def test_lines_are_read_back(lines: list[Record | Attempt], operators: OpSet, tmp_path: Path) -> None:
    with TuningLog(tmp_path / "log.jsonl", operators) as log:
        for line in lines:
            log.write(line)
    assert is_log(tmp_path / "log.jsonl")
    with TuningLog(tmp_path / "log.jsonl", operators) as log:
        known = log.known
    assert [*known.records] == [line for line in lines if isinstance(line, Record)]
    assert [a.outcome for a in known.attempts] == [BEGUN, FAILED, BEGUN, BEGUN]
    assert [*known.attempts] == [line for line in lines if isinstance(line, Attempt)]


def test_a_last_line_that_is_cut_anywhere_is_mended(
    lines: list[Record | Attempt], operators: OpSet, tmp_path: Path
) -> None:
    path, first, last = tmp_path / "log.jsonl", f"{lines[0]}\n".encode(), str(lines[-1]).encode()
    for end in range(1, len(last) + 1):
        path.write_bytes(first + last[:end])
        assert len(Records.read(path, operators).records) == (end == len(last))
        with TuningLog(path, operators) as log:
            log.write(lines[-1])
        whole = path.read_bytes()
        assert whole == first + (last + b"\n") * (2 if end == len(last) else 1)


def test_a_log_is_made_by_its_first_line_or_by_an_end_without_an_error(operators: OpSet, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with pytest.raises(ArgumentError), TuningLog(path, operators):
        raise ArgumentError("the model is no model")
    assert not path.exists()
    with TuningLog(path, operators):
        pass
    assert path.read_bytes() == b""


def test_ratios_are_read_by_what_was_compared_here(operators: OpSet, tmp_path: Path) -> None:
    target, versions = Target.host(), dict(installed_versions())
    here = Comparison(str(target), "one against two", 0.9, machine_text(target), versions)
    others = [
        replace(here, ratio=0.5, machine="another"),
        replace(here, ratio=0.5, versions={**versions, "sateen-topi": "0.0.1"}),
        replace(here, ratio=0.5, target="llvm -mtriple=armv7a-linux-gnueabihf"),
    ]
    path = tmp_path / "log.jsonl"
    with TuningLog(path, operators) as log:
        for line in (here, *others, replace(here, ratio=0.8)):
            log.write(line)
    known = Records.read(path, operators)
    assert known.comparisons[0] == here
    assert known.compared_here(target) == {"one against two": [0.9, 0.8]}
    path.write_text(str(here).replace("0.9", "0") + "\n")
    with pytest.raises(ArgumentError, match=r"log\.jsonl:1: expected ratio of more than 0, found 0"):
        Records.read(path, operators)


def test_what_is_no_log_is_refused_and_left_alone(operators: OpSet, tmp_path: Path) -> None:
    path = tmp_path / "weights.npy"
    for content in (b"\x93NUMPY" + bytes(100), b"{}", b"{}\n", b"x" * 5000, b'{"target": 1}'):
        path.write_bytes(content)
        with pytest.raises(ArgumentError, match=r"weights\.npy:1: expected"):
            TuningLog(path, operators)
        assert path.read_bytes() == content
    assert not is_log(path.with_name("none"))


def test_a_failure_takes_earlier_records_of_its_method_away(
    lines: list[Record | Attempt], operators: OpSet, tmp_path: Path
) -> None:
    record = lines[-1]
    assert isinstance(record, Record)
    failed = Attempt(record.target, record.problem, record.method, FAILED, "it crashed", record.versions)
    path = tmp_path / "log.jsonl"
    path.write_text(f"{record}\n{failed}\n")
    assert Records.read(path, operators).records == ()
    path.write_text(f"{record}\n{failed}\n{record}\n")
    assert Records.read(path, operators).records == (record,)


def _tune(land: ModuleType, path: Path, operators: OpSet, told: int, go: int) -> None:
    """Tunes, and waits for a word before it measures a candidate: whoever says it may stop the process instead."""

    class Waiting(land.Surveyor):  # type: ignore[misc, name-defined]  # a class of a module that is a fixture
        def measure(self, problem: Problem, method: Method, against: Method | None) -> Timing:
            os.write(told, b".")
            os.read(go, 1)
            timing: Timing = super().measure(problem, method, against)
            return timing

    with TuningLog(path, operators) as log:
        problems = [land.problem_of(size) for size in SIZES]
        tunings = tunings_of(problems, land.TARGET, TRIALS, log.known, search=EvolutionarySearch())
        for _, line in measure_all(Allocation(tunings, [1] * len(tunings)), [Waiting()]):
            log.write(line)


def _run_until_stopped(work: Any, candidates: int, number: int) -> tuple[bool, int]:
    """Run a function in a process that ends itself, or is stopped when it begins the candidate after so many; whether
    it ended, and how many it began."""
    (told, tell), (go, say) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(told)
            os.close(say)
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background processes ignore it
            work(tell, go)
            os._exit(0)
        except BaseException:  # noqa: BLE001  # whatever it was, the fork must not go on as a test
            os._exit(1)
    os.close(tell)
    os.close(go)
    asked = 0
    while os.read(told, 1):
        asked += 1
        if asked > candidates:
            os.kill(child, number)
            break
        os.write(say, b".")
    os.close(say)
    _, status = os.waitpid(child, 0)
    os.close(told)
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0, asked


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded, use of fork")
def test_tuning_that_is_stopped_again_and_again_measures_each_candidate_once(
    land: ModuleType, operators: OpSet, tmp_path: Path
) -> None:
    path, chance, stops, asked, ended = tmp_path / "log.jsonl", random.Random(0), -1, 0, False
    while not ended:
        ended, begun_now = _run_until_stopped(
            lambda tell, go: _tune(land, path, operators, tell, go),
            chance.randrange(4),
            chance.choice((signal.SIGINT, signal.SIGKILL)),
        )
        stops, asked = stops + 1, asked + begun_now
        assert stops < 50
    known = Records.read(path, operators)
    measured = [(r.problem, r.method) for r in known.records]
    begun = [(a.problem, a.method) for a in known.attempts if a.outcome == BEGUN]
    assert len(set(measured)) == len(measured)
    put_aside = {task for task in begun if begun.count(task) >= 3} - set(measured)
    assert len(measured) + len(put_aside) == len(SIZES) * TRIALS
    assert stops > 2
    assert len(begun) == asked <= len(measured) + stops
