"""How far the chosen methods enlarge the parameters of a network."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph
from sateen.graph_ir.passes import PassRun

_CHOOSING = "choose_methods"


class ParameterGrowth:
    """Watches the passes of a compilation, and sums the bytes that parameters take beyond those of the model."""

    def __init__(self) -> None:
        self.bytes = 0

    def __call__(self, run: PassRun) -> None:
        if run.name == _CHOOSING:
            self.bytes += _read_bytes(run.after) - _read_bytes(run.before)


def _read_bytes(graph: Graph) -> int:
    """The bytes of the parameters that nodes read."""
    read = {value for node in graph.nodes for value in node.inputs if value is not None}
    return sum(data.nbytes for value, data in graph.parameters.items() if value in read)
