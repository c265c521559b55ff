"""The table of operators of classic machine learning."""

from __future__ import annotations

from sateen.frontends.onnx.ml.encoders import ENCODERS
from sateen.frontends.onnx.ml.features import FEATURES
from sateen.frontends.onnx.ml.linear import LINEAR
from sateen.frontends.onnx.ml.trees import TREES
from sateen.frontends.onnx.node import Converter

DOMAIN = "ai.onnx.ml"
CLASSIC: dict[str, Converter] = TREES | LINEAR | FEATURES | ENCODERS
_MAPS = ("maps are not supported, only tensors", "export without them, and with zipmap=False")
REFUSALS: dict[str, tuple[str, str]] = dict.fromkeys(("CastMap", "DictVectorizer"), _MAPS)
"""Operators that no compiled network can have, with the reason and what helps."""
