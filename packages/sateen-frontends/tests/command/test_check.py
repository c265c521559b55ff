from __future__ import annotations

import json
import shlex

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sateen.frontends.command import artifacts
from sateen.runtime.errors import LoweringError

FLOAT = TensorProto.FLOAT


def save(path, nodes, inputs, outputs=("y",), **constants):
    """A model of float32 inputs."""
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(name, FLOAT, dims) for name, dims in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(data, name) for name, data in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture
def pyramid(tmp_path):
    """Pictures are made smaller by 8 and larger again, and added: their rows and columns must be multiples of 8."""

    def save_with(*dims):
        nodes = [
            helper.make_node("MaxPool", ["x"], ["small"], kernel_shape=[8, 8], strides=[8, 8]),
            helper.make_node("Resize", ["small", "", "scales"], ["large"], mode="nearest"),
            helper.make_node("Add", ["x", "large"], ["y"]),
        ]
        return save(tmp_path / "pyramid.onnx", nodes, {"x": dims}, scales=np.float32([1, 1, 8, 8]))

    return save_with


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
    read = "model 'open.onnx', 1 node, operator sets ai.onnx 18: all nodes can be read with batch open"
    output = "  output out: float32[?batch, 3]"
    assert ran.out == f"{read}\n{output}\n{advice}\n  sateen check {open_batch} --dim batch=1\n"
    assert sateen("check", open_batch, "--dim=batch=1").status == 0
    assert sateen("check", open_batch, "--shape", "data=4x3").status == 0


def test_json_has_the_types_of_outputs_as_expressions_of_open_dimensions(sateen, open_batch):
    report = json.loads(sateen("check", open_batch, "--json").out)
    assert report["supported"] is False
    assert report["outputs"] == {"out": "float32[?batch, 3]"}


def test_an_artifact_is_no_model(sateen, artifact):
    ran = sateen("check", artifact)
    assert ran.status == 2
    assert "is compiled already; this needs the model that it was compiled from" in ran.err


@pytest.mark.parametrize(
    ("dims", "options"),
    [
        (("batch", 3, "height", "width"), "--dim batch=1 --dim height=224 --dim width=224"),
        ((1, 3, "?", -1), "--shape x=1x3x224x224"),
        (("n", "c", "h", "w"), "--dim n=1 --dim c=3 --dim h=224 --dim w=224"),
        (("n", 3, 16, "wide open"), "--dim n=1 --dim 'wide open=224'"),
    ],
)
def test_sizes_that_work_are_found_for_open_dimensions(sateen, pyramid, dims, options):
    model = pyramid(*dims)
    ran = sateen("check", model)
    assert ran.status == 1
    assert ran.out.endswith(f"; say what they are, such as\n  sateen check {model} {options}\n")
    assert len(ran.out) < 400
    assert sateen("check", model, *shlex.split(options)).status == 0
    assert f"sateen compile {model} -o out.sateen {options}\n" in sateen("compile", model, "-o", "out.sateen").err


def test_dimensions_that_belong_together_get_sizes_that_fit(sateen, tmp_path):
    nodes = [
        helper.make_node("Concat", ["past", "x"], ["all"], axis=1),
        helper.make_node("Add", ["all", "mask"], ["y"]),
    ]
    inputs = {"past": ["n", "before", 4], "x": ["n", 1, 4], "mask": ["n", "before and now", 4]}
    model = save(tmp_path / "past.onnx", nodes, inputs)
    (command,) = [line for line in sateen("check", model).out.splitlines() if line.startswith("  sateen")]
    assert sateen(*shlex.split(command)[1:]).status == 0


