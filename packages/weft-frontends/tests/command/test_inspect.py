from __future__ import annotations

import json


def test_an_artifact_tells_its_interface_and_sizes(weft, artifact):
    ran = weft("inspect", artifact)
    assert ran.status == 0
    assert "  runs here   yes\n" in ran.out
    assert "  input       data: float32[1, 3]\n" in ran.out
    assert "  output      out: float32[1, 4]\n" in ran.out


def test_json_of_an_artifact(weft, artifact):
    summary = json.loads(weft("inspect", artifact, "--json").out)
    assert summary["runs_here"] is True
    assert [p["name"] for p in summary["inputs"] + summary["outputs"]] == ["data", "out"]


def test_a_model_is_shown_as_the_kernels_that_it_becomes(weft, dense):
    ran = weft("inspect", dense)
    assert ran.status == 0
    assert ran.out.startswith("graph net\n  input %data: float32[1, 3]\n")
    assert "relu(" in ran.out


def test_passes_are_shown_by_what_they_change(weft, dense):
    ran = weft("inspect", dense, "--passes")
    headings = [line for line in ran.out.splitlines() if " ms)" in line]
    assert [h.split()[0] for h in headings][-1] == "fuse"
    assert any(h.startswith("fold_constants (") and h.endswith(": no change") for h in headings)
    assert "3 nodes to 1" in headings[-1]


def test_json_of_a_model_counts_operators_and_kernels(weft, dense):
    summary = json.loads(weft("inspect", dense, "--json").out)
    assert summary["imported_operators"] == {"mat_mul": 1, "add": 1, "relu": 1}
    assert summary["kernels"] == 1


def test_passes_are_for_models(weft, artifact):
    ran = weft("inspect", artifact, "--passes")
    assert ran.status == 2
    assert "--passes is for models" in ran.err
