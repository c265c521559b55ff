"""Nodes of users' operators: attributes are the fields of the operator, inputs the parameters of its method `infer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from sateen.frontends.core.node import ModelNode
from sateen.graph_ir.ir import OpSet, Value, infer
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator

_HELD: Mapping[type, tuple[type, ...]] = {bool: (bool, int), int: (int,), float: (float, int), str: (str,)}
"""The types of attributes that fields of each type hold."""


def users_operator(operators: OpSet, name: str) -> type[Operator] | None:
    """The user's operator of this name, None if it is ours or there is none."""
    found = operators.ops.get(name)
    return found if found is not None and found.name is not None else None


def custom_operator(operators: OpSet, type_: str, format_: str) -> type[Operator] | None:
    """The user's operator for nodes of a type that a format's reader does not know: that of name Acme.Swish for
    `Acme>Swish`, that of name FORMAT.Swish for `Swish`; None if there is none."""
    domain, _, name = type_.rpartition(">")
    return users_operator(operators, f"{domain.replace('>', '.') or format_}.{name}")


def convert_custom(
    node: ModelNode,
    operator: type[Operator],
    attributes: Mapping[str, Any],
    inputs: Sequence[Value | None] | None = None,
) -> Sequence[Value]:
    """The outputs of a node; formats whose weights are no inputs of nodes say what the operator's `inputs` are.

    Raises FrontendError if its attributes are not the operator's, or for more outputs.
    """
    kinds = get_type_hints(operator)
    described = fields(operator)  # type: ignore[arg-type]  # an operator is a dataclass
    required = {f.name for f in described if f.default is MISSING and f.default_factory is MISSING}
    known = {f.name for f in described}
    if wrong := sorted(attributes.keys() - known) or sorted(required - attributes.keys()):
        what = "has no attribute" if wrong[0] in attributes else "needs attribute"
        raise FrontendError(f"{operator.op_name()} {what} {wrong[0]!r}; its attributes are {', '.join(sorted(known))}")
    op = operator(**{name: _field_value(value, kinds[name], name) for name, value in attributes.items()})
    if inputs is None:
        inputs = [node.value(i) if node.has(i) else None for i in range(len(node.inputs))]
    count = len(infer(op, inputs))
    if len(node.outputs) > count:
        raise FrontendError(f"expected at most {count} outputs of {operator.op_name()}, found {len(node.outputs)}")
    return node.results(op, *inputs, count=count)


def _field_value(value: Any, kind: Any, name: str) -> object:
    """The value of an attribute, converted for the field of its name. Raises FrontendError for one of another type."""
    inner = without_none(kind)
    if value is None and inner is not kind:
        return None
    kind = inner
    if get_origin(kind) is tuple:
        if not isinstance(value, (list, tuple)):
            raise FrontendError(f"expected several values as attribute {name!r}, found {value!r}")
        return tuple(_field_value(item, get_args(kind)[0], name) for item in value)
    if kind is bool and value not in (0, 1):
        raise FrontendError(f"expected 0 or 1 as attribute {name!r}, found {value!r}")
    if not isinstance(value, _HELD.get(kind, kind)):
        raise FrontendError(f"expected {kind.__name__} as attribute {name!r}, found {value!r}")
    return kind(value) if kind in _HELD else value


def without_none(kind: Any) -> Any:
    """The type in an optional annotation, without None."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    others = [k for k in get_args(kind) if k is not NoneType]
    return others[0] if len(others) == 1 else kind
