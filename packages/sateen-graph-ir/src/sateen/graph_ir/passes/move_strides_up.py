"""Compute only the elements that strided 1x1 convolutions read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sateen.graph_ir.ir import Graph, GraphRewriter, Node, Value
from sateen.graph_ir.ops import Control, Conv, Slice
from sateen.graph_ir.passes.fuse import compute_node
from sateen.topi.schedules import Kind

Strides = tuple[int, ...]


def move_strides_up(graph: Graph) -> Graph:
    """Move the strides of 1x1 convolutions to the convolutions that compute their inputs, through element-wise nodes.

        %a = conv(%x, %v); %s = add(%a, %r); %y = conv(%s, %w) {strides=(2, 2)}
        =>  %a = conv(%x, %v) {strides=(2, 2)}; %r.1 = slice(%r) {steps=(1, 1, 2, 2)}; %s = add(%a, %r.1)
            %y = conv(%s, %w)

    All readers of a value must skip the same elements. Requires: static types. Guarantees: the same values.
    """
    skipped = _skipped(graph)
    if not skipped:
        return graph
    rewriter = GraphRewriter(graph)
    for node in graph.nodes:
        (*_, output) = node.outputs
        own = skipped.get(output)
        if isinstance(node.op, Conv) and (own or node.inputs[0] in skipped):
            rewriter.replace(node, _convolved(rewriter, node, node.op, own, skipped))
        elif own:
            operands = [_part(rewriter, v, output, own, skipped) for v in node.inputs]
            rewriter.replace(node, rewriter.insert(node.op, *operands, name=output.name, spans=node.spans))
        else:
            rewriter.keep(node)
    return rewriter.finish()


def _skipped(graph: Graph) -> dict[Value, Strides]:
    """The values of which only every stride-th element is read along each spatial axis, and can be left out."""
    pointwise = [n.op for n in graph.nodes if isinstance(n.op, Conv) and _is_pointwise(n, n.op)]
    if not any(s != 1 for op in pointwise for s in op.strides):
        return {}
    consumers = graph.consumers()
    movable = _movable(graph)
    skipped: dict[Value, Strides] = {}
    for node in reversed(graph.nodes):
        (value, *others) = node.outputs
        readers = consumers.get(value, ())
        if others or node not in movable or value in graph.outputs or not readers:
            continue
        (first, *rest) = (_stride_of_reading(reader, value, skipped) for reader in readers)
        if any(s != 1 for s in first) and all(s == first for s in rest):
            skipped[value] = first
    return skipped


def _movable(graph: Graph) -> set[Node]:
    """Convolutions, and element-wise nodes that read a convolution, directly or through others."""
    movable: set[Node] = set()
    element_wise: dict[object, bool] = {}
    producers = graph.producers()
    for node in graph.nodes:
        if isinstance(node.op, Conv):
            movable.add(node)
        elif any(producers[v] in movable for v in node.inputs if v in producers):
            key = node.computation_key
            if key not in element_wise:
                element_wise[key] = _is_element_wise(node)
            if element_wise[key]:
                movable.add(node)
    return movable


def _is_element_wise(node: Node) -> bool:
    """Whether operands have the shape of the result, whose element they map, or one element per channel at most."""
    if isinstance(node.op, Control) or len(node.outputs) != 1 or node.outputs[0].type.rank < 3:
        return False
    computed = compute_node(node)
    shape = node.outputs[0].type.shape
    return computed.kind <= Kind.BROADCAST and all(
        v is None or (computed.maps_one_to_one(i) if v.type.shape == shape else _is_constant_in_space(v, shape))
        for i, v in enumerate(node.inputs)
    )


def _is_constant_in_space(v: Value, shape: Sequence[object]) -> bool:
    return all(extent == 1 for extent in v.type.shape[max(0, v.type.rank - len(shape) + 2) :])


def _stride_of_reading(reader: Node, value: Value, skipped: Mapping[Value, Strides]) -> Strides:
    """The steps with which a node reads a value along its spatial axes."""
    own = skipped.get(reader.outputs[0])
    all_of_them = (1,) * (value.type.rank - 2)
    if not isinstance(reader.op, Conv):
        return own if own and value.type.shape == reader.outputs[0].type.shape else all_of_them
    is_pointwise = _is_pointwise(reader, reader.op) and reader.inputs[1] is not value
    strides = reader.op.strides or all_of_them
    return tuple(a * b for a, b in zip(strides, own or all_of_them, strict=True)) if is_pointwise else all_of_them


def _is_pointwise(node: Node, op: Conv) -> bool:
    weight = node.inputs[1]
    return weight is not None and all(k == 1 for k in weight.type.shape[2:]) and not any(op.pads)


def _convolved(
    rewriter: GraphRewriter, node: Node, op: Conv, own: Strides | None, skipped: Mapping[Value, Strides]
) -> Value:
    """A convolution that gives every `own`-th element, of an input that may have lost some already."""
    data = node.inputs[0]
    assert data is not None
    rank = data.type.rank - 2
    before = skipped.get(data, (1,) * rank)
    factors = zip(op.strides or (1,) * rank, own or (1,) * rank, before, strict=True)
    changed = replace(op, strides=tuple(a * b // c for a, b, c in factors))
    return rewriter.insert(changed, *rewriter.values(node.inputs), name=node.outputs[0].name, spans=node.spans)


def _part(
    rewriter: GraphRewriter, v: Value | None, output: Value, own: Strides, skipped: Mapping[Value, Strides]
) -> Value | None:
    """An operand of an element-wise node of which only every `own`-th element is computed."""
    (found,) = rewriter.values([v])
    if v is None or found is None or v in skipped or v.type.shape != output.type.shape:
        return found
    shape = v.type.static_shape
    return rewriter.insert(Slice((0,) * len(shape), shape, (1, 1, *own)), found, name=v.name)
