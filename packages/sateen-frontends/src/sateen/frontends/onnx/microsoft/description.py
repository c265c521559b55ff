"""Descriptions of onnxruntime's operators, in the way of the standard's, which the onnx package does not have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from onnx import helper
from onnx.defs import OpSchema

from sateen.frontends.onnx.node import Converter
from sateen.frontends.onnx.tensors import SCHEMA_NAMES

_KINDS = {
    "float": {"tensor(float16)", "tensor(bfloat16)", "tensor(float)", "tensor(double)"},
    "index": {"tensor(int32)", "tensor(int64)"},
    "byte": {"tensor(uint8)", "tensor(int8)"},
    "any": set(SCHEMA_NAMES.values()),
}
"""The element types that an input may have, by the word behind its name; `float` if there is none."""
_TYPES = {
    int: OpSchema.AttrType.INT,
    float: OpSchema.AttrType.FLOAT,
    str: OpSchema.AttrType.STRING,
    list[int]: OpSchema.AttrType.INTS,
    list[float]: OpSchema.AttrType.FLOATS,
    list[str]: OpSchema.AttrType.STRINGS,
}


@dataclass(frozen=True, slots=True)
class Description:
    """An operator of domain com.microsoft and its conversion.

    `inputs` are names in order, each perhaps with a kind (`mask:index`); `?` marks those that may be absent, `*` the
    last one that stands for any number. `outputs` is the most outputs of a node. `attributes` have a default, or the
    type of one without; `int`, `float` and `str` are such types.
    """

    convert: Converter
    inputs: str
    outputs: int = 1
    attributes: Mapping[str, object] = field(default_factory=dict)

    def schema(self, name: str, domain: str) -> OpSchema:
        """The description that the importer checks a node by."""
        inputs, optional = list(_inputs(self.inputs)), OpSchema.FormalParameterOption.Optional
        return OpSchema(
            name, domain, 1,
            inputs=[formal for formal, _ in inputs],
            outputs=[_formal(f"output{i}", "any", optional) for i in range(self.outputs)],
            type_constraints=[*((f.type_str, sorted(_KINDS[kind]), "") for f, kind in inputs), *_any(self.outputs)],
            attributes=[_attribute(name, given) for name, given in self.attributes.items()],
        )  # fmt: skip


def _inputs(text: str) -> Iterator[tuple[OpSchema.FormalParameter, str]]:
    options = OpSchema.FormalParameterOption
    marks = {"": options.Single, "?": options.Optional, "*": options.Variadic}
    for word in text.split():
        found = re.fullmatch(r"(\w+)(?::(\w+))?([?*]?)", word)
        assert found is not None, word
        name, kind, mark = found.groups()
        yield _formal(name, name, marks[mark]), kind or "float"


def _formal(name: str, type_: str, option: OpSchema.FormalParameterOption) -> OpSchema.FormalParameter:
    return OpSchema.FormalParameter(name, type_, param_option=option, is_homogeneous=False, min_arity=0)


def _any(outputs: int) -> list[tuple[str, list[str], str]]:
    return [("any", sorted(_KINDS["any"]), "")] if outputs else []


def _attribute(name: str, given: object) -> OpSchema.Attribute:
    if given in _TYPES:
        return OpSchema.Attribute(name, _TYPES[given], required=False)
    return OpSchema.Attribute(name, helper.make_attribute(name, given))
