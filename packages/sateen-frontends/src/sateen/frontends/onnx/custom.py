"""Nodes of users' operators, described to the importer in the way of ONNX's own operators.

A node of domain D and type T is the operator of name D.T; the standard domain is called ai.onnx. Attributes are the
fields of the operator, inputs the parameters of its method `infer`.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import MISSING, Field, fields
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from onnx.defs import OpSchema

from sateen.frontends.onnx.node import OnnxNode
from sateen.frontends.onnx.tensors import SCHEMA_NAMES
from sateen.graph_ir.ir import OpSet, Value, infer
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator, parameters

_ATTRIBUTE_TYPES = {
    bool: OpSchema.AttrType.INT,
    int: OpSchema.AttrType.INT,
    float: OpSchema.AttrType.FLOAT,
    str: OpSchema.AttrType.STRING,
    tuple[int, ...]: OpSchema.AttrType.INTS,
    tuple[float, ...]: OpSchema.AttrType.FLOATS,
    tuple[str, ...]: OpSchema.AttrType.STRINGS,
}
"""The ONNX types of attributes, by the annotation of a field."""


def operator_named(operators: OpSet, domain: str, operator: str) -> type[Operator] | None:
    """The user's operator for nodes of this domain and type."""
    found = operators.ops.get(f"{domain or 'ai.onnx'}.{operator}")
    return found if found is not None and found.name is not None else None


def schema_of_operator(operator: type[Operator]) -> OpSchema:
    """The description of an operator. Raises FrontendError if it has an attribute that ONNX can't express."""
    domain, _, name = operator.op_name().rpartition(".")
    kinds = get_type_hints(operator)
    inputs = [_input(i, p) for i, p in enumerate(parameters(operator).values())]
    return OpSchema(
        name, domain, 1,
        inputs=inputs,
        outputs=[_formal("outputs", "T", OpSchema.FormalParameterOption.Variadic)],
        type_constraints=[(t, list(SCHEMA_NAMES.values()), "") for t in ("T", *(p.type_str for p in inputs))],
        attributes=[a for f in fields(operator) if (a := _attribute(operator, f, kinds[f.name])) is not None],  # type: ignore[arg-type]
    )  # fmt: skip


def convert_custom(node: OnnxNode, operator: type[Operator]) -> Sequence[Value]:
    """The outputs of a node. Raises FrontendError if it has more of them than the operator."""
    kinds = get_type_hints(operator)
    attributes = {a.name: _field_value(node.attribute(a.name), kinds[a.name], a.name) for a in node.proto.attribute}
    op = operator(**attributes)
    inputs = [node.value(i) if node.has(i) else None for i in range(len(node.inputs))]
    count = len(infer(op, inputs))
    if len(node.outputs) > count:
        raise FrontendError(f"expected at most {count} outputs of {operator.name}, found {len(node.outputs)}")
    return node.results(op, *inputs, count=count)


def _input(index: int, parameter: inspect.Parameter) -> OpSchema.FormalParameter:
    """An input of any element type. Without a default it is required; `*inputs` are any number."""
    options = OpSchema.FormalParameterOption
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return _formal(parameter.name, f"T{index}", options.Variadic)
    required = parameter.default is inspect.Parameter.empty
    return _formal(parameter.name, f"T{index}", options.Single if required else options.Optional)


def _formal(name: str, type_: str, option: OpSchema.FormalParameterOption) -> OpSchema.FormalParameter:
    return OpSchema.FormalParameter(name, type_, param_option=option, is_homogeneous=False, min_arity=0)


def _attribute(operator: type[Operator], field: Field[Any], kind: Any) -> OpSchema.Attribute | None:
    """The attribute of a field; none for a type that ONNX lacks: the field keeps its default."""
    required = field.default is MISSING and field.default_factory is MISSING
    type_ = _ATTRIBUTE_TYPES.get(_without_none(kind))
    if type_ is not None:
        return OpSchema.Attribute(field.name, type_, required=required)
    if required:
        raise FrontendError(f"field {field.name!r} of {operator.name} has no kind of attribute in ONNX")
    return None


def _field_value(value: Any, kind: Any, name: str) -> object:
    """The value of an attribute, converted for the field of its name."""
    kind = _without_none(kind)
    if kind is bool and value not in (0, 1):
        raise FrontendError(f"expected 0 or 1 as attribute {name!r}, found {value}")
    return tuple(value) if isinstance(value, list) else kind(value)


def _without_none(kind: Any) -> Any:
    """The type in an optional annotation, without None."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    others = [k for k in get_args(kind) if k is not NoneType]
    return others[0] if len(others) == 1 else kind
