"""Move transposes down until they meet."""

from __future__ import annotations

import numpy as np

from sateen.graph_ir.ir import Graph, GraphRewriter, Node, Value
from sateen.graph_ir.ops import Broadcast, Transpose
from sateen.graph_ir.passes.remove_dead_nodes import remove_dead_nodes

Permutation = tuple[int, ...]
UNKNOWN_BYTES = 1 << 40
"""The bytes that a tensor of unknown sizes counts as: more than any other, so that fewer such transposes are always
better."""


def sink_transposes(graph: Graph) -> Graph:
    """Let transposes change places with the nodes after them if fewer elements are moved then.

        %a = transpose(%x) {permutation=(0, 2, 3, 1)}; %b = relu(%a); %y = transpose(%b) {permutation=(0, 3, 1, 2)}
        =>  %y = relu(%x)

    A node can do so if its operator has a form for transposed inputs (`Operator.transposed`), and all of these are
    transposed alike, are constants, or have one element. So a network written for channels last becomes the one for
    channels first, and is optimised like that. Each permutation is tried alone; transposes stay if moving them does not
    help. Requires: inferred types.
    """
    for permutation in _permutations(graph):
        sunk = remove_dead_nodes(_sunk(graph, permutation))
        if _moved(sunk) < _moved(graph):
            graph = sunk
    return graph


def _permutations(graph: Graph) -> list[Permutation]:
    """The permutations of the transposes of a graph, each once, in order."""
    return list(dict.fromkeys(node.op.permutation for node in graph.nodes if isinstance(node.op, Transpose)))


def _moved(graph: Graph) -> int:
    """The bytes that transposes move, except those of constants."""
    data = [
        n.outputs[0].type for n in graph.nodes if isinstance(n.op, Transpose) and n.inputs[0] not in graph.parameters
    ]
    return sum(t.bytes if t.is_static else UNKNOWN_BYTES for t in data)


def _sunk(graph: Graph, permutation: Permutation) -> Graph:
    """The graph with each transpose of this permutation below all nodes that it can change places with."""
    rewriter = GraphRewriter(graph)
    for node in graph.nodes:
        values = _undone(rewriter, node) if isinstance(node.op, Transpose) else _below(rewriter, node, permutation)
        if values is None:
            rewriter.keep(node)
        else:
            rewriter.replace(node, *values)
    return rewriter.finish()


def _undone(rewriter: GraphRewriter, node: Node) -> list[Value] | None:
    """The result of a transpose that undoes the one before it."""
    assert isinstance(node.op, Transpose)
    (data,) = rewriter.values(node.inputs)
    before = rewriter.producer(data)
    if before is None or not isinstance(before.op, Transpose):
        return None
    order = tuple(before.op.permutation[d] for d in node.op.permutation)
    (source,) = before.inputs
    return [source] if source is not None and order == tuple(range(len(order))) else None


def _below(rewriter: GraphRewriter, node: Node, permutation: Permutation) -> list[Value] | None:
    """Transposes of the operator's results for untransposed inputs, if it has such a form."""
    inputs = rewriter.values(node.inputs)
    if not any(_source(rewriter, v, permutation) for v in inputs):
        return None
    found = node.op.transposed(permutation)
    if found is None or node.method is not None:
        return None
    moved = len(inputs) if found.moved is None else found.moved
    operands = [*(_operand(rewriter, node, v, permutation) for v in inputs[:moved]), *inputs[moved:]]
    if any(v is None for v in operands):
        return None
    names = [v.name for v in node.outputs]
    results = rewriter.insert_all(found.operator, *operands, names=names, spans=node.spans)
    if found.permutation == tuple(range(len(found.permutation))):
        return list(results)
    op = Transpose(found.permutation)
    return [rewriter.insert(op, v, name=name, spans=node.spans) for v, name in zip(results, names, strict=True)]


def _source(rewriter: GraphRewriter, value: Value | None, permutation: Permutation) -> Value | None:
    """The value of the new graph whose transpose by this permutation is the given one."""
    node = rewriter.producer(value)
    return node.inputs[0] if node is not None and node.op == Transpose(permutation) else None


def _operand(rewriter: GraphRewriter, node: Node, value: Value | None, permutation: Permutation) -> Value | None:
    """An input of the node before its transpose, if it is known."""
    if value is None:
        return None
    source = _source(rewriter, value, permutation)
    if source is not None:
        return source
    data, rank = rewriter.constant(value), len(permutation)
    if isinstance(node.op, Broadcast) and value.type.rank <= rank and all(d == 1 for d in value.type.shape):
        return value
    if data is None or not (value.type.rank == rank or (isinstance(node.op, Broadcast) and value.type.rank < rank)):
        return None
    whole = data.reshape((1,) * (rank - data.ndim) + data.shape)
    transposed = np.ascontiguousarray(whole.transpose(np.argsort(permutation)))
    return rewriter.parameter(value.name, transposed, value.device)
