"""Recurrent layers."""

from __future__ import annotations

from weft.frontends.onnx.emitter import Operand
from weft.frontends.onnx.node import Converter, ImportedNode, Unsupported
from weft.graph_ir.ops.recurrent import GRU, LSTM, RNN
from weft.runtime.errors import FrontendError

_DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_ACTIVATIONS = {"LSTM": ("sigmoid", "tanh", "tanh"), "GRU": ("sigmoid", "tanh"), "RNN": ("tanh",)}


def _common(node: ImportedNode) -> dict[str, object]:
    """Attributes that the three layers share."""
    direction = node.text("direction")
    if direction not in _DIRECTIONS:
        raise FrontendError(f"expected direction forward, reverse or bidirectional, found {direction!r}")
    return {}


RECURRENT: dict[str, Converter] = {}
