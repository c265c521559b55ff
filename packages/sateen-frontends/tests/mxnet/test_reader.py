"""The two files of a model."""

from pathlib import Path

import numpy as np
import pytest

from sateen import frontends
from sateen.frontends.readers import open_model
from sateen.runtime.errors import FrontendError

NODES = [
    ("null", "data", (), {}),
    ("null", "fc_weight", (), {}),
    ("null", "fc_bias", (), {}),
    ("FullyConnected", "fc", (0, 1, 2), {"num_hidden": "3"}),
]
WEIGHTS = {"arg:fc_weight": np.ones((3, 2), np.float32), "arg:fc_bias": np.zeros(3, np.float32)}
SHAPES = {"data": (1, 2)}


@pytest.fixture
def symbol(symbol_of):
    return symbol_of(NODES, [(3, 0)])


def names(graph):
    return [value.name for value in graph.outputs]


def test_either_file_finds_the_other(pair, symbol, arrays_of, tmp_path):
    pair(symbol, arrays_of(WEIGHTS), epoch=12)
    for given in ("net-symbol.json", "net-0012.params"):
        graph, params = frontends.load(tmp_path / given, shapes=SHAPES)
        assert names(graph) == ["fc_output"]
        assert sorted(params) == ["fc_bias", "fc_weight"]
        (beside,) = open_model(tmp_path / given).files_beside()
        assert {beside.name, given} == {"net-symbol.json", "net-0012.params"}


def test_both_may_be_given_in_any_order(symbol, arrays_of):
    arrays = arrays_of(WEIGHTS)
    for given in ((symbol, arrays), (arrays, symbol)):
        assert names(frontends.from_mxnet(*given, shapes=SHAPES)[0]) == ["fc_output"]


def test_of_several_epochs_one_must_be_given(pair, symbol, arrays_of, tmp_path):
    path = pair(symbol, arrays_of(WEIGHTS), epoch=1)
    pair(symbol, arrays_of(WEIGHTS), epoch=2)
    with pytest.raises(
        FrontendError, match=r"found net-0001.params, net-0002.params; give it as weights=, or --weights"
    ):
        frontends.load(path, shapes=SHAPES)
    assert frontends.load(path, tmp_path / "net-0002.params", shapes=SHAPES)


def test_a_symbol_with_weights_needs_its_arrays(symbol, tmp_path):
    (tmp_path / "net-symbol.json").write_bytes(symbol)
    with pytest.raises(FrontendError, match="expected arrays of MXNet"):
        frontends.load(tmp_path / "net-symbol.json", shapes=SHAPES)


def test_parameters_that_are_joined_are_weights(symbol_of, tmp_path):
    nodes = [
        ("null", "data", (), {}),
        ("null", "state", (), {}),
        ("null", "l0_weight", (), {}),
        ("Reshape", "row", (2,), {"shape": "(-1,)"}),
        ("_rnn_param_concat", "all", (3,), {"num_args": "1", "dim": "0"}),
        ("RNN", "rnn", (0, 4, 1), {"state_size": "2", "num_layers": "1", "mode": "rnn_tanh"}),
    ]
    (tmp_path / "net-symbol.json").write_bytes(symbol_of(nodes, [(5, 0)]))
    tried = r"found no net-0000.params \(or any other 4 digits\) or net.params"
    with pytest.raises(FrontendError, match=rf"expected arrays of MXNet \(.params\) beside it, {tried}"):
        frontends.load(tmp_path / "net-symbol.json")


def test_a_wrong_pair_names_the_layer(symbol, arrays_of):
    with pytest.raises(FrontendError) as caught:
        frontends.load(symbol, arrays_of({"other": np.zeros(1, np.float32)}), shapes=SHAPES)
    assert str(caught.value) == (
        "the given bytes: node 'fc': expected data of its weight 'fc_weight', found none in the given bytes; give the "
        "file of these weights (weights=, or --weights FILE)"
    )


