"""A Caffe2 model is a pair of nets, known by their content, as messages and as text; damage is an error."""

import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import text_format

from sateen import frontends
from sateen.frontends import readers
from sateen.frontends.caffe2 import CAFFE2
from sateen.frontends.caffe2.converters import CONVERTERS
from sateen.frontends.caffe2.schemas.net_pb2 import Net
from sateen.frontends.core.source import Source
from sateen.runtime.errors import FrontendError

WEIGHT, BIAS = np.arange(6).reshape(2, 3) / 4, np.array([0.5, -1])
SHAPES = {"x": (1, 3)}


@pytest.fixture
def nets(operator, init):
    ops = [operator("FC", ["x", "w", "b"], ["y"]), operator("Relu", ["y"], ["y"])]
    predict = Net(name="net", op=ops, external_input=["x", "w", "b"], external_output=["y"])
    return predict.SerializeToString(), init(w=WEIGHT, b=BIAS)


@pytest.fixture
def folder(tmp_path, nets):
    for name, data in zip(("net_predict.pb", "net_init.pb"), nets, strict=True):
        (tmp_path / name).write_bytes(data)
    return tmp_path


def test_either_net_is_enough(folder):
    for name in ("net_predict.pb", "net_init.pb"):
        graph, params = frontends.load(folder / name, shapes=SHAPES)
        assert [value.name for value in (*graph.inputs, *graph.outputs)] == ["x", "y"]
        np.testing.assert_array_equal(params["w"], WEIGHT.astype(np.float32))
        assert {span.operator for node in graph.nodes for span in node.spans} == {"FC", "Relu"}


def test_nets_as_text(nets):
    texts = [text_format.MessageToString(Net.FromString(data)).encode() for data in nets]
    graph, params = frontends.from_caffe2(*texts, shapes=SHAPES)
    expected, _ = frontends.from_caffe2(*nets, shapes=SHAPES)
    assert (str(graph), sorted(params)) == (str(expected), ["b", "w"])


def test_a_cut_at_a_value(nets):
    graph, _ = frontends.load(*nets, inputs=["y@2"], shapes={"y@2": (1, 2)})
    assert [value.name for value in (*graph.inputs, *graph.outputs)] == ["y@2", "y"]


def test_both_nets_are_known_by_their_content_and_by_no_other_reader(nets):
    texts = [text_format.MessageToString(Net.FromString(data)).encode() for data in nets]
    for data in (*nets, *texts):
        assert [reader.described for reader in readers.READERS if reader.recognises(Source(data))] == ["a Caffe2 model"]
    for other in (b"", b"\x0a\x03net", b"op: 1", b"\x12\x02\x08\x01", b"op { }"):
        assert not CAFFE2.recognises(Source(other))


def test_what_is_missing_is_named(folder, nets):
    with pytest.raises(FrontendError, match=r"input 'x' \(float32\): the model declares no shape"):
        frontends.load(folder / "net_predict.pb")
    (folder / "net_init.pb").unlink()
    with pytest.raises(
        FrontendError, match=r"expected the init net of Caffe2 \(weights, .*\) beside it, found no net_init"
    ):
        frontends.load(folder / "net_predict.pb", shapes=SHAPES)
    with pytest.raises(
        FrontendError, match=r"expected the init net of Caffe2 .* for the given bytes, found the predict net"
    ):
        frontends.load(nets[0], nets[0], shapes=SHAPES)
    with pytest.raises(FrontendError, match="expected a net of Caffe2 as text: 2:1"):
        frontends.load(b'op { type: "Relu" input: "x" output: "y" }\n}', nets[1], shapes=SHAPES)


def test_weights_that_the_init_net_does_not_fill_are_named(nets, init):
    with pytest.raises(FrontendError) as caught:
        frontends.load(nets[0], init(w=WEIGHT), shapes=SHAPES)
    assert str(caught.value) == (
        "operator 'y' (FC) reads weights 'b', which the init net does not fill; give the init net that does (weights=, "
        "or --weights FILE), or the shapes of those that are inputs (shapes=, or --shape)"
    )
    graph, _ = frontends.load(nets[0], init(w=WEIGHT), shapes={**SHAPES, "b": (2,)})
    assert [value.name for value in graph.inputs] == ["x", "b"]


def test_a_weight_of_a_single_zero_is_no_place_for_an_input(operator, init):
    net = Net(name="net", op=[operator("FC", ["x", "w", "b"], ["y"])], external_output=["y"]).SerializeToString()
    filled = Net.FromString(init(w=WEIGHT[:1]))
    filled.op.append(operator("ConstantFill", [], ["b"], shape=[1]))
    graph, _ = frontends.load(net, filled.SerializeToString(), shapes=SHAPES)
    assert [value.name for value in graph.inputs] == ["x"]


def test_damage_is_an_error_of_the_frontend(nets):
    numbers = random.Random(0)
    for _ in range(300):
        damaged = [bytearray(data) for data in nets]
        for _ in range(numbers.randrange(1, 6)):
            one = numbers.choice(damaged)
            one[numbers.randrange(len(one))] = numbers.randrange(256)
        with suppress(FrontendError):
            frontends.load(*map(bytes, damaged), shapes=SHAPES)


def test_every_operator_has_a_place_in_the_page():
    page = Path(__file__).parents[4].joinpath("docs/formats/caffe2.md").read_text(encoding="utf-8")
    table = page.split("## Operators")[1].split("## What is refused")[0]
    names = [line.split("|")[1].split("`")[1::2] for line in table.splitlines() if line.startswith("| `")]
    assert {name for row in names for name in row} == CONVERTERS.keys()
