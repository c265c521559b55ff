"""Models that no converter of coremltools makes; NumPy judges by the formulas of the format."""

from __future__ import annotations

from math import erf
from typing import Any

import numpy as np
from arrays import Source, sigmoid
from coremltools.models import datatypes
from coremltools.models.tree_ensemble import TreeEnsembleClassifier, TreeEnsembleRegressor
from coremltools.proto import Model_pb2
from detectors import left, scene

from estimators.case import Cases

CASES = Cases()
_SOURCE = Source("estimators")
_ROW = _SOURCE.reals(4)


def _feature(collection: Any, name: str, *shape: int, kind: str = "") -> None:
    feature = collection.add(name=name)
    if kind:
        getattr(feature.type, kind).SetInParent()
        return
    feature.type.multiArrayType.shape.extend(shape)
    feature.type.multiArrayType.dataType = 65600


def _model(kind: str, inputs: dict[str, Any], outputs: dict[str, Any]) -> tuple[Any, Any]:
    """A message, and its parameters; a feature is a shape or a kind."""
    made = Model_pb2.Model(specificationVersion=4)
    for collection, features in ((made.description.input, inputs), (made.description.output, outputs)):
        for name, given in features.items():
            _feature(collection, name, *(() if isinstance(given, str) else given), kind=given * isinstance(given, str))
    getattr(made, kind).SetInParent()
    return made, getattr(made, kind)


def _with_classes(made: Any, parameters: Any, *labels: str) -> None:
    made.description.predictedFeatureName, made.description.predictedProbabilitiesName = "label", "scores"
    _feature(made.description.output, "label", kind="stringType")
    _feature(made.description.output, "scores", kind="dictionaryType")
    made.description.output[-1].type.dictionaryType.stringKeyType.SetInParent()
    parameters.stringClassLabels.vector.extend(labels)


def _linear(parameters: Any, rows: int) -> Any:
    weights, offsets = _SOURCE.reals(rows, 4), _SOURCE.reals(rows)
    for row in weights:
        parameters.weights.add().value.extend(row.tolist())
    parameters.offset.extend(offsets.tolist())
    return weights @ _ROW + offsets


_PHI = np.vectorize(lambda x: (1 + erf(x / np.sqrt(2))) / 2)
for link, function in ((0, lambda x: x), (1, sigmoid), (2, _PHI)):
    for rows in (1, 3):
        model, given = _model("glmRegressor", {"x": (4,)}, {"y": (rows,)})
        given.postEvaluationTransform = link
        CASES.case(f"linear_{link}_{rows}", model, {"x": _ROW}, function(_linear(given, rows)))
for link, function in ((0, sigmoid), (1, _PHI)):
    model, given = _model("glmClassifier", {"x": (4,)}, {})
    _with_classes(model, given, "no", "yes")
    given.postEvaluationTransform = link
    second = function(_linear(given, 1))[0]
    CASES.case(f"classes_{link}", model, {"x": _ROW}, [1 - second, second])
    model, given = _model("glmClassifier", {"x": (4,)}, {})
    _with_classes(model, given, "a", "b", "c")
    given.postEvaluationTransform, given.classEncoding = link, 1
    each = function(_linear(given, 3))
    CASES.case(f"classes_{link}_one_vs_rest", model, {"x": _ROW}, each / each.sum())
model, given = _model("glmClassifier", {"x": (4,)}, {})
_with_classes(model, given, "a", "b", "c")
_POWERS = np.exp([0, *_linear(given, 2)])
CASES.case("classes_reference", model, {"x": _ROW}, _POWERS / _POWERS.sum())

_BEHAVIOURS = {
    "BranchOnValueLessThanEqual": np.less_equal, "BranchOnValueLessThan": np.less,
    "BranchOnValueGreaterThanEqual": np.greater_equal, "BranchOnValueGreaterThan": np.greater,
    "BranchOnValueEqual": np.equal, "BranchOnValueNotEqual": np.not_equal,
}  # fmt: skip
for name, holds in _BEHAVIOURS.items():
    for threshold in (0.5, 0.1):  # the second is no float32
        for x in (np.float32(threshold), np.nextafter(np.float32(threshold), np.float32(1)), np.nan):
            trees = TreeEnsembleRegressor([("x", datatypes.Array(1))], "y")
            trees.set_default_prediction_value(0.25)
            trees.add_branch_node(0, 0, 0, threshold, name, 1, 2, missing_value_tracks_true_child=name.endswith("Than"))
            trees.add_leaf_node(0, 1, 1.0)
            trees.add_leaf_node(0, 2, -2.0)
            goes = name.endswith("Than") if np.isnan(x) else bool(holds(np.float64(x), threshold))
            if np.isnan(x) and name == "BranchOnValueNotEqual":
                continue  # whether NaN differs from a number, the format does not say
            CASES.case(
                f"tree_{name.removeprefix('BranchOnValue')}_{threshold}_{float(x)}", trees.spec,
                {"x": np.array([x], np.float32)}, [1.25 if goes else -1.75],
            )  # fmt: skip


