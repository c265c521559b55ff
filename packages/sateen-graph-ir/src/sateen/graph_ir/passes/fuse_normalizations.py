"""Find normalizations among products, means and roots."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sateen.graph_ir.ir import Graph, GraphRewriter, Node, Value
from sateen.graph_ir.ops import Add, Divide, Multiply, Power, Reciprocal, ReduceMean, RmsNormalization, Sqrt
from sateen.topi.operators import Operator


def fuse_normalizations(graph: Graph) -> Graph:
    """x / sqrt(mean of x² + epsilon) · scale becomes one operator.

        %s = multiply(%x, %x); %m = reduce_mean(%s) {axes=(2,)}; %e = add(%m, %epsilon)
        %d = sqrt(%e); %r = reciprocal(%d); %n = multiply(%x, %r); %y = multiply(%scale, %n)
        =>  %y = rms_normalization(%x, %scale) {axis=2}

    The root divides, or its reciprocal is a factor; the scale may be absent. The mean is over the last axes. Nothing
    else may read what is between. A quotient may be rounded otherwise, and sums are in another order, so it is left out
    with numerics strict. Requires: static types.
    """
    rewriter = GraphRewriter(graph)
    for node in graph.nodes:
        here = replace(node, inputs=rewriter.values(node.inputs)) if isinstance(node.op, (Multiply, Divide)) else None
        found = None if here is None else _normalised(rewriter, here) or _scaled(rewriter, here)
        if found is None:
            rewriter.keep(node)
        else:
            spans = tuple(dict.fromkeys(span for n in (*found.nodes, node) for span in n.spans))
            value = rewriter.insert(found.op, *found.operands, name=node.outputs[0].name, spans=spans)
            rewriter.replace(node, value)
    return rewriter.finish()


@dataclass(frozen=True, slots=True)
class _Found:
    """A normalization, and the nodes that it takes the place of, but the last."""

    op: RmsNormalization
    operands: tuple[Value, ...]
    nodes: tuple[Node, ...]


def _normalised(rewriter: GraphRewriter, node: Node) -> _Found | None:
    """The normalization without a scale that ends with a product or a quotient."""
    for data, divided in _divided(rewriter, node):
        root, *others = divided
        total = _alone(rewriter, root.inputs[0], Add)
        for mean, epsilon in () if total is None else (total.inputs, total.inputs[::-1]):
            number = rewriter.constant(epsilon)
            reduction = _alone(rewriter, mean, ReduceMean)
            if number is None or number.size != 1 or reduction is None or total is None:
                continue
            square = _alone(rewriter, reduction.inputs[0], Multiply, Power)
            if square is None or data.type != node.outputs[0].type or not _is_square(rewriter, square, data):
                continue
            axis = _first_of_last_axes(reduction.op, data.type.rank)
            if axis is not None and data.type.dtype.is_float:
                op = RmsNormalization(axis, float(number.reshape(())))
                return _Found(op, (data,), (square, reduction, total, root, *others))
    return None


def _divided(rewriter: GraphRewriter, node: Node) -> list[tuple[Value, list[Node]]]:
    """What may be divided by a root, with the root and the reciprocal that is the factor, if it is one."""
    a, b = node.inputs
    assert a is not None
    assert b is not None
    if isinstance(node.op, Divide):
        root = _alone(rewriter, b, Sqrt)
        return [] if root is None else [(a, [root])]
    found = []
    for data, factor in ((a, b), (b, a)):
        inverse = _alone(rewriter, factor, Reciprocal, Divide)
        if inverse is None:
            continue
        one = rewriter.constant(inverse.inputs[0])
        is_inverse = isinstance(inverse.op, Reciprocal) or (one is not None and bool(np.all(one == 1)))
        root = _alone(rewriter, inverse.inputs[-1], Sqrt)
        if is_inverse and root is not None:
            found.append((data, [root, inverse]))
    return found


def _is_square(rewriter: GraphRewriter, node: Node, data: Value) -> bool:
    if isinstance(node.op, Multiply):
        return node.inputs == (data, data)
    exponent = rewriter.constant(node.inputs[1])
    return node.inputs[0] is data and exponent is not None and exponent.size == 1 and bool(np.all(exponent == 2))


def _first_of_last_axes(op: Operator, rank: int) -> int | None:
    """The axis from which on a reduction that keeps its axes is over all."""
    assert isinstance(op, ReduceMean)
    begin = rank - len(op.axes)
    return begin if op.keepdims and op.axes and sorted(op.axes) == [*range(begin, rank)] else None


def _scaled(rewriter: GraphRewriter, node: Node) -> _Found | None:
    """The normalization whose result a product scales."""
    if not isinstance(node.op, Multiply):
        return None
    for data, scale in (node.inputs, node.inputs[::-1]):
        normal = _alone(rewriter, data, RmsNormalization)
        if normal is None or scale is None or len(normal.inputs) != 1 or data is None:
            continue
        if data.type == node.outputs[0].type and isinstance(normal.op, RmsNormalization):
            (source,) = normal.inputs
            return _Found(normal.op, (source, scale), (normal,)) if source is not None else None
    return None


def _alone(rewriter: GraphRewriter, value: Value | None, *kinds: type[Operator]) -> Node | None:
    """The node of a kind that gives a value which nothing else reads."""
    node = rewriter.producer(value)
    is_alone = node is not None and value is not None and not rewriter.is_shared(value)
    return node if is_alone and node is not None and isinstance(node.op, kinds) else None
