"""Operators of classic machine learning, domain ai.onnx.ml: trees, linear models and the preparation of features."""

from sateen.frontends.onnx.ml.table import CLASSIC, DOMAIN, REFUSALS

__all__ = ["CLASSIC", "DOMAIN", "REFUSALS"]
