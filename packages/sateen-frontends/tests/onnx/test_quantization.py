"""Quantisation as plain arithmetic: rounding, limits, scales per axis and block, and what is refused."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from sateen import frontends, runtime
from sateen.graph_ir.build import build
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
