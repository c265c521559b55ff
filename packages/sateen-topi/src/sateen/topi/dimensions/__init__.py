"""Dimensions of tensors: numbers, and expressions over symbols. This is the face for other rooms and siblings."""

from sateen.topi.dimensions.dimension import (
    Dim,
    Dimension,
    Symbol,
    bind,
    divided,
    least,
    listed,
    may_be_at_least,
    numbers,
    product,
    rounded_up,
    symbols_of,
)
from sateen.topi.dimensions.parser import DimensionTextError, parse_dimension, read_dimension

__all__ = [
    "Dim",
    "Dimension",
    "DimensionTextError",
    "Symbol",
    "bind",
    "divided",
    "least",
    "listed",
    "may_be_at_least",
    "numbers",
    "parse_dimension",
    "product",
    "read_dimension",
    "rounded_up",
    "symbols_of",
]
