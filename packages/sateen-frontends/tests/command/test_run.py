from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from sateen.frontends.command import artifacts
from sateen.frontends.command.labels import largest
from sateen.runtime import ArgumentError, Target


@pytest.fixture
def data(tmp_path):
    array = np.array([[1, 2, 3]], np.float32)
    np.save(tmp_path / "data.npy", array)
    np.savez(tmp_path / "data.npz", **{"data": array, "in/other": array})
    return array


@pytest.mark.parametrize("text", ["data=data.npy", "data.npy", "data=data.npz:in/other", "data=data.npz"])
@pytest.mark.usefixtures("data")
def test_an_artifact_runs_on_arrays(sateen, artifact, text):
    ran = sateen("run", artifact, "--input", text, "--output", "out.npz")
    assert ran.status == 0
    np.testing.assert_allclose(np.load("out.npz")["out"], [[0.5, 0.25, 6.0, 0.0]])


@pytest.mark.usefixtures("data")
def test_the_summary_tells_type_and_range_of_each_output(sateen, artifact):
    summary = json.loads(sateen("run", artifact, "--input", "data.npy", "--json").out)
    (out,) = summary["outputs"]
    assert out == {
        "name": "out", "dtype": "float32", "shape": [1, 4], "minimum": 0.0, "mean": 1.6875, "maximum": 6.0,
        "not_finite": 0,
    }  # fmt: skip


@pytest.mark.usefixtures("data")
def test_a_model_is_compiled_and_run(sateen, dense):
    ran = sateen("run", dense, "--input", "data.npy", "--top", 1)
    assert ran.status == 0
    assert ran.out.split() == ["value", "index", "label", "6", "2"]


@pytest.mark.usefixtures("data")
def test_the_largest_elements_are_shown_with_their_labels(sateen, artifact, tmp_path):
    (tmp_path / "labels.txt").write_text("ant\nbee\ncat\ndog\n")
    ran = sateen("run", artifact, "--input", "data.npy", "--labels", "labels.txt", "--json")
    top = json.loads(ran.out)["top"]
    assert [(r["index"], r["label"], r["value"]) for r in top[:2]] == [(2, "cat", 6.0), (0, "ant", 0.5)]


def test_labels_must_be_one_per_element():
    with pytest.raises(ArgumentError, match="expected 4 labels, one per element of the output, found 2"):
        largest(np.zeros(4, np.float32), 1, ["a", "b"])


@pytest.mark.parametrize("name", ["dense.onnx", "dense.sateen"])
@pytest.mark.usefixtures("artifact")
def test_an_extra_first_label_is_told_before_anything_runs(sateen, dense, tmp_path, name, monkeypatch):
    (tmp_path / "labels.txt").write_text("background\nant\nbee\ncat\ndog\n")
    monkeypatch.setattr(artifacts, "build", None)  # nothing is compiled either
    ran = sateen("run", dense.with_name(name), "--labels", "labels.txt")
    assert ran.status == 1
    assert ran.err.startswith(
        "ArgumentError: expected 4 labels, one per element of the output, found 5; if the first, 'background', is an "
        "extra line such as 'background', leave it out"
    )


def test_an_element_of_several_axes_is_told_by_its_position(sateen, two_products):
    ran = sateen("run", two_products, "--random", 0, "--top", 1)
    assert ran.out.splitlines()[1].split(maxsplit=1)[1] in ("(0, 0)", "(1, 0)")
    (top,) = json.loads(sateen("run", two_products, "--random", 0, "--top", 1, "--json").out)["top"]
    assert top["index"] == 5 * top["position"][0] + top["position"][1]
    assert [r.position for r in largest(np.float32([[[3, 1], [2, 4]]]), 2)] == [(0, 1, 1), (0, 0, 0)]
    assert [r.position for r in largest(np.float32(3), 2)] == [()]
    assert largest(np.zeros((2, 0), np.float32), 2) == []


