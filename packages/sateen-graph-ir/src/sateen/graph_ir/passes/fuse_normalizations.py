"""Find normalizations among products, means and roots."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sateen.graph_ir.ir import Graph, GraphRewriter, Node, Value
from sateen.graph_ir.ops import (
    Add,
    Divide,
    LayerNormalization,
    Multiply,
    Power,
    Reciprocal,
    ReduceMean,
    RmsNormalization,
    Sqrt,
    Subtract,
)
from sateen.topi.operators import Operator


def fuse_normalizations(graph: Graph) -> Graph:
    """x / sqrt(mean of x² + epsilon) · scale becomes one operator, also of x - mean of x, and with a shift.

        %s = multiply(%x, %x); %m = reduce_mean(%s) {axes=(2,)}; %e = add(%m, %epsilon)
        %d = sqrt(%e); %r = reciprocal(%d); %n = multiply(%x, %r); %y = multiply(%scale, %n)
        =>  %y = rms_normalization(%x, %scale) {axis=2}

    The root divides, or its reciprocal is a factor; the scale may be absent. The mean is over the last axes. Of
    differences to the mean it is layer_normalization, which takes the scale, and what is added then, if that has no
    other axes. Only the differences and their mean may be read by others, nothing else that is between. A quotient may
    be rounded in another way, and sums are in another order (docs/semantics.md, 4.9), so it is left out with numerics
    strict. Requires: static types.
    """
    rewriter = GraphRewriter(graph)
    for node in graph.nodes:
        found = _ending_with(rewriter, node)
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

    op: RmsNormalization | LayerNormalization
    operands: tuple[Value, ...]
    nodes: tuple[Node, ...]


def _ending_with(rewriter: GraphRewriter, node: Node) -> _Found | None:
    """The normalization whose last step is a node of the graph."""
    if not isinstance(node.op, (Multiply, Divide, Add)):
        return None
    last = replace(node, inputs=rewriter.values(node.inputs))
    match last.op:
        case Multiply():
            return _normalised(rewriter, last) or _scaled(rewriter, last)
        case Divide():
            return _normalised(rewriter, last)
        case _:
            return _shifted(rewriter, last)


def _normalised(rewriter: GraphRewriter, node: Node) -> _Found | None:
    """The normalization without a scale that ends with a product or a quotient."""
    for data, divided in _divided(rewriter, node):
        root, *others = divided
        total = _alone(rewriter, root.inputs[0], Add)
        if total is None:
            continue
        for mean, epsilon in (total.inputs, total.inputs[::-1]):
            number, reduction = rewriter.constant(epsilon), _alone(rewriter, mean, ReduceMean)
            if number is None or number.size != 1 or reduction is None:
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
    for data, scale in (node.inputs, node.inputs[::-1]):
        normal = _alone(rewriter, data, RmsNormalization)
        if normal is None or scale is None or len(normal.inputs) != 1 or normal.outputs[0].type != node.outputs[0].type:
            continue
        (source,) = normal.inputs
        assert isinstance(normal.op, RmsNormalization)
        assert source is not None
        differences = _differences(rewriter, source, normal.op.axis)
        if differences is None:
            return _Found(normal.op, (source, scale), (normal,))
        mean, difference = differences
        (whole,) = mean.inputs
        assert whole is not None
        return _Found(LayerNormalization(normal.op.axis, normal.op.epsilon), (whole, scale), (mean, difference, normal))
    return None


def _differences(rewriter: GraphRewriter, value: Value, axis: int) -> tuple[Node, Node] | None:
    """The mean from an axis on and the subtraction of it, if a value is the differences to it."""
    difference = rewriter.producer(value)
    if difference is None or not isinstance(difference.op, Subtract):
        return None
    data, subtracted = difference.inputs
    mean = rewriter.producer(subtracted)
    if mean is None or not isinstance(mean.op, ReduceMean) or mean.inputs != (data,):
        return None
    return (mean, difference) if _first_of_last_axes(mean.op, value.type.rank) == axis else None


def _shifted(rewriter: GraphRewriter, node: Node) -> _Found | None:
    """The layer normalization to whose result a vector, or another value of the normalised axes, is added."""
    for data, bias in (node.inputs, node.inputs[::-1]):
        normal = _alone(rewriter, data, LayerNormalization)
        if normal is None or bias is None or len(normal.inputs) != 2 or normal.outputs[0].type != node.outputs[0].type:
            continue
        source, scale = normal.inputs
        assert isinstance(normal.op, LayerNormalization)
        if source is not None and scale is not None and bias.type.rank <= source.type.rank - normal.op.axis:
            return _Found(normal.op, (source, scale, bias), (normal,))
    return None


def _alone(rewriter: GraphRewriter, value: Value | None, *kinds: type[Operator]) -> Node | None:
    """The node of a kind that gives a value which nothing else reads."""
    node = rewriter.producer(value)
    if node is None or value is None or rewriter.is_shared(value):
        return None
    return node if isinstance(node.op, kinds) else None
