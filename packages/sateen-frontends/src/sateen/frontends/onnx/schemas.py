"""Which operators ONNX has, by operator set: their inputs, attributes, defaults and function bodies.

The onnx package describes the operators of the standard. Beside these stand some experimental ones that exporters
wrote before operator set 10 and that no longer have a description there.
"""

from __future__ import annotations

from functools import lru_cache

from onnx import helper
from onnx.defs import OpSchema, SchemaError, get_schema

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
    """The description of an operator as of an operator set; None where there is none, or it was withdrawn."""
    try:
        schema = get_schema(operator, opset, domain)
    except SchemaError:
        return _EXPERIMENTAL.get(operator) if domain == "" and opset <= _LAST_EXPERIMENTAL else None
    return None if schema.deprecated else schema
