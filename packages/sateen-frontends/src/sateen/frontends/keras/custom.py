"""Layers of users' operators: a class that is registered as `Acme>Swish` is the operator of name Acme.Swish, a class
`Swish` that of name keras.Swish.

Settings are the fields of the operator; the layer's variables, in their order, are inputs behind those of the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from sateen.frontends.core.custom import convert_custom
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.calls import shown
from sateen.frontends.keras.layers import Structure
from sateen.frontends.keras.node import KerasNode, policy_name
from sateen.frontends.keras.steps import Tensor
from sateen.graph_ir.ir import Value
from sateen.topi.operators import Operator

_OF_EVERY_LAYER = frozenset(
    {"activity_regularizer", "autocast", "batch_input_shape", "batch_shape", "dtype", "dynamic", "name", "trainable"}
)
"""Settings that keras.layers.Layer has itself."""
_OF_TRAINING = ("_constraint", "_initializer", "_regularizer")
"""How settings end that say how a layer is trained."""
_REMEDY = "call the layer with tensors alone, and make the others settings"


def converted_custom(node: KerasNode, operator: type[Operator]) -> Sequence[Value]:
    """The outputs of a layer. Raises FrontendError if its settings are not the operator's attributes, and
    UnsupportedError for masks, for arguments other than tensors, and for variables of layers inside it."""
    node.refuse_masks()
    if named := sorted(node.step_call.arguments.named.keys() - {"training"}):
        raise UnsupportedError(
            f"arguments of its call by name ({', '.join(map(repr, named))}) are not supported", _REMEDY
        )
    names = node.step_call.inputs
    inputs = [node.value(names.index(one.name)) for one in _in_order(node.step_call.arguments.positional)]
    if not all(name.isdecimal() for name in node.weights):
        raise UnsupportedError("variables of layers inside it are not supported", "make them the layer's own")
    is_float = {name: data.dtype.kind not in "biu" for name, data in node.weights.items()}
    weights = [
        node.weight(name) if is_float[name] else node.weight_as_stored(name) for name in sorted(node.weights, key=int)
    ]
    return convert_custom(node, operator, _settings(node, operator), [*inputs, *weights])


def _in_order(structure: Structure) -> Iterator[Tensor]:
    """The tensors of a call, those of a dictionary by its sorted keys, as in `tree.flatten` of Keras. Raises
    UnsupportedError for anything else among them."""
    match structure:
        case Tensor():
            yield structure
        case list() | tuple() if structure:
            for item in structure:
                yield from _in_order(item)
        case dict() if structure:
            for name in sorted(structure):
                yield from _in_order(structure[name])
        case _:
            raise UnsupportedError(f"{shown(structure)} among the tensors of its call is not supported", _REMEDY)


def _settings(node: KerasNode, operator: type[Operator]) -> Mapping[str, Any]:
    """What a layer's configuration says to the operator: all but what every layer has and what only training needs; of
    these, too, what is a field of the operator. The type is its name in files of all versions."""
    known = {field.name for field in fields(operator)}  # type: ignore[arg-type]  # an operator is a dataclass
    return {
        name: policy_name(value) if name == "dtype" else value
        for name, value in node.layer.config.items()
        if name in known or not (name in _OF_EVERY_LAYER or name.endswith(_OF_TRAINING))
    }
