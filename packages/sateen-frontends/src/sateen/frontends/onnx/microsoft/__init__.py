"""Operators of onnxruntime's own domain, which its tools write into models (onnxruntime, docs/ContribOperators.md)."""

from sateen.frontends.onnx.microsoft.description import Description
from sateen.frontends.onnx.microsoft.quantized import FUNCTIONS, contrib_function
from sateen.frontends.onnx.microsoft.table import DESCRIPTIONS, DOMAIN

__all__ = ["DESCRIPTIONS", "DOMAIN", "FUNCTIONS", "Description", "contrib_function"]
