"""Attributes of a node, checked against the description of its operator."""

from __future__ import annotations

from math import isfinite
from typing import Any

import onnx
from onnx import AttributeProto
from onnx.defs import OpSchema

from sateen.frontends.onnx.loading import text
from sateen.runtime.errors import FrontendError

_FIELDS = {
    AttributeProto.FLOAT: "f",
    AttributeProto.INT: "i",
    AttributeProto.STRING: "s",
    AttributeProto.TENSOR: "t",
    AttributeProto.GRAPH: "g",
    AttributeProto.FLOATS: "floats",
    AttributeProto.INTS: "ints",
    AttributeProto.STRINGS: "strings",
}

_LISTS = {
    AttributeProto.FLOAT: AttributeProto.FLOATS,
    AttributeProto.INT: AttributeProto.INTS,
    AttributeProto.STRING: AttributeProto.STRINGS,
}
"""Types of lists by that of their elements: a single attribute, as some exporters write it, stands for a list of
one."""

_FLAGS = frozenset({
    "allowzero", "antialias", "broadcast", "ceil_mode", "count_include_pad", "detect_negative", "detect_positive",
    "exclude_outside", "exclusive", "fmod", "input_forget", "is_causal", "keepdims", "largest", "linear_before_reset",
    "noop_with_empty_axes", "reverse", "saturate", "select_last_index", "sorted", "transA", "transB", "upper",
})  # fmt: skip
"""Attributes that the standard defines for the values 0 and 1 only."""
_DATA = frozenset({"extrapolation_value", "max", "min", "replaced_value_float", "value", "value_float"})
"""Attributes that are elements of a tensor or bounds of them, for which NaN and infinity have a meaning."""


def checked_attributes(proto: onnx.NodeProto, schema: OpSchema, opset: int) -> dict[str, Any]:
    """The values of all attributes, checked against the description of the operator, with its defaults.

    Raises FrontendError for one that the operator does not have, of another type, or given twice.
    """
    known = schema.attributes
    values = {
        name: _attribute_value(rule.default_value)
        for name, rule in known.items()
        if rule.default_value.type != AttributeProto.UNDEFINED
    }
    given: set[str] = set()
    for attribute in proto.attribute:
        name = text(attribute.name, "an attribute")
        if name not in known:
            raise FrontendError(f"{proto.op_type} of opset {opset} has no attribute {name!r}")
        if name in given:
            raise FrontendError(f"attribute {name!r} is given twice")
        expected, found = _code_of(known[name].type), attribute.type
        is_single = _LISTS.get(found) == expected
        if found != expected and not is_single:
            kinds = {code: kind for kind, code in AttributeProto.AttributeType.items()}
            raise FrontendError(
                f"expected attribute {name!r} of type {kinds[expected]}, found {kinds.get(found, found)}"
            )
        given.add(name)
        value = _attribute_value(attribute)
        _check_value(name, value)
        values[name] = [value] if is_single else value
    missing = [name for name, rule in known.items() if rule.required and name not in given]
    if missing:
        raise FrontendError(f"expected attribute {missing[0]!r}, found none")
    return values


def _attribute_value(attribute: AttributeProto) -> Any:
    field = _FIELDS.get(attribute.type)
    if field is None:
        return attribute
    value = getattr(attribute, field)
    if field == "s":
        return _decoded(value, attribute.name)
    if field == "strings":
        return [_decoded(item, attribute.name) for item in value]
    return list(value) if field in {"floats", "ints"} else value


def _check_value(name: str, value: Any) -> None:
    """Raises FrontendError for a flag other than 0 and 1, and for NaN or infinity in an attribute that is no data."""
    if name in _FLAGS and value not in {0, 1}:
        raise FrontendError(f"expected 0 or 1 as attribute {name!r}, found {value}")
    if isinstance(value, float) and not isfinite(value) and name not in _DATA:
        raise FrontendError(f"expected a finite number as attribute {name!r}, found {value}")


def _decoded(value: bytes, name: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise FrontendError(f"expected text in UTF-8 as attribute {name!r}, found {value!r}") from None


def _code_of(kind: Any) -> int:
    """The number of an attribute's type, which onnx's own types leave out."""
    return int(kind)
