"""Networks written for channels last, as TensorFlow and others export them."""

from __future__ import annotations

from sateen.graph_ir.ir import Graph, GraphBuilder, Value
from sateen.graph_ir.ops import Broadcast, Concat, GlobalAveragePool, ReduceMean, Transpose, Unary

TO_LAST, TO_FIRST = Transpose((0, 2, 3, 1)), Transpose((0, 3, 1, 2))


def channels_last(graph: Graph) -> Graph:
    """The same network on pictures [N, H, W, C]: transposes surround what takes channels first, and nothing else.

    For networks of this package on pictures, whose nodes have one output each.
    """
    g = GraphBuilder(graph.name)
    values: dict[Value, Value] = {v: g.parameter(v.name, data) for v, data in graph.parameters.items()}
    last: set[Value] = set()
    for v in graph.inputs:
        n, *others = v.type.shape
        is_picture = v.type.rank == 4
        values[v] = g.input(v.name, v.type.dtype, (n, *others[1:], others[0]) if is_picture else v.type.shape)
        last |= {v} if is_picture else set()

    def first(v: Value) -> Value:
        return g.add(TO_FIRST, values[v]) if v in last else values[v]

    for node in graph.nodes:
        (out,), inputs = node.outputs, [v for v in node.inputs if v is not None]
        if isinstance(node.op, Unary | Broadcast) and any(v in last for v in inputs):
            given = [values[v] if v in last or v.type.rank < 4 else g.add(TO_LAST, values[v]) for v in inputs]
            values[out] = g.add(node.op, *given, name=out.name)
        elif isinstance(node.op, Concat) and node.op.axis == 1:
            values[out] = g.add(Concat(3), *(values[v] for v in inputs), name=out.name)
        elif isinstance(node.op, GlobalAveragePool):
            values[out] = g.add(ReduceMean((1, 2)), values[inputs[0]], name=out.name)
        else:
            found = g.add(node.op, *(None if v is None else first(v) for v in node.inputs), name=out.name)
            values[out] = g.add(TO_LAST, found, name=out.name) if out.type.rank == 4 else found
        last |= {out} if out.type.rank == 4 else set()
    g.output(*(values[v] for v in graph.outputs))
    return g.finish()
