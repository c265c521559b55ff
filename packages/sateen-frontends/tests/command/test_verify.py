from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sateen.frontends.command import verification
from sateen.frontends.command.comparison import Comparison, Tolerance, compare, tolerance_of
from sateen.frontends.command.verification import in_our_terms
from sateen.frontends.onnx.double import layers_in_double, outputs_in_double
from sateen.frontends.onnx.engines import onnxruntime
from sateen.frontends.onnx.judges import JUDGES
from sateen.frontends.onnx.reference import reference
from sateen.graph_ir import GraphBuilder, build
from sateen.graph_ir.judge import Difference
from sateen.graph_ir.ops import MatMul
from sateen.graph_ir.ops import entry_points as installed
from sateen.runtime import DType
from sateen.tensor_ir import te
from sateen.topi import Computation, Operator, compute


@pytest.fixture
def recorded(tmp_path):
    np.savez(tmp_path / "right.npz", **{"in/data": np.ones((1, 3), "f"), "out/out": np.array([[0.5, 0.25, 3, 0]], "f")})
    np.savez(tmp_path / "wrong.npz", **{"in/data": np.ones((1, 3), "f"), "out/out": np.array([[0.5, 0.25, 4, 0]], "f")})
    np.savez(tmp_path / "inputs.npz", data=np.ones((1, 3), "f"))


def test_a_model_is_right_against_the_reference(sateen, dense):
    ran = sateen("verify", dense, "--against", "reference")
    assert ran.status == 0
    assert ran.out.endswith("right against reference\n")


def test_a_model_is_right_against_onnxruntime(sateen, dense):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    ran = sateen("verify", dense, "--against", "onnxruntime", "--layers")
    assert ran.status == 0
    assert "no layer is wrong" in ran.out


def test_layers_are_told_with_their_nodes(sateen, dense):
    comparison = json.loads(sateen("verify", dense, "--against", "reference", "--layers", "--json").out)
    assert [layer["value"] for layer in comparison["layers"]] == ["product", "sum", "out"]
    assert comparison["layers"][0]["layer"] == "node 'product' (MatMul) of model 'dense.onnx'"


def test_the_first_wrong_layer_is_named(sateen, dense, monkeypatch):
    def doubting(path, keep):
        return lambda inputs: {k: v + 1 if k in ("sum", "out") else v for k, v in reference(path, keep)(inputs).items()}

    _judged(monkeypatch, by_name={"reference": doubting})
    ran = sateen("verify", dense, "--against", "reference")
    assert ran.status == 1
    assert "first wrong layer: node 'sum' (Add) of model 'dense.onnx', value sum" in ran.out
    assert ran.out.endswith("wrong against reference\n")


def _judged(monkeypatch, **changes):
    """Other judges than those of ONNX models."""
    judges = replace(JUDGES, **changes)
    monkeypatch.setattr(verification, "judges_of", lambda model: judges)


def _inexact(amount):
    def start(path, keep):
        return lambda inputs: {k: v + np.float32(amount) for k, v in reference(path, keep)(inputs).items()}

    return {"reference": start}


def test_where_the_judge_is_inexact_float64_says_that_we_are_right(sateen, dense, monkeypatch):
    _judged(monkeypatch, by_name=_inexact(1e-3))
    ran = sateen("verify", dense, "--against", "reference", "--layers")
    assert ran.status == 0
    assert re.fullmatch(r"right by float64; sateen is \S+ off, reference \S+e-0[34]", ran.out.splitlines()[-1])
    told = json.loads(sateen("verify", dense, "--against", "reference", "--json").out)["outputs"][0]
    assert told["right"]
    assert told["error"] < 1e-6
    assert told["judge_error"] > 1e-4


def test_where_we_are_inexact_float64_says_that_we_are_wrong(sateen, dense, monkeypatch):
    run = verification.run_artifact
    monkeypatch.setattr(
        verification, "run_artifact", lambda *given: {k: v + np.float32(1e-3) for k, v in run(*given).items()}
    )
    ran = sateen("verify", dense, "--against", "reference")
    assert ran.status == 1
    assert ran.out.splitlines()[-1].startswith("wrong by float64; sateen is ")


