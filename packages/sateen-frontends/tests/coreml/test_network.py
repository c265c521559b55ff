"""Layers whose meaning is the format's own."""

import re
from pathlib import Path

import numpy as np
import pytest

from sateen.frontends import check, from_coreml
from sateen.frontends.core.refusals import BRING
from sateen.frontends.coreml.network.converters import CONVERTERS
from sateen.frontends.coreml.schemas import coreml_pb2 as schema
from sateen.runtime.errors import FrontendError

_IMAGE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture
def old(coreml):
    """old(kind, shape, **parameters): a layer of blobs of rank 5, on the image."""

    def run(kind: str, shape=(2, 3, 4), **parameters) -> np.ndarray:
        layers = [coreml.layer(kind, "x", "y", **parameters)]
        made = coreml.model(layers, [coreml.array("x", *_IMAGE.shape)], [coreml.array("y", *shape)])
        return coreml.results(made, {"x": _IMAGE})["y"]

    return run


@pytest.fixture
def exact(coreml):
    """exact(kind, **parameters): a layer of blobs of any shape, on the image."""

    def run(kind: str, **parameters) -> np.ndarray:
        layers = [coreml.layer(kind, "x", "y", **parameters)]
        made = coreml.model(layers, [coreml.array("x", *_IMAGE.shape)], [coreml.array("y")], exact=True)
        return coreml.results(made, {"x": _IMAGE})["y"]

    return run


def test_flatten_with_the_channels_last_counts_them_first(old):
    assert np.array_equal(old("flatten", (24, 1, 1), mode=1), _IMAGE.transpose(1, 2, 0).reshape(24, 1, 1))


def test_reshape_with_the_channels_last_fills_them_last(old):
    found = old("reshape", (4, 2, 3), targetShape=[4, 2, 3], mode=1)
    assert np.array_equal(found, _IMAGE.transpose(1, 2, 0).reshape(2, 3, 4).transpose(2, 0, 1))


def test_permute_orders_sequence_channels_rows_and_columns(old):
    assert np.array_equal(old("permute", (4, 2, 3), axis=[0, 3, 1, 2]), _IMAGE.transpose(2, 0, 1))


def test_an_epsilon_or_scale_of_0_is_the_default(old):
    assert np.allclose(old("unary", type=2), 1 / (_IMAGE + 1e-6))
    assert np.allclose(old("l2normalize"), _IMAGE / np.sqrt((_IMAGE**2).sum() + 1e-6))


def test_a_threshold_keeps_what_is_equal_to_it(old):
    found = old("activation", thresholdedReLU=schema.Alpha(alpha=5))
    assert np.array_equal(found, np.where(_IMAGE >= 5, _IMAGE, 0))


def test_old_logarithmic_sums_add_logarithms_and_new_ones_take_that_of_the_sum(old, exact):
    assert np.allclose(old("reduce", (2, 1, 1), mode=3, axis=1), np.log(_IMAGE + 1e-6).sum((1, 2), keepdims=True))
    assert np.allclose(exact("reduceLogSum", axes=[1, 2]), np.log(_IMAGE.sum((1, 2))))


def test_a_window_that_includes_the_last_pixel_does_not_begin_in_the_padding(old):
    padding = schema.ValidCompletePadding(paddingAmounts=[0, 1])
    found = old("pooling", (2, 1, 3), kernelSize=[3, 2], stride=[2, 2], includeLastPixel=padding)
    wide = np.pad(_IMAGE, ((0, 0), (0, 0), (1, 1)), constant_values=-1)
    assert np.array_equal(found[:, 0], np.stack([wide[:, :, i : i + 2].max((1, 2)) for i in (0, 2, 4)], 1))


def test_an_average_of_windows_beyond_the_padding_is_refused_unless_it_counts_pixels_alone(old):
    padding = schema.ValidCompletePadding(paddingAmounts=[0, 0])
    parameters = {"kernelSize": [2, 2], "stride": [2, 2], "type": 1, "includeLastPixel": padding}
    with pytest.raises(FrontendError, match="includeLastPixel makes windows reach beyond the padding"):
        old("pooling", (2, 2, 2), **parameters)
    found = old("pooling", (2, 2, 2), **parameters, avgPoolExcludePadding=True)
    assert np.array_equal(found[:, 1], _IMAGE[:, 2].reshape(2, 2, 2).mean(2))


def test_same_padding_puts_an_odd_element_where_the_mode_says(old):
    weights = np.ones((1, 2, 1, 2))
    for mode, pads in ((0, (0, 1)), (1, (1, 0))):
        same = schema.SamePadding(asymmetryMode=mode)
        found = old(
            "convolution", (1, 3, 4), outputChannels=1, kernelChannels=2, kernelSize=[1, 2], same=same, weights=weights
        )
        wide = np.pad(_IMAGE.sum(0), ((0, 0), pads))
        assert np.array_equal(found[0], wide[:, :-1] + wide[:, 1:])


def test_a_matrix_of_a_batched_product_is_stored_by_columns(exact):
    matrix = np.arange(8, dtype=np.float32).reshape(4, 2)
    found = exact("batchedMatmul", weightMatrixFirstDimension=4, weightMatrixSecondDimension=2, weights=matrix.T)
    assert np.array_equal(found, _IMAGE @ matrix)


