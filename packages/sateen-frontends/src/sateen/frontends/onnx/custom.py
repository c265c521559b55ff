"""Nodes of users' operators, described to the importer in the way of ONNX's own operators.

A node of domain D and type T is the operator of name D.T; the standard domain is called ai.onnx. Attributes are the
fields of the operator, inputs the parameters of its method `infer`.
"""

from __future__ import annotations

import inspect
from dataclasses import MISSING, Field, fields
from typing import Any, get_type_hints

from onnx.defs import OpSchema

from sateen.frontends.core.custom import users_operator, without_none
from sateen.frontends.onnx.tensors import SCHEMA_NAMES
from sateen.graph_ir.ir import OpSet
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
    return users_operator(operators, f"{domain or 'ai.onnx'}.{operator}")


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
    type_ = _ATTRIBUTE_TYPES.get(without_none(kind))
    if type_ is not None:
        return OpSchema.Attribute(field.name, type_, required=required)
    if required:
        raise FrontendError(f"field {field.name!r} of {operator.name} has no kind of attribute in ONNX")
    return None
