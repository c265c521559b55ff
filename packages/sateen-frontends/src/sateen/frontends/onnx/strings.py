"""Strings, which no graph has: an operand of strings holds int64 positions in its vocabulary.

Labels of classes and what chooses among them are such operands. Few operators take them; for the others strings are a
gap, so that no position is taken for a number of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from onnx import TensorProto, ValueInfoProto

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.place import Call
from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError
from sateen.topi.types import MOST_DIMENSIONS

Vocabulary = tuple[str, ...]

MOST_BYTES = 1 << 24
"""The most bytes of the strings of a tensor."""

_MOVED = {
    **dict.fromkeys(
        (
            "ArrayFeatureExtractor", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity", "Reshape",
            "Slice", "Squeeze", "Tile", "Transpose", "Unsqueeze",
        ),
        (0,),
    ),
    "Where": (1, 2),
}  # fmt: skip
"""Operators that move elements, and the inputs whose elements they move."""
_ENCODERS = ("CategoryMapper", "LabelEncoder", "OneHotEncoder")
"""Operators that look at the strings of their first input."""
_REMEDY = "end the model before this node, or begin it behind (outputs=, inputs=, --to, --from)"


def is_strings(value: ValueInfoProto) -> bool:
    """Whether a value is declared as a tensor of strings."""
    return value.type.HasField("tensor_type") and value.type.tensor_type.elem_type == TensorProto.STRING


def positions_of(strings: Sequence[str], shape: Sequence[int]) -> tuple[Array, Vocabulary]:
    """Strings as positions of this shape in their vocabulary: all that there are, sorted if one is there twice."""
    different = set(strings)
    vocabulary = tuple(sorted(different) if len(different) < len(strings) else strings)
    places = {string: place for place, string in enumerate(vocabulary)}
    return np.array([places[string] for string in strings], np.int64).reshape(shape), vocabulary


def strings_of(tensor: TensorProto, what: str) -> tuple[Array, Vocabulary]:
    """A tensor of strings as positions. Raises FrontendError if it is damaged or too large."""
    extents = list(tensor.dims)
    if len(extents) > MOST_DIMENSIONS or any(extent < 0 for extent in extents):
        raise FrontendError(f"{what}: expected at most {MOST_DIMENSIONS} dimensions of zero or more, found {extents}")
    if prod(extents) != len(tensor.string_data):
        raise FrontendError(f"{what}: {extents} takes {prod(extents)} strings, found {len(tensor.string_data)}")
    if sum(map(len, tensor.string_data)) > MOST_BYTES:
        raise FrontendError(f"{what}: expected at most {MOST_BYTES} bytes of strings, found more")
    try:
        strings = [data.decode() for data in tensor.string_data]
    except UnicodeDecodeError as error:
        raise FrontendError(f"{what}: expected strings in UTF-8: {error}") from None
    return positions_of(strings, extents)


class Vocabularies:
    """Which operands hold positions of strings, and of which."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Operand, Vocabulary]] = {}  # by identity of the operand, which is kept alive

    def of(self, operand: object) -> Vocabulary | None:
        """The strings of an operand; None if it holds numbers, or is no operand."""
        known = self._known.get(id(operand))
        return None if known is None else known[1]

    def note(self, operand: Operand, vocabulary: Vocabulary) -> None:
        self._known[id(operand)] = (operand, vocabulary)

    def of_inputs(self, call: Call) -> tuple[Vocabulary | None, ...]:
        """The strings of the inputs of a node. Raises UnsupportedError for strings where the operator has no rule."""
        found = tuple(self.of(operand) for operand in call.inputs)
        allowed = _moved_by(call) or ((0,) if call.heading.operator in _ENCODERS else ())
        taken = [index for index, vocabulary in enumerate(found) if vocabulary is not None]
        if not set(allowed).issuperset(taken):
            raise UnsupportedError(f"{call.heading.operator} of strings is not supported", _REMEDY)
        return found

    def moved(self, call: Call) -> Vocabulary | None:
        """The strings of the results of a node that moves them; None if it gives numbers.

        Raises UnsupportedError where it joins strings of different vocabularies."""
        found = {self.of(call.inputs[index]) for index in _moved_by(call) if index < len(call.inputs)}
        if len(found) > 1:
            raise UnsupportedError("strings of different vocabularies can't be joined", _REMEDY)
        return next(iter(found), None)


def _moved_by(call: Call) -> tuple[int, ...]:
    operator = call.heading.operator
    return tuple(range(len(call.inputs))) if operator == "Concat" else _MOVED.get(operator, ())
