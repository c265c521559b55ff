"""Function bodies: the meaning of an operator in terms of others, from the model or from the standard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx
from onnx.defs import OpSchema

from sateen.frontends.core.operands import Operand, type_of
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.onnx.attention_inputs import require_attention
from sateen.frontends.onnx.loading import subgraphs
from sateen.frontends.onnx.node import OnnxNode
from sateen.frontends.onnx.tensors import ELEMENT_TYPES

_NORMALIZATIONS = frozenset({"LayerNormalization", "RMSNormalization"})


def standard_body(node: OnnxNode) -> onnx.FunctionProto | None:
    """The body that ONNX gives for the operator, for these types and attributes; None if there is none.

    Raises FrontendError if the attribute `axis` is no axis of the first input, or inputs of an Attention don't fit,
    which bodies rely on.
    """
    schema: Any = node.schema  # onnx ships types without these members
    if node.operator in _NORMALIZATIONS:
        node.axis(node.rank(0))
    if node.operator == "Attention":
        require_attention(node)
    body = onnx.FunctionProto()
    fixed = [version for version in schema.function_opset_versions if version <= node.opset]
    if fixed:
        body.ParseFromString(schema.get_function_with_opset_version(max(fixed)))
        return body
    dependent = [version for version in schema.context_dependent_function_opset_versions if version <= node.opset]
    if not dependent:
        return None
    types = [_type_proto(operand).SerializeToString() for operand in node.inputs]
    try:
        data = schema.get_context_dependent_function_with_opset_version(
            max(dependent), node.proto.SerializeToString(), types
        )
    except RuntimeError as error:  # onnx writes some bodies as text, into which names must fit
        raise UnsupportedError(f"onnx can't make the body of this {node.operator}: {error}") from None
    body.ParseFromString(data)
    return body if body.node else None


def has_standard_body(schema: OpSchema) -> bool:
    description: Any = schema
    return bool(description.has_function or description.has_context_dependent_function)


def _type_proto(operand: Operand | None) -> onnx.TypeProto:
    if operand is None:
        return onnx.TypeProto()
    type_ = type_of(operand)
    shape = [extent if isinstance(extent, int) else str(extent) for extent in type_.shape]
    return onnx.helper.make_tensor_type_proto(ELEMENT_TYPES[type_.dtype], shape)


def instantiated(function: onnx.FunctionProto, attributes: Mapping[str, onnx.AttributeProto]) -> list[onnx.NodeProto]:
    """The nodes of a function with the attributes of a call, or their defaults, in the places that refer to them."""
    values = {attribute.name: attribute for attribute in function.attribute_proto} | dict(attributes)
    nodes = []
    for proto in function.node:
        node = onnx.NodeProto()
        node.CopyFrom(proto)
        nodes.append(node)
    pending: list[onnx.NodeProto] = list(nodes)
    while pending:
        node = pending.pop()
        _substitute(node, values)
        pending.extend(inner for graph in subgraphs(node) for inner in graph.node)
    return nodes


def _substitute(node: onnx.NodeProto, values: Mapping[str, onnx.AttributeProto]) -> None:
    """References to attributes become their values; a reference without a value is left out."""
    resolved: list[onnx.AttributeProto] = []
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            resolved.append(attribute)
        elif attribute.ref_attr_name in values:
            value = onnx.AttributeProto()
            value.CopyFrom(values[attribute.ref_attr_name])
            value.name = attribute.name
            resolved.append(value)
    if len(resolved) < len(node.attribute) or any(attribute.ref_attr_name for attribute in node.attribute):
        copies = [onnx.AttributeProto.FromString(attribute.SerializeToString()) for attribute in resolved]
        del node.attribute[:]
        node.attribute.extend(copies)


def call_attributes(node: onnx.NodeProto, schema: OpSchema | None) -> dict[str, onnx.AttributeProto]:
    """The attributes of a call, with the defaults of the operator's description."""
    defaults = (
        {}
        if schema is None
        else {name: rule.default_value for name, rule in schema.attributes.items() if rule.default_value.type}
    )
    return defaults | {attribute.name: attribute for attribute in node.attribute}
