"""A Caffe model is a pair of files, known by their content; damage to either is an error that names it."""

import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from sateen import frontends, runtime
from sateen.frontends import check, readers
from sateen.frontends.caffe import CAFFE
from sateen.frontends.caffe.converters import CONVERTERS
from sateen.frontends.caffe.parameters import PARAMETERS
from sateen.frontends.caffe.schemas.weights_pb2 import Weights
from sateen.frontends.core.refusals import BEGIN, BRING, END
from sateen.frontends.core.source import Source
from sateen.graph_ir.compile import build
from sateen.runtime.errors import FrontendError

NETWORK = b"""name: "net"
input: "x"
input_dim: 1 input_dim: 2 input_dim: 4 input_dim: 4
layer { name: "conv" type: "Convolution" bottom: "x" top: "conv"
        convolution_param { num_output: 3 kernel_size: 3 } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "fc" type: "InnerProduct" bottom: "conv" top: "y" inner_product_param { num_output: 5 } }
"""
RANDOM = np.random.default_rng(0)
WEIGHT, BIAS = RANDOM.normal(size=(3, 2, 3, 3)), RANDOM.normal(size=3)
MATRIX, OFFSET = RANDOM.normal(size=(5, 12)), RANDOM.normal(size=5)


@pytest.fixture
def data(weights):
    return weights(conv=[WEIGHT, BIAS], fc=[MATRIX, OFFSET])


@pytest.fixture
def folder(tmp_path, data):
    (tmp_path / "net.prototxt").write_bytes(NETWORK)
    (tmp_path / "net.caffemodel").write_bytes(data)
    return tmp_path


def test_either_file_is_enough(folder):
    for name in ("net.prototxt", "net.caffemodel"):
        graph, params = frontends.load(folder / name)
        assert [value.name for value in (*graph.inputs, *graph.outputs)] == ["x", "y"]
        assert sorted(params) == ["conv.0", "conv.1", "fc.0", "fc.1"]
        assert {span.operator for node in graph.nodes for span in node.spans} == {"Convolution", "ReLU", "InnerProduct"}


def test_a_network_with_another_name_is_found_by_content(folder):
    (folder / "net.prototxt").rename(folder / "deploy.prototxt")
    (folder / "solver.prototxt").write_text('net: "deploy.prototxt"')
    assert frontends.check(folder / "net.caffemodel").is_supported


def test_a_shape_replaces_that_of_the_file(data):
    text = NETWORK.replace(b"num_output: 5", b"num_output: 5 axis: 1")
    graph, params = frontends.load(text, data, shapes={"x": (3, 2, 4, 4)})
    x = RANDOM.normal(size=(3, 2, 4, 4)).astype(np.float32)
    found = runtime.load(build(graph, params=params)).run({"x": x})["y"].numpy()
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    hidden = np.maximum(np.einsum("nchwij,ocij->nohw", windows, WEIGHT) + BIAS[:, None, None], 0)
    np.testing.assert_allclose(found, hidden.reshape(3, -1) @ MATRIX.T + OFFSET, rtol=1e-4, atol=1e-5)


def test_a_cut_at_a_blob(data):
    graph, _ = frontends.load(NETWORK, data, inputs=["conv"], shapes={"conv": (1, 3, 2, 2)})
    assert [value.name for value in (*graph.inputs, *graph.outputs)] == ["conv", "y"]
    graph, _ = frontends.load(NETWORK, data, outputs=["conv@conv"])
    assert [value.name for value in graph.outputs] == ["conv@conv"]


LOSS = b'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "y" bottom: "label" top: "loss" }'


def test_labels_of_a_loss_that_is_cut_off_are_not_asked_for(data):
    fed = NETWORK.replace(b"input_dim: 4\n", b'input_dim: 4\nlayer { type: "Data" top: "more" top: "label" }\n')
    for text in (NETWORK + LOSS, fed + LOSS):
        graph, _ = frontends.load(text, data, outputs=["y"])
        assert [value.name for value in graph.inputs] == ["x"]


def test_layers_that_read_what_none_gives_are_gaps(data):
    other = NETWORK.replace(b'bottom: "conv" top: "conv"', b'bottom: "other" top: "z"')
    relu, loss = check(other + LOSS, data).gaps
    assert (relu.node, relu.reason, relu.help) == (
        "relu", "expected a layer before it that gives 'other', found none", ""
    )  # fmt: skip
    assert loss.reason == (
        "expected a layer before it that gives 'label', found none; it compares with labels, which there are only in "
        "training"
    )
    assert loss.help == "use the deploy network, or end before it: outputs=[...], or --to NAME"


def test_every_input_without_a_shape_is_named(data):
    text = NETWORK.replace(b'input: "x"\ninput_dim: 1 input_dim: 2 input_dim: 4 input_dim: 4', b"")
    fed = b'layer { type: "Data" top: "x" top: "label" }' + text
    with pytest.raises(FrontendError) as caught:
        frontends.load(fed, data)
    assert str(caught.value).startswith(
        "inputs 'x' (float32), 'label' (float32): the model declares no shape; give sizes of all dimensions: "
        "shapes={'x': (...)}, or --shape x=...x..."
    )


