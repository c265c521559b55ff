"""Graphs as pictures."""

from sateen.graph_ir.drawing.svg import draw

__all__ = [
    "draw",
]
