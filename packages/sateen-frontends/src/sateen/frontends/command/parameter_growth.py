"""How far the chosen methods enlarge the parameters of a network."""

from __future__ import annotations

from sateen.frontends.command.output import say
from sateen.graph_ir.ir import Graph
from sateen.graph_ir.passes import PassRun
from sateen.runtime.display import size

_CHOOSING = "choose_methods"


class ParameterGrowth:
    """Watches the passes of a compilation, and sums the bytes that parameters take beyond those of the model."""

    def __init__(self) -> None:
        self.bytes = 0

    def __call__(self, run: PassRun) -> None:
        if run.name == _CHOOSING:
            self.bytes += _read_bytes(run.after) - _read_bytes(run.before)

    def tell(self) -> None:
        """Say how large they are, and what to do about it, where parameters have grown."""
        if self.bytes > 0:
            say(f"{size(self.bytes)} of the parameters are for faster methods; --numerics strict does without")


def _read_bytes(graph: Graph) -> int:
    """The bytes of the parameters that runs read, in the forms in which they do."""
    constants = graph.constants()
    read = {v for node in graph.nodes if constants.isdisjoint(node.outputs) for v in node.inputs}
    return sum(v.type.bytes for v in constants & read)
