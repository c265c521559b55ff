"""Operators of classic machine learning: each against onnxruntime, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from sateen import frontends, runtime
from sateen.frontends.onnx.ml import CLASSIC
from sateen.graph_ir.compile import build
from sateen.runtime.errors import FrontendError

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(3)
ROWS = RANDOM.normal(size=(40, 4)).astype(np.float32)
HOLES = np.where(RANDOM.random(ROWS.shape) < 0.3, np.nan, ROWS).astype(np.float32)
WHOLE = RANDOM.integers(-3, 4, (20, 4))


def model_of(operator: str, inputs: list[Array], outputs: int, version: int, attributes: dict[str, Any]) -> Any:
    names = [f"x{i}" for i in range(len(inputs))]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(operator, names, results, "node", domain="ai.onnx.ml", **attributes)
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(data.dtype), data.shape)
        for name, data in zip(names, inputs, strict=True)
    ]
    graph = helper.make_graph([node], "net", declared, [helper.make_empty_tensor_value_info(name) for name in results])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def check(operator: str, inputs: list[Array], outputs: int = 1, version: int = 3, **attributes: Any) -> None:
    """What onnxruntime gives: numbers to 1e-5 of the largest, integers exactly."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model = model_of(operator, inputs, outputs, version, attributes)
    given = {f"x{i}": data for i, data in enumerate(inputs)}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    graph, params = frontends.from_onnx(model)
    found = runtime.load(build(graph, params=params)).run(given)
    for index, expected in enumerate(session.run(None, given)):
        result = found[f"y{index}"].numpy()
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(result, expected, rtol=0, atol=1e-5 * max(1e-6, np.abs(expected).max()))
        else:
            np.testing.assert_array_equal(result, expected)


def nodes(trees: int, modes: list[str], *, depth: int = 3, tracks: bool = False) -> dict[str, Any]:
    """Full trees of a depth: node i of a tree has children 2i + 1 and 2i + 2."""
    count = 2 ** (depth + 1) - 1
    inner = [i < 2**depth - 1 for i in range(count)] * trees
    ids = list(range(count)) * trees
    return {
        "nodes_treeids": [tree for tree in range(trees) for _ in range(count)],
        "nodes_nodeids": ids,
        "nodes_featureids": RANDOM.integers(0, 4, len(ids)).tolist(),
        "nodes_values": np.round(RANDOM.normal(size=len(ids)), 1).astype(np.float32).tolist(),
        "nodes_modes": [modes[i % len(modes)] if is_inner else "LEAF" for i, is_inner in enumerate(inner)],
        "nodes_truenodeids": [2 * i + 1 if is_inner else 0 for i, is_inner in zip(ids, inner, strict=True)],
        "nodes_falsenodeids": [2 * i + 2 if is_inner else 0 for i, is_inner in zip(ids, inner, strict=True)],
        **({"nodes_missing_value_tracks_true": RANDOM.integers(0, 2, len(ids)).tolist()} if tracks else {}),
    }


def weights(ensemble: dict[str, Any], kind: str, of: list[int], low: float = -1) -> dict[str, Any]:
    """A weight for each leaf and each output in `of`."""
    places = zip(*(ensemble[f"nodes_{name}"] for name in ("modes", "treeids", "nodeids")), strict=True)
    leaves = [(tree, node, output) for mode, tree, node in places if mode == "LEAF" for output in of]
    columns = list(zip(*leaves, strict=True))
    names = [f"{kind}_{name}" for name in ("treeids", "nodeids", "ids")]
    given = {name: list(column) for name, column in zip(names, columns, strict=True)}
    return {**given, f"{kind}_weights": RANDOM.uniform(low, 1, len(leaves)).astype(np.float32).tolist()}


def regressor(modes: list[str] | None = None, outputs: int = 1, **more: Any) -> dict[str, Any]:
    ensemble = nodes(3, modes or ["BRANCH_LEQ"], tracks=more.pop("tracks", False))
    return {**ensemble, **weights(ensemble, "target", list(range(outputs))), "n_targets": outputs, **more}


def classifier(labels: list[int], of: list[int], low: float = -1, **more: Any) -> dict[str, Any]:
    ensemble = nodes(4, ["BRANCH_LEQ"])
    return {**ensemble, **weights(ensemble, "class", of, low), "classlabels_int64s": labels, **more}


