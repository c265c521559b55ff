"""What scikit-learn learned, as coremltools converts it; scikit-learn judges."""

from __future__ import annotations

from typing import Any

import numpy as np
from coremltools.converters import sklearn
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import SVR, LinearSVR, NuSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from estimators.case import Cases

CASES = Cases()
_COUNT = 5
_TWO = make_classification(200, _COUNT, n_informative=4, n_redundant=1, n_classes=2, random_state=0)
_THREE = make_classification(300, _COUNT, n_informative=5, n_redundant=0, n_classes=3, random_state=1)
_NUMBERS = make_regression(200, _COUNT, noise=0.1, random_state=2)
_NUMBERS = (_NUMBERS[0], _NUMBERS[1] / np.abs(_NUMBERS[1]).max())


def _columns(row: Any) -> dict[str, Any]:
    return {f"f{i}": np.array([value], np.float32) for i, value in enumerate(row)}


def _learned(name: str, estimator: Any, data: Any, rows: int = 3) -> None:
    """Each feature by itself, and all as one array."""
    features, target = (part.astype(np.float32) if part.dtype.kind == "f" else part for part in data)
    estimator.fit(features, target)
    predict = getattr(estimator, "predict_proba", estimator.predict)
    is_sum = isinstance(estimator, RandomForestClassifier) and estimator.n_classes_ > 2
    factor = len(estimator.estimators_) if is_sum else 1  # coremltools does not divide by the number of trees
    names = [f"f{i}" for i in range(_COUNT)]
    single = sklearn.convert(estimator, names, "label").get_spec()
    whole = sklearn.convert(estimator, "features", "label").get_spec()
    for row in features[:rows]:
        expected = factor * np.atleast_1d(predict(row[None])[0])
        index = len([case for case in CASES if case.name.startswith(f"estimator_{name}_row")]) // 2
        CASES.case(f"{name}_row{index}", single, _columns(row), expected)
        CASES.case(f"{name}_row{index}_array", whole, {"features": row}, expected)


for depth in (2, None):
    _learned(f"tree_two_{depth}", DecisionTreeClassifier(max_depth=depth, random_state=0), _TWO, rows=1)
    _learned(f"tree_regressor_{depth}", DecisionTreeRegressor(max_depth=depth, random_state=0), _NUMBERS, rows=1)
_learned("tree_three", DecisionTreeClassifier(max_depth=4, random_state=0), _THREE)
_learned("forest_two", RandomForestClassifier(7, max_depth=4, random_state=0), _TWO)
_learned("forest_three", RandomForestClassifier(5, max_depth=5, random_state=0), _THREE)
_learned("forest_regressor", RandomForestRegressor(6, max_depth=4, random_state=0), _NUMBERS)
_learned("boosting_two", GradientBoostingClassifier(n_estimators=8, random_state=0), _TWO)
_learned("boosting_three", GradientBoostingClassifier(n_estimators=5, random_state=0), _THREE)
_learned("boosting_regressor", GradientBoostingRegressor(n_estimators=8, random_state=0), _NUMBERS)
_learned("logistic_two", LogisticRegression(multi_class="ovr"), _TWO)
_learned("logistic_three", LogisticRegression(multi_class="ovr"), _THREE)
_learned("linear", LinearRegression(), _NUMBERS)
_learned("ridge", Ridge(), _NUMBERS)
_learned("linear_vectors", LinearSVR(random_state=0), _NUMBERS)
for kernel in ("linear", "rbf", "poly", "sigmoid"):
    _learned(f"vectors_{kernel}", SVR(kernel=kernel, gamma=0.2, coef0=0.5, degree=3), _NUMBERS, rows=1)
_learned("nu_vectors", NuSVR(), _NUMBERS, rows=1)


def _prepared(name: str, transformer: Any, data: Any, row: Any) -> None:
    transformer.fit(data)
    spec = sklearn.convert(transformer, [f"f{i}" for i in range(_COUNT)], "prepared").get_spec()
    CASES.case(name, spec, _columns(row), transformer.transform(row[None])[0])


_DATA = _NUMBERS[0].astype(np.float32)
_prepared("scaler", StandardScaler(), _DATA, _DATA[0])
_prepared("normalizer_l1", Normalizer("l1"), _DATA, _DATA[1])
_prepared("normalizer_l2", Normalizer("l2"), _DATA, _DATA[2])
_HOLES = _DATA[3].copy()
_HOLES[[1, 4]] = np.nan
_prepared("imputer", SimpleImputer(), _DATA, _HOLES)
_learned("pipeline", Pipeline([("scale", StandardScaler()), ("fit", LogisticRegression(multi_class="ovr"))]), _THREE)
_learned("pipeline_forest", Pipeline([("scale", StandardScaler()), ("fit", RandomForestRegressor(4))]), _NUMBERS, 1)
