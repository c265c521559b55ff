"""Models that are no networks, and pipelines of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from sateen.frontends import check, from_coreml
from sateen.frontends.coreml.estimators.converters import CONVERTERS
from sateen.frontends.coreml.schemas import coreml_pb2 as schema

LEQ, LT, GTE, GT, EQ, NEQ, LEAF = range(7)


def _model(coreml, kind, inputs=(("x", 2),), outputs=(("y", 2),)):
    """A message, and its parameters; a feature has a number of elements, or is a number of a kind."""
    made = schema.Model(specificationVersion=4)
    for collection, features in ((made.description.input, inputs), (made.description.output, outputs)):
        for name, extent in features:
            if isinstance(extent, str):
                getattr(collection.add(name=name).type, extent).SetInParent()
            else:
                collection.append(coreml.array(name, extent, dtype=65600))
    getattr(made, kind).SetInParent()
    return made, getattr(made, kind)


def _of_classes(coreml, kind, *labels):
    made, parameters = _model(coreml, kind, outputs=(("label", "stringType"), ("scores", "dictionaryType")))
    made.description.predictedFeatureName, made.description.predictedProbabilitiesName = "label", "scores"
    parameters.stringClassLabels.vector.extend(labels)
    return made, parameters


def _tree(ensemble, behaviour, threshold, *, tracks=False):
    """A tree of one decision: 1 where it holds, 2 elsewhere."""
    tree = len(ensemble.nodes) // 3
    ensemble.numPredictionDimensions = 1
    ensemble.nodes.add(
        treeId=tree, nodeBehavior=behaviour, branchFeatureIndex=1, branchFeatureValue=threshold, trueChildNodeId=5,
        falseChildNodeId=9, missingValueTracksTrueChild=tracks,
    )  # fmt: skip
    for node, value in ((5, 1.0), (9, 2.0)):
        ensemble.nodes.add(treeId=tree, nodeId=node, nodeBehavior=LEAF).evaluationInfo.add(evaluationValue=value)


@pytest.mark.parametrize("threshold", [0.1, 0.7, 0.5, 1e300])
@pytest.mark.parametrize("behaviour", range(LEAF))
def test_a_double_threshold_decides_as_it_does_among_doubles(coreml, behaviour, threshold):
    holds = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)[behaviour]
    made, given = _model(coreml, "treeEnsembleRegressor", outputs=(("y", "doubleType"),))
    _tree(given.treeEnsemble, behaviour, threshold)
    near = np.float32(min(threshold, 3e38))
    for x in (near, np.nextafter(near, np.float32(0)), np.nextafter(near, np.float32(1))):
        assert coreml.results(made, {"x": [9, x]})["y"] == [1 if holds(np.float64(x), threshold) else 2]


def test_missing_values_go_where_a_node_sends_them(coreml):
    made, given = _model(coreml, "treeEnsembleRegressor", outputs=(("y", "doubleType"),))
    given.treeEnsemble.basePredictionValue.append(10)
    _tree(given.treeEnsemble, LEQ, 0.5, tracks=True)
    _tree(given.treeEnsemble, GT, 0.5)
    assert coreml.results(made, {"x": [9, np.nan]})["y"] == [13]


def test_probabilities_of_a_classifier_have_labels(coreml):
    made, given = _of_classes(coreml, "treeEnsembleClassifier", "no", "yes")
    _tree(given.treeEnsemble, LT, 0.5)
    given.postEvaluationTransform = 2
    graph, _ = from_coreml(made.SerializeToString())
    assert graph.labels == {"scores": ("no", "yes")}
    second = 1 / (1 + np.exp(-1))
    assert coreml.results(made, {"x": [0, 0]})["scores"] == pytest.approx([1 - second, second])


def test_rows_for_all_classes_are_divided_by_their_sum(coreml):
    made, given = _of_classes(coreml, "glmClassifier", "a", "b", "c")
    given.classEncoding = 1
    for number in (-1.0, 0.0, 2.0):
        given.weights.add().value.extend([number, 0])
        given.offset.append(0.5)
    each = 1 / (1 + np.exp(-(np.array([-1, 0, 2]) + 0.5)))
    assert coreml.results(made, {"x": [1, 7]})["scores"] == pytest.approx(each / each.sum())


def test_sparse_support_vectors_count_elements_from_one(coreml):
    made, given = _model(coreml, "supportVectorRegressor", outputs=(("y", "doubleType"),))
    given.kernel.linearKernel.SetInParent()
    given.sparseSupportVectors.vectors.add().nodes.add(index=2, value=3)
    given.coefficients.alpha.append(2)
    given.rho = 1
    assert coreml.results(made, {"x": [100, 5]})["y"] == [29]


def test_a_pipeline_may_give_a_feature_anew(coreml):
    """scikit-learn's pipelines do: each transformer reads and gives the vector of features."""
    made = schema.Model(specificationVersion=4)
    made.description.input.extend(
        _model(coreml, "scaler", (("a", "doubleType"), ("b", "int64Type")))[0].description.input
    )
    made.description.output.append(coreml.array("y", 2))
    joined, columns = _model(coreml, "featureVectorizer", (("a", "doubleType"), ("b", "int64Type")), (("v", 2),))
    for name in "ba":
        columns.inputList.add(inputColumn=name, inputDimensions=1)
    stages = [joined]
    for shift, inputs, outputs in ((1, "v", "v"), (10, "v", "v"), (0, "v", "y")):
        scaled, given = _model(coreml, "scaler", ((inputs, 2),), ((outputs, 2),))
        given.shiftValue.append(shift)
        given.scaleValue.extend([1, 2])
        stages.append(scaled)
    made.pipeline.models.extend(stages)
    assert coreml.results(made, {"a": [3], "b": [4]})["y"].tolist() == [15, 72]
    found = coreml.results(made, {"a": [3], "b": [4]}, outputs=["v"])
    assert found["v"].tolist() == [4, 3]


