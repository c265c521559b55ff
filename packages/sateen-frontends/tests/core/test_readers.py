"""A model is read by the reader that knows its content."""

import re
import subprocess
import sys

import onnx
import pytest
from onnx import TensorProto, helper

from sateen.frontends import check, from_onnx, load, readers
from sateen.frontends.command.main import main
from sateen.frontends.core.source import Source
from sateen.runtime.errors import FrontendError


@pytest.fixture
def relu():
    given, made = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "net", [given], [made])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def test_a_model_is_known_by_its_content_whatever_its_name(tmp_path, relu):
    (tmp_path / "net.txt").write_bytes(relu.SerializeToString())
    graph, _ = load(tmp_path / "net.txt")
    assert str(graph) == str(from_onnx(tmp_path / "net.txt")[0])
    assert check(relu.SerializeToString()).is_supported


def test_onnx_models_of_any_make_are_known(relu):
    relu.metadata_props.add(key="note", value="x" * 10)
    unordered = onnx.ModelProto()
    unordered.CopyFrom(relu)
    unordered.ClearField("ir_version")
    unordered.ClearField("opset_import")
    data = unordered.SerializeToString() + onnx.ModelProto(ir_version=2).SerializeToString()
    for model in (relu.SerializeToString(), data, data + b"\xf2\x7f\x01!"):  # the last has a field of a later version
        assert check(model).is_supported


def test_no_two_readers_know_one_model(plain, relu):
    models = (relu.SerializeToString(), plain("input x float32 2\noutput x"))
    known = [[reader.described for reader in readers.READERS if reader.recognises(Source(data))] for data in models]
    assert known == [["an ONNX model"], ["a plain network"]]


def test_what_no_reader_knows_is_refused(tmp_path):
    expected = readers.EXPECTED
    (tmp_path / "net").write_bytes(b"\xff\xfe\xfd\x00")
    with pytest.raises(FrontendError) as caught:
        load(tmp_path / "net")
    assert (
        str(caught.value)
        == f"{tmp_path / 'net'}: expected a model, found data of no format that is known here; known are {expected}"
    )
    with pytest.raises(FrontendError, match=f"expected {expected}: a path or its bytes, found int"):
        load(5)
    with pytest.raises(FrontendError, match=f"expected a model, found a folder; known are {expected}"):
        load(tmp_path)


def test_the_command_takes_a_model_of_any_reader(plain, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    network = tmp_path / "net"
    network.write_bytes(plain("input x float32 2\nnode a relu x -> y\noutput y"))
    assert main(["check", str(network)]) == 0
    assert capsys.readouterr().out == "model 'net', 1 node: all nodes can be compiled\n"
    assert main(["run", str(network), "--random", "0"]) == 0
    capsys.readouterr()
    assert main(["verify", str(network), "--layers"]) == 0
    assert capsys.readouterr().out.endswith("right against definitions\n")
    assert main(["verify", str(network), "--against", "onnxruntime"]) == 1
    assert "onnxruntime doesn't run it; leave out --against, or give outputs to compare with" in capsys.readouterr().err
    assert main(["bench", str(network), "--against", "onnxruntime"]) == 1
    assert "onnxruntime is left out: it does not run a plain network" in capsys.readouterr().err


def test_an_unknown_option_is_refused(relu):
    with pytest.raises(TypeError, match=r"expected options shapes, dims, constants, .*, found shape"):
        load(relu.SerializeToString(), shape={"x": (2,)})  # type: ignore[call-arg]


def test_damage_that_a_reader_does_not_foresee_is_refused(plain):
    with pytest.raises(FrontendError, match="expected a plain network, found one that is damaged: Unicode"):
        load(plain("input") + b"\xff")


def test_nobody_waits_for_formats_that_are_not_read():
    program = "import sys, sateen.frontends.command.main; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    parts = [name for name in modules if re.fullmatch(r"sateen\.frontends\.\w+\.(opening|loading|converters)", name)]
    assert parts == []
    assert not {"onnx", "google.protobuf", "flatbuffers", "onnxruntime", "torch"}.intersection(modules)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"outputs": "y"}, TypeError, "expected a sequence of names as outputs, found the text 'y'"),
        (
            {"shapes": {"x": "12"}},
            FrontendError,
            "input 'x': expected a shape of whole numbers of 0 or more, found '12'",
        ),
        ({"shapes": {"x": (2.0,)}}, FrontendError, "input 'x': expected a shape of whole numbers of 0 or more"),
        ({"dims": {"n": 2.5}}, FrontendError, "dims"),
    ],
)
def test_options_of_other_types_are_refused(relu, options, error, message):
    with pytest.raises(error, match=message):
        load(relu.SerializeToString(), **options)
