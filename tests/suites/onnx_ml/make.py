"""Models of scikit-learn, LightGBM and XGBoost, exported by their tools and run by onnxruntime: `make.py FOLDER`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import onnxruntime
import xgboost
from onnxmltools.convert import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from skl2onnx import to_onnx
from sklearn import ensemble, feature_selection, impute, linear_model, multiclass, pipeline, preprocessing, svm, tree
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor

FEATURES = 9
RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(400, FEATURES)).astype(np.float32)
TEST = RANDOM.normal(size=(37, FEATURES)).astype(np.float32)
HOLES = np.where(RANDOM.random(TEST.shape) < 0.2, np.nan, TEST).astype(np.float32)
NUMBER = ROWS[:, 0] * 2 + np.sin(ROWS[:, 1]) + ROWS[:, 2] * ROWS[:, 3]
TWO, FOUR = (NUMBER > 0).astype(int), np.digitize(NUMBER, [-1.5, 0, 1.5])
STRINGS = {"two": np.array(["no", "yes"])[TWO], "four": np.array(["ant", "bee", "cat", "dog"])[FOUR]}
BOTH = np.stack([NUMBER, -NUMBER + ROWS[:, 4]], axis=1)

SKLEARN: dict[str, tuple[Any, Any]] = {
    "tree_two": (tree.DecisionTreeClassifier(max_depth=6, random_state=0), TWO),
    "tree_four": (tree.DecisionTreeClassifier(max_depth=8, random_state=0), FOUR),
    "tree_regressor": (tree.DecisionTreeRegressor(max_depth=7, random_state=0), NUMBER),
    "tree_of_two_targets": (tree.DecisionTreeRegressor(max_depth=7, random_state=0), BOTH),
    "forest_two": (ensemble.RandomForestClassifier(n_estimators=30, max_depth=8, random_state=0), TWO),
    "forest_four": (ensemble.RandomForestClassifier(n_estimators=30, random_state=0), FOUR),
    "forest_regressor": (ensemble.RandomForestRegressor(n_estimators=30, random_state=0), NUMBER),
    "forest_of_two_targets": (ensemble.RandomForestRegressor(n_estimators=30, random_state=0), BOTH),
    "extra_trees_four": (ensemble.ExtraTreesClassifier(n_estimators=20, max_depth=9, random_state=0), FOUR),
    "extra_trees_regressor": (ensemble.ExtraTreesRegressor(n_estimators=20, random_state=0), NUMBER),
    "boosting_two": (ensemble.GradientBoostingClassifier(n_estimators=40, random_state=0), TWO),
    "boosting_four": (ensemble.GradientBoostingClassifier(n_estimators=20, random_state=0), FOUR),
    "boosting_regressor": (ensemble.GradientBoostingRegressor(n_estimators=40, random_state=0), NUMBER),
    "bagging": (ensemble.BaggingRegressor(n_estimators=10, random_state=0), NUMBER),
    "isolation_forest": (ensemble.IsolationForest(n_estimators=20, random_state=0), None),
    "logistic_two": (linear_model.LogisticRegression(), TWO),
    "logistic_four": (linear_model.LogisticRegression(), FOUR),
    "linear": (linear_model.LinearRegression(), NUMBER),
    "linear_of_two_targets": (linear_model.LinearRegression(), BOTH),
    "ridge": (linear_model.Ridge(), NUMBER),
    "lasso": (linear_model.Lasso(0.1), NUMBER),
    "ridge_classifier": (linear_model.RidgeClassifier(), FOUR),
    "descent_two": (linear_model.SGDClassifier(loss="log_loss", random_state=0), TWO),
    "support_regressor_rbf": (svm.SVR(kernel="rbf"), NUMBER),
    "support_regressor_poly": (svm.SVR(kernel="poly", degree=3, coef0=0.5), NUMBER),
    "support_regressor_sigmoid": (svm.SVR(kernel="sigmoid"), NUMBER),
    "support_regressor_linear": (svm.SVR(kernel="linear"), NUMBER),
    "support_two": (svm.SVC(probability=False), TWO),
    "support_four": (svm.SVC(probability=False), FOUR),
    "support_two_probability": (svm.SVC(probability=True, random_state=0), TWO),
    "linear_support_four": (svm.LinearSVC(), FOUR),
    "one_class": (svm.OneClassSVM(), None),
    "perceptron_four": (MLPClassifier(hidden_layer_sizes=(16, 8), max_iter=50, random_state=0), FOUR),
    "perceptron_regressor": (MLPRegressor(hidden_layer_sizes=(16, 8), max_iter=50, random_state=0), NUMBER),
    "bayes_four": (GaussianNB(), FOUR),
    "means": (KMeans(5, n_init=1, random_state=0), None),
    "components": (PCA(4), None),
    "standard_scaler": (preprocessing.StandardScaler(), None),
    "range_scaler": (preprocessing.MinMaxScaler(), None),
    "robust_scaler": (preprocessing.RobustScaler(), None),
    "largest_scaler": (preprocessing.MaxAbsScaler(), None),
    "normalizer_1": (preprocessing.Normalizer("l1"), None),
    "normalizer_2": (preprocessing.Normalizer("l2"), None),
    "normalizer_max": (preprocessing.Normalizer("max"), None),
    "binarizer": (preprocessing.Binarizer(threshold=0.3), None),
    "polynomials": (preprocessing.PolynomialFeatures(2), None),
    "bins": (preprocessing.KBinsDiscretizer(4, encode="ordinal"), None),
    "selection": (feature_selection.SelectKBest(k=4), TWO),
    "imputer": (impute.SimpleImputer(), None),
    "pipeline": (
        pipeline.make_pipeline(
            impute.SimpleImputer(), preprocessing.StandardScaler(), linear_model.LogisticRegression()
        ),
        FOUR,
    ),
    "vote": (
        ensemble.VotingClassifier(
            [("a", linear_model.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=4))],
            voting="soft",
            flatten_transform=False,
        ),
        FOUR,
    ),
}
TWO_KINDS = [("a", linear_model.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=4, random_state=0))]
CLASSIFIERS: dict[str, Any] = {
    "tree": tree.DecisionTreeClassifier(max_depth=6, random_state=0),
    "extra_tree": tree.ExtraTreeClassifier(random_state=0),
    "forest": ensemble.RandomForestClassifier(20, max_depth=6, random_state=0),
    "extra_trees": ensemble.ExtraTreesClassifier(20, max_depth=6, random_state=0),
    "boosting": ensemble.GradientBoostingClassifier(n_estimators=10, random_state=0),
    "adaptive_boosting": ensemble.AdaBoostClassifier(n_estimators=10, random_state=0),
    "bagging": ensemble.BaggingClassifier(n_estimators=5, random_state=0),
    "soft_vote": ensemble.VotingClassifier(TWO_KINDS, voting="soft", flatten_transform=False),
    "hard_vote": ensemble.VotingClassifier(TWO_KINDS, voting="hard", flatten_transform=False),
    "stack": ensemble.StackingClassifier(TWO_KINDS),
    "logistic": linear_model.LogisticRegression(),
    "ridge": linear_model.RidgeClassifier(),
    "ridge_validated": linear_model.RidgeClassifierCV(),
    "descent": linear_model.SGDClassifier(loss="log_loss", random_state=0),
    "perceptron": linear_model.Perceptron(random_state=0),
    "layers": MLPClassifier((16, 8), max_iter=30, random_state=0),
    "support": svm.SVC(),
    "support_probability": svm.SVC(probability=True, random_state=0),
    "nu_support": svm.NuSVC(nu=0.1),
    "nu_support_probability": svm.NuSVC(nu=0.1, probability=True, random_state=0),
    "linear_support": svm.LinearSVC(),
    "neighbours": KNeighborsClassifier(),
    "weighted_neighbours": KNeighborsClassifier(weights="distance"),
    "bayes": GaussianNB(),
    "bernoulli_bayes": BernoulliNB(),
    "multinomial_bayes": pipeline.make_pipeline(preprocessing.MinMaxScaler(clip=True), MultinomialNB()),
    "complement_bayes": pipeline.make_pipeline(preprocessing.MinMaxScaler(clip=True), ComplementNB()),
    "linear_discriminant": LinearDiscriminantAnalysis(),
    "quadratic_discriminant": QuadraticDiscriminantAnalysis(),
    "calibrated": CalibratedClassifierCV(tree.DecisionTreeClassifier(max_depth=4, random_state=0)),
    "calibrated_isotonic": CalibratedClassifierCV(GaussianNB(), method="isotonic"),
    "one_against_rest": multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
    "search": GridSearchCV(linear_model.LogisticRegression(), {"C": [0.1, 1]}),
    "scaled": pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()),
}
"""Each with labels that are strings, of two and of four classes, with ZipMap and without."""
WITHOUT_MAPS = (linear_model.Perceptron, svm.LinearSVC, linear_model.RidgeClassifier, linear_model.RidgeClassifierCV)
FLOATS = [("input", FloatTensorType([None, FEATURES]))]


def _light(model: Any, target: Any, options: dict[str, Any]) -> Any:
    return convert_lightgbm(model.fit(ROWS, target), initial_types=FLOATS, **options)


def _gradient(model: Any, target: Any) -> Any:
    return convert_xgboost(model.fit(ROWS, target), initial_types=FLOATS)


OTHERS: dict[str, Callable[[], Any]] = {
    "light_two": lambda: _light(lightgbm.LGBMClassifier(n_estimators=20, verbose=-1), TWO, {"zipmap": False}),
    "light_four": lambda: _light(lightgbm.LGBMClassifier(n_estimators=10, verbose=-1), FOUR, {"zipmap": False}),
    "light_four_with_map": lambda: _light(lightgbm.LGBMClassifier(n_estimators=10, verbose=-1), FOUR, {}),
    "light_regressor": lambda: _light(lightgbm.LGBMRegressor(n_estimators=20, verbose=-1), NUMBER, {}),
    "light_forest": lambda: _light(
        lightgbm.LGBMRegressor(
            n_estimators=10, boosting_type="rf", bagging_freq=1, bagging_fraction=0.7, random_state=0, verbose=-1
        ),
        NUMBER,
        {},
    ),
    "gradient_two": lambda: _gradient(xgboost.XGBClassifier(n_estimators=20), TWO),
    "gradient_four": lambda: _gradient(xgboost.XGBClassifier(n_estimators=10), FOUR),
    "gradient_regressor": lambda: _gradient(xgboost.XGBRegressor(n_estimators=20), NUMBER),
    "gradient_forest": lambda: _gradient(xgboost.XGBRFRegressor(n_estimators=20), NUMBER),
    "gradient_counts": lambda: _gradient(
        xgboost.XGBRegressor(n_estimators=10, objective="count:poisson"), np.abs(NUMBER)
    ),
}


def _sklearn(model: Any, target: Any) -> Any:
    fitted = model.fit(ROWS) if target is None else model.fit(ROWS, target)
    without_map = hasattr(fitted, "classes_") and not isinstance(fitted, svm.LinearSVC)
    opsets = {"": 17, "ai.onnx.ml": 3}
    return to_onnx(fitted, ROWS[:1], options={"zipmap": False} if without_map else None, target_opset=opsets)


def _with_strings(fitted: Any, maps: bool) -> Any:
    options = None if isinstance(fitted, WITHOUT_MAPS) else {id(fitted): {"zipmap": maps}}
    return to_onnx(fitted, ROWS[:1], options=options, target_opset={"": 17, "ai.onnx.ml": 3})


def write(folder: Path, proto: Any, data: np.ndarray, classes: Sequence[str] = ()) -> None:
    """A case: the model, and what onnxruntime computes. Labels become their positions among the classes."""
    folder.mkdir()
    (folder / "model.onnx").write_bytes(proto.SerializeToString())
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    arrays = {f"in/{name}": data}
    for output, value in zip(session.get_outputs(), session.run(None, {name: data}), strict=True):
        maps = isinstance(value, list)  # one for each row
        array = np.array([list(row.values()) for row in value], "f") if maps else value
        if array.dtype == object:
            array = np.array([classes.index(label) for label in array.flat]).reshape(array.shape)
        arrays[f"out/{output.name}"] = array
    np.savez(folder / "io.npz", **arrays)
    case = {"model": "model.onnx", "options": {"shapes": {name: data.shape}}}
    (folder / "case.json").write_text(json.dumps(case), encoding="utf-8")


def main(folder: Path) -> None:
    for name, (model, target) in SKLEARN.items():
        write(folder / name, _sklearn(model, target), TEST)
    for name, model in CLASSIFIERS.items():
        for count, labels in STRINGS.items():
            fitted = clone(model).fit(ROWS, labels)
            for maps in (False,) if isinstance(fitted, WITHOUT_MAPS) else (False, True):
                case = f"strings_{name}_{count}" + "_map" * maps
                write(folder / case, _with_strings(fitted, maps), TEST, fitted.classes_.tolist())
    for name, make in OTHERS.items():
        proto = make()
        write(folder / name, proto, TEST)
        write(folder / f"{name}_holes", proto, HOLES)
        write(folder / f"{name}_row", proto, TEST[:1])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
