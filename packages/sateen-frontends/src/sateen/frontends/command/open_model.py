"""Shows a model with open dimensions: its operators and their types, as expressions of the sizes."""

from __future__ import annotations

from pathlib import Path

from sateen.frontends.command.output import say, show_table
from sateen.graph_ir.ir import Graph, Node
from sateen.runtime.display import counted
from sateen.topi.dimensions import symbols_of


def open_names(graph: Graph) -> str:
    """The open dimensions of a graph, such as `N, H and W`."""
    *others, last = symbols_of(*(d for v in graph.inputs for d in v.type.shape))
    return f"{', '.join(others)} and {last}" if others else last


def show_open_model(path: Path, graph: Graph) -> None:
    """Write the inputs and outputs of a graph, and a line for each node with the types of its results."""
    facts = [("input", v) for v in graph.inputs] + [("output", v) for v in graph.outputs]
    lines = [f"  {kind:<12}{v.name}: {v.type}" for kind, v in facts]
    head = f"{path.name}: {counted(len(graph.nodes), 'operator')}, with {open_names(graph)} open"
    say("\n".join([head, *lines]) + "\n")
    show_table(("operator", "result", "nodes"), map(_row, graph.nodes))


def _row(node: Node) -> tuple[str, str, str]:
    names = dict.fromkeys(span.node for span in node.spans)
    return node.op.op_name(), ", ".join(str(v.type) for v in node.outputs), " + ".join(names)
