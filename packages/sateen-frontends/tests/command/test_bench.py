from __future__ import annotations

import json

import pytest

from sateen.frontends.command import peers


def test_an_artifact_is_measured(sateen, artifact):
    ran = sateen("bench", artifact, "--samples", 2)
    assert ran.status == 0
    assert ran.out.startswith("dense.sateen: 1 thread, peak ")
    assert "\nsateen " in ran.out


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
    (tmp_path / "onnxruntime.py").write_text(FAKE.format(body))
    monkeypatch.syspath_prepend(tmp_path)
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
    assert "expected onnxruntime, openvino, ncnn, found 'caffe'" in ran.err


def test_a_peer_that_is_not_installed_is_told_before_anything_is_compiled(sateen, dense, monkeypatch):
    monkeypatch.setattr(peers, "find_spec", lambda package: None)
    ran = sateen("bench", dense, "--against", "openvino", "--no-cache")
    assert ran.status == 1
    assert "openvino is not installed: pip install 'sateen-frontends[opponents]'" in ran.err
