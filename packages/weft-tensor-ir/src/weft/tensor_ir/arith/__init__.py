"""Arithmetic on indices: linear forms, ranges, divisibility and proofs."""

from weft.tensor_ir.arith.analyzer import Analyzer, Bound, Interval, structural_key
from weft.tensor_ir.arith.linear import Linear, constant, term

__all__ = ["Analyzer", "Bound", "Interval", "Linear", "constant", "structural_key", "term"]
