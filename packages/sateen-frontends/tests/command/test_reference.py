"""The reference follows the operator set of the model: softmax meant another thing before 13."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from sateen.frontends.onnx.reference import reference

X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


def _model(path, operator: str, opset: int, **attributes: int):
    data, out = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, X.shape) for name in ("data", "out"))
    node = helper.make_node(operator, ["data"], ["out"], **attributes)
    graph = helper.make_graph([node], "net", [data], [out])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


def _softmax(x):
    powers = np.exp(x)
    return powers / powers.sum()


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("Softmax", _softmax),
        ("LogSoftmax", lambda x: np.log(_softmax(x))),
        ("Hardmax", lambda x: (x == x.max()).astype(np.float32)),
    ],
)
@pytest.mark.parametrize(("attributes", "rows"), [({}, 2), ({"axis": 2}, 6), ({"axis": -1}, 6), ({"axis": 0}, 1)])
def test_before_operator_set_13_the_axes_from_the_given_one_on_are_one(tmp_path, operator, expected, attributes, rows):
    outputs = reference(_model(tmp_path / "old.onnx", operator, 11, **attributes))({"data": X})
    matrix = X.reshape(rows, -1)
    np.testing.assert_allclose(outputs["out"].reshape(rows, -1), [expected(row) for row in matrix], rtol=1e-5)


def test_from_operator_set_13_on_it_is_along_one_axis(tmp_path):
    outputs = reference(_model(tmp_path / "new.onnx", "Softmax", 13, axis=1))({"data": X})
    np.testing.assert_allclose(outputs["out"].sum(axis=1), np.ones((2, 4)), rtol=1e-5)


def test_gathers_have_any_number_of_elements_along_the_axis(tmp_path):
    data = np.random.default_rng(0).standard_normal((3, 200, 2)).astype(np.float32)
    indices = np.random.default_rng(1).integers(-200, 200, (2, 90, 2))
    given, out = (
        helper.make_tensor_value_info("data", onnx.TensorProto.FLOAT, data.shape),
        helper.make_tensor_value_info("out", onnx.TensorProto.FLOAT, indices.shape),
    )
    constant = onnx.numpy_helper.from_array(indices, "indices")
    node = helper.make_node("GatherElements", ["data", "indices"], ["out"], axis=1)
    graph = helper.make_graph([node], "net", [given], [out], [constant])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "g.onnx")
    (found,) = reference(tmp_path / "g.onnx")({"data": data}).values()
    np.testing.assert_array_equal(found, np.take_along_axis(data[:2], indices, 1))
