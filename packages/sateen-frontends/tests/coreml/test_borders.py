"""Features become blobs, and blobs features."""

import re

import numpy as np
import pytest

from sateen.frontends import from_coreml
from sateen.frontends.coreml.schemas import coreml_pb2 as schema
from sateen.runtime.errors import FrontendError

GREY, RGB, BGR = 10, 20, 30
RELU = schema.Nothing()


def _types(made, **options):
    graph, _ = from_coreml(made.SerializeToString(), **options)
    return [str(v.type) for v in graph.inputs], [str(v.type) for v in graph.outputs]


@pytest.mark.parametrize(
    ("colours", "biases"), [(RGB, [1, 2, 3]), (BGR, [3, 2, 1]), (GREY, [4])], ids=["rgb", "bgr", "grey"]
)
def test_pixels_are_scaled_in_the_order_of_their_colours(coreml, colours, biases):
    made = coreml.model(
        [coreml.layer("activation", "x", "y", ReLU=RELU)],
        [coreml.picture("x", 2, 2, colours)],
        [coreml.array("y", len(biases), 2, 2)],
    )
    scaler = made.neuralNetwork.preprocessing.add(featureName="x").scaler
    scaler.channelScale, scaler.redBias, scaler.greenBias, scaler.blueBias, scaler.grayBias = 0.5, 1, 2, 3, 4
    x = np.full((1, len(biases), 2, 2), 10)
    assert coreml.results(made, {"x": x})["y"][:, 0, 0].tolist() == [5 + bias for bias in biases]


def test_a_mean_image_without_a_name_is_that_of_the_only_picture(coreml):
    made = coreml.model(
        [coreml.layer("activation", "x", "y", ReLU=RELU)],
        [coreml.picture("x", 1, 2, GREY)],
        [coreml.array("y", 1, 1, 2)],
    )
    made.neuralNetwork.preprocessing.add().meanImage.meanImage.extend([1, 5])
    assert coreml.results(made, {"x": [[[[3, 6]]]]})["y"].tolist() == [[[2, 1]]]


def test_outputs_of_old_networks_have_the_declared_shape_or_drop_axes_of_1(coreml):
    layers = [coreml.layer("activation", "x", "y", ReLU=RELU)]
    assert _types(coreml.model(layers, [coreml.array("x", 6)], [coreml.array("y", 2, 3)]))[1] == ["float32[2, 3]"]
    assert _types(coreml.model(layers, [coreml.array("x", 6)], [coreml.array("y")]))[1] == ["float32[6]"]
    assert _types(coreml.model(layers, [coreml.array("x", 6, 1, 2)], [coreml.array("y")]))[1] == ["float32[6, 1, 2]"]


def test_element_types_are_converted_at_the_borders(coreml):
    made = coreml.model(
        [coreml.layer("add", "x", "y", alpha=0.5)],
        [coreml.array("x", 3, dtype=131104)],
        [coreml.array("y", 3, dtype=65600)],
    )
    assert _types(made) == (["int32[3]"], ["float32[3]"])


def test_sizes_that_may_vary_are_open(coreml):
    made = coreml.model(
        [coreml.layer("activation", "x", "y", ReLU=RELU)],
        [coreml.picture("x", 4, 6, RGB)],
        [coreml.array("y")],
        exact=True,
    )
    sizes = made.description.input[0].type.imageType.imageSizeRange
    sizes.heightRange.lowerBound, sizes.heightRange.upperBound = 4, -1
    sizes.widthRange.lowerBound = sizes.widthRange.upperBound = 6
    assert _types(made)[1] == ["float32[1, 3, ?x.2, 6]"]
    assert _types(made, dims={"x.2": 8})[1] == ["float32[1, 3, 8, 6]"]


def test_enumerated_shapes_are_open_where_they_differ(coreml):
    made = coreml.model(
        [coreml.layer("activation", "x", "y", ReLU=RELU)], [coreml.array("x", 2, 3)], [coreml.array("y")], exact=True
    )
    made.description.input[0].type.multiArrayType.enumeratedShapes.shapes.add(shape=[5, 3])
    assert _types(made)[0] == ["float32[?x.0, 3]"]


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("shapes", (5, 3), None),
        ("shapes", (2, 3), None),
        ("shapes", (4, 3), "input 'x': the model is made for shapes [2, 3] or [5, 3], found [4, 3]"),
        ("range", (2, 9), None),
        ("range", (1, 9), "input 'x': dimension 0: the model is made for 2 to 4, found 1"),
        ("range", (5, 9), "input 'x': dimension 0: the model is made for 2 to 4, found 5"),
        ("range", (2, 2), "input 'x': dimension 1: the model is made for 3 or more, found 2"),
    ],
)
def test_arrays_of_sizes_that_the_model_does_not_allow_are_refused(coreml, kind, given, message):
    made = coreml.model(
        [coreml.layer("activation", "x", "y", ReLU=RELU)], [coreml.array("x", 2, 3)], [coreml.array("y")], exact=True
    )
    array = made.description.input[0].type.multiArrayType
    if kind == "shapes":
        array.enumeratedShapes.shapes.add(shape=[5, 3])
    else:
        array.shapeRange.sizeRanges.add(lowerBound=2, upperBound=4)
        array.shapeRange.sizeRanges.add(lowerBound=3, upperBound=-1)
    _require_shape(made, given, message)


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("sizes", (1, 3, 4, 6), None),
        ("sizes", (1, 3, 8, 12), None),
        ("sizes", (1, 3, 8, 6), "the model is made for shapes [1, 3, 4, 6] or [1, 3, 8, 12], found [1, 3, 8, 6]"),
        ("range", (1, 3, 5, 7), None),
        ("range", (1, 3, 9, 7), "input 'x': dimension 2: the model is made for 4 to 8, found 9"),
    ],
)
def test_pictures_of_sizes_that_the_model_does_not_allow_are_refused(coreml, kind, given, message):
    made = coreml.model(
        [coreml.layer("activation", "x", "y", ReLU=RELU)],
        [coreml.picture("x", 4, 6, RGB)],
        [coreml.array("y")],
        exact=True,
    )
    image = made.description.input[0].type.imageType
    if kind == "sizes":
        image.enumeratedSizes.sizes.add(height=8, width=12)
    else:
        for bounds in (image.imageSizeRange.heightRange, image.imageSizeRange.widthRange):
            bounds.lowerBound, bounds.upperBound = 4, 8
    _require_shape(made, given, message)