def test_a_gap_that_no_size_closes_is_told_as_such(sateen, tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Alien", ["r"], ["y"])]
    ran = sateen("check", save(tmp_path / "alien.onnx", nodes, {"x": ["n", 3]}))
    assert ran.status == 1
    assert "; say what they are, such as\n  sateen check " in ran.out
    assert "\nwith these, as with all that were tried: model 'alien.onnx', 2 nodes, operator sets ai" in ran.out


def test_gaps_of_the_nearest_sizes_are_told_where_none_work(sateen, tmp_path):
    nodes = [helper.make_node("Add", ["x", "x"], ["r"]), helper.make_node("Concat", ["r", "c"], ["y"], axis=0)]
    ran = sateen("check", save(tmp_path / "odd.onnx", nodes, {"x": [2, "n"], "c": [2, 3]}))
    assert (ran.status, ran.err) == (1, "")
    assert "; say what they are, since none of the 6 that were tried works; the nearest are\n  sateen check " in ran.out
    assert " --dim n=128\nwith these: model 'odd.onnx', 2 nodes, operator sets ai.onnx 17: 1 node can't" in ran.out


def test_inputs_that_decide_are_asked_for_with_the_sizes(sateen, tmp_path):
    branches = [
        helper.make_graph([helper.make_node(op, ["x"], ["b"])], op, [], [onnx.ValueInfoProto(name="b")])
        for op in ("Neg", "Transpose")
    ]
    nodes = [
        helper.make_node("Cast", ["c"], ["is"], to=TensorProto.BOOL),
        helper.make_node("If", ["is"], ["y"], then_branch=branches[0], else_branch=branches[1]),
    ]
    model = save(tmp_path / "choice.onnx", nodes, {"x": ["n", 3], "c": []})
    assert f"the nearest are\n  sateen check {model} --dim n=1 --bind c=...\n" in sateen("check", model).out
    assert sateen("check", model, "--dim", "n=1", "--bind", "c=1").status == 0


def test_many_kinds_of_gaps_are_told_in_few_lines(sateen, tmp_path):
    nodes = [helper.make_node(f"Alien{i}", ["x"], [f"y{i}.{j}"]) for i in range(20) for j in range(5)]
    outputs = [name for node in nodes for name in node.output]
    model = save(tmp_path / "aliens.onnx", nodes, {"x": [3]}, outputs)
    told = sateen("check", model).out
    assert "  5 x Alien7 (opset 17): ONNX has no operator of this name in ai.onnx 17\n" in told
    assert "    node 'y7.0', 'y7.1', 'y7.2' and 2 more; inputs float32[3]\n" in told
    assert told.endswith("  and 60 of 12 other kinds; `sateen check --json` tells all\n")
    assert "Alien8" not in told
    assert len(json.loads(sateen("check", model, "--json").out)["gaps"]) == 100


def test_what_compiling_refuses_behind_reading_is_told(sateen, dense, monkeypatch):
    def refuse(*_, **__):
        raise LoweringError("no way")

    monkeypatch.setattr(artifacts, "lowered", refuse)
    ran = sateen("check", dense)
    assert ran.status == 1
    head = "model 'dense.onnx', 3 nodes, operator sets ai.onnx 18: it can be read, but not compiled"
    assert ran.out == f"{head}\nLoweringError: no way\n"
    told = json.loads(sateen("check", dense, "--json").out)
    assert told["supported"] is False
    assert told["refused"] == "LoweringError: no way"


@pytest.mark.parametrize("target", ["webgpu", "metal"])
def test_a_type_that_a_language_of_kernels_lacks_is_told(sateen, tmp_path, target):
    path = tmp_path / "double.onnx"
    types = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, [4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], "net", types[:1], types[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    told = sateen("check", path, "--target", target)
    assert told.status == 1
    assert "it can be read, but not compiled" in told.out
    assert "has no type float64" in told.out
    assert sateen("check", path, "--target", "cuda").status == 0


def test_a_target_that_networks_are_not_compiled_for_is_refused(sateen, dense):
    message = ", for which networks are compiled, found 'rocm'"
    assert message in sateen("check", dense, "--target", "rocm").err
