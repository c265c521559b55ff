"""Operations that the format does not have, which users' operators stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from sateen.frontends.core.custom import convert_custom
from sateen.frontends.core.importer import Results
from sateen.frontends.core.place import Call
from sateen.frontends.coreml.program.node import OperationNode, Slots
from sateen.frontends.coreml.steps import Custom
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError
from sateen.topi.operators import Operator, parameters

Texts = Mapping[str, str | tuple[str, ...]]
"""The arguments that are text, or lists of it."""


def custom_of(kind: str, slots: Slots, texts: Texts, dtypes: Sequence[DType | None]) -> Custom:
    """An operation as one of the user's, which its type tells."""
    return Custom(kind, partial(_convert, slots, texts, dtypes))


def _convert(
    slots: Slots, texts: Texts, dtypes: Sequence[DType | None], operator: type[Operator], call: Call
) -> Results:
    """Arguments go by their names: to the parameters of `infer`, and to attributes, which must be constants.

    Raises FrontendError for text as an input, and if a result has another element type than the program declares.
    """
    node = OperationNode(call, slots, {}, dtypes)
    inputs: list[Value | None] = []
    for name in parameters(operator):
        if name in texts:
            raise FrontendError(f"expected a tensor as {name!r}, found text")
        inputs += node.take_all(name) or [None]
    settings = [name for name in slots if name not in parameters(operator) and node.given(name)]
    attributes = {**{name: node.attribute(name) for name in settings}, **texts}
    results = convert_custom(node, operator, attributes, inputs)
    for name, value, dtype in zip(node.outputs, results, dtypes, strict=False):
        if dtype is not None and dtype != value.type.dtype:
            raise FrontendError(f"expected {dtype} as {name!r}, as the program declares, found {value.type}")
    return results