def test_a_place_outside_a_one_hot_vector_gives_none(coreml):
    made = coreml.model(
        [coreml.layer("oneHot", "x", "y", oneHotVectorSize=3, axis=-1, onValue=1)],
        [coreml.array("x", 3)],
        [coreml.array("y")],
        exact=True,
    )
    assert coreml.results(made, {"x": [2, -1, 3]})["y"].tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]


def test_shapes_are_computed_while_reading(coreml):
    layers = [coreml.layer("getShape", "y", "s"), coreml.layer("reshapeDynamic", "x s", "z")]
    made = coreml.model(layers, [coreml.array("x", 6, 4), coreml.array("y", 3, 2, 4)], [coreml.array("z")], exact=True)
    graph, _ = from_coreml(made.SerializeToString(), dims={})
    assert [str(value.type) for value in graph.outputs] == ["float32[3, 2, 4]"]


def test_all_gaps_are_reported_with_their_layers_and_remedies(coreml):
    layers = [
        coreml.layer("randomNormalLike", "x", "r", name="noise"),
        coreml.layer("custom", "r", "c", name="own", className="Own"),
        coreml.layer("activation", "c", "y", ReLU=schema.Nothing()),
    ]
    report = check(coreml.model(layers, [coreml.array("x", 3)], [coreml.array("y")], exact=True).SerializeToString())
    assert [(gap.node, gap.operator, gap.help) for gap in report.gaps] == [
        ("noise", "randomNormalLike", "make them an input"),
        ("own", "custom", f"{BRING}, or make the layer of known ones"),
    ]
    assert report.unchecked == 1


def test_a_network_is_cut_at_inner_blobs(coreml):
    layers = [
        coreml.layer("custom", "x", "c"),
        coreml.layer("activation", "x", "h", ReLU=schema.Nothing()),
        coreml.layer("add", "h c", "y"),
    ]
    made = coreml.model(layers, [coreml.array("x", 3)], [coreml.array("y", 3)])
    assert coreml.results(made, {"x": [1, -1, 2]}, outputs=["h"])["h"].reshape(-1).tolist() == [1, 0, 2]


def test_spans_keep_the_layers_names_and_the_formats_terms(relu):
    graph, _ = from_coreml(relu.SerializeToString())
    assert {(span.node, span.operator) for node in graph.nodes for span in node.spans} >= {("y", "activation")}


@pytest.fixture
def lstm(coreml):
    """An LSTM of one vector of 1 with given states, whose gates are open by their biases."""
    weights = schema.LSTMWeights()
    for gate in ("inputGate", "forgetGate", "outputGate", "blockInput"):
        for kind, number in (("WeightMatrix", 0), ("RecursionMatrix", 0), ("BiasVector", 40)):
            getattr(weights, gate + kind).floatValue.append(number)
    names = ("sigmoid", "tanh", "tanh")
    activations = [schema.Activation(**{name: schema.Nothing()}) for name in names]
    settings = schema.LSTMSettings(hasBiasVectors=True)
    sizes = {"inputVectorSize": 1, "outputVectorSize": 1}
    layers = [
        coreml.layer("uniDirectionalLSTM", "x h c", "y k s", activations=activations, params=settings,
                     weightParams=weights, **sizes)
    ]  # fmt: skip
    return coreml.model(layers, [coreml.array(name, 1) for name in "xhc"], [coreml.array(name, 1) for name in "yks"])


def test_the_cell_that_an_lstm_gives_is_limited(coreml, lstm):
    found = coreml.results(lstm, {"x": [[[0]]], "h": [0], "c": [49.5]}, dims={"x.0": 1})
    assert {name: data.tolist() for name, data in found.items()} == {"y": [1], "k": [1], "s": [50]}
    assert coreml.results(lstm, {"x": [[[0]]], "h": [0], "c": [2]}, dims={"x.0": 1})["s"].tolist() == [3]


def test_several_steps_from_a_given_cell_are_refused(lstm):
    (gap,) = check(lstm.SerializeToString(), dims={"x.0": 2}).gaps
    assert gap.reason == (
        "with 2 steps from an initial state the cells' state may exceed 50, where the format clips it"
    )


def test_several_steps_from_a_known_cell_are_read_as_far_as_no_cell_is_clipped(coreml, lstm):
    zero = {"h": np.zeros(1, "f")}
    found = coreml.results(lstm, {"x": [[[0]], [[0]]]}, dims={"x.0": 2}, constants={**zero, "c": np.full(1, 48, "f")})
    assert {name: data.tolist() for name, data in found.items()} == {"y": [1], "k": [1], "s": [50]}
    known = {**zero, "c": np.full(1, -48.5, "f")}
    assert not check(lstm.SerializeToString(), dims={"x.0": 2}, constants=known).is_supported


def test_the_page_names_each_layer_once():
    page = Path(__file__).parents[4].joinpath("docs/formats/coreml.md").read_text(encoding="utf-8")
    table = page.split("## Layers of neural networks")[1].split("##")[0]
    named = [
        name
        for row in table.splitlines()
        if row.startswith("| `")
        for name in re.findall(r"`(\w+)`", row.split(" | ")[0])
    ]
    assert sorted(named) == sorted(CONVERTERS)
