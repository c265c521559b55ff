"""Calls of users' operators: `acme::swish` is the operator of name acme.swish.

Tensors are its inputs, by the names of the parameters of `infer`; other arguments are its attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from sateen.frontends.core.custom import convert_custom
from sateen.frontends.torch.node import MEANINGLESS, TorchNode
from sateen.graph_ir.ir import Value
from sateen.topi.operators import Operator, parameters


def converted_custom(node: TorchNode, operator: type[Operator]) -> Sequence[Value]:
    """The outputs of a call. Raises FrontendError if its arguments are not the operator's inputs and attributes."""
    names = parameters(operator)
    inputs: list[Value | None] = []
    for name in names:
        given = node.argument(name)
        inputs += node.optional_tensors(name) if isinstance(given, tuple) else [node.optional(name)]
    while inputs and inputs[-1] is None:
        inputs.pop()
    attributes = {field.name for field in fields(operator)}  # type: ignore[arg-type]  # an operator is a dataclass
    settings = [name for name in node.named if name not in names and (name in attributes or name not in MEANINGLESS)]
    return convert_custom(node, operator, {name: node.argument(name) for name in settings}, inputs)
