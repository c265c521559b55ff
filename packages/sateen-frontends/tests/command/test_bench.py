from __future__ import annotations

import json

import pytest

from sateen.frontends.command.bench import spread_warning
from sateen.frontends.core import peers
from sateen.runtime import TimeResult


def test_an_artifact_is_measured(sateen, artifact):
    ran = sateen("bench", artifact, "--samples", 2)
    assert ran.status == 0
    assert ran.out.startswith("dense.sateen: 1 thread, peak ")
    assert f"\n{artifact} " in ran.out


def test_a_model_is_measured_beside_onnxruntime_and_compared_with_it(sateen, dense):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    ran = sateen("bench", dense, "--samples", 2, "--against", "onnxruntime", "--against", "onnxruntime", "--json")
    assert ran.status == 0
    answer = json.loads(ran.out)
    assert [r["name"] for r in answer["results"]] == ["sateen", "onnxruntime"]
    assert all(r["right"] and len(r["samples"]) == 2 for r in answer["results"])
    assert answer["gflop"] == 2 * 3 * 4 / 1e9


FAKE = """
import os
from types import SimpleNamespace

import numpy as np

SessionOptions = SimpleNamespace


class InferenceSession:
    def __init__(self, model, options, providers):
        self.model = model

    def get_outputs(self):
        return [SimpleNamespace(name="out")]

    def run(self, outputs, inputs):
        {}
"""


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise ValueError('no such operator')", "onnxruntime does not run it: no such operator\n"),
        ("os._exit(3)", "onnxruntime does not run it: its process ended with status 3\n"),
        ("return [np.full((1, 4), 7, np.float32)]", "onnxruntime computes something else: "),
    ],
)
def test_a_peer_that_does_not_run_a_model_or_computes_something_else_is_told(
    sateen, dense, tmp_path, monkeypatch, body, told
):
    (tmp_path / "installed").mkdir()
    (tmp_path / "installed" / "onnxruntime.py").write_text(FAKE.format(body))
    monkeypatch.syspath_prepend(tmp_path / "installed")
    ran = sateen("bench", dense, "--samples", 1, "--against", "onnxruntime")
    assert ran.status == 0
    assert told in ran.out
    ran = sateen("bench", dense, "--samples", 1, "--against", "onnxruntime", "--json")
    ours, theirs = json.loads(ran.out)["results"]
    assert ours["right"]
    assert "refusal" in theirs or not theirs["right"]


def test_others_need_the_model(sateen, artifact):
    ran = sateen("bench", artifact, "--against", "onnxruntime")
    assert ran.status == 2
    assert "this needs the model" in ran.err


def test_peers_are_named_with_commas_between(sateen, dense):
    ran = sateen("bench", dense, "--against", "onnxruntime,caffe")
    assert ran.status == 2
    assert "expected onnxruntime, openvino, ncnn, openvino-default or the file of an artifact, found 'caffe'" in ran.err
    ran = sateen("bench", dense, "--against", "onnxruntme")
    assert "found 'onnxruntme'; did you mean onnxruntime?" in ran.err


def test_a_peer_that_is_not_installed_is_told_before_anything_is_compiled(sateen, dense, monkeypatch):
    monkeypatch.setattr(peers, "is_installed", lambda package: False)
    ran = sateen("bench", dense, "--against", "openvino", "--no-cache")
    assert ran.status == 1
    assert "openvino is not installed: pip install openvino" in ran.err


def test_who_is_installed_is_measured_and_who_is_not_is_told(sateen, dense, artifact, monkeypatch):
    monkeypatch.setattr(peers, "is_installed", lambda package: False)
    given = ("bench", dense, "--against", f"openvino,{artifact}", "--samples", 1)
    ran = sateen(*given)
    assert ran.status == 0
    assert ran.out.endswith("openvino is not installed: pip install openvino\n")
    *measured, missing = json.loads(sateen(*given, "--json").out)["results"]
    assert [r["name"] for r in measured] == [str(dense), str(artifact)]
    assert missing == {"name": "openvino", "refusal": "openvino is not installed: pip install openvino"}
    ran = sateen("bench", dense, "--against", "openvino,ncnn")
    assert ran.status == 1
    assert "openvino is left out: openvino is not installed: pip install openvino; ncnn is left out" in ran.err


def test_two_artifacts_are_measured_in_turns(sateen, artifact, dense):
    assert sateen("compile", dense, "-o", "strict.sateen", "--numerics", "strict").status == 0
    ran = sateen("bench", artifact, "--against", "strict.sateen", "--samples", 1, "--json")
    assert ran.status == 0
    results = json.loads(ran.out)["results"]
    assert [r["name"] for r in results] == [str(artifact), "strict.sateen"]
    assert all(r["right"] and len(r["samples"]) == 1 for r in results)


def test_an_artifact_of_another_network_is_refused(sateen, artifact, two_products):
    assert sateen("compile", two_products, "-o", "two.sateen").status == 0
    ran = sateen("bench", artifact, "--against", "two.sateen")
    assert ran.status == 1
    assert ran.err == ("ArgumentError: two.sateen: expected inputs data: float32[1, 3], found data: float32[2, 3]\n")


def test_a_difference_within_the_spread_is_told():
    steady, same, wide, fast = (
        TimeResult(samples, 1)
        for samples in ((1.0, 1.0, 1.0, 1.0), (1.01, 1.01, 1.01), (0.8, 1.0, 1.2, 1.4), (0.5, 0.5, 0.51))
    )
    assert spread_warning("a", steady, "b", wide) == (
        "a and b differ by 10.0%, but their times spread by 27.3%: this run does not tell which is faster; "
        "take more --samples, on a machine that does nothing else"
    )
    assert spread_warning("a", steady, "b", same) == ""
    assert spread_warning("a", wide, "b", fast) == ""
    assert spread_warning("a", wide, "a", wide) == ""
