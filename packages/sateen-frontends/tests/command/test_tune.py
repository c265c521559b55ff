from __future__ import annotations

import json
import sys

import pytest

from sateen import runtime
from sateen.frontends.command import compilers
from sateen.graph_ir.tune import Records, SessionMeasurer, Timing
from sateen.runtime import ExecutionError, Target
from sateen.tensor_ir.codegen import ExecutorPool

PROBLEM = "conv(float32[1, 32, 8, 8], float32[32, 32, 3, 3]) {pads=(1, 1, 1, 1)}"


@pytest.fixture
def measured(monkeypatch):
    """The methods that a fake measures, each faster than the one before."""
    asked = []

    def measure(self, problem, method, against):  # noqa: ARG001  # the signature is that of a Measurer
        asked.append(method)
        return Timing((1.0,) * 3, ((1.0 if against is None else 2.0),) * 3)

    monkeypatch.setattr(SessionMeasurer, "measure", measure)
    return asked


def test_a_model_is_tuned_and_its_records_are_used(sateen, convolution, tmp_path):
    ran = sateen("tune", convolution, "-o", "log.jsonl", "--trials", 2)
    assert ran.status == 0
    head, titles, row, summary = ran.out.splitlines()
    assert head == "convolution.onnx: 2 operators with a choice of methods, 1 different"
    assert titles.split()[:4] == ["problem", "times", "measured", "failed"]
    assert row.startswith(f"{PROBLEM}  ")
    assert row[len(PROBLEM) :].split()[:3] == ["2", "2", "0"]
    assert summary.startswith("ratio: ")
    records = Records.read(tmp_path / "log.jsonl")
    assert {str(r.problem) for r in records.records} == {PROBLEM}
    assert {r.target for r in records.records} == {str(Target.host())}
    assert sateen("compile", convolution, "-o", "tuned.sateen", "--records", "log.jsonl").status == 0
    artifact = runtime.read_artifact(tmp_path / "tuned.sateen")
    assert artifact.options == {"records": records.digest}
    assert sateen("verify", convolution, "--records", "log.jsonl", "--against", "reference").status == 0


def test_the_fastest_is_chosen_where_there_are_records(sateen, convolution, measured):
    assert sateen("tune", convolution, "-o", "log.jsonl", "--trials", 4).status == 0
    before, after = (
        json.loads(sateen("inspect", convolution, "--json", *options).out)["methods"][0]
        for options in ((), ("--records", "log.jsonl"))
    )
    assert before["chosen"]["method"] == str(measured[0])
    assert before["chosen"]["measured_seconds"] is None
    assert after["chosen"]["method"] == str(measured[-1])
    assert after["chosen"]["measured_seconds"] == 0.5 ** (len(measured) - 1)
    assert before["chosen"]["cycles"] <= min(c["cycles"] for c in before["rejected"])


def test_candidates_are_shown_with_their_estimates(sateen, convolution):
    ran = sateen("inspect", convolution, "--candidates")
    assert ran.status == 0
    titles, first, second = ran.out.splitlines()
    assert titles.split() == ["nodes", "problem", "chosen", "kcycles", "measured", "us", "rejected", "(kcycles)"]
    assert first.startswith("first  ")
    assert second.startswith("out    ")
    assert "winograd" in first
    assert "direct" in first


def test_json_judges_the_estimate(sateen, convolution, measured):
    answer = json.loads(sateen("tune", convolution, "-o", "log.jsonl", "--trials", 1, "--json").out)
    (tuned,) = answer["problems"]
    assert (tuned["problem"], tuned["count"], tuned["measured"], tuned["failed"]) == (PROBLEM, 2, 1, {})
    assert tuned["estimate"]["method"] == tuned["fastest"]["method"] == str(measured[0])
    assert (tuned["estimate"]["seconds"], tuned["ratio"]) == (1.0, 1.0)


