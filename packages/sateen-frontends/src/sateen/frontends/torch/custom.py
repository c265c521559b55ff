"""Calls of users' operators: `acme::swish` is the operator of name acme.swish.

Tensors are its inputs, by the names of the parameters of `infer`; other arguments are its attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sateen.frontends.core.custom import attribute_kinds, convert_custom
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.element_types import dtype_of
from sateen.frontends.torch.node import TorchNode
from sateen.frontends.torch.program import Argument, ElementType, Foreign, Reference
from sateen.graph_ir.ir import Value
from sateen.topi.operators import Operator, parameters


def converted_custom(node: TorchNode, operator: type[Operator]) -> Sequence[Value]:
    """The outputs of a call. Raises FrontendError if its arguments are not the operator's inputs and attributes."""
    if not node.outputs:
        raise UnsupportedError("calls without results, which write into their inputs, are not supported",
                               "return what is computed")  # fmt: skip
    names, kinds = parameters(operator), attribute_kinds(operator)
    inputs: list[Value | None] = []
    for name in names:
        given = node.argument(name)
        inputs += node.optional_tensors(name) if isinstance(given, tuple) else [node.optional(name)]
    others = {name: node.argument(name) for name in node.named if name not in names}
    settings = {name: value for name, value in others.items() if name in kinds or not _is_empty(value)}
    return convert_custom(node, operator, {n: _setting(node, value, n) for n, value in settings.items()}, inputs)


def _is_empty(argument: Argument) -> bool:
    """Whether an argument says nothing that an operator could need: none, or the device that the model was on."""
    return argument is None or argument == Foreign("device")


def _setting(node: TorchNode, argument: Argument, name: str) -> Any:
    """The value of an attribute. Raises FrontendError for numbers that aren't known, UnsupportedError for element types
    that sateen does not have."""
    match argument:
        case Reference():
            return node.dim_of(argument, name)
        case ElementType(number=number):
            return dtype_of(number)
        case tuple():
            return tuple(_setting(node, item, name) for item in argument)
        case _:
            return argument
