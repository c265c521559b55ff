"""Layers and operations that users' operators stand for."""

from dataclasses import dataclass

import numpy as np
import pytest

from sateen.frontends import check, from_coreml
from sateen.frontends.coreml.schemas import coreml_pb2 as schema
from sateen.graph_ir import OPS, interpret
from sateen.runtime.errors import FrontendError
from sateen.topi import Operator

X = np.array([[-1, 2, 3]], np.float32)
OFFSET = np.array([0.5, 0, -4], np.float32)


@pytest.fixture
def scaled(users_operator):
    return users_operator("coreml.Scaled")


@pytest.fixture
def operators(scaled):
    return OPS.with_ops(scaled)


@pytest.fixture
def model(coreml):
    """model(weights, parameter=value, …): the bytes of a network with one custom layer."""

    def made(weights, **parameters):
        layer = coreml.layer("custom", "x", "y", name="own", className="Scaled")
        layer.custom.weights.extend(weights)
        for name, value in parameters.items():
            held = layer.custom.parameters[name]
            field = {float: "doubleValue", str: "stringValue", int: "longValue", bool: "boolValue"}[type(value)]
            setattr(held, field, value)
        return coreml.model([layer], [coreml.array("x", 1, 3)], [coreml.array("y")], exact=True).SerializeToString()

    return made


@pytest.mark.parametrize(
    "weights",
    [schema.Weights(floatValue=OFFSET), schema.Weights(float16Value=OFFSET.astype("<f2").tobytes())],
    ids=["float32", "float16"],
)
def test_parameters_go_to_the_fields_of_their_names_and_weights_are_vectors(model, weights, scaled, operators):
    graph, parameters = from_coreml(model([weights], factor=2.5, limited=True, word="a"), operators=operators)
    assert [node.op for node in graph.nodes] == [scaled(2.5, True, (), "a")]
    assert list(parameters) == ["y.weights.0"]
    np.testing.assert_array_equal(interpret(graph, {"x": X})["y"], np.minimum(X * 2.5 + OFFSET, 1))


@pytest.mark.parametrize(
    ("parameters", "weights", "reason"),
    [
        ({}, schema.Weights(floatValue=OFFSET), "coreml.Scaled needs attribute 'factor'; its attributes are factor"),
        ({"factor": 1.0, "pad": 2}, schema.Weights(floatValue=OFFSET), "coreml.Scaled has no attribute 'pad'"),
        ({"factor": 1.0}, schema.Weights(rawValue=b"abc"), "weights 0 are quantised, in a way that only"),
        ({"factor": 1.0}, schema.Weights(), "weights.0: expected data of shape [0] in one field, found none"),
        ({"factor": 1.0}, schema.Weights(float16Value=b"abc"), "weights.0: expected 2 bytes, found 3"),
    ],
)
def test_layers_that_do_not_fit_are_gaps(model, parameters, weights, reason, operators):
    (gap,) = check(model([weights], **parameters), operators=operators).gaps
    assert gap.reason.startswith(reason)


def test_a_parameter_without_a_value_is_a_gap(model, operators):
    made = schema.Model.FromString(model([], factor=1.0))
    made.neuralNetwork.layers[0].custom.parameters["word"].SetInParent()
    (gap,) = check(made.SerializeToString(), operators=operators).gaps
    assert gap.reason == "expected a value of parameter 'word', found none"


def _program(coreml, result, **arguments):
    operation = coreml.operation("Scaled", [coreml.tensor("y", result, 1, 3)], x="x", **arguments)
    inputs = [coreml.tensor("x", FLOAT32, 1, 3)]
    return coreml.program([operation], inputs, ["y"]).SerializeToString()


FLOAT16, FLOAT32 = 10, 11
"""Values of DataType."""


def _texts(coreml, *words):
    """A list of texts, as a constant."""
    made = schema.Value()
    made.type.listType.SetInParent()
    made.immediateValue.list.values.extend(map(coreml.value, words))
    return made


def test_arguments_of_an_operation_go_by_their_names(coreml, scaled, operators):
    given = {"offset": coreml.value(OFFSET), "factor": coreml.value(np.float32(2.5)), "word": coreml.value("a")}
    graph, _ = from_coreml(_program(coreml, FLOAT32, **given), operators=operators)
    assert [node.op for node in graph.nodes] == [scaled(2.5, False, (), "a")]
    np.testing.assert_array_equal(interpret(graph, {"x": X})["y"], X * 2.5 + OFFSET)


def test_lists_of_text_are_attributes_and_text_is_no_input(coreml):
    @dataclass(frozen=True, slots=True)
    class Named(Operator):
        name = "coreml.Scaled"
        words: tuple[str, ...] = ()

        def infer(self, x, offset=None):
            return (x,)

    operators = OPS.with_ops(Named)
    graph, _ = from_coreml(_program(coreml, FLOAT32, words=_texts(coreml, "a", "b")), operators=operators)
    assert [node.op for node in graph.nodes] == [Named(("a", "b"))]
    (gap,) = check(_program(coreml, FLOAT32, others=_texts(coreml, "a")), operators=operators).gaps
    assert gap.reason.startswith("coreml.Scaled has no attribute 'others'")
    (gap,) = check(_program(coreml, FLOAT32, offset=coreml.value("a")), operators=operators).gaps
    assert gap.reason == "expected a tensor as 'offset', found text"


def test_an_operation_of_another_type_than_declared_is_refused(coreml, operators):
    given = {"offset": coreml.value(OFFSET), "factor": coreml.value(np.float32(2.5))}
    with pytest.raises(FrontendError, match="expected float16 as 'y', as the program declares, found float32"):
        from_coreml(_program(coreml, FLOAT16, **given), operators=operators)


def test_what_nobody_brings_says_how(model, coreml):
    for data in (model([], factor=1.0), _program(coreml, FLOAT32)):
        (gap,) = check(data).gaps
        assert gap.help.startswith("bring the operator (operators=, or an installed package: docs/operators.md), or ")
