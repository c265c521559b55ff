"""The judge of results: a graph evaluated from the definitions of its operators, and the distance of results from
that."""

from sateen.graph_ir.judge.accuracy import Difference, difference, element_difference
from sateen.graph_ir.judge.interpreter import interpret

__all__ = [
    "Difference",
    "difference",
    "element_difference",
    "interpret",
]
