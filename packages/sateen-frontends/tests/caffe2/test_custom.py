"""Operators that users bring: arguments are attributes."""

from dataclasses import dataclass

import numpy as np
import pytest

from sateen.frontends import check, from_caffe2
from sateen.frontends.caffe2.schemas.net_pb2 import Net
from sateen.graph_ir import OPS, interpret
from sateen.runtime.errors import FrontendError
from sateen.tensor_ir import te
from sateen.topi import Computation, Operator, compute


@dataclass(frozen=True, slots=True)
class Scaled(Operator):
    """x · factor + offset, the offset along the last axis; limited if asked."""

    name = "caffe2.Scaled"
    factor: float
    limited: bool = False
    sizes: tuple[int, ...] = ()
    word: str = ""

    def infer(self, x, offset):
        return (x,)

    def compute(self, x, offset, *, outputs):
        def element(*index):
            value = x(*index) * self.factor + offset(index[-1])
            return te.minimum(value, 1.0) if self.limited else value

        return Computation((compute(x.shape, element, "scaled"),))


OPERATORS = OPS.with_ops(Scaled)
X = np.array([[-1, 2, 3]], np.float32)
OFFSET = np.array([0.5, 0, -4], np.float32)


@pytest.fixture
def model(init, operator):
    """model(argument=value, …): the net and the init net of one operator."""

    def made(**arguments):
        net = Net(name="net", op=[operator("Scaled", ["x", "b"], ["y"], **arguments)], external_output=["y"])
        return net.SerializeToString(), init(b=OFFSET)

    return made


def test_arguments_go_to_the_fields_of_their_names(model):
    given = model(factor=2.5, limited=1, sizes=[3, 4], word="a")
    graph, _ = from_caffe2(*given, shapes={"x": X.shape}, operators=OPERATORS)
    assert [node.op for node in graph.nodes] == [Scaled(2.5, True, (3, 4), "a")]
    np.testing.assert_array_equal(interpret(graph, {"x": X})["y"], np.minimum(X * 2.5 + OFFSET, 1))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "caffe2.Scaled needs attribute 'factor'; its attributes are factor, limited, sizes, word"),
        ({"factor": 1.0, "pad": 2}, "caffe2.Scaled has no attribute 'pad'"),
        ({"factor": "a"}, "expected a number as attribute 'factor', found 'a'"),
    ],
)
def test_operators_that_do_not_fit_are_gaps(model, arguments, reason):
    (gap,) = check(*model(**arguments), shapes={"x": X.shape}, operators=OPERATORS).gaps
    assert gap.reason.startswith(reason)


def test_an_operator_that_nobody_brings_says_how(model):
    with pytest.raises(FrontendError, match=r"Scaled.*\n.*\n.*bring the operator \(operators="):
        from_caffe2(*model(factor=1.0), shapes={"x": X.shape})
