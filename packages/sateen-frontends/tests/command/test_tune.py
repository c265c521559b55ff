from __future__ import annotations

import json
import os
import re
import sys

import pytest

from sateen import runtime
from sateen.frontends.command import compilers, problem_list, tuned_network
from sateen.frontends.command.arguments import duration
from sateen.frontends.command.turns import ContenderHere
from sateen.graph_ir.tune import BEGUN, Allocation, Comparison, Records, SessionMeasurer, Timing, TuningLog
from sateen.runtime import ExecutionError, Target
from sateen.tensor_ir.codegen import CompilerPool, ExecutorPool, cache_key

PROBLEM = "conv(float32[1, 32, 8, 8], float32[32, 32, 3, 3]) {pads=(1, 1, 1, 1)}"


@pytest.fixture
def measured(monkeypatch):
    """The methods that a fake measures, each twice as fast as the one before, also when they are compared again."""
    asked = []

    def measure(self, problem, method, against):  # noqa: ARG001  # the signature is that of a Measurer
        asked.append(method)
        return Timing((1.0,) * 3, ((1.0 if against is None else 2.0),) * 3)

    monkeypatch.setattr(SessionMeasurer, "measure", measure)
    return asked


def test_a_model_is_tuned_and_its_records_are_used(sateen, convolution, tmp_path):
    ran = sateen("tune", convolution, "-o", "log.jsonl", "--trials", 2)
    assert ran.status == 0
    head, titles, row, summary, gain = ran.out.splitlines()
    assert head == "convolution.onnx: 2 operators with a choice of methods, 1 different"
    assert titles.split()[:4] == ["problem", "times", "measured", "failed"]
    assert row.startswith(f"{PROBLEM}  ")
    assert row[len(PROBLEM) :].split()[:3] == ["2", "2", "0"]
    assert summary.startswith("ratio: ")
    assert re.fullmatch(r"gain: \d+\.\d% of \S+ ms that these operators take, each alone", gain)
    records = Records.read(tmp_path / "log.jsonl")
    assert {str(r.problem) for r in records.records} == {PROBLEM}
    assert {r.target for r in records.records} == {str(Target.host())}
    assert sateen("compile", convolution, "-o", "tuned.sateen", "--records", "log.jsonl").status == 0
    artifact = runtime.read_artifact(tmp_path / "tuned.sateen")
    assert artifact.options == {"records": records.digest}
    assert sateen("verify", convolution, "--records", "log.jsonl", "--against", "reference").status == 0


def test_the_fastest_is_chosen_where_there_are_records(sateen, convolution, measured):
    assert sateen("tune", convolution, "-o", "log.jsonl", "--trials", 5, "--no-verify").status == 0
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
        ran = sateen("tune", convolution, "-o", "log.jsonl", "--trials", 5, "--no-verify")
    told = "log.jsonl has what 2 candidates took; the same command goes on from there"
    assert (ran.status, ran.err.split("\n\n")) == (130, [told, "interrupted\n"])
    assert [r.method for r in Records.read(tmp_path / "log.jsonl").records] == measured
    assert sateen("tune", convolution, "-o", "log.jsonl", "--trials", 5, "--no-verify").status == 0
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
    ran = sateen("tune", convolution, "-o", "log.jsonl", "--trials", 3, "--no-verify")
    assert (ran.status, ran.err) == (0, f"failed: {PROBLEM}: {measured[1]}: died\n")


def test_a_log_of_a_model_that_was_tuned_is_gone_on_with_without_reading_the_model(
    sateen, convolution, measured, monkeypatch
):
    assert sateen("tune", convolution, "-o", "log.jsonl", "--trials", 2).status == 0
    before = len(measured)
    monkeypatch.setattr(problem_list, "read_graph", None)
    monkeypatch.setattr("sateen.frontends.command.tune.sources_of", None)
    assert sateen("tune", convolution, "-o", "log.jsonl", "--trials", 3, "--no-verify").status == 0
    assert len(measured) == before + 1


def test_a_model_that_has_changed_is_read_again(sateen, convolution, measured, monkeypatch):  # noqa: ARG001
    read, told = problem_list.read_graph, []
    monkeypatch.setattr(problem_list, "read_graph", lambda *given: told.append(given) or read(*given))
    for _ in range(2):
        assert sateen("tune", convolution, "-o", "log.jsonl", "--trials", 1).status == 0
    assert len(told) == 1
    convolution.write_bytes(convolution.read_bytes())
    os.utime(convolution, (1, 1))
    assert sateen("tune", convolution, "-o", "log.jsonl", "--trials", 1).status == 0
    assert sateen("tune", convolution, "-o", "log.jsonl", "--trials", 1, "--no-cache").status == 0
    assert len(told) == 3


def test_time_ends_measuring_and_what_was_measured_is_there(sateen, convolution, measured, monkeypatch):
    monkeypatch.setattr(Allocation.__init__, "__defaults__", (None, Clock()))
    assert sateen("tune", convolution, "-o", "log.jsonl", "--trials", 50, "--time", "10s", "--no-verify").status == 0
    assert len(measured) == 8  # each visit, to four candidates, looks at the clock five times
    ran = sateen("tune", convolution, "-o", "log.jsonl", "--time", "soon")
    assert ran.status == 2
    assert "expected a time such as 90s, 10m or 1h30m, found 'soon'" in ran.err


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("1m5s", 65)])
def test_a_time_is_in_seconds_minutes_and_hours(text, seconds):
    assert duration(text) == seconds