def test_what_float64_can_not_run_is_told_and_the_judge_decides(sateen, dense, monkeypatch):
    def fail(*_):
        raise NotImplementedError("no such operator\n" + "0. " * 1000)

    _judged(monkeypatch, by_name=_inexact(1e-3), in_double=fail)
    ran = sateen("verify", dense, "--against", "reference")
    assert ran.status == 1
    words = "float64 can't tell who is right: its evaluator fails (no such operator 0. 0. 0. 0. "
    assert all(line.startswith(words) and len(line) < 220 for line in ran.err.splitlines())
    assert ran.out.endswith("wrong against reference\n")


def _one_node(path, node, x_shape, w):
    graph = helper.make_graph(
        [node],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x_shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(w, "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.parametrize("judge", ["onnxruntime", "reference"])
def test_a_judge_that_fails_while_it_runs_is_told_with_its_message(sateen, tmp_path, monkeypatch, judge):
    def fail(*_, **__):
        def run(_):
            raise RuntimeError("index 7 is out of bounds\nfor axis 0")

        return run

    _judged(monkeypatch, by_name={judge: fail})
    model = _one_node(tmp_path / "net.onnx", helper.make_node("Add", ["x", "w"], ["y"]), (3,), np.ones(3, "f"))
    ran = sateen("verify", model, "--against", judge)
    assert ran.status == 1
    assert (
        f"{judge} can't run net.onnx: index 7 is out of bounds for axis 0; where these inputs are at fault," in ran.err
    )
    assert "fault of sateen itself" not in ran.err


def test_a_convolution_that_onnxruntime_does_not_run_is_no_fault_of_sateen(sateen, tmp_path):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], output_shape=[60, 60], strides=[1, 1])
    model = _one_node(tmp_path / "net.onnx", node, (1, 2, 42, 42), np.ones((2, 3, 5, 5), "f"))
    ran = sateen("verify", model, "--against", "onnxruntime")
    assert ran.status == 1
    assert "onnxruntime can't run net.onnx: " in ran.err


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [
        ("Conv", {}),
        ("Conv", {"pads": [1, 0, 2, 1], "strides": [2, 1], "dilations": [1, 2]}),
        ("Conv", {"auto_pad": "SAME_UPPER"}),
        ("ConvTranspose", {"strides": [2, 2]}),
        ("ConvTranspose", {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ],
)
def test_convolutions_in_float64_are_those_of_the_reference(tmp_path, operator, attributes):
    generator = np.random.default_rng(0)
    x, w = generator.standard_normal((1, 4, 9, 9), "f"), generator.standard_normal((4, 4, 3, 3), "f")
    model = _one_node(tmp_path / "net.onnx", helper.make_node(operator, ["x", "w"], ["y"], **attributes), x.shape, w)
    exact, expected = outputs_in_double(model, {"x": x})["y"], reference(model)({"x": x})["y"]
    assert exact.dtype == np.float64
    np.testing.assert_allclose(exact, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("opset", "axis", "dtype"), [(10, None, "uint8"), (13, None, "int8"), (13, 0, "int8"), (17, 1, "uint8")]
)
def test_quantisation_in_float64_is_that_of_onnxruntime(tmp_path, opset, axis, dtype):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    numbers = 1 if axis is None else (3, 5)[axis]
    scale = np.linspace(0.01, 0.03, numbers, dtype="f").reshape(() if axis is None else -1)
    zero = np.arange(numbers, dtype=dtype).reshape(scale.shape)
    attributes = {} if axis is None else {"axis": axis}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"], **attributes),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"], **attributes),
    ]
    values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (3, 5)) for name in ("x", "y")]
    constants = [onnx.numpy_helper.from_array(scale, "scale"), onnx.numpy_helper.from_array(zero, "zero")]
    graph = helper.make_graph(nodes, "net", values[:1], values[1:], constants)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), tmp_path / "net.onnx"
    )
    x = np.random.default_rng(0).standard_normal((3, 5), "f") * 3
    exact = outputs_in_double(tmp_path / "net.onnx", {"x": x})["y"]
    expected = onnxruntime(tmp_path / "net.onnx")({"x": x})["y"]
    assert exact.dtype == np.float64
    np.testing.assert_allclose(exact, expected, rtol=1e-6)
    assert len(np.unique(exact)) > 5


