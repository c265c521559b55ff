"""Layers of users' operators: parameters are attributes, blobs are inputs."""

from dataclasses import dataclass

import numpy as np
import pytest

from sateen.frontends import check, from_caffe
from sateen.graph_ir import OPS, interpret
from sateen.runtime.errors import FrontendError
from sateen.tensor_ir import te
from sateen.topi import Computation, Operator, compute


@dataclass(frozen=True, slots=True)
class Scaled(Operator):
    """x · factor + offset, the offset along the last axis; limited if asked."""

    name = "caffe.Scaled"
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


def _net(layer):
    return f'input: "x" input_shape {{ dim: 1 dim: 3 }} layer {{ name: "l" bottom: "x" top: "y" {layer} }}'.encode()


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        ('type: "Scaled" scaled_param { factor: 2 }', Scaled(2.0)),
        ('type: "Scaled" scaled_param { factor: 2.5 limited: true sizes: 3 word: "a" }', Scaled(2.5, True, (3,), "a")),
        ('type: "Scaled" scaled_param { factor: 1 sizes: 3 sizes: 4 }', Scaled(1.0, sizes=(3, 4))),
    ],
)
def test_parameters_go_to_the_fields_of_their_names(weights, layer, expected):
    graph, parameters = from_caffe(_net(layer), weights(l=[OFFSET]), operators=OPERATORS)
    assert [node.op for node in graph.nodes] == [expected]
    assert list(parameters) == ["l.0"]
    value = X * expected.factor + OFFSET
    np.testing.assert_array_equal(interpret(graph, {"x": X})["y"], np.minimum(value, 1) if expected.limited else value)


def test_a_layer_in_python_is_the_operator_of_its_class(weights):
    @dataclass(frozen=True, slots=True)
    class Proposal(Operator):
        name = "caffe.ProposalLayer"
        param_str: str

        def infer(self, x):
            return (x,)

    layer = "type: 'Python' python_param { module: 'rpn' layer: 'ProposalLayer' param_str: 'stride: 16' }"
    graph, _ = from_caffe(_net(layer), weights(), operators=OPS.with_ops(Proposal))
    assert [node.op for node in graph.nodes] == [Proposal("stride: 16")]


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        ('type: "Scaled"', "caffe.Scaled needs attribute 'factor'; its attributes are factor, limited, sizes, word"),
        ('type: "Scaled" p { factor: 1 pad: 2 }', "caffe.Scaled has no attribute 'pad'"),
        ('type: "Scaled" p { factor: LARGE }', "expected a number as attribute 'factor', found 'LARGE'"),
        ('type: "Scaled" p { factor: 1 factor: 2 }', "expected factor once, found it 2 times"),
        ('type: "Scaled" p { factor: [] }', "expected factor once, found it 0 times"),
        ('type: "Scaled" p { factor: 1 } q { word: "a" }', "parameters in 2 messages, p, q, are not supported"),
        ('type: "Scaled" p { factor { a: 1 } }', "parameter 'factor' is a message, not numbers or text"),
    ],
)
def test_layers_that_do_not_fit_are_gaps(weights, layer, reason):
    report = check(_net(layer), weights(l=[OFFSET]), operators=OPERATORS)
    assert len(report.gaps) == 1
    assert report.gaps[0].reason.startswith(reason)


def test_a_layer_without_its_weights_is_refused(weights):
    with pytest.raises(FrontendError, match=r"caffe.Scaled: takes inputs x, offset; found 1 of them"):
        from_caffe(_net('type: "Scaled" p { factor: 1 }'), weights(), operators=OPERATORS)


@pytest.mark.parametrize("layer", ['type: "Scaled"', "type: 'Python' python_param { module: 'a' layer: 'Scaled' }"])
def test_a_layer_that_nobody_brings_says_how(weights, layer):
    (gap,) = check(_net(layer), weights(l=[OFFSET])).gaps
    assert gap.help.startswith("bring the operator (operators=, or an installed package: docs/operators.md), or end")
