"""Layers of users' operators: type `Swish` is the operator of name caffe.Swish, and so is a Python layer of that class.

Parameters are its attributes; blobs of weights are its inputs behind the bottoms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_origin

from sateen.frontends.caffe.network import Layer
from sateen.frontends.caffe.node import CaffeNode
from sateen.frontends.caffe.parameters import FLAGS, OF_EVERY_LAYER
from sateen.frontends.caffe.text_format import Message, Scalar, Word
from sateen.frontends.core.custom import attribute_kinds, convert_custom, without_none
from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

_OF_PYTHON = frozenset({"layer", "module", "share_in_parallel"})
"""Parameters of Python layers that say which class they are, and how it runs; `param_str` is the operator's."""


def custom_type_of(layer: Layer) -> str:
    """The type of a layer; of a Python layer, its class."""
    if layer.type != "Python":
        return layer.type
    return next((part.text("layer") for part in layer.message.messages("python_param")), "")


def converted_custom(node: CaffeNode, operator: type[Operator]) -> Sequence[Value]:
    """The outputs of a layer. Raises FrontendError if its parameters are not the operator's attributes."""
    weights = [node.weight(index, *blob.shape) for index, blob in enumerate(node.blobs)]
    given = _parameters_of(node.layer)
    kinds = {name: get_origin(without_none(kind)) for name, kind in attribute_kinds(operator).items()}
    attributes = {name: values if kinds.get(name) is tuple else _one(name, values) for name, values in given.items()}
    return convert_custom(node, operator, attributes, [*node.values(), *weights])


def _one(name: str, values: tuple[Any, ...]) -> Any:
    if len(values) != 1:
        raise FrontendError(f"expected {name} once, found it {len(values)} times")
    return values[0]


def _parameters_of(layer: Layer) -> dict[str, tuple[Any, ...]]:
    """The fields of the one message beside the fields of every layer, each with all of its values.

    Raises UnsupportedError for several messages, and for a field that is a message itself.
    """
    own = [name for name in layer.message.fields if name not in OF_EVERY_LAYER]
    parts = [part for name in own for part in layer.message.messages(name)]
    if len(parts) > 1:
        raise UnsupportedError(f"parameters in {len(parts)} messages, {', '.join(own)}, are not supported")
    leaves_out = _OF_PYTHON if layer.type == "Python" else frozenset[str]()
    return {
        name: _values(name, given) for part in parts for name, given in part.fields.items() if name not in leaves_out
    }


def _values(name: str, given: Sequence[Scalar | Message]) -> tuple[Any, ...]:
    """The values of a field without a known type: a flag is a word."""
    if any(isinstance(value, Message) for value in given):
        raise UnsupportedError(f"parameter {name!r} is a message, not numbers or text")
    values = [FLAGS.get(value, value) if isinstance(value, Word) else value for value in given]
    return tuple(str(value) if isinstance(value, str) else value for value in values)
