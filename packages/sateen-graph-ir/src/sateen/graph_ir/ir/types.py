"""Types of values in a graph: those that operators are written with."""

from sateen.topi.dimensions import Dim, Dimension, Symbol
from sateen.topi.types import TensorType

__all__ = ["Dim", "Dimension", "Symbol", "TensorType"]
