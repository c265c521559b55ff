"""Nodes of users' operators: `Acme>Swish` is the operator of name Acme.Swish, `Swish` that of name tensorflow.Swish.

Attributes are the fields of the operator. Those of types (`T`) and of the framework (`_class`) need no field.
"""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.custom import attribute_kinds, convert_custom
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.node import TensorflowNode
from sateen.graph_ir.ir import Value
from sateen.topi.operators import Operator


def converted_custom(node: TensorflowNode, operator: type[Operator]) -> Sequence[Value]:
    """The outputs of a node. Raises FrontendError if its attributes are not the operator's, and UnsupportedError in a
    function if there are several outputs: there they go by names that the file does not number."""
    known = attribute_kinds(operator)
    attributes = {
        name: node.attribute(name)
        for name, given in node.operation.attributes.items()
        if name in known or not (name.startswith("_") or given.WhichOneof("value") == "type" or given.list.type)
    }
    results = convert_custom(node, operator, attributes)
    if node.operation.call and len(results) > 1:
        raise UnsupportedError(
            "a function reads its outputs by names, of which the file does not tell the order",
            "give the operator one output, or freeze the graph",
        )
    return results
