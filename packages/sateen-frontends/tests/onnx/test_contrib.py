"""onnxruntime's quantised operators: each against onnxruntime, and which variants are refused."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from sateen import frontends, runtime
from sateen.frontends.onnx.microsoft import contrib_function
from sateen.graph_ir.compile import build
from sateen.runtime.errors import FrontendError

Array = np.ndarray[Any, Any]


def model_of(operator: str, inputs: dict[str, Array], **attributes: Any) -> onnx.ModelProto:
    """A node over inputs; one without elements is left out."""
    names = [name if data.size else "" for name, data in inputs.items()]
    node = helper.make_node(operator, names, ["y"], "node", domain="com.microsoft", **attributes)
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(data.dtype), data.shape)
        for name, data in inputs.items()
        if data.size
    ]
    graph = helper.make_graph([node], "net", declared, [helper.make_empty_tensor_value_info("y")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def quantised(name: str, shape: tuple[int, ...], dtype: str, scale: float, zero: int) -> dict[str, Array]:
    """Data of every value of a type, its scale and zero point."""
    limits = np.iinfo(dtype)
    seed = sum(map(ord, name))
    data = np.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return {name: data, **scaling(name, dtype, scale, zero)}


def scaling(name: str, dtype: str, scale: float, zero: int) -> dict[str, Array]:
    return {f"{name}_scale": np.array(scale, np.float32), f"{name}_zero": np.array(zero, dtype)}


def image(dtype: str, zero: int) -> dict[str, Array]:
    return quantised("x", (1, 3, 7, 6), dtype, 0.02131, zero)


POOL = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}
NOTHING = {"bias": np.zeros(0, np.int32)}
BIAS = {"bias": np.arange(-3, 2, dtype=np.int32) * 500}
RESULT = scaling("y", "uint8", 0.03173, 100)
LEFT = quantised("a", (4, 8), "uint8", 0.02, 120)
RIGHT = quantised("b", (8, 5), "uint8", 0.01, 130)
TURNED = quantised("b", (5, 8), "uint8", 0.01, 130)
COLUMNS = {
    "b": np.arange(-20, 20, dtype=np.int8).reshape(8, 5),
    "b_scale": np.float32([0.1, 0.02, 0.3, 0.04, 0.05]),
    "b_zero": np.int8([0, 1, -2, 3, -4]),
}

CASES: list[tuple[str, dict[str, Array], dict[str, Any]]] = [
    ("QLinearAdd", image("uint8", 128) | quantised("b", (3, 1, 6), "uint8", 0.05, 3) | RESULT, {}),
    ("QLinearAdd", image("int8", 5) | quantised("b", (7, 6), "int8", 0.0519, 3) | scaling("y", "int8", 0.0973, -9), {}),
    ("QLinearMul", image("uint8", 128) | quantised("b", (1, 3, 1, 1), "uint8", 0.05, 3) | RESULT, {}),
    ("QLinearAveragePool", image("uint8", 9) | RESULT, POOL),
    ("QLinearAveragePool", image("uint8", 9) | RESULT, {**POOL, "count_include_pad": 1, "channels_last": 0}),
    ("QLinearAveragePool", image("uint8", 9) | RESULT, {"kernel_shape": [2, 2], "ceil_mode": 1, "strides": [2, 2]}),
    ("QLinearAveragePool", image("uint8", 9) | RESULT, {**POOL, "channels_last": 1}),
    ("QLinearGlobalAveragePool", image("uint8", 9) | RESULT, {"channels_last": 1}),
    ("QLinearGlobalAveragePool", image("uint8", 9) | scaling("y", "uint8", 0.0211, 0), {"channels_last": 0}),
    ("QLinearLeakyRelu", image("int8", -3) | scaling("y", "int8", 0.03, 10), {"alpha": 0.2}),
    ("QLinearLeakyRelu", image("int8", -3) | scaling("y", "int8", 0.03, 10), {}),
    ("QLinearSigmoid", image("uint8", 128) | scaling("y", "uint8", 1 / 256, 0), {}),
    ("QLinearSoftmax", quantised("x", (4, 10), "uint8", 0.02, 7) | scaling("y", "uint8", 1 / 256, 0), {"opset": 13}),
    ("QLinearSoftmax", image("uint8", 7) | scaling("y", "uint8", 1 / 256, 0), {"opset": 13, "axis": 1}),
    ("QLinearConcat", RESULT | image("uint8", 1) | quantised("b", (1, 2, 7, 6), "uint8", 0.05, 3), {"axis": 1}),
    ("QGemm", LEFT | RIGHT | BIAS | RESULT, {}),
    ("QGemm", LEFT | TURNED | NOTHING | RESULT, {"transB": 1, "alpha": 0.7}),
    ("QGemm", quantised("a", (8, 4), "uint8", 0.02, 120) | COLUMNS | BIAS | RESULT, {"transA": 1}),
]


@pytest.mark.parametrize(("operator", "inputs", "attributes"), CASES)
def test_onnxruntime_gives_the_same(operator: str, inputs: dict[str, Array], attributes: dict[str, Any]) -> None:
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model = model_of(operator, inputs, **attributes)
    given = {name: data for name, data in inputs.items() if data.size}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, given)
    graph, params = frontends.from_onnx(model)
    found = runtime.load(build(graph, params=params)).run(given)["y"].numpy()
    assert found.dtype == expected.dtype
    difference = np.abs(found.astype(int) - expected)
    assert difference.max() <= 1  # what lies between two integers is rounded from other float32
    assert np.mean(difference != 0) < 0.02
    assert len(np.unique(found)) > 2


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "message"),
    [
        ("QLinearSigmoid", image("int8", 1) | {"y_scale": np.float32(1)}, {}, "expected 5 inputs, among them scale"),
        ("QLinearSigmoid", image("uint8", 1) | RESULT, {"alpha": 1.0}, "QLinearSigmoid has no attribute 'alpha'"),
        ("QLinearConcat", RESULT | {"x": np.uint8([1])}, {"axis": 0}, "expected at least 5 inputs, found 3"),
        (
            "QLinearConcat", {"none": np.zeros(0, "f"), "zero": np.uint8(0)} | image("uint8", 1), {"axis": 0},
            "expected 5 inputs, among them scale and zero point of the result; found 5",
        ),
        ("QGemm", LEFT | RIGHT | BIAS | RESULT, {"transA": 1.0}, "expected an integer as attribute 'transA'"),
        ("QLinearSoftmax", image("uint8", 1) | RESULT, {"opset": 12}, "Softmax as before operator set 13"),
        ("QLinearNothing", image("uint8", 1) | RESULT, {}, "ONNX has no operator of this name in com.microsoft 1"),
    ],
)  # fmt: skip
def test_variants_are_refused(operator: str, inputs: dict[str, Array], attributes: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        frontends.from_onnx(model_of(operator, inputs, **attributes))


def test_a_concatenation_of_more_than_nodes_may_have_is_refused() -> None:
    with pytest.raises(FrontendError, match="more than 250 inputs of a node are not supported"):
        contrib_function(helper.make_node("QLinearConcat", ["x"] * 251, ["y"], axis=0))