def test_a_size_of_one_dimension_that_no_allowed_shape_has_is_refused(coreml):
    made = coreml.model(
        [coreml.layer("activation", "x", "y", ReLU=RELU)], [coreml.array("x", 2, 3)], [coreml.array("y")], exact=True
    )
    made.description.input[0].type.multiArrayType.enumeratedShapes.shapes.add(shape=[5, 4])
    assert _types(made, dims={"x.0": 5})[0] == ["float32[5, ?x.1]"]
    with pytest.raises(FrontendError, match=r"shapes \[2, 3\] or \[5, 4\], found \[4, "):
        from_coreml(made.SerializeToString(), dims={"x.0": 4})


def _require_shape(made, given, message):
    if message is None:
        assert from_coreml(made.SerializeToString(), shapes={"x": given})[0].inputs[0].type.shape == given
        return
    with pytest.raises(FrontendError, match=re.escape(message)):
        from_coreml(made.SerializeToString(), shapes={"x": given})


def test_a_classifier_gives_its_probabilities_under_their_feature(coreml):
    label, probabilities = schema.FeatureDescription(name="label"), schema.FeatureDescription(name="classes")
    label.type.stringType.SetInParent()
    probabilities.type.dictionaryType.SetInParent()
    layers = [coreml.layer("softmax", "x", "p"), coreml.layer("activation", "p", "other", ReLU=RELU)]
    made = coreml.model(layers, [coreml.array("x", 2)], [probabilities, label], kind="neuralNetworkClassifier")
    made.description.predictedFeatureName = "label"
    made.neuralNetworkClassifier.labelProbabilityLayerName = "p"
    found = coreml.results(made, {"x": [0, np.log(3)]})
    assert list(found) == ["classes"]
    assert np.allclose(found["classes"], [0.25, 0.75])
    made.description.predictedProbabilitiesName = "classes"
    made.neuralNetworkClassifier.stringClassLabels.vector.extend(["cat", "dog"])
    assert from_coreml(made.SerializeToString())[0].labels == {"classes": ("cat", "dog")}
    made.neuralNetworkClassifier.int64ClassLabels.vector.extend([3, 4, 5])
    with pytest.raises(FrontendError, match="output 'classes': labels: expected one for each element along the last"):
        from_coreml(made.SerializeToString())


def test_vectors_of_a_recurrent_network_are_steps_of_a_sequence(coreml):
    linear = schema.Activation(linear=schema.AlphaBeta(alpha=1))
    sizes = {"inputVectorSize": 2, "outputVectorSize": 1, "sequenceOutput": True}
    weights = {"weightMatrix": [1, 1], "recursionMatrix": [0.5]}
    layers = [coreml.layer("simpleRecurrent", "x h", "y k", activation=linear, **sizes, **weights)]
    made = coreml.model(layers, [coreml.array("x", 2), coreml.array("h", 1)], [coreml.array("y"), coreml.array("k", 1)])
    assert _types(made)[0] == ["float32[?x.0, 1, 2]", "float32[1]"]
    found = coreml.results(made, {"x": [[[1, 1]], [[2, 2]]], "h": [4]}, shapes={"x": (2, 1, 2)})
    assert found["y"].reshape(-1).tolist() == [4, 6]
    assert found["k"].tolist() == [6]


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        (
            {"shape": (2, 3)},
            "feature 'x': expected an array of 1, 3 or 5 dimensions, which networks of",
        ),
        ({"shape": ()}, "feature 'x': expected a shape, found none"),
        ({"shape": (0,)}, "feature 'x': expected dimension 0 of one or more elements, found 0"),
        ({"shape": (1 << 40,)}, "feature 'x': expected dimension 0 of one or more elements, found 1099511627776"),
        ({"shape": (2,), "dtype": 7}, "feature 'x': expected a known element type, found 7"),
    ],
)
def test_inputs_that_have_no_blob_are_refused(coreml, feature, message):
    shape = feature["shape"]
    made = coreml.model(
        [coreml.layer("softmax", "x", "y")],
        [coreml.array("x", *shape, dtype=feature.get("dtype", 65568))],
        [coreml.array("y")],
    )
    with pytest.raises(FrontendError) as caught:
        from_coreml(made.SerializeToString())
    assert str(caught.value).startswith(message)
