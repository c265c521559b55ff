"""Methods: the ways to compute an operator, as values and as text. Each family of computations has its own."""

from sateen.topi.methods.method import NUMERICS, Candidate, Computable, Method, best_of_each
from sateen.topi.methods.parser import parse_method

__all__ = [
    "NUMERICS",
    "Candidate",
    "Computable",
    "Method",
    "best_of_each",
    "parse_method",
]
