"""Layers of the application's code, which users' operators stand for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sateen.frontends.core.custom import convert_custom
from sateen.frontends.core.importer import Results
from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.place import Call
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.loading import Message
from sateen.frontends.coreml.network.weights import array_of
from sateen.frontends.coreml.steps import Custom
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator


def custom_of(layer: Message) -> Custom | None:
    """The layer as one of the user's, which the name of its class tells; None if it is one of CoreML's."""
    is_custom = layer.WhichOneof("layer") == "custom"
    return Custom(layer.custom.className, partial(_convert, layer.custom)) if is_custom else None


def _convert(parameters: Message, operator: type[Operator], call: Call) -> Results:
    """The parameters are the operator's attributes; the weights, vectors behind the layer's inputs: the application
    gets them as bytes, and the file does not tell their shapes (MLCustomLayer.setWeightData)."""
    given = {name: value.WhichOneof("value") for name, value in parameters.parameters.items()}
    if empty := [name for name, kind in given.items() if kind is None]:
        raise FrontendError(f"expected a value of parameter {empty[0]!r}, found none")
    attributes = {name: getattr(parameters.parameters[name], kind) for name, kind in given.items()}
    node = ModelNode(call, attributes)
    return convert_custom(node, operator, attributes, [*node.values(), *_weights(node, parameters.weights)])


def _weights(node: ModelNode, given: Sequence[Message]) -> list[Value]:
    vectors = []
    for index, weights in enumerate(given):
        if weights.rawValue or weights.int8RawValue:
            remedy = "give the layer weights of float32 or float16"
            raise UnsupportedError(f"weights {index} are quantised, in a way that only the application knows", remedy)
        count = len(weights.floatValue) or len(weights.float16Value) // 2
        name = f"weights.{index}"
        vectors.append(node.parameter(array_of(weights, (count,), name), name))
    return vectors
