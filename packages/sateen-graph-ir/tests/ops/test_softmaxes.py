"""Softmax and its logarithm."""

import numpy as np
import pytest

from sateen.graph_ir.ir import TensorType
from sateen.graph_ir.ops import LogSoftmax, Softmax
from sateen.runtime.errors import InferenceError

X = np.random.default_rng(0).standard_normal((3, 5, 20)).astype("float32")


@pytest.mark.parametrize("axis", range(3))
def test_values(check_op, axis):
    powers = np.exp(X.astype(np.float64))
    expected = powers / powers.sum(axis, keepdims=True)
    check_op(Softmax(axis), [X], [expected.astype("float32")])
    check_op(LogSoftmax(axis), [X], [np.log(expected).astype("float32")])


def test_axis_and_type_are_checked():
    with pytest.raises(InferenceError, match=r"softmax: expects an axis in \[0, 2\), found 2"):
        Softmax(2).infer(TensorType.of("float32", (2, 3)))
    with pytest.raises(InferenceError, match="log_softmax: expects floating-point data, found int32"):
        LogSoftmax(1).infer(TensorType.of("int32", (2, 3)))
