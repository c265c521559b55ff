"""Networks that begin and end at inner tensors, as the page of the format writes the command."""

import re
from pathlib import Path

import numpy as np
import pytest

from sateen.frontends import load
from sateen.frontends.command.main import main
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

FLOAT = DType.of("float32")
PAGE = Path(__file__).parents[4] / "docs/formats/tensorflow.md"


@pytest.fixture
def frozen(make, tmp_path, monkeypatch):
    """The graph that the page's commands compile, frozen.pb of the current folder."""
    window = {"strides": [1, 2, 2, 1], "padding": "SAME", "T": FLOAT}
    graph = make.graph(
        make.placeholder("image", -1, -1, -1, 3),
        make.constant("conv1/kernel", np.ones((3, 3, 3, 64), np.float32)),
        make.node("conv1/Conv2D", "Conv2D", "image", "conv1/kernel", **window),
        make.node("conv1/Relu", "Relu", "conv1/Conv2D", T=FLOAT),
        make.constant("axes", np.array([1, 2], np.int32)),
        make.node("logits", "Mean", "conv1/Relu", "axes", T=FLOAT, keep_dims=False),
        make.node("classes", "Softmax", "logits", T=FLOAT),
    )
    monkeypatch.chdir(tmp_path)
    Path("frozen.pb").write_bytes(graph.SerializeToString())


@pytest.mark.usefixtures("frozen")
def test_the_commands_of_the_page_run():
    commands = re.findall(r"^sateen (compile .*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        assert main(command.split()) == 0


@pytest.mark.usefixtures("frozen")
def test_a_tensor_without_a_shape_asks_for_it():
    with pytest.raises(
        FrontendError, match=r"input 'conv1/Relu' \(float32\): the model declares no shape; .*--shape conv1/Relu="
    ):
        load("frozen.pb", inputs=["conv1/Relu"])


@pytest.mark.parametrize(
    ("operator", "attributes", "expected"),
    [
        ("ResizeBilinear", {"T": DType.of("uint8")}, "float32"),
        ("Bucketize", {"T": FLOAT}, "int32"),
        ("InTopK", {"T": DType.of("int32")}, "bool"),
        ("GatherV2", {"Tparams": FLOAT, "Tindices": DType.of("int32")}, "float32"),
        ("Equal", {"T": FLOAT}, "bool"),
    ],
)
def test_a_tensor_has_the_type_that_its_operator_gives(make, operator, attributes, expected):
    graph = make.graph(
        make.placeholder("x", 2),
        make.node("inner", operator, "x", **attributes),
        make.node("y", "Identity", "inner", T=DType.of(expected)),
    )
    network, _ = load(graph.SerializeToString(), inputs=["inner"], shapes={"inner": (2, 3)})
    assert str(network.inputs[0].type) == f"{expected}[2, 3]"
