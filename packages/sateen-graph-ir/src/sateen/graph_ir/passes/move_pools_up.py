"""Average before 1x1 convolutions, not after them."""

from __future__ import annotations

from math import prod

from sateen.graph_ir.ir import Graph, GraphRewriter, Node, Value
from sateen.graph_ir.ops import AveragePool, Conv


def move_pools_up(graph: Graph) -> Graph:
    """Let a pool that averages the result of a 1x1 convolution average the convolution's input instead.

        %a = conv(%x, %w); %y = average_pool(%a) {kernel=(2, 2), strides=(2, 2)}
        =>  %p = average_pool(%x) {kernel=(2, 2), strides=(2, 2)}; %y = conv(%p, %w)

    Both are linear, so they commute, up to rounding, if the weights of a window add up to one: padding does not count.
    Done only if the pool gives fewer elements than it takes, and nothing else reads the convolution. Requires: static
    types.
    """
    rewriter = GraphRewriter(graph)
    consumers = graph.consumers()
    producers = graph.producers()
    for node in graph.nodes:
        data = node.inputs[0] if node.inputs else None
        convolution = producers.get(data) if data is not None else None
        alone = data is not None and data not in graph.outputs and len(consumers[data]) == 1
        if convolution is not None and alone and _commute(convolution, node):
            rewriter.replace(node, _exchanged(rewriter, convolution, node))
        else:
            rewriter.keep(node)
    return rewriter.finish()


def _commute(convolution: Node, pool: Node) -> bool:
    """Whether the nodes are a 1x1 convolution and a pool that averages it to fewer elements."""
    match convolution.op, pool.op:
        case Conv(pads=pads, strides=strides), AveragePool() as average:
            weight = convolution.inputs[1]
            pointwise = weight is not None and prod(weight.type.static_shape[2:]) == 1 and not any(pads)
            whole = not average.count_include_pad or not any(average.pads)
            given, taken = (prod(n.outputs[0].type.static_shape[2:]) for n in (pool, convolution))
            return pointwise and whole and all(s == 1 for s in strides) and given < taken
    return False


def _exchanged(rewriter: GraphRewriter, convolution: Node, pool: Node) -> Value:
    data, *operands = rewriter.values(convolution.inputs)
    averaged = rewriter.insert(pool.op, data, name=convolution.outputs[0].name, spans=pool.spans)
    return rewriter.insert(convolution.op, averaged, *operands, name=pool.outputs[0].name, spans=convolution.spans)