@pytest.mark.usefixtures("recorded")
def test_an_artifact_is_compared_with_recorded_outputs(sateen, artifact):
    assert sateen("verify", artifact, "--against", "recorded", "--inputs", "right.npz").status == 0
    ran = sateen("verify", artifact, "--against", "recorded", "--inputs", "wrong.npz")
    assert ran.status == 1
    assert "2.5e-01" in ran.out


@pytest.mark.usefixtures("recorded")
def test_float64_decides_whether_recorded_outputs_are_inexact_where_there_is_a_model(sateen, dense, artifact):
    near = {"in/data": np.ones((1, 3), "f"), "out/out": np.array([[0.5, 0.25, 3.001, 0]], "f")}
    np.savez("near.npz", **near)
    ran = sateen("verify", dense, "--against", "recorded", "--inputs", "near.npz")
    assert ran.status == 0
    assert re.fullmatch(r"right by float64; sateen is \S+ off, recorded \S+e-04", ran.out.splitlines()[-1])
    assert sateen("verify", artifact, "--against", "recorded", "--inputs", "near.npz").status == 1
    assert sateen("verify", dense, "--against", "recorded", "--inputs", "wrong.npz").status == 1


@pytest.mark.usefixtures("recorded")
def test_recorded_outputs_must_be_there(sateen, artifact):
    ran = sateen("verify", artifact, "--against", "recorded", "--inputs", "inputs.npz")
    assert ran.status == 1
    assert "inputs.npz: expected an array out/out, found data" in ran.err
    assert sateen("verify", artifact, "--against", "recorded").status == 2


@pytest.mark.usefixtures("recorded")
def test_given_inputs_must_be_there(sateen, dense):
    np.savez("other.npz", other=np.ones(3))
    ran = sateen("verify", dense, "--against", "reference", "--inputs", "other.npz")
    assert ran.status == 1
    assert "other.npz: expected an array for input data: float32[1, 3], found other" in ran.err


def test_an_artifact_is_told_to_need_its_model_or_outputs(sateen, artifact):
    ran = sateen("verify", artifact)
    assert ran.status == 2
    assert "dense.sateen is compiled already; give the model that it was compiled from, or outputs to" in ran.err
    assert "--against recorded --inputs FILE.npz" in " ".join(ran.err.split())


def test_narrow_floats_have_a_tolerance_of_four_units_in_the_last_place():
    assert tolerance_of(DType.of("float32")) == 1e-4
    assert tolerance_of(DType.of("float16")) == 4 * np.finfo(np.float16).eps
    (c,) = compare({"a": np.ones(2, "f")}, {"a": np.ones(2, "f"), "b": 1}, {"a": "node"}, Tolerance(1e-7))
    assert (c.value, c.layer, c.tolerance, c.is_right) == ("a", "node", 1e-7, True)


@pytest.mark.parametrize(
    ("target", "numerics", "rounds"),
    [("znver4", "fast", True), ("znver4", "default", False), ("x86-64-v3", "fast", False)],
)
def test_networks_that_round_to_bfloat16_have_a_tolerance_of_that(target, numerics, rounds):
    g = GraphBuilder("net")
    g.output(g.add(MatMul(), g.input("x", "float32", (4, 8)), g.parameter("w", np.ones((8, 16), "f")), name="y"))
    artifact = build(g.finish(), f"llvm -mtriple=x86_64-linux-gnu -mcpu={target}", numerics=numerics)
    assert Tolerance().of(artifact).is_rounded == rounds
    assert tolerance_of(DType.of("float32"), is_rounded=rounds) == (2e-2 if rounds else 1e-4)


def test_who_is_as_far_from_float64_as_the_judge_is_not_wrong():
    far, farther = Difference(1e-3, 1e-2), Difference(3e-3, 2e-2)
    apart = Comparison("y", "", (3,), Difference(4e-3, 3e-2), 1e-4)
    assert not apart.is_right
    assert replace(apart, error=farther, judge_error=far).is_right
    assert not replace(apart, error=farther, judge_error=Difference(1e-3, 1e-3)).is_right