@pytest.mark.parametrize("mode", ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"])
@pytest.mark.parametrize("data", [ROWS, np.round(ROWS, 1), HOLES], ids=["rows", "rounded", "holes"])
def test_nodes_compare_as_their_modes_say(mode: str, data: Array) -> None:
    check("TreeEnsembleRegressor", [data], **regressor([f"BRANCH_{mode}"]))


def test_nodes_of_several_modes_and_ways_of_no_number() -> None:
    modes = ["BRANCH_LEQ", "BRANCH_GT", "BRANCH_LT", "BRANCH_GTE"]
    check("TreeEnsembleRegressor", [HOLES], **regressor(modes, tracks=True))
    check("TreeEnsembleRegressor", [HOLES], **regressor(tracks=True))


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_trees_are_aggregated(aggregate: str) -> None:
    check("TreeEnsembleRegressor", [ROWS], **regressor(aggregate_function=aggregate))


def test_base_values_and_several_targets() -> None:
    check("TreeEnsembleRegressor", [ROWS], version=1, **regressor(outputs=3, base_values=[0.5, -1.0, 2.0]))


def test_wide_data_have_wide_thresholds() -> None:
    check("TreeEnsembleRegressor", [ROWS.astype(np.float64)], **regressor())


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
@pytest.mark.parametrize(
    "attributes",
    [
        classifier([0, 1, 2], [0, 1, 2]),
        classifier([5, 3, 9], [0, 1, 2], base_values=[0.1, 0.9, -0.5]),
        classifier([0, 1], [0], low=0),
        classifier([0, 1], [1], low=0),
        classifier([7, 4], [0]),
        classifier([0, 1], [0], base_values=[0.3]),
        classifier([0, 1], [0, 1]),
    ],
    ids=["three", "labels", "positive", "positive_second", "signed", "base", "two"],
)
def test_classes_have_labels_and_scores(attributes: dict[str, Any], transform: str) -> None:
    check("TreeEnsembleClassifier", [ROWS], outputs=2, **attributes, post_transform=transform)


def tensor(values: Any, dtype: str) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(values, dtype))


def test_ensembles_of_version_5() -> None:
    attributes = {
        "tree_roots": [0, 2], "n_targets": 2, "nodes_featureids": [0, 1, 2], "nodes_modes": tensor([0, 3, 1], "u1"),
        "nodes_splits": tensor([0.1, -0.2, 0.3], "f"), "nodes_truenodeids": [1, 0, 3], "nodes_trueleafs": [0, 1, 1],
        "nodes_falsenodeids": [2, 1, 4], "nodes_falseleafs": [1, 1, 1], "leaf_targetids": [0, 1, 0, 1, 0],
        "leaf_weights": tensor([1.5, -2.0, 3.0, 0.25, 4.0], "f"),
    }  # fmt: skip
    check("TreeEnsemble", [ROWS], version=5, **attributes)
    check("TreeEnsemble", [ROWS], version=5, **attributes, aggregate_function=0)


def test_a_node_may_test_membership_of_sets() -> None:
    """Of no value, of one, and of several, which need not be sorted; NaN is no member."""
    nan = float("nan")
    attributes = {
        "tree_roots": [0], "nodes_featureids": [0, 1, 2, 3, 0], "n_targets": 1,
        "nodes_modes": tensor([6, 6, 5, 6, 4], "u1"),
        "nodes_splits": tensor([0, 0, 1, 0, 2], "f"), "nodes_truenodeids": [1, 0, 3, 2, 4],
        "nodes_trueleafs": [0, 1, 0, 1, 1], "nodes_falsenodeids": [2, 1, 4, 3, 5], "nodes_falseleafs": [0, 1, 0, 1, 1],
        "leaf_targetids": [0] * 6, "leaf_weights": tensor([1, 2, 4, 8, 16, 32], "f"),
    }  # fmt: skip
    rows = np.where(np.arange(20)[:, None] == 7, np.float32(nan), WHOLE.astype(np.float32))
    for members in ([2, -1, 3, nan, 0, nan, 1, 0, -2, nan], [1, nan, 2, 2, -3, nan, 0]):
        check("TreeEnsemble", [rows], version=5, **attributes, membership_values=tensor(members, "f"))
    few = model_of("TreeEnsemble", [rows], 1, 5, {**attributes, "membership_values": tensor([1, nan], "f")})
    with pytest.raises(FrontendError, match="expected membership_values of 3 nodes, found 1 sets"):
        frontends.from_onnx(few)


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
def test_linear_models(transform: str) -> None:
    plane = {"coefficients": RANDOM.normal(size=12).tolist(), "intercepts": [0.1, -0.2, 0.3]}
    check("LinearRegressor", [ROWS], **plane, targets=3, post_transform=transform)
    check("LinearClassifier", [ROWS], outputs=2, **plane, classlabels_ints=[4, 2, 7], post_transform=transform)