def test_an_interrupt_leaves_what_was_measured_and_tuning_goes_on_from_there(
    sateen, convolution, measured, monkeypatch, tmp_path
):
    whole = SessionMeasurer.measure

    def interrupted(self, problem, method, against):
        if len(measured) == 2:
            raise KeyboardInterrupt
        return whole(self, problem, method, against)

    with monkeypatch.context() as patch:
        patch.setattr(SessionMeasurer, "measure", interrupted)
        ran = sateen("tune", convolution, "-o", "log.jsonl", "--trials", 4)
    assert (ran.status, ran.err.strip()) == (130, "interrupted")
    assert [r.method for r in Records.read(tmp_path / "log.jsonl").records] == measured
    assert sateen("tune", convolution, "-o", "log.jsonl", "--trials", 4).status == 0
    assert len(measured) == len(set(measured)) == 5
    assert [r.method for r in Records.read(tmp_path / "log.jsonl").records] == measured


def test_failures_are_told_on_stderr(sateen, convolution, measured, monkeypatch):
    whole = SessionMeasurer.measure

    def failing(self, problem, method, against):
        found = whole(self, problem, method, against)
        if len(measured) == 2:
            raise ExecutionError(f"{method}: died")
        return found

    monkeypatch.setattr(SessionMeasurer, "measure", failing)
    ran = sateen("tune", convolution, "-o", "log.jsonl", "--trials", 2)
    assert (ran.status, ran.err) == (0, f"failed: {PROBLEM}: {measured[1]}: died\n")


def test_a_target_of_another_machine_is_refused(sateen, convolution):
    ran = sateen("tune", convolution, "-o", "log.jsonl", "--target", "llvm -mtriple=armv7a-linux-gnueabihf")
    assert ran.status == 1
    assert ran.err.startswith("TargetError: tuning measures on this machine, ")
    assert "which lacks arm" in ran.err


def test_records_that_are_none_are_refused_with_their_line(sateen, convolution, tmp_path):
    (tmp_path / "log.jsonl").write_text("{}\n")
    for arguments in (
        ("tune", convolution, "-o", "log.jsonl"),
        ("compile", convolution, "-o", "net.sateen", "--records", "log.jsonl"),
        ("inspect", convolution, "--records", "log.jsonl"),
    ):
        ran = sateen(*arguments)
        assert ran.status == 1
        assert "log.jsonl:1: expected seconds as a number of 0 or more, found None" in ran.err


def test_records_of_others_are_wrong_usage(sateen, convolution, tmp_path):
    (tmp_path / "log.jsonl").write_text("")
    ran = sateen("tune", convolution, "-o", "new.jsonl", "--records", "log.jsonl")
    assert ran.status == 2
    assert "this one writes to -o, and goes on from there" in ran.err


def test_a_model_without_such_operators_has_nothing_to_tune(sateen, dense):
    ran = sateen("tune", dense, "-o", "log.jsonl")
    assert (ran.status, ran.out) == (0, "dense.onnx: 0 operators with a choice of methods, 0 different\n")


def test_candidates_are_compiled_by_the_workers_of_a_scheduler(sateen, convolution, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(host="127.0.0.1", **options) as cluster:
        told = []
        submit = ExecutorPool.submit
        monkeypatch.setattr(ExecutorPool, "submit", lambda *given: told.append(given[1].name) or submit(*given))
        place = cluster.scheduler_address.removeprefix("tcp://")
        ran = sateen("tune", convolution, "-o", "log.jsonl", "--trials", 2, "--compile-on", place)
    assert ran.status == 0, ran.err
    assert len(Records.read(tmp_path / "log.jsonl").records) == 2
    assert len(told) == 4  # the default with two kinds of data, and two candidates


def test_a_scheduler_that_is_not_there_is_told(sateen, convolution, monkeypatch):
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    monkeypatch.setattr(compilers, "CONNECT_SECONDS", 0.2)
    ran = sateen("tune", convolution, "-o", "log.jsonl", "--compile-on", "127.0.0.1:1")
    assert ran.status == 1
    assert "127.0.0.1:1: expected a scheduler of dask" in ran.err


def test_dask_is_asked_for_where_it_is_missing(sateen, convolution, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    ran = sateen("tune", convolution, "-o", "log.jsonl", "--compile-on", "127.0.0.1:1")
    assert ran.status == 1
    assert "expected dask.distributed, which is not installed; extra dask of sateen-frontends brings it" in ran.err
