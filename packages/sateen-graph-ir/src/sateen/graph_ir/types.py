"""Types of values in a graph: those that operators are written with."""

from sateen.topi.types import Dim, Symbol, TensorType

__all__ = ["Dim", "Symbol", "TensorType"]
