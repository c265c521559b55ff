"""Operators: their base class, and the border through which they are called."""

from sateen.topi.operators.attributes import is_of, kind_text
from sateen.topi.operators.border import computation_of, devices_of, parameters, place_of, require_class, types_of
from sateen.topi.operators.operator import (
    ELEMENT_BY_ELEMENT_SLOWDOWN,
    LayoutChoice,
    Operator,
    Preparation,
    Substitution,
    Transposed,
    require,
)

__all__ = [
    "ELEMENT_BY_ELEMENT_SLOWDOWN",
    "LayoutChoice",
    "Operator",
    "Preparation",
    "Substitution",
    "Transposed",
    "computation_of",
    "devices_of",
    "is_of",
    "kind_text",
    "parameters",
    "place_of",
    "require",
    "require_class",
    "types_of",
]
