"""Which operators ONNX has, by operator set: their inputs, attributes, defaults and function bodies.

The onnx package describes the operators of the standard. In addition there are some experimental ones that exporters
wrote before operator set 10 and that have no description there any more.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache, lru_cache

from onnx import helper
from onnx.defs import OpSchema, SchemaError, get_all_schemas_with_history, get_schema

_FLOATS = ["tensor(float16)", "tensor(float)", "tensor(double)"]
_LAST_EXPERIMENTAL = 9


def _experimental(name: str, *attributes: OpSchema.Attribute) -> OpSchema:
    return OpSchema(
        name, "", 1,
        inputs=[OpSchema.FormalParameter("input", "T")],
        outputs=[OpSchema.FormalParameter("output", "T")],
        type_constraints=[("T", _FLOATS, "")],
        attributes=list(attributes),
    )  # fmt: skip


def _default(name: str, value: float) -> OpSchema.Attribute:
    return OpSchema.Attribute(name, helper.make_attribute(name, value))


_EXPERIMENTAL = {
    "Affine": _experimental("Affine", _default("alpha", 1.0), _default("beta", 0.0)),
    "Crop": _experimental(
        "Crop",
        OpSchema.Attribute("border", OpSchema.AttrType.INTS, required=True),
        OpSchema.Attribute("scale", OpSchema.AttrType.INTS, required=False),
    ),
    "ImageScaler": _experimental(
        "ImageScaler", _default("scale", 1.0), OpSchema.Attribute("bias", OpSchema.AttrType.FLOATS, required=True)
    ),
    "ParametricSoftplus": _experimental("ParametricSoftplus", _default("alpha", 1.0), _default("beta", 1.0)),
    "ScaledTanh": _experimental("ScaledTanh", _default("alpha", 1.0), _default("beta", 1.0)),
}  # onnx 1.1 to 1.4, docs/Operators.md, section "experimental"


@lru_cache(maxsize=1024)
def schema_of(operator: str, domain: str, opset: int) -> OpSchema | None:
    """The description of an operator in an operator set; None if there is none, or it was withdrawn."""
    try:
        schema = get_schema(operator, opset, domain)
    except SchemaError:
        return _EXPERIMENTAL.get(operator) if domain == "" and opset <= _LAST_EXPERIMENTAL else None
    return None if schema.deprecated else schema


def likely_meant(operator: str, domain: str, opset: int) -> str:
    """A suggestion for a name that an operator set does not have; '' if nothing is similar."""
    versions = _versions().get(domain, {}).get(operator, [])
    if versions and min(versions) > opset:
        return f"there is one since operator set {min(versions)}"
    if versions:
        return "it was withdrawn"
    elsewhere = [other or "ai.onnx" for other, names in _versions().items() if operator in names]
    if elsewhere:
        return f"there is one in {elsewhere[0]}"
    known = _versions().get(domain, _versions()[""])
    names = [name for name, since in known.items() if min(since) <= opset or domain]
    alike = [name for name in names if name.lower().startswith(operator.lower())] if len(operator) > 2 else []
    close = alike[:3] or get_close_matches(operator, names, 3, 0.75)
    return f"names like it: {', '.join(close)}" if close else ""


@cache
def _versions() -> dict[str, dict[str, list[int]]]:
    """The operator sets in which each operator of each domain was defined or changed."""
    result: dict[str, dict[str, list[int]]] = {}
    for schema in get_all_schemas_with_history():
        result.setdefault(schema.domain, {}).setdefault(schema.name, []).append(schema.since_version)
    return result