def test_a_token_among_others_is_compared_with_its_own_row(sateen, tmp_path):
    """Strassen's method lets rows share their errors: right beside the largest, wrong beside each."""
    w = np.random.default_rng(0).standard_normal((768, 1024)).astype("f") / 28
    model = _one_node(tmp_path / "net.onnx", helper.make_node("MatMul", ["x", "w"], ["y"]), (1, 128, 768), w)
    without_pairs = "llvm -mcpu=x86-64-v3"  # processors that multiply pairs of bfloat16 would take those
    fast = ("--numerics", "fast", "--target", without_pairs, "--json")
    told = json.loads(sateen("verify", model, "--against", "reference", *fast).out)["outputs"]
    assert [(c["inputs"], c["right"]) for c in told] == [("random", True), ("outliers", False)]
    assert told[1]["difference"] < 1e-5
    assert told[1]["local_error"] > 1e-4 > 10 * told[1]["local_judge_error"]
    assert sateen("verify", model, "--against", "reference").status == 0


def test_sums_of_products_are_compared_with_their_terms(sateen, tmp_path):
    w = np.repeat([[1.0], [-1.0]], 32, axis=0).astype("f")
    model = _one_node(tmp_path / "net.onnx", helper.make_node("Gemm", ["x", "w"], ["y"], alpha=-2.0), (4, 64), w)
    (random, *_) = json.loads(sateen("verify", model, "--against", "reference", "--layers", "--json").out)["layers"]
    assert 0 < random["element"] < 1e-6


def test_what_terms_add_up_to_is_that_of_absolute_values(tmp_path):
    w = np.array([[1.0], [-2.0]], "f")
    model = _one_node(tmp_path / "net.onnx", helper.make_node("Gemm", ["x", "w"], ["y"], alpha=-2.0), (1, 2), w)
    exact, terms = layers_in_double(model, {"x": np.array([[3.0, 1.5]], "f")}, ["y"])
    assert (exact["y"].item(), terms["y"].item()) == (0, 12)


@dataclass(frozen=True, slots=True)
class Swish(Operator):
    """x · sigmoid(x)."""

    name = "acme.Swish"

    def infer(self, x):
        return (x,)

    def compute(self, x, **_):
        return Computation((compute(x.shape, lambda *i: x(*i) * te.sigmoid(x(*i)), "swish"),))


def test_operators_that_packages_bring_are_judged_by_their_definition(sateen, tmp_path, monkeypatch):
    offered = [EntryPoint("acme", f"{__name__}:Swish", installed.GROUP)]
    monkeypatch.setattr(EntryPoint, "load", lambda self: Swish)
    monkeypatch.setattr(installed, "entry_points", lambda group: offered)
    node = helper.make_node("Swish", ["x"], ["y"], domain="acme")
    model = onnx.load(_one_node(tmp_path / "net.onnx", node, (2, 3), np.ones(1, "f")))
    model.opset_import.append(helper.make_opsetid("acme", 1))
    onnx.save(model, tmp_path / "net.onnx")
    ran = sateen("verify", tmp_path / "net.onnx")
    assert (ran.status, ran.out.splitlines()[-1]) == (0, "right against reference")


def test_integers_may_be_so_many_steps_apart():
    ours, theirs = np.array([-128, 5, 127], np.int8), np.array([127, 5, -128], np.int8)
    (c,) = compare({"a": ours}, {"a": theirs}, {}, Tolerance(steps=254))
    assert (c.steps, c.is_right) == (255, False)
    assert compare({"a": ours}, {"a": theirs}, {}, Tolerance(steps=255))[0].is_right
    assert compare({"a": np.zeros(2, "f")}, {"a": np.zeros(2, "f")}, {}, Tolerance())[0].steps is None


def test_texts_and_maps_of_a_judge_are_positions_and_rows():
    labels = {"label": ("cat", "dog"), "scores": ("cat", "dog"), "ids": ("3", "7")}
    judged = {
        "label": np.array(["dog", "cat", "cow"], object),
        "scores": np.array([{"dog": 0.25, "cat": 0.75}], object),
        "ids": np.array([{3: 0.5, 7: 0.5}], object),
        "other": np.array([1.5]),
    }
    found = in_our_terms(judged, labels)
    assert found["label"].tolist() == [1, 0, -1]
    assert found["scores"].tolist() == [[0.75, 0.25]]
    assert found["ids"].tolist() == [[0.5, 0.5]]
    assert found["other"].tolist() == [1.5]
