"""Layers of users' operators: a class that is registered as `Acme>Swish` is the operator of name Acme.Swish, a class
`Swish` that of name keras.Swish.

Settings are the fields of the operator; the layer's variables, in their order, are inputs behind those of the call.
"""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.custom import convert_custom
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.layers import leaves
from sateen.frontends.keras.node import KerasNode
from sateen.frontends.keras.steps import Tensor
from sateen.graph_ir.ir import Value
from sateen.topi.operators import Operator

_OF_EVERY_LAYER = frozenset(
    {"activity_regularizer", "autocast", "batch_input_shape", "batch_shape", "dtype", "dynamic", "name", "trainable"}
)
"""Settings that keras.layers.Layer has itself."""
_OF_TRAINING = ("_constraint", "_initializer", "_regularizer")
"""How settings end that say how a layer is trained."""


def converted_custom(node: KerasNode, operator: type[Operator]) -> Sequence[Value]:
    """The outputs of a layer. Raises FrontendError if its settings are not the operator's attributes, and
    UnsupportedError for masks, for arguments other than tensors, and for variables of layers inside it."""
    node.refuse_masks()
    given = node.step_call.arguments
    named = [name for name, value in given.named.items() if value is not None and name != "training"]
    if named or not all(any(leaves(item, Tensor)) for item in given.positional):
        raise UnsupportedError("arguments of its call other than tensors in order are not supported")
    if not all(name.isdecimal() for name in node.weights):
        raise UnsupportedError("variables of layers inside it are not supported", "make them the layer's own")
    is_float = {name: data.dtype.kind not in "biu" for name, data in node.weights.items()}
    weights = [
        node.weight(name) if is_float[name] else node.weight_as_stored(name) for name in sorted(node.weights, key=int)
    ]
    settings = {
        name: value
        for name, value in node.layer.config.items()
        if name not in _OF_EVERY_LAYER and not name.endswith(_OF_TRAINING)
    }
    return convert_custom(node, operator, settings, [*node.values(), *weights])
