"""Operators that users bring: arguments are attributes."""

import numpy as np
import pytest

from sateen.frontends import check, from_caffe2
from sateen.frontends.caffe2.schemas.net_pb2 import Net
from sateen.graph_ir import OPS, interpret
from sateen.runtime.errors import FrontendError

X = np.array([[-1, 2, 3]], np.float32)
OFFSET = np.array([0.5, 0, -4], np.float32)


@pytest.fixture
def scaled(users_operator):
    return users_operator("caffe2.Scaled")


@pytest.fixture
def operators(scaled):
    return OPS.with_ops(scaled)


@pytest.fixture
def model(init, operator):
    """model(argument=value, …): the net and the init net of one operator."""

    def made(**arguments):
        net = Net(name="net", op=[operator("Scaled", ["x", "b"], ["y"], **arguments)], external_output=["y"])
        return net.SerializeToString(), init(b=OFFSET)

    return made


def test_arguments_go_to_the_fields_of_their_names(model, scaled, operators):
    given = model(factor=2.5, limited=1, sizes=[3, 4], word="a")
    graph, _ = from_caffe2(*given, shapes={"x": X.shape}, operators=operators)
    assert [node.op for node in graph.nodes] == [scaled(2.5, True, (3, 4), "a")]
    np.testing.assert_array_equal(interpret(graph, {"x": X})["y"], np.minimum(X * 2.5 + OFFSET, 1))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "caffe2.Scaled needs attribute 'factor'; its attributes are factor, limited, sizes, word"),
        ({"factor": 1.0, "pad": 2}, "caffe2.Scaled has no attribute 'pad'"),
        ({"factor": "a"}, "expected a number as attribute 'factor', found 'a'"),
    ],
)
def test_operators_that_do_not_fit_are_gaps(model, arguments, reason, operators):
    (gap,) = check(*model(**arguments), shapes={"x": X.shape}, operators=operators).gaps
    assert gap.reason.startswith(reason)


def test_an_operator_that_nobody_brings_says_how(model):
    with pytest.raises(FrontendError, match=r"Scaled.*\n.*\n.*bring the operator \(operators="):
        from_caffe2(*model(factor=1.0), shapes={"x": X.shape})