def test_a_kernel_between_rows_and_support_vectors() -> None:
    vectors = {"support_vectors": RANDOM.normal(size=24).tolist(), "kernel_params": [0.3, 0.5, 3.0]}
    one = {**vectors, "coefficients": RANDOM.normal(size=6).tolist(), "rho": [0.2], "n_supports": 6}
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        check("SVMRegressor", [ROWS], **one, kernel_type=kernel)
    check("SVMRegressor", [ROWS], **one, kernel_type="RBF", one_class=1)
    pairs = {**vectors, "coefficients": RANDOM.normal(size=12).tolist(), "rho": [0.2, -0.1, 0.3]}
    three = {**pairs, "vectors_per_class": [1, 2, 3], "classlabels_ints": [3, 1, 2]}
    check("SVMClassifier", [ROWS], outputs=2, **three, kernel_type="RBF")
    two = {**one, "vectors_per_class": [2, 4], "classlabels_ints": [8, 9]}
    del two["n_supports"]
    check("SVMClassifier", [ROWS], outputs=2, **two, kernel_type="LINEAR")
    sigmoids = {"prob_a": [-1.0, -2.0, 0.5], "prob_b": [0.1, -0.3, 0.2]}
    check("SVMClassifier", [ROWS], outputs=2, **three, **sigmoids, kernel_type="RBF")
    check("SVMClassifier", [ROWS], outputs=2, **two, prob_a=[-2.0], prob_b=[0.1], kernel_type="LINEAR")
    few = model_of("SVMClassifier", [ROWS], 2, 3, {**three, "prob_a": [-2.0], "prob_b": [0.1], "kernel_type": "RBF"})
    with pytest.raises(FrontendError, match="expected 3 numbers prob_a and prob_b, found 1 and 1"):
        frontends.from_onnx(few)


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes"),
    [
        ("Scaler", [ROWS], {"offset": [1.0, 2.0, 3.0, 4.0], "scale": [0.5, 1.0, 2.0, 0.1]}),
        ("Scaler", [WHOLE], {"offset": [1.0], "scale": [0.5]}),
        ("Normalizer", [ROWS], {"norm": "MAX"}),
        ("Normalizer", [ROWS], {"norm": "L1"}),
        ("Normalizer", [np.where(ROWS > 1, 0, ROWS)], {"norm": "L2"}),
        ("Imputer", [HOLES], {"imputed_value_floats": [1.0, 2.0, 3.0, 4.0], "replaced_value_float": float("nan")}),
        ("Imputer", [WHOLE], {"imputed_value_int64s": [9], "replaced_value_int64": -2}),
        ("Binarizer", [ROWS], {"threshold": 0.25}),
        ("ArrayFeatureExtractor", [ROWS, np.array([2, 0])], {}),
        ("FeatureVectorizer", [ROWS, ROWS[:, 1:3]], {"inputdimensions": [4, 2]}),
        ("LabelEncoder", [WHOLE], {"keys_int64s": [0, 1, 2], "values_floats": [5.0, 6.0, 7.0], "default_float": 0.5}),
        (
            "LabelEncoder", [np.round(HOLES)],
            {"keys_floats": [0.0, float("nan"), 1.0], "values_int64s": [5, 6, 7], "default_int64": -4},
        ),
        ("OneHotEncoder", [WHOLE[:, 0]], {"cats_int64s": [0, 1, 3], "zeros": 1}),
    ],
)  # fmt: skip
def test_features_are_prepared(operator: str, inputs: list[Array], attributes: dict[str, Any]) -> None:
    check(operator, inputs, version=2, **attributes)


def test_keys_of_no_number_are_found_as_of_version_4() -> None:
    keys = {"keys_floats": [0.0, float("nan"), 1.0], "values_int64s": [5, 6, 7], "default_int64": -4}
    check("LabelEncoder", [np.round(HOLES)], version=4, **keys)


