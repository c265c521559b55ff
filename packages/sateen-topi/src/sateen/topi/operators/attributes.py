"""Attributes of operators: fields of frozen dataclasses, checked by their annotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError
from sateen.topi.dimensions import Dim


def attributes_of(op: Any) -> dict[str, object]:
    """The fields of a dataclass that differ from their defaults, in order."""
    return {f.name: getattr(op, f.name) for f in fields(op) if getattr(op, f.name) != f.default}


def check_attributes(op: Any, op_name: str) -> None:
    """Raises ArgumentError if a field of a dataclass does not fit its annotation, or can change."""
    own: Any = type(op)
    for name, kind, default in _kinds(own):
        value = getattr(op, name)
        if value is not default and not is_of(value, kind):
            raise ArgumentError(
                f"{op_name}: {name} expects {kind_text(kind)}, found {value!r:.200}{_remedy(value, kind)}"
            )
    try:
        hash(op)
    except TypeError as error:
        raise ArgumentError(f"{op_name}: expected attributes that can't change, such as tuples: {error}") from None


@cache
def _kinds(op: type) -> tuple[tuple[str, Any, object], ...]:
    """The name, the annotation and the default of each field of a class of operators."""
    try:
        hints = get_type_hints(op)
    except NameError as error:
        raise ArgumentError(
            f"{op.__name__}: expected annotations of fields that can be resolved at run time, found: {error}"
        ) from None
    return tuple((f.name, hints[f.name], f.default) for f in fields(op))


def is_of(value: object, kind: Any) -> bool:
    """Whether the value of an attribute fits its annotation."""
    arguments = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        return any(is_of(value, k) for k in arguments)
    if get_origin(kind) is tuple:
        if not isinstance(value, tuple):
            return False
        kinds = arguments[:1] * len(value) if arguments[-1:] == (...,) else arguments
        return len(kinds) == len(value) and all(map(is_of, value, kinds))
    if kind in (int, float):
        return isinstance(value, (int, kind)) and not isinstance(value, bool)
    return isinstance(value, kind) if isinstance(kind, type) else True


_KIND_TEXTS: Mapping[Any, str] = {
    int: "an integer", float: "a number", bool: "True or False", str: "text", type(None): "None",
}  # fmt: skip
_PLURALS: Mapping[Any, str] = {int: "integers", float: "numbers", str: "texts", Dim: "dimensions"}


def kind_text(kind: Any) -> str:
    """The name of a kind of attributes in messages."""
    arguments = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(map(kind_text, arguments))
    if get_origin(kind) is tuple:
        return f"a tuple of {_PLURALS.get(arguments[0], 'values')}"
    return _KIND_TEXTS.get(kind, f"a {getattr(kind, '__name__', kind)}")


def _remedy(value: object, kind: Any) -> str:
    """The hint what to write instead of an unfit attribute, if that is clear."""
    if get_origin(kind) is tuple and isinstance(value, (list, tuple)):
        numbers = tuple(v.item() if isinstance(v, np.generic) else v for v in value)
        return f"; write {numbers!r}" if is_of(numbers, kind) else ""
    if get_origin(kind) is tuple and isinstance(value, (int, float, str)):
        return f"; give one for each, such as ({value!r}, {value!r})"
    if isinstance(value, np.generic) and is_of(value.item(), kind):
        return f"; write {value.item()!r}"
    if kind is DType and isinstance(value, (str, np.dtype, type)):
        return f"; write DType.of({str(value)!r})" if isinstance(value, str) else "; write DType.of(…)"
    return ""
