"""Networks are cut at inner tensors, whose types the file tells."""

import numpy as np
import pytest

from sateen.frontends import from_tflite
from sateen.frontends.command.main import main
from sateen.graph_ir.judge import interpret
from sateen.runtime.errors import FrontendError


@pytest.fixture
def chain(model):
    """x, quantised: h = tanh(x), y = h + h, z = y · 2."""
    x = model.tensor("x", (2,), "INT8", scale=0.5)
    h, y = (model.tensor(name, (2,), "INT8", scale=0.25, zero_point=3) for name in "hy")
    z = model.tensor("z", (2,), "FLOAT32")
    model.node("TANH", [x], [h])
    model.node("ADD", [h, h], [y], activation="NONE")
    model.node("DEQUANTIZE", [y], [z])
    model.inputs, model.outputs = [x], [z]
    return model.bytes()


def test_the_command_cuts_a_network_at_tensors(chain, tmp_path, capsys):
    path = tmp_path / "net.tflite"
    path.write_bytes(chain)
    assert main(["compile", str(path), "--from", "h", "--to", "y", "-o", str(tmp_path / "net.sateen")]) == 0
    assert main(["inspect", str(tmp_path / "net.sateen")]) == 0
    told = capsys.readouterr().out
    assert "h: int8[2]" in told
    assert "y: int8[2]" in told


def test_a_network_begins_at_the_integers_of_a_tensor(chain):
    graph, _ = from_tflite(chain, inputs=["h"])
    found = interpret(graph, {"h": np.array([3, 5], np.int8)})
    np.testing.assert_array_equal(found["z"], [0.0, 1.0])


def test_open_dimensions_of_an_inner_tensor_have_its_name(model):
    x = model.tensor("x", (1, 2), shape_signature=[-1, 2])
    h, y = (model.tensor(name, (1, 2), shape_signature=[-1, 2]) for name in "hy")
    model.node("TANH", [x], [h])
    model.node("EXP", [h], [y])
    model.inputs, model.outputs = [x], [y]
    graph, _ = from_tflite(model.bytes(), inputs=["h"])
    assert [str(v.type) for v in graph.inputs] == ["float32[?h.0, 2]"]
    graph, _ = from_tflite(model.bytes(), inputs=["h"], shapes={"h": (3, 2)})
    assert [str(v.type) for v in graph.outputs] == ["float32[3, 2]"]


def test_a_tensor_of_unknown_rank_needs_a_shape(model):
    x = model.tensor("x", (2,))
    h, y = model.tensor("h", (), has_rank=False), model.tensor("y", (2,))
    model.node("TANH", [x], [h])
    model.node("EXP", [h], [y])
    model.inputs, model.outputs = [x], [y]
    with pytest.raises(FrontendError, match=r"input 'h' \(float32\): the model declares no shape"):
        from_tflite(model.bytes(), inputs=["h"])
    graph, _ = from_tflite(model.bytes(), inputs=["h"], shapes={"h": (2,)})
    assert [str(v.type) for v in graph.inputs] == ["float32[2]"]


def test_an_unknown_tensor_is_named(chain):
    with pytest.raises(FrontendError, match=r"outputs \(--to\) names 'v'; the model's values are"):
        from_tflite(chain, outputs=["v"])
