from __future__ import annotations

import json

import numpy as np
import pytest

from weft.frontends.command import verification
from weft.frontends.command.comparison import compare, difference, tolerance_of
from weft.runtime import DType


@pytest.fixture
def recorded(tmp_path):
    np.savez(tmp_path / "right.npz", **{"in/data": np.ones((1, 3), "f"), "out/out": np.array([[0.5, 0.25, 3, 0]], "f")})
    np.savez(tmp_path / "wrong.npz", **{"in/data": np.ones((1, 3), "f"), "out/out": np.array([[0.5, 0.25, 4, 0]], "f")})
    np.savez(tmp_path / "inputs.npz", data=np.ones((1, 3), "f"))


def test_a_model_is_right_against_the_reference(weft, dense):
    ran = weft("verify", dense, "--against", "reference")
    assert ran.status == 0
    assert ran.out.endswith("right against reference\n")


def test_a_model_is_right_against_onnxruntime(weft, dense):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    ran = weft("verify", dense, "--against", "onnxruntime", "--layers")
    assert ran.status == 0
    assert "no layer is wrong" in ran.out


def test_layers_are_told_with_their_nodes(weft, dense):
    comparison = json.loads(weft("verify", dense, "--against", "reference", "--layers", "--json").out)
    assert [layer["value"] for layer in comparison["layers"]] == ["product", "sum", "out"]
    assert comparison["layers"][0]["layer"] == "node 'product' (MatMul) of model 'dense.onnx'"


def test_the_first_wrong_layer_is_named(weft, dense, monkeypatch):
    judge = verification.reference

    def doubting(path, keep=()):
        return lambda inputs: {k: v + 1 if k in ("sum", "out") else v for k, v in judge(path, keep)(inputs).items()}

    monkeypatch.setattr(verification, "reference", doubting)
    ran = weft("verify", dense, "--against", "reference")
    assert ran.status == 1
    assert "first wrong layer: node 'sum' (Add) of model 'dense.onnx', value sum" in ran.out
    assert ran.out.endswith("wrong against reference\n")


@pytest.mark.usefixtures("recorded")
def test_an_artifact_is_compared_with_recorded_outputs(weft, artifact):
    assert weft("verify", artifact, "--against", "recorded", "--inputs", "right.npz").status == 0
    ran = weft("verify", artifact, "--against", "recorded", "--inputs", "wrong.npz")
    assert ran.status == 1
    assert "2.5e-01" in ran.out


@pytest.mark.usefixtures("recorded")
def test_recorded_outputs_must_be_there(weft, artifact):
    ran = weft("verify", artifact, "--against", "recorded", "--inputs", "inputs.npz")
    assert ran.status == 1
    assert "inputs.npz: expected an output 'out', found none" in ran.err
    assert weft("verify", artifact, "--against", "recorded").status == 2


@pytest.mark.usefixtures("recorded")
def test_given_inputs_must_be_there(weft, dense):
    np.savez("other.npz", other=np.ones(3))
    ran = weft("verify", dense, "--against", "reference", "--inputs", "other.npz")
    assert ran.status == 1
    assert "other.npz: expected an array for input data: float32[1, 3], found other" in ran.err


@pytest.mark.parametrize(
    ("found", "expected", "apart"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 2.5], [1.0, 2.0], 0.25),
        ([0.5, 0.0], [0.0, 0.0], 0.5),
        ([np.nan, np.inf, 2.0], [np.nan, np.inf, 2.0], 0.0),
        ([np.nan, 1.0], [1.0, 1.0], np.inf),
        ([np.inf, 1.0], [-np.inf, 1.0], np.inf),
        ([np.inf, 1.0], [3.0, 1.0], np.inf),
        ([], [], 0.0),
    ],
)
def test_the_difference_is_relative_to_the_largest(found, expected, apart):
    assert difference(np.array(found), np.array(expected)) == apart


def test_integers_shapes_and_types_must_be_equal():
    ones = np.ones((2, 3), np.int64)
    assert difference(ones, ones) == 0
    assert difference(ones, ones + 1) == np.inf
    assert difference(ones, ones.T) == np.inf
    assert difference(ones, ones.astype(np.int32)) == np.inf


def test_narrow_floats_have_a_tolerance_of_four_units_in_the_last_place():
    assert tolerance_of(DType.of("float32")) == 1e-4
    assert tolerance_of(DType.of("float16")) == 4 * np.finfo(np.float16).eps
    (c,) = compare({"a": np.ones(2, "f")}, {"a": np.ones(2, "f"), "b": 1}, {"a": "node"}, 1e-7)
    assert (c.value, c.layer, c.tolerance, c.is_right) == ("a", "node", 1e-7, True)
