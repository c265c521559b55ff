"""Layers of users' operators: parameters are attributes, blobs are inputs."""

from dataclasses import dataclass

import numpy as np
import pytest

from sateen.frontends import check, from_caffe
from sateen.graph_ir import OPS, interpret
from sateen.runtime.errors import FrontendError
from sateen.topi import Operator

X = np.array([[-1, 2, 3]], np.float32)
OFFSET = np.array([0.5, 0, -4], np.float32)


@pytest.fixture
def scaled(users_operator):
    return users_operator("caffe.Scaled")


@pytest.fixture
def operators(scaled):
    return OPS.with_ops(scaled)


def _net(layer):
    return f'input: "x" input_shape {{ dim: 1 dim: 3 }} layer {{ name: "l" bottom: "x" top: "y" {layer} }}'.encode()


@pytest.mark.parametrize(
    ("layer", "attributes"),
    [
        ('type: "Scaled" scaled_param { factor: 2 }', {"factor": 2.0}),
        (
            'type: "Scaled" scaled_param { factor: 2.5 limited: true sizes: 3 word: "a" }',
            {"factor": 2.5, "limited": True, "sizes": (3,), "word": "a"},
        ),
        ('type: "Scaled" scaled_param { factor: 1 sizes: 3 sizes: 4 }', {"factor": 1.0, "sizes": (3, 4)}),
    ],
)
def test_parameters_go_to_the_fields_of_their_names(weights, layer, attributes, scaled, operators):
    expected = scaled(**attributes)
    graph, parameters = from_caffe(_net(layer), weights(l=[OFFSET]), operators=operators)
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
def test_layers_that_do_not_fit_are_gaps(weights, layer, reason, operators):
    report = check(_net(layer), weights(l=[OFFSET]), operators=operators)
    assert len(report.gaps) == 1
    assert report.gaps[0].reason.startswith(reason)


def test_a_layer_without_its_weights_is_refused(weights, operators):
    with pytest.raises(FrontendError, match=r"caffe.Scaled: takes inputs x, offset; found 1 of them"):
        from_caffe(_net('type: "Scaled" p { factor: 1 }'), weights(), operators=operators)


@pytest.mark.parametrize("layer", ['type: "Scaled"', "type: 'Python' python_param { module: 'a' layer: 'Scaled' }"])
def test_a_layer_that_nobody_brings_says_how(weights, layer):
    (gap,) = check(_net(layer), weights(l=[OFFSET])).gaps
    assert gap.help.startswith("bring the operator (operators=, or an installed package: docs/operators.md), or end")
