"""Nodes of users' operators: attributes are the fields of the operator, inputs the parameters of its method `infer`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from sateen.frontends.core.node import ModelNode
from sateen.graph_ir.ir import OpSet, Value, infer
from sateen.runtime.errors import FrontendError, SateenError
from sateen.topi.operators import Operator, is_of, kind_text


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

    Raises FrontendError if its attributes are not the operator's, for more outputs, and where the operator fails.
    """
    kinds, name = attribute_kinds(operator), operator.op_name()
    described = fields(operator)  # type: ignore[arg-type]  # an operator is a dataclass
    required = {f.name for f in described if f.default is MISSING and f.default_factory is MISSING}
    if wrong := sorted(attributes.keys() - kinds.keys()) or sorted(required - attributes.keys()):
        what = "has no attribute" if wrong[0] in attributes else "needs attribute"
        raise FrontendError(f"{name} {what} {wrong[0]!r}; its attributes are {', '.join(sorted(kinds)) or 'none'}")
    values = {attribute: _field_value(value, kinds[attribute], attribute) for attribute, value in attributes.items()}
    if inputs is None:
        inputs = [node.value(i) if node.has(i) else None for i in range(len(node.inputs))]
    inputs = list(inputs)
    while inputs and inputs[-1] is None:  # as where they are left out
        inputs.pop()
    with _users_code(name):
        op = operator(**values)
        count = len(infer(op, inputs))
    if len(node.outputs) > count:
        raise FrontendError(f"expected at most {count} outputs of {name}, found {len(node.outputs)}")
    return node.results(op, *inputs, count=count)


def attribute_kinds(operator: type[Operator]) -> Mapping[str, Any]:
    """The annotations of an operator's attributes, by name."""
    hints = get_type_hints(operator)
    return {f.name: hints[f.name] for f in fields(operator)}  # type: ignore[arg-type]  # an operator is a dataclass


@contextmanager
def _users_code(name: str) -> Iterator[None]:
    """Refuses a node at which the user's own code fails, in whichever way."""
    try:
        yield
    except SateenError:
        raise
    except Exception as error:
        raise FrontendError(f"operator {name} failed by {type(error).__name__}: {error}") from error


def _field_value(value: Any, kind: Any, name: str) -> object:
    """The value of an attribute, converted for the field of its name. Raises FrontendError for one of another kind."""
    found = _in_form(value, kind)
    if not is_of(found, kind):
        raise FrontendError(f"expected {kind_text(kind)} as attribute {name!r}, found {value!r:.80}")
    return found


def _in_form(value: Any, kind: Any) -> object:
    """A value of a file as fields of a kind hold it: lists are tuples there, 0 and 1 may be flags, whole numbers may
    stand for any; as it is where no such form is."""
    arguments = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        if is_of(value, kind):
            return value
        forms = ((_in_form(value, k), k) for k in arguments)
        return next((form for form, k in forms if is_of(form, k)), value)
    if get_origin(kind) is tuple and isinstance(value, (list, tuple)):
        kinds = arguments[:1] * len(value) if arguments[-1:] == (...,) else arguments
        return tuple(map(_in_form, value, kinds)) if len(kinds) == len(value) else tuple(value)
    if kind is bool:
        return bool(value) if isinstance(value, int) and value in (0, 1) else value
    if kind in (int, float) and isinstance(value, (int, kind)):
        return kind(value)
    return value


def without_none(kind: Any) -> Any:
    """The type in an optional annotation, without None."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    others = [k for k in get_args(kind) if k is not NoneType]
    return others[0] if len(others) == 1 else kind
