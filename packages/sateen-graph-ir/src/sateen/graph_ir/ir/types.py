"""Types of values in a graph: the types of topi."""

from sateen.topi.dimensions import Dim, Dimension, Symbol
from sateen.topi.types import TensorType

__all__ = ["Dim", "Dimension", "Symbol", "TensorType"]