def test_a_map_is_its_scores() -> None:
    graph, _ = frontends.from_onnx(model_of("ZipMap", [ROWS], 1, 1, {"classlabels_strings": ["a", "b", "c", "d"]}))
    assert [str(v.type) for v in graph.outputs] == ["float32[40, 4]"]
    assert graph.labels == {"y0": ("a", "b", "c", "d")}


def test_names_of_classes_become_positions() -> None:
    attributes = classifier([], [0, 1, 2]) | {"classlabels_strings": ["cat", "dog", "cow"]}
    del attributes["classlabels_int64s"]
    graph, params = frontends.from_onnx(model_of("TreeEnsembleClassifier", [ROWS], 2, 3, attributes))
    label, scores = (a.numpy() for a in runtime.load(build(graph, params=params)).run({"x0": ROWS}).values())
    np.testing.assert_array_equal(label, scores.argmax(1))
    assert graph.labels == dict.fromkeys(("y0", "y1"), ("cat", "dog", "cow"))


REGRESSOR = regressor()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"nodes_values": [0.5]}, "numbers, as many as nodes_treeids, found 1 of nodes_values"),
        ({"nodes_modes": ["BRANCH_NONE"] * 45}, "expected modes BRANCH_LEQ, BRANCH_LT, .*, found 'BRANCH_NONE'"),
        ({"nodes_featureids": [99] * 45}, "expected features 0 to 4 - 1 of data float32[40, 4], found 99, 99"),
        ({"nodes_truenodeids": [77] * 45}, "nodes_truenodeids names node 77 of tree 0, which does not exist"),
        ({"nodes_truenodeids": [0] * 45}, "expected one root in tree 0, found"),
        ({"nodes_nodeids": [0] * 45}, "expected one node 0 in tree 0, found two"),
        ({"target_ids": [1] * 24}, "expected outputs 0 to 0, found 1, 1"),
        ({"target_nodeids": [0] * 24}, "expected weights of leaves, found those of a node that decides"),
        ({"base_values": [1.0, 2.0]}, "expected 1 base_values, found 2"),
        ({"aggregate_function": "MEDIAN"}, "SUM, AVERAGE, MIN, MAX, found 1, 'MEDIAN'"),
        ({"post_transform": "PROBIT"}, "post_transform PROBIT is not supported"),
        ({"n_targets": 2, "aggregate_function": "MIN"}, "the least or largest of several outputs"),
    ],
)
def test_what_is_no_ensemble_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(FrontendError, match=re.escape(message).replace(r"\.\*", ".*")):
        frontends.from_onnx(model_of("TreeEnsembleRegressor", [ROWS], 1, 3, REGRESSOR | changed))


def test_branches_that_lead_back_are_no_tree() -> None:
    ensemble = regressor()
    ensemble["nodes_falsenodeids"][1] = ensemble["nodes_truenodeids"][1]
    with pytest.raises(FrontendError, match=r"expected trees, found branches that meet or lead back|expected one root"):
        frontends.from_onnx(model_of("TreeEnsembleRegressor", [ROWS], 1, 3, ensemble))


@pytest.mark.parametrize(
    ("operator", "attributes", "message"),
    [
        ("LabelEncoder", {"keys_strings": ["a"], "values_int64s": [1]}, r"expected strings as input 0 \(X\), as the"),
        ("OneHotEncoder", {"cats_strings": ["a"]}, r"expected strings as input 0 \(X\), as the attributes tell"),
        ("OneHotEncoder", {"cats_int64s": [1], "zeros": 0}, "an error for unknown categories is not supported"),
        ("DictVectorizer", {"string_vocabulary": ["a"]}, "maps are not supported, only tensors"),
        ("LinearRegressor", {"coefficients": [1.0], "targets": 1}, "expected 1 x 4 coefficients"),
        ("ZipMap", {"classlabels_int64s": [1, 2]}, r"expected 2 columns, one per label, found \[40, 4\]"),
        ("Normalizer", {"norm": "L3"}, "expected norm MAX, L1 or L2, found 'L3'"),
    ],
)
def test_other_forms_are_refused(operator: str, attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        frontends.from_onnx(model_of(operator, [ROWS], 1, 2, attributes))


def test_the_tables_have_every_operator_that_can_be() -> None:
    known = {schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == "ai.onnx.ml"}
    deprecated = {"TreeEnsembleClassifier", "TreeEnsembleRegressor"}
    assert set(CLASSIC) | {"CastMap", "DictVectorizer"} == known | deprecated