def _scores(transform: str, count: int, classes: int) -> Any:
    trees = TreeEnsembleClassifier([("x", datatypes.Array(4))], list("abcd"[:classes]), "label")
    trees.set_default_prediction_value([0.1 * i for i in range(count)])
    trees.set_post_evaluation_transform(transform)
    values = _SOURCE.reals(2, count)
    for tree in range(2):
        trees.add_branch_node(tree, 0, tree, float(_ROW[tree]) + tree - 0.5, "BranchOnValueLessThanEqual", 1, 2)
        trees.add_leaf_node(tree, 2 - tree, (2 * values[tree]).tolist())
        trees.add_leaf_node(tree, 1 + tree, values[tree].tolist())
    chosen = sum((values[tree] if leaf == 1 + tree else 2 * values[tree]) for tree, leaf in ((0, 2), (1, 1)))
    return trees.spec, chosen + 0.1 * np.arange(count)


for transform, count, classes in (
    ("Classification_SoftMax", 3, 3), ("Regression_Logistic", 1, 2),
    ("Classification_SoftMaxWithZeroClassReference", 2, 3), ("NoTransform", 4, 4),
):  # fmt: skip
    spec, scores = _scores(transform, count, classes)
    full = np.array([0, *scores]) if transform.endswith("Reference") else scores
    if transform == "NoTransform":
        expected = full
    elif transform == "Regression_Logistic":
        expected = np.array([1 - sigmoid(full[0]), sigmoid(full[0])])
    else:
        expected = np.exp(full) / np.exp(full).sum()
    CASES.case(f"trees_{transform}", spec, {"x": _ROW}, expected)

model, given = _model("oneHotEncoder", {"x": "int64Type"}, {"y": (3,)})
given.int64Categories.vector.extend([7, 2, 5])
for number, places in ((2, [0, 1, 0]), (7, [1, 0, 0]), (9, [0, 0, 0])):
    given.handleUnknown = 1
    CASES.case(f"one_hot_{number}", model, {"x": np.array([number], np.int64)}, places)
model, given = _model("arrayFeatureExtractor", {"x": (4,)}, {"y": (2,)})
given.extractIndex.extend([3, 0])
CASES.case("extractor", model, {"x": _ROW}, _ROW[[3, 0]])
model, given = _model("scaler", {"x": (4,)}, {"y": (4,)})
given.shiftValue.append(0.5)
given.scaleValue.append(-2)
CASES.case("scaler_of_all", model, {"x": _ROW}, (_ROW + 0.5) * -2)
model, given = _model("imputer", {"x": (4,)}, {"y": (4,)})
given.imputedDoubleValue, given.replaceDoubleValue = 3.5, -1
CASES.case("imputer_of_a_number", model, {"x": np.array([1, -1, 2, -1], np.float32)}, [1, 3.5, 2, 3.5])
model, given = _model("imputer", {"x": "int64Type"}, {"y": "int64Type"})
given.imputedInt64Value, given.replaceInt64Value = 8, 0
CASES.case("imputer_of_whole_numbers", model, {"x": np.array([0], np.int64)}, np.array([8]))
model, given = _model("featureVectorizer", {"x": (4,), "n": "int64Type", "d": "doubleType"}, {"y": (6,)})
for name, count in (("n", 1), ("x", 4), ("d", 1)):
    given.inputList.add(inputColumn=name, inputDimensions=count)
CASES.case("vectorizer", model, {"x": _ROW, "n": np.array([3], np.int64), "d": _ROW[:1]}, [3, *_ROW, _ROW[0]])

for per_class in (False, True):
    boxes, confidences = scene(_SOURCE, 12, 3)
    model, given = _model("nonMaximumSuppression", {"c": (12, 3), "b": (12, 4), "iou": "doubleType"},
                          {"scores": (12, 3), "boxes": (12, 4)})  # fmt: skip
    given.pickTop.perClass, given.iouThreshold, given.confidenceThreshold = per_class, 0.3, 0.6
    given.confidenceInputFeatureName, given.coordinatesInputFeatureName = "c", "b"
    given.iouThresholdInputFeatureName = "iou"
    given.confidenceOutputFeatureName, given.coordinatesOutputFeatureName = "scores", "boxes"
    given.stringClassLabels.vector.extend(["cat", "dog", "car"])
    places = left(boxes[0], confidences[0], 0.3, 0.6, 12, per_class=per_class)
    rows = [np.zeros((12, 3)), np.zeros((12, 4))]
    rows[0][: len(places)], rows[1][: len(places)] = confidences[0, places], boxes[0, places]
    CASES.case(f"suppression_{per_class}", model, {"c": confidences[0], "b": boxes[0]}, *rows)
