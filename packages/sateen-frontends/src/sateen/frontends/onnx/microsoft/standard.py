"""Operators of onnxruntime as those of the standard: the same under another name, or a composition of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from onnx import AttributeProto, helper

from sateen.frontends.core.folding import outputs_of
from sateen.frontends.core.operands import Operand
from sateen.frontends.onnx.converters import CONVERTERS
from sateen.frontends.onnx.node import Converter, OnnxNode
from sateen.frontends.onnx.schemas import schema_of
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Slice

OPSET = 21
"""The operator set in which the standard's operators are meant."""


def as_standard(operator: str, *dropped: str, opset: int = OPSET) -> Converter:
    """Converts a node as one of the standard, without the `dropped` attributes."""

    def convert(node: OnnxNode) -> Operand | Sequence[Operand]:
        attributes = [a for a in node.proto.attribute if a.name not in dropped]
        return CONVERTERS[operator](_standard(node, operator, node.inputs, node.outputs, attributes, opset))

    return convert


def applied(
    node: OnnxNode,
    operator: str,
    inputs: Sequence[Operand | None],
    attributes: Mapping[str, object] = {},  # never written to
    *,
    result: bool = False,
) -> Value:
    """The first output of an operator of the standard; with `result`, it is the node's."""
    name = node.outputs[0] if result else node.name_beside(operator.lower())
    given = [helper.make_attribute(key, value) for key, value in attributes.items() if value is not None]
    inner = _standard(node, operator, inputs, (name,), given, OPSET)
    found = outputs_of(CONVERTERS[operator](inner))[0]
    return found if isinstance(found, Value) else node.parameter(found, operator.lower())


def _standard(
    node: OnnxNode,
    operator: str,
    inputs: Sequence[Operand | None],
    outputs: Sequence[str],
    attributes: Sequence[AttributeProto],
    opset: int,
) -> OnnxNode:
    schema = schema_of(operator, "", opset)
    assert schema is not None, operator
    names = [name if given is not None else "" for name, given in zip(_names(node, inputs), inputs, strict=True)]
    proto = helper.make_node(operator, names, list(outputs))
    proto.attribute.extend(attributes)
    heading = replace(
        node.call.heading, operator=operator, inputs=tuple(names), outputs=tuple(outputs), domain="", opset=opset
    )
    call = replace(node.call, heading=heading, inputs=tuple(inputs), outputs=tuple(outputs))
    return node.standing_for(proto, schema, call)


def _names(node: OnnxNode, inputs: Sequence[Operand | None]) -> list[str]:
    """Names of operands: the model's where they are its own."""
    known = {id(operand): name for operand, name in zip(node.inputs, node.call.heading.inputs, strict=True)}
    return [known.get(id(operand), f"{node.operator}.{i}") for i, operand in enumerate(inputs)]


def part(node: OnnxNode, data: Value, axis: int, begin: int, end: int, step: int = 1) -> Value:
    """Indices [begin, end) of an axis, `step` apart."""
    starts, ends, steps = [0] * data.type.rank, list(data.type.shape), [1] * data.type.rank
    starts[axis], ends[axis], steps[axis] = begin, end, step
    return node.step(Slice(tuple(starts), tuple(ends), tuple(steps)), data)
