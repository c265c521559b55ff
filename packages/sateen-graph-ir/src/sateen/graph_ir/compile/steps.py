"""The steps of a compiled network, for measurements and reports."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sateen.graph_ir.ir import Graph, Node
from sateen.graph_ir.ops import Fused
from sateen.runtime import Step


def steps_of(graph: Graph, free: Collection[Node], kernels: Mapping[Node, str]) -> tuple[Step, ...]:
    """The steps of a fused graph in order. `free` nodes have none; `kernels` names the kernels of the others."""
    return tuple(step_of(node, kernels.get(node) or _operator(node)) for node in graph.nodes if node not in free)


def _operator(node: Node) -> str:
    """What a node without a kernel does: decide, or copy between devices."""
    return (node.op.body.nodes[0] if isinstance(node.op, Fused) else node).op.op_name()


def step_of(node: Node, kernel: str) -> Step:
    """The step of a node of a fused graph. If the node has no name in the user's model, the step has the names of its
    values."""
    inner = node.op.body.nodes if isinstance(node.op, Fused) else (node,)
    values = dict.fromkeys(v for v in (*node.inputs, *node.outputs) if v is not None)
    return Step(
        kernel,
        tuple(dict.fromkeys(span.node for span in node.spans)) or tuple(v.name for v in node.outputs),
        tuple(n.op.op_name() for n in inner),
        tuple(str(t) for t in node.input_types),
        tuple(str(v.type) for v in node.outputs),
        node.operations(),
        sum(v.type.bytes for v in values),
    )
