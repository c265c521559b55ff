"""Networks cut at inner values, and models of two files, on the command line."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper


@pytest.fixture
def chain(tmp_path):
    """x -> Relu -> y -> Neg -> z, of a declared type each."""
    x, y, z = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xyz")
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["y"], ["z"])]
    graph = helper.make_graph(nodes, "net", [x], [z], value_info=[y])
    path = tmp_path / "chain.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)
    return path


def _output(sateen, *arguments):
    ran = sateen("run", *arguments, "--output", "out.npz")
    assert not ran.err
    with np.load("out.npz") as outputs:
        return {name: outputs[name].tolist() for name in outputs.files}


def test_a_network_ends_at_an_inner_value(sateen, chain):
    np.save("x.npy", np.array([-1, 2], "f"))
    assert _output(sateen, chain, "--to", "y", "--input", "x=x.npy") == {"y": [0, 2]}
    assert sateen("verify", chain, "--to", "y").status == 0


def test_a_network_begins_at_an_inner_value(sateen, chain):
    np.save("y.npy", np.array([-1, 2], "f"))
    assert _output(sateen, chain, "--from", "y", "--input", "y=y.npy") == {"z": [1, -2]}
    assert (
        sateen("check", chain, "--from", "y").out
        == "model 'chain.onnx', 1 node, operator sets ai.onnx 17: all nodes can be compiled\n"
    )


def test_recorded_outputs_judge_a_network_that_begins_at_an_inner_value(sateen, chain):
    np.savez("given.npz", **{"in/y": np.array([-1, 2], "f"), "out/z": np.array([1, -2], "f")})
    options = ("--from", "y", "--inputs", "given.npz")
    assert sateen("verify", chain, "--against", "recorded", *options).status == 0
    against = ("--against", "onnxruntime")
    assert "--from needs --against definitions or recorded" in sateen("verify", chain, *against, *options).err
    assert sateen("verify", chain, "--against", "definitions", "--from", "y").status == 0


def test_an_unknown_value_is_refused_with_the_known_ones(sateen, chain):
    assert (
        "inputs (--from) names 'w'; the model's values are 'x', 'y', 'z'" in sateen("check", chain, "--from", "w").err
    )


def test_engines_run_whole_networks(sateen, chain):
    ran = sateen("bench", chain, "--against", "onnxruntime", "--to", "y")
    assert (ran.status, "onnxruntime run whole networks; leave out --from and --to" in ran.err) == (2, True)


def test_a_model_of_one_file_takes_no_second_one(sateen, chain, tmp_path):
    (tmp_path / "more").write_bytes(b"weights")
    ran = sateen("check", chain, "--weights", "more")
    assert ran.status == 1
    assert ran.err == f"FrontendError: {chain}: an ONNX model is one file, found a second one: more\n"


def test_an_artifact_takes_no_options_of_reading(sateen, artifact):
    assert "is compiled already" in sateen("run", artifact, "--to", "y", "--random", "0").err


def test_a_value_at_which_a_network_begins_may_be_a_constant(sateen, chain):
    np.save("y.npy", np.array([-1, 2], "f"))
    assert _output(sateen, chain, "--from", "y", "--bind", "y=y.npy") == {"z": [1, -2]}


@pytest.fixture
def scaling(tmp_path):
    """A model x * k, whose input k has no shape."""
    k, z = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("k", None), ("z", [2])))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node("Mul", ["x", "k"], ["z"])], "net", [x, k], [z])
    model = tmp_path / "n.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), model)
    return model


def test_an_input_without_a_shape_is_bound_to_a_number(sateen, scaling):
    assert "input 'k' (float32): the model declares no shape" in sateen("check", scaling).err
    np.save("x.npy", np.array([-1, 2], "f"))
    assert _output(sateen, scaling, "--bind", "k=0.5", "--input", "x=x.npy") == {"z": [-0.5, 1]}
    np.save("k.npy", np.array([2, 3], "f"))
    assert _output(sateen, scaling, "--bind", "k=k.npy", "--input", "x=x.npy") == {"z": [-2, 6]}


def test_a_number_for_an_input_without_a_shape_is_written_for_peers(sateen, scaling):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    assert sateen("verify", scaling, "--bind", "k=0.5", "--against", "onnxruntime").status == 0


def test_a_number_takes_the_type_of_the_value_at_which_a_network_begins(sateen, tmp_path):
    y, z = (helper.make_tensor_value_info(name, TensorProto.INT32, []) for name in "yz")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [])
    nodes = [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT32), helper.make_node("Add", ["y", "y"], ["z"])]
    graph = helper.make_graph(nodes, "net", [x], [z], value_info=[y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), tmp_path / "n.onnx")
    assert _output(sateen, tmp_path / "n.onnx", "--from", "y", "--bind", "y=21") == {"z": 42}
    assert "expected int32[], found float64[]" in sateen("check", "n.onnx", "--from", "y", "--bind", "y=0.5").err
