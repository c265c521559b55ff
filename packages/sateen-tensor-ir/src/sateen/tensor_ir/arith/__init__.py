"""Arithmetic on indices: linear forms, ranges, divisibility and proofs."""

from sateen.tensor_ir.arith.analyzer import Analyzer
from sateen.tensor_ir.arith.linear import Linear, constant, term
from sateen.tensor_ir.arith.owned_elements import Owner, owners
from sateen.tensor_ir.arith.ranges import Bound, Interval
from sateen.tensor_ir.arith.structure import StructuralKeys

__all__ = ["Analyzer", "Bound", "Interval", "Linear", "Owner", "StructuralKeys", "constant", "owners", "term"]
