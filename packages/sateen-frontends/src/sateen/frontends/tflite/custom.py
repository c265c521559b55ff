"""Nodes of users' operators: `Acme>Swish` is the operator of name Acme.Swish, `Swish` that of name tflite.Swish.

Options, a map of FlexBuffers, are the fields of the operator. The integers of quantised tensors are its inputs.
"""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.custom import convert_custom
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tflite.flexbuffers import read_map
from sateen.frontends.tflite.node import TfliteNode
from sateen.graph_ir.ir import Value
from sateen.topi.operators import Operator


def converted_custom(node: TfliteNode, operator: type[Operator]) -> Sequence[Value]:
    """The outputs of a node. Raises FrontendError if its options are not the operator's attributes."""
    options = read_map(node.operation.custom) if node.operation.custom else {}
    unread = [name for name, value in options.items() if value is None]
    if unread:
        raise UnsupportedError(f"option {unread[0]!r} is neither a number, text nor a vector of numbers")
    return convert_custom(node, operator, options)
