from __future__ import annotations

import json

import pytest


def test_an_artifact_is_measured(weft, artifact):
    ran = weft("bench", artifact, "--samples", 2)
    assert ran.status == 0
    assert ran.out.startswith("dense.weft: 1 thread, peak ")
    assert "\nweft " in ran.out


def test_a_model_is_measured_beside_onnxruntime_and_compared_with_it(weft, dense):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    ran = weft("bench", dense, "--samples", 2, "--against", "onnxruntime", "--json")
    assert ran.status == 0
    answer = json.loads(ran.out)
    assert [r["name"] for r in answer["results"]] == ["weft", "onnxruntime"]
    assert all(r["right"] and len(r["samples"]) == 2 for r in answer["results"])
    assert answer["gflop"] == 2 * 3 * 4 / 1e9


def test_others_need_the_model(weft, artifact):
    ran = weft("bench", artifact, "--against", "onnxruntime")
    assert ran.status == 2
    assert "this needs the model" in ran.err