def test_boxes_that_are_left_come_first_and_zeros_behind(coreml):
    made, given = _model(
        coreml, "nonMaximumSuppression", (("c", 0), ("b", 0), ("iou", "doubleType")), (("s", 0), ("k", 0))
    )
    for feature, shape in zip(made.description.input, ([3, 2], [3, 4]), strict=False):
        feature.type.multiArrayType.shape[:] = shape
    given.iouThreshold, given.confidenceThreshold = 0.5, 0.25
    given.confidenceInputFeatureName, given.coordinatesInputFeatureName = "c", "b"
    given.confidenceOutputFeatureName, given.coordinatesOutputFeatureName = "s", "k"
    given.stringClassLabels.vector.extend(["cat", "dog"])
    boxes = [[1, 1, 2, 2], [5, 5, 2, 2], [1.1, 1, 2, 2]]
    found = coreml.results(made, {"c": [[0.1, 0.5], [0.25, 0.2], [0.75, 0]], "b": boxes})
    assert found["s"].tolist() == [[0.75, 0], [0.25, np.float32(0.2)], [0, 0]]
    assert found["k"][1:].tolist() == [[5, 5, 2, 2], [0, 0, 0, 0]]
    assert from_coreml(made.SerializeToString())[0].labels == {"s": ("cat", "dog")}


def test_the_page_names_each_model_once():
    page = Path(__file__).parents[4].joinpath("docs/formats/coreml.md").read_text(encoding="utf-8")
    table = page.split("## Models that are no networks")[1].split("##")[0]
    rows = [row.split(" | ")[0] for row in table.splitlines() if row.startswith("| `")]
    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == sorted(CONVERTERS)


@pytest.mark.parametrize(
    ("kind", "fields", "reason"),
    [
        ("scaler", {"shiftValue": [1, 2, 3]}, "expected 1 or 2 numbers as shiftValue, found 3"),
        ("arrayFeatureExtractor", {"extractIndex": [2**63]}, "expected places of 0 to 1, found"),
        ("featureVectorizer", {}, "expected features to join, found none"),
        ("normalizer", {}, "the format does not say whether the largest"),
        ("oneHotEncoder", {}, "categories of text, and dictionaries of categories, are not supported"),
        ("imputer", {"imputedDoubleValue": 1}, "only numbers can be filled in, where they equal a number or NaN"),
        ("glmRegressor", {"offset": [1]}, "expected rows of as many weights, and an offset for each, found 0 rows"),
        ("supportVectorRegressor", {}, "expected support vectors, found none"),
        ("supportVectorClassifier", {}, "libsvm's probabilities of classes are what an iteration has reached"),
        ("treeEnsembleRegressor", {}, "expected trees, 1 to 65536 outputs and a base value for each, found 0 nodes"),
    ],
)
def test_what_does_not_fit_is_a_gap(coreml, kind, fields, reason):
    made, given = _model(coreml, kind)
    for name, value in fields.items():
        if isinstance(value, list):
            getattr(given, name).extend(value)
        else:
            setattr(given, name, value)
    (gap,) = check(made.SerializeToString()).gaps
    assert (gap.operator, gap.reason[: len(reason)]) == (kind, reason)


def test_a_label_alone_is_a_gap(coreml):
    made, given = _model(coreml, "glmClassifier", outputs=(("label", "stringType"),))
    made.description.predictedFeatureName = "label"
    given.stringClassLabels.vector.extend(["a", "b"])
    assert check(made.SerializeToString()).gaps[0].reason == "a classifier that gives a label alone is not supported"