@pytest.mark.parametrize("form", ["legacy", "double", "old", "oldest"])
def test_weights_of_all_times(form):
    proto = Weights()
    for name, arrays in (("conv", (WEIGHT, BIAS)), ("fc", (MATRIX, OFFSET))):
        if form == "old":
            layer = proto.layers.add(name=name, type=4)
        elif form == "oldest":
            layer = proto.layers.add().layer
            layer.name = name
        else:
            layer = proto.layer.add(name=name)
        for array in arrays:
            floats = [array.astype("<f4").tobytes()]
            blob = (
                layer.blobs.add(double_data=[array.astype("<f8").tobytes()])
                if form == "double"
                else layer.blobs.add(data=floats)
            )
            if form == "double":
                blob.shape.dim.extend(array.shape)
            else:
                blob.num, blob.channels, blob.height, blob.width = (1,) * (4 - array.ndim) + array.shape
    _, params = frontends.load(NETWORK, proto.SerializeToString())
    np.testing.assert_array_equal(params["fc.0"], MATRIX.astype(np.float32))


def test_both_files_are_known_by_their_content_and_by_no_other_reader(data):
    for source in (Source(NETWORK), Source(data), Source(b'# made by "hand"\n' + NETWORK)):
        assert [reader.described for reader in readers.READERS if reader.recognises(source)] == ["a Caffe model"]
    for other in (b'net: "layer { }"', b"layer", b"# layer {", b'node { name: "x" }', b"\x08\x01\x12\x02", b""):
        assert not CAFFE.recognises(Source(other))


def test_what_is_missing_or_wrong_is_named(folder, weights):
    (folder / "other.caffemodel").write_bytes(weights(elsewhere=[BIAS]))
    with pytest.raises(
        FrontendError, match=r"expected weights of layers of .*net.prototxt, found those of 'elsewhere'"
    ):
        frontends.load(folder / "net.prototxt", folder / "other.caffemodel")
    with pytest.raises(
        FrontendError, match=r"expected weights of Caffe \(.caffemodel\) for .*, found a network of Caffe"
    ):
        frontends.load(folder / "net.prototxt", folder / "net.prototxt")
    (folder / "net.caffemodel").unlink()
    (folder / "other.caffemodel").unlink()
    with pytest.raises(
        FrontendError, match=r"expected weights of Caffe \(.caffemodel\) beside it, found no net.caffemodel"
    ):
        frontends.load(folder / "net.prototxt")
    with pytest.raises(FrontendError, match="expected blob 0 of its weights, found no blobs"):
        frontends.load(folder / "net.prototxt", weights(fc=[MATRIX, OFFSET]))


def test_a_network_without_weights_is_whole(tmp_path):
    text = b'input: "x" input_dim: 1 input_dim: 2 input_dim: 4 input_dim: 4 layer { type: "ReLU" bottom: "x" top: "y" }'
    (tmp_path / "net.prototxt").write_bytes(text)
    for given in (text, tmp_path / "net.prototxt"):
        graph, params = frontends.load(given)
        assert ([value.name for value in graph.outputs], params) == (["y"], {})


_WITH_GAPS = b"""
input: "x" input_dim: 1 input_dim: 2 input_dim: 4 input_dim: 4
layer { name: "relu" type: "ReLU" bottom: "x" top: "y" }
layer { name: "foo" type: "Foo" bottom: "y" top: "f" }
layer { name: "fc" type: "InnerProduct" bottom: "f" top: "z" inner_product_param { num_output: 2 } }
"""


def test_a_part_without_weights_needs_no_file(tmp_path):
    (tmp_path / "net.prototxt").write_bytes(_WITH_GAPS)
    for given in (_WITH_GAPS, tmp_path / "net.prototxt"):
        graph, params = frontends.load(given, outputs=["y"])
        assert ([value.name for value in graph.outputs], params) == (["y"], {})
    missing = r"expected weights of Caffe \(.caffemodel\) beside it, found no net.caffemodel .*; give it as weights="
    with pytest.raises(FrontendError, match=missing):
        frontends.load(tmp_path / "net.prototxt", inputs=["f"], shapes={"f": (1, 2)})


def test_missing_weights_are_a_gap_beside_others():
    assert [(gap.node, gap.reason, gap.help) for gap in check(_WITH_GAPS).gaps] == [
        ("foo", "sateen has no such layer", f"{BRING}, or {END}; or {BEGIN}"),
        ("fc", "its weights are missing", "give the file of its weights: weights=, or --weights FILE"),
    ]


def test_damage_is_an_error_of_the_frontend(data):
    numbers = random.Random(0)
    for _ in range(300):
        text, blobs = bytearray(NETWORK), bytearray(data)
        for _ in range(numbers.randrange(1, 6)):
            damaged = numbers.choice((text, blobs))
            damaged[numbers.randrange(len(damaged))] = numbers.randrange(256)
        if numbers.random() < 0.3:
            del blobs[numbers.randrange(len(blobs)) :]
        with suppress(FrontendError):
            frontends.load(bytes(text), bytes(blobs))


def test_every_layer_has_parameters_a_converter_and_a_line_in_the_page():
    page = Path(__file__).parents[4].joinpath("docs/formats/caffe.md").read_text(encoding="utf-8")
    table = page.split("## Layers")[1].split("## What is refused")[0]
    names = [line.split("|")[1].split("`")[1::2] for line in table.splitlines() if line.startswith("| `")]
    listed = {name for row in names for name in row}
    assert listed == CONVERTERS.keys() == PARAMETERS.keys()
