from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sateen.frontends.command import contender
from sateen.frontends.command.contender import LONGEST_REST, REST, rest
from sateen.frontends.command.turns import OURS, ContenderHere, measure_in_turns
from sateen.frontends.onnx.engines import write_for_peers
from sateen.frontends.onnx.peers import PEERS
from sateen.runtime import ArgumentError

SHAPE = (1, 3, 8, 8)


def _write(path: Path, *, weights_are_inputs: bool) -> Path:
    """first[1, 8, 6, 6] = relu(conv(data[1, 3, rows, 8])), second[1, 5] = mean(first) m."""
    random = np.random.default_rng(0)
    data = {
        "kernel": random.standard_normal((8, 3, 3, 3), np.float32),
        "m": random.standard_normal((8, 5), np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["data", "kernel"], ["conv"]),
        helper.make_node("Relu", ["conv"], ["first"]),
        helper.make_node("GlobalAveragePool", ["first"], ["pool"]),
        helper.make_node("Flatten", ["pool"], ["flat"]),
        helper.make_node("MatMul", ["flat", "m"], ["second"]),
    ]
    inputs = [("data", (1, 3, "rows", 8)), *((n, a.shape) for n, a in data.items() if weights_are_inputs)]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("first", "second")],
        [numpy_helper.from_array(array, name) for name, array in data.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


@pytest.fixture
def inputs() -> dict[str, np.ndarray]:
    return {"data": np.random.default_rng(1).standard_normal(SHAPE, np.float32)}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    written = tmp_path / "readable.onnx"
    write_for_peers(_write(tmp_path / "net.onnx", weights_are_inputs=True), written, {"data": SHAPE}, {})
    return written


@pytest.fixture
def compiled(sateen, tmp_path: Path) -> Path:
    _write(tmp_path / "net.onnx", weights_are_inputs=False)
    assert sateen("compile", "net.onnx", "--dim", "rows=8", "-o", "net.sateen").status == 0
    return tmp_path / "net.sateen"


def _installed(name: str) -> str:
    try:
        PEERS[name].require()
    except ArgumentError as error:
        pytest.skip(str(error))
    return name


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_gives_our_outputs_in_our_order(name, model, compiled, inputs):
    _installed(name)
    with ContenderHere(OURS, compiled, 1, inputs) as ours, ContenderHere(name, model, 1, inputs) as peer:
        assert peer.refusal == ""
        assert [y.shape[-1] for y in ours.outputs] == [6, 5]
        assert peer.difference(ours.outputs) < 1e-5


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_refuses_what_is_no_model(name, tmp_path, inputs):
    _installed(name)
    (tmp_path / "text.onnx").write_text("no model")
    with ContenderHere(name, tmp_path / "text.onnx", 1, inputs) as peer:
        assert "text.onnx" in peer.refusal
        assert peer.difference([np.zeros(1, np.float32)]) == float("inf")


def test_contenders_take_turns_and_tell_their_memory(compiled, inputs):
    rounds = []
    with ContenderHere(OURS, compiled, 1, inputs) as first, ContenderHere(OURS, compiled, 2, inputs) as second:
        measure_in_turns([first, second], 3, lambda: rounds.append((first.time.samples, second.time.samples)))
        assert [(len(a), len(b)) for a, b in rounds] == [(0, 0), (1, 1), (2, 2)]
        assert all(seconds > 0 for c in (first, second) for seconds in c.time.samples)
        assert first.time.number > 1
        assert first.memory_bytes > 0 or not Path("/proc/self/status").exists()


def test_a_process_that_ends_is_a_refusal_and_the_others_go_on(compiled, inputs):
    with ContenderHere(OURS, compiled, 1, inputs) as killed, ContenderHere(OURS, compiled, 1, inputs) as other:
        killed._process.kill()
        measure_in_turns([killed, other], 2)
        assert killed.refusal == f"its process ended with status {-signal.SIGKILL}"
        assert len(other.time.samples) == 2


def test_outputs_of_another_shape_with_as_many_elements_are_compared_in_order(compiled, inputs):
    with ContenderHere(OURS, compiled, 1, inputs) as ours:
        flat = [y.reshape(-1) for y in ours.outputs]
        assert ours.difference(flat) == 0
        assert ours.difference(flat[:1]) == float("inf")
        assert ours.difference([flat[0], flat[1] + 1]) > 0.01


def test_outputs_may_differ_by_what_their_element_type_may(compiled, inputs):
    with ContenderHere(OURS, compiled, 1, inputs) as ours:
        assert ours.is_right(ours.outputs)
        assert not ours.is_right(ours.outputs[:1])
        nearly = [y * np.float32(1 + 2e-3) for y in ours.outputs]
        assert not ours.is_right(nearly)
        ours.outputs = [y.astype(np.float16) for y in ours.outputs]
        assert ours.is_right([y.astype(np.float16) for y in nearly])


@pytest.mark.parametrize("name", ["onnxruntime", "openvino"])
def test_what_a_peer_needs_is_told(monkeypatch, name):
    monkeypatch.setattr("sateen.frontends.core.peers.is_installed", lambda package: False)
    with pytest.raises(ArgumentError, match=f"{name} is not installed: pip install {name}"):
        PEERS[name].require()


def test_all_that_a_peer_needs_is_told_at_once(monkeypatch):
    monkeypatch.setattr("sateen.frontends.core.peers.is_installed", lambda package: False)
    with pytest.raises(ArgumentError, match="ncnn and pnnx are not installed: pip install ncnn && pip"):
        PEERS["ncnn"].require()


def test_peers_get_a_model_whose_weights_are_no_inputs_and_whose_inputs_have_shapes(model):
    graph = onnx.load(model).graph
    (given,) = graph.input
    assert given.name == "data"
    assert tuple(dim.dim_value for dim in given.type.tensor_type.shape.dim) == SHAPE


def test_inputs_that_are_constants_are_weights_for_peers(tmp_path):
    m = np.ones((8, 5), np.float32)
    source = _write(tmp_path / "net.onnx", weights_are_inputs=True)
    write_for_peers(source, tmp_path / "out.onnx", {}, {"m": m})
    graph = onnx.load(tmp_path / "out.onnx").graph
    (tensor,) = [t for t in graph.initializer if t.name == "m"]
    assert np.array_equal(numpy_helper.to_array(tensor), m)
    assert [v.name for v in graph.input] == ["data"]


class Processor:
    """A machine's clock, and a process whose threads spin for some seconds of it."""

    def __init__(self, spinning: float) -> None:
        self.spinning = spinning
        self.now = 0.0
        self.used = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.used += min(seconds, max(self.spinning - self.used, 0.0))


@pytest.mark.parametrize(("spinning", "waited"), [(0.0, REST), (0.3, 7 * REST), (60.0, LONGEST_REST)])
def test_a_turn_ends_when_no_thread_spins_or_too_long(spinning, waited, monkeypatch):
    processor = Processor(spinning)
    monkeypatch.setattr(contender, "sleep", processor.sleep)
    monkeypatch.setattr(contender, "monotonic", lambda: processor.now)
    monkeypatch.setattr(contender, "process_time", lambda: processor.used)
    rest()
    assert processor.now == pytest.approx(waited)