def test_random_inputs_depend_on_the_seed_alone(sateen, artifact):
    first, again, other = (sateen("run", artifact, "--random", seed).out for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "input data: float32[1, 3] is missing; give --input data=FILE, or --random SEED"),
        (("--input", "other=data.npy"), "--input other: expected one of data: float32[1, 3]"),
        (("--input", "dta=data.npy"), "--input dta: expected one of data: float32[1, 3]; did you mean data?"),
        (("--input", "absent.npy"), "expected a file, found none at 'absent.npy'"),
        (("--input", "."), "expected a file, found a folder at '.'"),
        (("--input", "data.npz:absent"), "data.npz: expected array 'absent', found data, in/other"),
        (("--input", "data.npy:key"), "data.npy holds one array; expected no key, found 'key'"),
        (("--input", "wide.npy"), "expected data: float32[1, 3], found float64[1, 3]"),
        (("--input", "objects.npy"), "objects.npy: expected arrays of NumPy (npy or npz): "),
        (("--input", "text.txt"), "a picture fits inputs of shape"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(sateen, artifact, data, tmp_path, arguments, words):
    np.save(tmp_path / "wide.npy", data.astype(np.float64))
    np.save(tmp_path / "objects.npy", np.array([{"run": "me"}]), allow_pickle=True)
    (tmp_path / "text.txt").write_text("no picture")
    ran = sateen("run", artifact, *arguments)
    assert ran.status == 1
    assert ran.err.startswith("ArgumentError: ")
    assert words in ran.err


@pytest.mark.parametrize(
    ("array", "told"),
    [
        (np.zeros((1, 3)), "found float64[1, 3]; array.astype('float32') fits"),
        (np.zeros((3, 1), np.float32), "found float32[3, 1]; array.transpose(1, 0) fits"),
        (np.zeros(3, np.int64), "found int64[3]; array.astype('float32')[None] fits"),
        (np.zeros((1, 2), np.float32), "found float32[1, 2]"),
    ],
)
def test_an_array_of_another_type_is_told_with_what_makes_it_fit(sateen, artifact, tmp_path, array, told):
    np.save(tmp_path / "given.npy", array)
    ran = sateen("run", artifact, "--input", "given.npy")
    assert (ran.status, ran.err) == (1, f"ArgumentError: --input given.npy: expected data: float32[1, 3], {told}\n")
    np.savez(tmp_path / "given.npz", **{"in/data": array})
    ran = sateen("verify", artifact, "--against", "recorded", "--inputs", "given.npz")
    assert (ran.status, ran.err) == (
        1,
        f"ArgumentError: given.npz: array 'in/data': expected data: float32[1, 3], {told}\n",
    )


def test_an_array_without_its_name_is_told_with_those_that_are_there(sateen, artifact, tmp_path):
    np.savez(tmp_path / "several.npz", **{name: np.zeros((1, 3), np.float32) for name in "abcdef"})
    ran = sateen("run", artifact, "--input", "several.npz")
    found = "found a, b, c, d, … 2 more; name one, as several.npz:a"
    assert ran.err == f"ArgumentError: several.npz: expected array 'data', {found}\n"


def test_options_of_compilation_do_not_apply_to_an_artifact(sateen, artifact):
    ran = sateen("run", artifact, "--random", 1, "--dim", "batch=1", "--numerics", "fast")
    assert ran.status == 2
    expected = (
        f"--dim and --numerics: expected a model to compile so, found {artifact}, which is compiled already; give"
    )
    assert expected in ran.err


def test_a_damaged_artifact_is_refused(sateen, artifact):
    artifact.write_bytes(artifact.read_bytes()[:5000])
    ran = sateen("run", artifact, "--random", 1)
    assert ran.status == 1
    assert "it is cut short or damaged; copy it again" in ran.err


@pytest.mark.usefixtures("data")
def test_an_input_that_is_given_twice_is_wrong_usage(sateen, artifact):
    ran = sateen("run", artifact, "--input", "data=data.npy", "--input", "data=data.npy")
    assert ran.status == 2
    assert "--input data is given twice" in ran.err
    assert "--input is given twice" in sateen("run", artifact, "--input", "data.npy", "--input", "data.npy").err


def test_a_table_in_a_pipe_has_no_spaces_at_the_ends_of_lines(sateen, artifact):
    lines = sateen("run", artifact, "--random", 0).out.splitlines()
    assert len(lines) == 2
    assert all(line == line.rstrip() for line in lines)


def test_an_artifact_for_another_processor_is_refused_by_its_name(sateen, dense):
    target = (
        "llvm -mtriple=aarch64-linux-gnu"
        if Target.host().architecture == "x86_64"
        else "llvm -mtriple=x86_64-linux-gnu"
    )
    assert sateen("compile", dense, "-o", "other.sateen", "--target", target).status == 0
    for verb in ("run", "bench", "profile"):
        ran = sateen(verb, "other.sateen")
        assert ran.status == 1
        assert ran.err.startswith("ArtifactError: other.sateen: expected code for this machine, found some that needs ")


def test_a_network_that_knows_its_labels_needs_no_file_of_them(sateen, tmp_path):
    given, scores = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy")
    node = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_strings=["cat", "dog", "cow"])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    onnx.save(
        helper.make_model(helper.make_graph([node], "n", [given], [scores]), opset_imports=opsets), tmp_path / "z.onnx"
    )
    np.save("x.npy", np.array([[1, 5, 2], [7, 0, 3]], "f"))
    ran = sateen("run", "z.onnx", "--input", "x=x.npy", "--top", 2, "--json")
    assert [(top["label"], top["position"]) for top in json.loads(ran.out)["top"]] == [("cat", [1, 0]), ("dog", [0, 1])]


def test_predicted_labels_are_shown(sateen, tmp_path):
    given, label = (
        helper.make_tensor_value_info("x", TensorProto.INT64, [9]),
        helper.make_tensor_value_info("y", 8, [9]),
    )
    words = {"keys_int64s": [1, 2], "values_strings": ["cat", "a\ndog"]}
    node = helper.make_node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", **words)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(
        helper.make_model(helper.make_graph([node], "n", [given], [label]), opset_imports=opsets), tmp_path / "l.onnx"
    )
    np.save("x.npy", np.array([1, 2, 3, 1, 1, 1, 1, 1, 1]))
    assert (
        "y: cat, a\\ndog, _Unused, cat, cat, cat, cat, cat and 1 more"
        in sateen("run", "l.onnx", "--input", "x.npy").out
    )
    ran = sateen("run", "l.onnx", "--input", "x.npy", "--json")
    assert json.loads(ran.out)["labels"]["y"][:3] == ["cat", "a\\ndog", "_Unused"]
