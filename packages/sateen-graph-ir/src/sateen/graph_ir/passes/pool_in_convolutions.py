"""Compute the maxima of a pool in the tiles of its convolution."""

from __future__ import annotations

from dataclasses import replace

from sateen.graph_ir.ir import Graph, GraphRewriter, Node
from sateen.graph_ir.ops import Clip, LeakyRelu, MaxPool, Relu, WinogradConv
from sateen.topi.operators import Operator


def pool_in_convolutions(graph: Graph) -> Graph:
    """Let convolutions in square tiles give the maxima of squares of a pool that follows.

        %a = winograd_conv(%x, %w) {tile=4}; %b = relu(%a); %y = max_pool(%b) {kernel=(2, 2), strides=(2, 2)}
        =>  %a = winograd_conv(%x, %w) {tile=4, pool=2}; %y = relu(%a)

    Functions that never decrease may come between: the maximum of their results is their result for the maximum. The
    convolution's own result is then never written to memory. Done only if nothing else reads the values between, and
    tiles consist of whole squares. Requires: static types; runs after choose_methods. Guarantees: the same values.
    """
    rewriter = GraphRewriter(graph)
    producers, consumers = graph.producers(), graph.consumers()

    def before(node: Node) -> Node | None:
        """The node whose result this one reads, if nothing else does."""
        data = node.inputs[0] if node.inputs else None
        alone = data is not None and data not in graph.outputs and len(consumers[data]) == 1
        return producers.get(data) if data is not None and alone else None

    for node in graph.nodes:
        functions: list[Node] = []
        source = before(node) if isinstance(node.op, MaxPool) else None
        while source is not None and _never_decreases(source.op):
            functions.insert(0, source)
            source = before(source)
        op = None if source is None else _pooled(source, node)
        if source is None or op is None:
            rewriter.keep(node)
            continue
        spans = tuple(dict.fromkeys((*source.spans, *node.spans)))
        name = node.outputs[0].name
        value = rewriter.insert(op, *rewriter.values(source.inputs), name=name, spans=spans, method=source.method)
        for function in functions:
            value = rewriter.insert(function.op, value, name=node.outputs[0].name, spans=function.spans)
        rewriter.replace(node, value)
    return rewriter.finish()


def _never_decreases(op: Operator) -> bool:
    match op:
        case Relu():
            return True
        case Clip(low=low, high=high):
            return low is None or high is None or low <= high
        case LeakyRelu(alpha=alpha):
            return alpha >= 0
    return False


def _pooled(convolution: Node, pool: Node) -> WinogradConv | None:
    """The operator that computes both, if there is one: the pool takes adjacent squares."""
    match convolution.op, pool.op:
        case WinogradConv(pool=1) as op, MaxPool(kernel=(side, other)) as maxima:
            plain = maxima.strides == maxima.kernel and not any(maxima.pads) and all(d == 1 for d in maxima.dilations)
            extents = convolution.outputs[0].type.static_shape[2:]
            partial = maxima.ceil_mode and any(extent % side for extent in extents)
            if side == other and plain and not partial and op.tile % side == 0:
                return replace(op, pool=side)
    return None
