"""Arithmetic on indices: linear forms, ranges, divisibility and proofs."""

from sateen.tensor_ir.arith.analyzer import Analyzer, Bound, Interval, structural_key
from sateen.tensor_ir.arith.linear import Linear, constant, term

__all__ = ["Analyzer", "Bound", "Interval", "Linear", "constant", "structural_key", "term"]