class Clock:
    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        self.seconds += 1.0
        return self.seconds


def test_what_is_fastest_is_compared_again(sateen, convolution, measured, tmp_path):
    assert sateen("tune", convolution, "-o", "log.jsonl", "--trials", 2).status == 0
    records = Records.read(tmp_path / "log.jsonl").of(Target.host())
    ((fastest, estimate),) = records.values()
    assert (fastest.verified, estimate.verified) == (3, 3)
    assert fastest.method == measured[1]
    assert fastest.seconds == 0.5


@pytest.mark.parametrize("search", ["random", "evolutionary", "model"])
def test_searches_have_names(sateen, convolution, measured, search):
    if search == "model":
        pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    ran = sateen("tune", convolution, "-o", "log.jsonl", "--trials", 4, "--search", search, "--no-verify")
    assert (ran.status, len(set(measured))) == (0, 4)


def test_a_search_without_its_package_is_refused(sateen, convolution, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    ran = sateen("tune", convolution, "-o", "log.jsonl", "--search", "model")
    assert ran.status == 1
    assert "expected scikit-learn, which is not installed; extra learn of sateen-graph-ir brings it" in ran.err


def test_the_whole_network_is_compared(sateen, convolution, measured, monkeypatch):  # noqa: ARG001
    monkeypatch.setattr(tuned_network, "SAMPLES", 3)
    ran = sateen("tune", convolution, "-o", "log.jsonl", "--trials", 2, "--no-verify", "--network")
    assert ran.status == 0, ran.err
    told = r"whole network by records: \d\.\d{3} of the time by the estimate, the spread is \d\.\d{3}\n"
    assert re.match(told, ran.out)


@pytest.fixture
def slower_network(monkeypatch):
    """Fakes of whole networks, by records a tenth slower than by the estimate; the names of those that are compiled."""
    compiled = []
    compile_model = tuned_network.compile_model

    def compiling(path, compilation, **options):
        compiled.append("estimate" if compilation.records is None else "records")
        return compile_model(path, compilation, **options)

    class Fake(ContenderHere):
        def sample(self):
            self._samples.append(1.1 if self.name == "records" else 1.0)

    monkeypatch.setattr(tuned_network, "compile_model", compiling)
    monkeypatch.setattr(tuned_network, "ContenderHere", Fake)
    return compiled


def test_tuning_goes_on_after_whatever_step_it_is_stopped(
    sateen, convolution, measured, slower_network, monkeypatch, tmp_path
):
    monkeypatch.setattr(tuned_network, "SAMPLES", 3)
    write, lines = TuningLog.write, []

    def stopped(self, line):
        write(self, line)
        lines.append(line)
        if getattr(line, "outcome", "") != BEGUN:
            raise KeyboardInterrupt

    monkeypatch.setattr(TuningLog, "write", stopped)
    while sateen("tune", convolution, "-o", "log.jsonl", "--trials", 2, "--network").status == 130:
        assert len(lines) < 40
    assert [str(line) for line in lines] == (tmp_path / "log.jsonl").read_text().splitlines()
    ratios = [line.ratio for line in lines if isinstance(line, Comparison)]
    assert ratios == [0.5] * 3 + [1.1] * 3  # three processes for the choice, three turns of the network
    assert lines[-1].preferred
    assert len(measured) == 2 + 3
    assert slower_network == ["estimate", "records"]
    assert not list((tmp_path / "cache/sateen/networks").iterdir())


@pytest.mark.parametrize(
    ("options", "status"), [(["--dim", "n=3"], 1), (["--search", "model"], 1), (["--target", "cortex-m4"], 1)]
)
def test_tuning_that_fails_before_anything_is_measured_leaves_no_log(
    sateen, convolution, tmp_path, monkeypatch, options, status
):
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    assert sateen("tune", convolution, "-o", "log.jsonl", *options).status == status
    assert not (tmp_path / "log.jsonl").exists()


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
        monkeypatch.setattr(ExecutorPool, "submit", lambda *given, **more: told.append(1) or submit(*given, **more))
        place = cluster.scheduler_address.removeprefix("tcp://")
        options = ("--trials", 2, "--no-verify", "--no-cache", "--compile-on", place)
        ran = sateen("tune", convolution, "-o", "log.jsonl", *options)
    assert ran.status == 0, ran.err
    assert len(Records.read(tmp_path / "log.jsonl").records) == 2
    assert len(told) == 4  # two candidates, and the default for the result and for its terms


def test_a_candidate_that_was_stopped_is_not_compiled_again(sateen, convolution, monkeypatch):
    compiled = []
    submit, whole = CompilerPool.submit, SessionMeasurer.measure

    def told(self, function, target, **more):
        compiled.append(cache_key([function], target))
        return submit(self, function, target, **more)

    def stopped(self, *given):
        whole(self, *given)
        raise KeyboardInterrupt

    monkeypatch.setattr(CompilerPool, "submit", told)
    with monkeypatch.context() as patch:
        patch.setattr(SessionMeasurer, "measure", stopped)
        assert sateen("tune", convolution, "-o", "log.jsonl", "--trials", 1).status == 130
    before = [*compiled]
    assert sateen("tune", convolution, "-o", "log.jsonl", "--trials", 1).status == 0
    assert compiled == before
    assert sateen("tune", convolution, "-o", "new.jsonl", "--trials", 1, "--no-cache").status == 0
    default, default_for_terms, candidate = compiled[len(before) :]
    assert default == default_for_terms
    assert before == [*dict.fromkeys((default, candidate))]


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
