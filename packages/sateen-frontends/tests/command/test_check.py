from __future__ import annotations

import json


def test_a_model_without_gaps_is_fine(sateen, dense):
    ran = sateen("check", dense)
    assert ran.status == 0
    assert ran.out == "model 'dense.onnx', 3 nodes, operator sets ai.onnx 18: all nodes can be compiled\n"


def test_all_gaps_are_told_at_once(sateen, unsupported):
    ran = sateen("check", unsupported)
    assert ran.status == 1
    assert "2 nodes can't be compiled" in ran.out
    assert "Multinomial" in ran.out
    assert "StringNormalizer" in ran.out


def test_json_has_the_gaps_and_the_verdict(sateen, unsupported):
    report = json.loads(sateen("check", unsupported, "--json").out)
    assert report["supported"] is False
    assert [gap["node"] for gap in report["gaps"]] == ["draw", "normalise"]


def test_open_dimensions_are_told_with_the_option_that_gives_them(sateen, open_batch):
    ran = sateen("check", open_batch)
    assert ran.status == 1
    advice = "expected inputs of known dimensions, found data: float32[?batch, 3]; say what they are, such as"
    assert ran.out.startswith(f"{advice}\n  sateen check {open_batch} --dim batch=1\nwith these dimensions open:\n")
    assert sateen("check", open_batch, "--dim=batch=1").status == 0
    assert sateen("check", open_batch, "--shape", "data=4x3").status == 0


def test_an_artifact_is_no_model(sateen, artifact):
    ran = sateen("check", artifact)
    assert ran.status == 2
    assert "is compiled already; this needs the model that it was compiled from" in ran.err