def test_parameters_of_blocks_are_told_from_those_of_a_symbol(symbol, arrays_of, tmp_path):
    saved = arrays_of({"0.weight": np.zeros((3, 2), np.float32), "0.bias": np.zeros(3, np.float32)})
    with pytest.raises(FrontendError, match=r"found none in .*; its names are those of Gluon's save_parameters, while"):
        frontends.load(symbol, saved, shapes=SHAPES)
    (tmp_path / "net.params").write_bytes(saved)
    with pytest.raises(FrontendError) as caught:
        frontends.load(tmp_path / "net.params")
    assert str(caught.value) == (
        f"{tmp_path / 'net.params'}: expected a symbol of MXNet (-symbol.json) beside it, found no net-symbol.json or "
        "net.json; give it as weights=, or --weights FILE; Gluon's save_parameters writes none, net.export('NAME') "
        "both files (hybridize and run the net before)"
    )


def test_a_wrong_pair_is_told_before_shapes_are_asked_for(symbol, arrays_of):
    with pytest.raises(FrontendError, match="node 'fc': expected data of its weight 'fc_weight', found none in"):
        frontends.load(symbol, arrays_of({"other": np.zeros(1, np.float32)}))


def test_weights_of_another_shape_name_the_layer(symbol, arrays_of):
    wrong = {**WEIGHTS, "arg:fc_weight": np.ones((3, 4), np.float32)}
    report = frontends.check(symbol, arrays_of(wrong), shapes=SHAPES)
    assert [(gap.node, gap.reason) for gap in report.gaps] == [("fc", "expected a weight of [3, 2], found [3, 4]")]


def test_two_symbols_are_no_pair(symbol):
    with pytest.raises(FrontendError, match="expected arrays of MXNet"):
        frontends.load(symbol, symbol, shapes=SHAPES)


def test_an_input_without_a_shape_asks_for_it(symbol, arrays_of):
    with pytest.raises(FrontendError, match=r"input 'data' \(float32\): the model declares no shape"):
        frontends.load(symbol, arrays_of(WEIGHTS))


@pytest.mark.parametrize(
    ("settings", "weight", "shape"),
    [
        ({"kernel": "(3, 3)"}, (4, 3, 3, 3), "float32[?data.0, 3, ?data.2, ?data.3]"),
        ({"kernel": "(3, 3)", "layout": "NHWC"}, (4, 3, 3, 3), "float32[?data.0, ?data.1, ?data.2, 3]"),
        ({"kernel": "(3,)", "num_group": "2"}, (4, 3, 3), "float32[?data.0, 6, ?data.2]"),
    ],
)
def test_a_convolution_tells_the_channels_of_an_input(symbol_of, arrays_of, settings, weight, shape):
    nodes = [
        ("null", "data", (), {}),
        ("null", "w", (), {}),
        ("Activation", "act", (0,), {"act_type": "relu"}),
        ("Convolution", "conv", (2, 1), {"num_filter": "4", "no_bias": "True", **settings}),
    ]
    graph, _ = frontends.load(symbol_of(nodes, [(3, 0)]), arrays_of({"arg:w": np.ones(weight, np.float32)}))
    assert str(graph.inputs[0].type) == shape


def test_an_open_batch_stays_open(symbol_of, arrays_of):
    nodes = [("null", "data", (), {"__shape__": "(0, 2)"}), *NODES[1:]]
    graph, _ = frontends.load(symbol_of(nodes, [(3, 0)]), arrays_of(WEIGHTS))
    assert str(graph.outputs[0].type) == "float32[?data.0, 3]"


MODELS = Path(__file__).parents[5] / "shared/models/mxnet"


@pytest.mark.skipif(not MODELS.exists(), reason="the models of others are not here")
@pytest.mark.parametrize("name", ["cifar_resnet20_v1-symbol.json", "mtcnn_det2-0001.params"])
def test_files_of_others_are_read(name):
    shapes = {"data": (1, 3, 32, 32) if "cifar" in name else (1, 3, 24, 24)}
    assert frontends.check(MODELS / name, shapes=shapes).is_supported
