"""Strings of models: labels and what chooses among them become positions, and nothing takes these for numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from sateen import frontends, runtime
from sateen.graph_ir.compile import build
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

ROWS = np.array([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3], [0.0, 0.1, 0.9]], np.float32)
CLASSES = helper.make_tensor("classes", TensorProto.STRING, [3], [b"owl", b"ant", b"cat"])
BEST = helper.make_node("ArgMax", ["x"], ["best"], axis=1, keepdims=0)


def classic(operator: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(operator, inputs, outputs, domain="ai.onnx.ml", **attributes)


CHOSEN = classic("ArrayFeatureExtractor", ["classes", "best"], ["chosen"])
"""Of shape [1, 3]."""


def model_of(
    nodes: Sequence[onnx.NodeProto],
    kind: int = TensorProto.STRING,
    given: int = TensorProto.FLOAT,
    data: Sequence[onnx.TensorProto] = (CLASSES,),
) -> bytes:
    """A model of x[3, 3] whose output y is of a kind."""
    x, y = helper.make_tensor_value_info("x", given, [3, 3]), helper.make_tensor_value_info("y", kind, None)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    graph = helper.make_graph(nodes, "strings", [x], [y], data)
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def run(model: bytes) -> tuple[Array, tuple[str, ...] | None]:
    """The output for ROWS, and its labels in the artifact, which is saved and read."""
    graph, parameters = frontends.from_onnx(model)
    model_again = runtime.load(build(graph, params=parameters).to_bytes())
    return model_again.run({"x": ROWS})["y"].numpy(), model_again.artifact.labels.get("y")


def test_a_string_becomes_its_position_and_the_artifact_keeps_the_strings() -> None:
    shape = helper.make_tensor("shape", TensorProto.INT64, [1], [3])
    found, labels = run(
        model_of([BEST, CHOSEN, helper.make_node("Reshape", ["chosen", "shape"], ["y"])], data=[CLASSES, shape])
    )
    assert labels == ("owl", "ant", "cat")
    np.testing.assert_array_equal(found, ROWS.argmax(1))


def test_strings_that_are_there_twice_are_sorted() -> None:
    data = helper.make_tensor("classes", TensorProto.STRING, [3], [b"owl", b"ant", b"owl"])
    found, labels = run(model_of([BEST, classic("ArrayFeatureExtractor", ["classes", "best"], ["y"])], data=[data]))
    assert labels == ("ant", "owl")
    np.testing.assert_array_equal(found, [np.array([1, 0, 1])[ROWS.argmax(1)]])


def test_encoders_give_strings_for_numbers_and_numbers_for_strings() -> None:
    words = classic("LabelEncoder", ["best"], ["y"], keys_int64s=[0, 2], values_strings=["big", "low"])
    found, labels = run(model_of([BEST, words]))
    assert labels == ("big", "low", "_Unused")
    np.testing.assert_array_equal(found, np.array([0, 2, 1])[ROWS.argmax(1)])

    back = classic("LabelEncoder", ["chosen"], ["y"], keys_strings=["cat", "owl"], values_floats=[5.0, 7.0])
    found, labels = run(model_of([BEST, CHOSEN, back], TensorProto.FLOAT))
    assert labels is None
    np.testing.assert_array_equal(found, [np.array([7, -0.0, 5], np.float32)[ROWS.argmax(1)]])

    ones = classic("OneHotEncoder", ["chosen"], ["y"], cats_strings=["cat", "owl"])
    found, _ = run(model_of([BEST, CHOSEN, ones], TensorProto.FLOAT))
    np.testing.assert_array_equal(found, [np.array([[0, 1], [0, 0], [1, 0]])[ROWS.argmax(1)]])


@pytest.mark.parametrize("back", [False, True])
def test_categories_are_mapped_both_ways(back: bool) -> None:
    pairs = {"cats_int64s": [4, 2], "cats_strings": ["cat", "owl"], "default_int64": -7}
    mapped = classic("CategoryMapper", ["chosen" if back else "best"], ["y"], **pairs)
    found, labels = run(model_of([BEST, CHOSEN, mapped], TensorProto.INT64 if back else TensorProto.STRING))
    assert labels == (None if back else ("cat", "owl", "_Unused"))
    of = np.array([2, -7, 4] if back else [2, 2, 1])[ROWS.argmax(1)]
    np.testing.assert_array_equal(found, [of] if back else of)


def test_constants_of_strings_can_be_chosen_from() -> None:
    words = helper.make_node("Constant", [], ["words"], value_strings=["a", "b", "c"])
    found, labels = run(model_of([BEST, words, helper.make_node("Gather", ["words", "best"], ["y"])]))
    assert labels == ("a", "b", "c")
    np.testing.assert_array_equal(found, ROWS.argmax(1))


CAST = helper.make_node("Cast", ["chosen"], ["y"], to=TensorProto.FLOAT)
IDENTITY = helper.make_node("Identity", ["chosen"], ["y"])
LARGEST = helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0)
IS_ANY = helper.make_node("Cast", ["m"], ["c"], to=TensorProto.BOOL)
BRANCH = helper.make_graph(
    [helper.make_node("Identity", ["chosen"], ["z"])],
    "b",
    [],
    [helper.make_tensor_value_info("z", TensorProto.STRING, None)],
)
OTHER = helper.make_node("Constant", [], ["other"], value_strings=["owl", "ant", "cow"])


@pytest.mark.parametrize(
    ("nodes", "kind", "message"),
    [
        ([BEST, CHOSEN, CAST], 1, "Cast of strings is not supported"),
        ([BEST, CHOSEN, helper.make_node("Gather", ["x", "chosen"], ["y"])], 1, "Gather of strings is not supported"),
        ([BEST, CHOSEN, IDENTITY], 7, "output 'y' is declared as numbers, but computed as strings"),
        ([BEST, helper.make_node("Neg", ["best"], ["y"])], 8, "output 'y' is declared as strings, but computed as num"),
        (
            [BEST, CHOSEN, OTHER, helper.make_node("Concat", ["classes", "other"], ["y"], axis=0)], 8,
            "strings of different vocabularies can't be joined",
        ),
        (
            [
                BEST, CHOSEN, LARGEST, IS_ANY,
                helper.make_node("If", ["c"], ["y"], then_branch=BRANCH, else_branch=BRANCH),
            ],
            8, "strings in branches and loops are not supported",
        ),
        ([BEST, classic("LabelEncoder", ["best"], ["y"], keys_int64s=[1], values_strings=["x" * 513])], 8, "at most 5"),
    ],
    ids=["cast", "index", "numbers", "strings", "joined", "branch", "long"],
)  # fmt: skip
def test_no_position_is_taken_for_a_number(nodes: Sequence[onnx.NodeProto], kind: int, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        frontends.from_onnx(model_of(nodes, kind))


def test_damaged_strings_are_refused() -> None:
    for tensor, message in (
        (helper.make_tensor("classes", TensorProto.STRING, [2], [b"owl", b"ant"]), r"\[5\] takes 5 strings, found 2"),
        (helper.make_tensor("classes", TensorProto.STRING, [2], [b"owl", b"\xff"]), "expected strings in UTF-8"),
    ):
        if "5" in message:
            tensor.dims[0] = 5
        with pytest.raises(FrontendError, match=message):
            frontends.from_onnx(model_of([BEST, CHOSEN, IDENTITY], data=[tensor]))


def test_inputs_of_strings_are_reported_and_the_network_may_begin_behind_them() -> None:
    encoder = classic("LabelEncoder", ["x"], ["codes"], keys_strings=["a"], values_int64s=[1])
    model = model_of([encoder, helper.make_node("Neg", ["codes"], ["y"])], TensorProto.INT64, TensorProto.STRING)
    report = frontends.check_onnx(model)
    assert [gap.operator for gap in report.gaps] == ["LabelEncoder"]
    assert "input 'x' holds strings" in report.gaps[0].reason
    codes = np.arange(4)
    graph, parameters = frontends.from_onnx(model, inputs=["codes"], constants={"codes": codes})
    assert [v.name for v in graph.inputs] == []
    found = runtime.load(build(graph, params=parameters)).run({})["y"].numpy()
    np.testing.assert_array_equal(found, -codes)


@pytest.mark.parametrize("sizes", [{"shapes": {"x": (3, 3)}}, {"dims": {"x.0": 3}}, {"constants": {"x": 1}}])
def test_sizes_of_inputs_of_strings_are_refused_with_what_reads_them(sizes: dict[str, Any]) -> None:
    encoder = classic("LabelEncoder", ["x"], ["y"], keys_strings=["a"], values_int64s=[1])
    model = onnx.ModelProto.FromString(model_of([encoder], TensorProto.INT64, TensorProto.STRING))
    model.graph.input[0].type.tensor_type.shape.dim[0].Clear()
    with pytest.raises(FrontendError, match="input 'x' holds strings for 'y'; a network computes with numbers: encode"):
        frontends.from_onnx(model, **sizes)
