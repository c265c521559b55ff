"""Quantisation: rounding, limits, scales per axis and block, and what is refused."""

from typing import Any

import numpy as np
import onnx
import onnx.reference
import pytest
from onnx import TensorProto, helper

from sateen import frontends, runtime
from sateen.graph_ir import default_pipeline, run_pipeline
from sateen.graph_ir.compile import bind_parameters, build
from sateen.runtime import Target
from sateen.runtime.errors import FrontendError

Array = np.ndarray[Any, Any]


def model_of(operator: str, inputs: dict[str, Array], **attributes: Any) -> onnx.ModelProto:
    node = helper.make_node(operator, list(inputs), ["y"], **attributes)
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(data.dtype), data.shape)
        for name, data in inputs.items()
    ]
    graph = helper.make_graph([node], "net", declared, [helper.make_empty_tensor_value_info("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def result(operator: str, inputs: dict[str, Array], **attributes: Any) -> Array:
    graph, params = frontends.from_onnx(model_of(operator, inputs, **attributes))
    return runtime.load(build(graph, params=params)).run(inputs)["y"].numpy()


def test_quantisation_rounds_ties_to_even_and_saturates() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, 300.0, -300.0], np.float32)
    found = result("QuantizeLinear", {"x": x, "scale": np.array(1, np.float32), "zero": np.array(3, np.int8)})
    np.testing.assert_array_equal(found, np.array([3, 5, 5, 3, 127, -128], np.int8))


def test_a_scale_per_extent_of_an_axis_and_a_scale_per_block() -> None:
    x = np.arange(8, dtype=np.uint8).reshape(2, 4)
    by_row = result("DequantizeLinear", {"x": x, "scale": np.array([1, 10], np.float32)}, axis=0)
    np.testing.assert_array_equal(by_row, x * np.array([[1], [10]], np.float32))
    scale = np.array([[1, 2], [3, 4]], np.float32)
    by_block = result("DequantizeLinear", {"x": x, "scale": scale}, axis=1, block_size=2)
    np.testing.assert_array_equal(by_block, x * np.repeat(scale, 2, 1))


def convolution(zero_point: int = 0) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """QLinearConv with a constant weight."""
    rng = np.random.default_rng(0)
    constants = {
        "w": rng.integers(-128, 128, (4, 3, 3, 3), np.int8),
        "xs": np.array(0.5, np.float32), "xz": np.array(100, np.uint8), "ws": np.array(0.25, np.float32),
        "wz": np.array(zero_point, np.int8), "ys": np.array(64.0, np.float32), "yz": np.array(128, np.uint8),
    }  # fmt: skip
    node = helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"], pads=[1] * 4)
    x = helper.make_tensor_value_info("x", TensorProto.UINT8, (1, 3, 8, 8))
    data = [onnx.numpy_helper.from_array(a, name) for name, a in constants.items()]
    graph = helper.make_graph([node], "net", [x], [helper.make_empty_tensor_value_info("y")], data)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return model, {"x": rng.integers(0, 256, (1, 3, 8, 8), np.uint8)}


@pytest.mark.parametrize(("zero_point", "kind"), [(0, "int8"), (3, "int16")])
def test_a_weight_of_bytes_keeps_a_narrow_type_and_gives_the_exact_result(zero_point: int, kind: str) -> None:
    model, given = convolution(zero_point)
    graph, params = frontends.from_onnx(model)
    optimised = run_pipeline(bind_parameters(graph, params), default_pipeline(Target.host()))
    assert max(optimised.parameters.values(), key=lambda a: a.size).dtype == kind
    found = runtime.load(build(graph, params=params)).run(given)["y"].numpy()
    expected = onnx.reference.ReferenceEvaluator(model).run(None, given)[0]
    np.testing.assert_array_equal(found, expected)


def test_quantisation_survives_import_as_operators() -> None:
    scale, weight = np.array(0.1, np.float32), np.ones((64, 64, 3, 3), np.int8)
    per_channel = np.linspace(0.01, 0.02, 64, dtype=np.float32)
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s"], ["a"]),
        helper.make_node("DequantizeLinear", ["w", "c"], ["b"], axis=0),
        helper.make_node("Conv", ["a", "b"], ["d"]),
        helper.make_node("QuantizeLinear", ["d", "s", "z"], ["y"]),
    ]
    data = [onnx.numpy_helper.from_array(a, n) for n, a in (("s", scale), ("w", weight), ("c", per_channel))]
    data.append(onnx.numpy_helper.from_array(np.array(7, np.int8), "z"))
    x = helper.make_tensor_value_info("x", TensorProto.INT8, (1, 64, 8, 8))
    graph = helper.make_graph(nodes, "net", [x], [helper.make_empty_tensor_value_info("y")], data)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    imported, params = frontends.from_onnx(model)
    assert [n.op.op_name() for n in imported.nodes] == ["dequantize", "dequantize", "conv", "quantize"]
    given = {"x": np.random.default_rng(0).integers(-9, 9, (1, 64, 8, 8), np.int8)}
    found = runtime.load(build(imported, params=params)).run(given)["y"].numpy()
    expected = onnx.reference.ReferenceEvaluator(model).run(None, given)[0]
    assert np.abs(found.astype(int) - expected.astype(int)).max() <= 1  # float32 sums in another order


def test_products_of_integers_are_exact_with_a_zero_point_per_row_and_column() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, (3, 50), np.uint8), rng.integers(0, 256, (50, 4), np.uint8)
    rows, columns = np.array([1, 2, 255], np.uint8), np.array([0, 7, 128, 255], np.uint8)
    found = result("MatMulInteger", {"a": a, "b": b, "rows": rows, "columns": columns})
    expected = (a.astype(np.int32) - rows[:, None].astype(np.int32)) @ (b.astype(np.int32) - columns.astype(np.int32))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "text"),
    [
        (
            "QuantizeLinear",
            {"x": np.zeros(4, np.float32), "scale": np.ones((), np.float32)},
            {"output_dtype": TensorProto.FLOAT8E4M3FN},
            "quantisation to float8_e4m3fn is not supported",
        ),
        (
            "DequantizeLinear",
            {"x": np.zeros((2, 3), np.int8), "scale": np.ones(2, np.float32)},
            {"axis": 1},
            r"expected one scale or 3, found shape \[2\]",
        ),
        (
            "DequantizeLinear",
            {"x": np.zeros((2, 3), np.int8), "scale": np.ones((2, 2), np.float32)},
            {"axis": 1, "block_size": 2},
            r"blocks of 2 along axis 1 don't divide shape \[2, 3\]",
        ),
    ],
)
def test_what_is_refused(operator: str, inputs: dict[str, Array], attributes: dict[str, Any], text: str) -> None:
    with pytest.raises(FrontendError, match=text):
        frontends.from_onnx(model_of(operator, inputs, **attributes))
