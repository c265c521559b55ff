"""Algebraic and shape identities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sateen.graph_ir.ir import Graph, GraphRewriter, Node, Value, infer
from sateen.graph_ir.ops import (
    Add,
    AveragePool,
    BroadcastTo,
    Cast,
    Clip,
    Concat,
    Conv,
    CopyTo,
    Dequantize,
    Divide,
    Gather,
    Identity,
    Multiply,
    Pad,
    Power,
    Quantize,
    Relu,
    Reshape,
    Slice,
    Split,
    Sqrt,
    Subtract,
    Tile,
    Transpose,
)
from sateen.topi.dimensions import numbers
from sateen.topi.operators import Operator


def simplify(graph: Graph) -> Graph:
    """Replace nodes by cheaper ones that give the same values.

        %a = transpose(%x) {permutation=(0, 2, 3, 1)}; %b = transpose(%a) {permutation=(0, 3, 1, 2)}; %y = relu(%b)
        =>  %y = relu(%x)

    - nodes that give their input: identity, cast, reshape, broadcast_to to the same type, copy_to its device,
      transpose, slice, pad, tile and concat that do nothing, + 0, - 0, * 1, / 1 (the sign of a zero may differ:
      docs/semantics.md)
    - operands of +, -, * and / are not broadcast before, where the operator gives the same shape without
    - powers of 1, 2, 3 and 0.5 become products and square roots (of which that of -inf is NaN: docs/semantics.md)
    - two of a kind become one: transposes, reshapes, slices, clips and relus, concats along one axis
    - a transpose that moves axes of size 1 only is a reshape; a gather at one constant index is a slice and a reshape
    - zero points that are zeros are left out
    - zeros that a pad puts around the data of a convolution become its own, as for an average pool that counts them

    Nodes that are no longer read stay until remove_dead_nodes.
    """
    rewriter = GraphRewriter(graph)
    for node in graph.nodes:
        here = replace(node, inputs=rewriter.values(node.inputs))
        rule = _RULES.get(type(node.op))
        value = rule(rewriter, here) if rule is not None else None
        if value is None:
            rewriter.keep(node)
        else:
            rewriter.replace(node, value)
    return rewriter.finish()


Rule = Callable[[GraphRewriter, Node], Value | None]
"""Gives a simpler value of the new graph for the output of a node, if there is one."""


def _data(node: Node) -> Value:
    value = node.inputs[0]
    assert value is not None
    return value


def _inserted(
    rewriter: GraphRewriter, op: Operator, data: Value, *nodes: Node, rest: Sequence[Value | None] = ()
) -> Value:
    """One operator in place of several nodes, the last of which it is named after."""
    spans = tuple(dict.fromkeys(span for node in nodes for span in node.spans))
    return rewriter.insert(op, data, *rest, name=nodes[-1].outputs[0].name, spans=spans)


def _same_type(_rewriter: GraphRewriter, node: Node) -> Value | None:
    return _data(node) if _data(node).type == node.outputs[0].type else None


def _same_device(_rewriter: GraphRewriter, node: Node) -> Value | None:
    return _data(node) if _data(node).device == node.outputs[0].device else None


def _reshape(rewriter: GraphRewriter, node: Node) -> Value | None:
    before = rewriter.producer(_data(node))
    if before is not None and isinstance(before.op, Reshape):
        if _data(before).type == node.outputs[0].type:
            return _data(before)
        return _inserted(rewriter, node.op, _data(before), before, node)
    return _same_type(rewriter, node)


def _transpose(rewriter: GraphRewriter, node: Node) -> Value | None:
    assert isinstance(node.op, Transpose)
    data, order, nodes = _data(node), node.op.permutation, [node]
    before = rewriter.producer(data)
    if before is not None and isinstance(before.op, Transpose):
        order = tuple(before.op.permutation[d] for d in order)
        data, nodes = _data(before), [before, node]
    if order == tuple(range(len(order))):
        return data
    moved = [d for d in order if data.type.shape[d] != 1]
    output = node.outputs[0].type
    if moved == sorted(moved) and output.is_static:
        return _inserted(rewriter, Reshape(output.static_shape), data, *nodes)
    return _inserted(rewriter, Transpose(order), data, *nodes) if len(nodes) == 2 else None


def _slice(rewriter: GraphRewriter, node: Node) -> Value | None:
    """x[a:b:s][c:d:t] takes element a + s (c + t i), for steps that are positive."""
    assert isinstance(node.op, Slice)
    same = _whole_slice(node)
    if same is not None:
        return same
    before = rewriter.producer(_data(node))
    if before is None or not isinstance(before.op, Slice):
        return None
    outer, inner = node.op, before.op
    if min(*outer.steps, *inner.steps) < 1 or not node.outputs[0].type.is_static:
        return None
    starts = tuple(a + s * c for a, s, c in zip(inner.starts, inner.steps, outer.starts, strict=True))
    steps = tuple(s * t for s, t in zip(inner.steps, outer.steps, strict=True))
    sizes = node.outputs[0].type.static_shape
    ends = tuple(a + (n - 1) * s + 1 if n else a for a, n, s in zip(starts, sizes, steps, strict=True))
    return _inserted(rewriter, Slice(starts, ends, steps), _data(before), before, node)


def _whole_slice(node: Node) -> Value | None:
    assert isinstance(node.op, Slice)
    forward = all(step > 0 for step in node.op.steps)
    return _data(node) if forward and _data(node).type == node.outputs[0].type else None


def _gather(rewriter: GraphRewriter, node: Node) -> Value | None:
    assert isinstance(node.op, Gather)
    data, axis, index = _data(node), node.op.axis, rewriter.constant(node.inputs[1])
    extent = data.type.shape[axis]
    if index is None or index.size != 1 or not isinstance(extent, int) or not -extent <= index.item() < extent:
        return None
    start, rank = index.item() % extent, data.type.rank
    starts, ends = (0,) * rank, data.type.shape
    op = Slice((*starts[:axis], start, *starts[axis + 1 :]), (*ends[:axis], start + 1, *ends[axis + 1 :]), (1,) * rank)
    return _inserted(rewriter, Reshape(node.outputs[0].type.shape), _inserted(rewriter, op, data, node), node)


def _pad(_rewriter: GraphRewriter, node: Node) -> Value | None:
    assert isinstance(node.op, Pad)
    return None if any(pad != 0 for pad in node.op.pads) else _data(node)


def _concat(rewriter: GraphRewriter, node: Node) -> Value | None:
    """concat(concat(a, b), c) is concat(a, b, c) along one axis, if nothing else reads the inner one."""
    if len(node.inputs) == 1:
        return _data(node)
    parts: list[Value] = []
    merged = []
    for v in node.inputs:
        assert v is not None
        before = rewriter.producer(v)
        if before is not None and before.op == node.op and not rewriter.is_shared(v):
            parts += [p for p in before.inputs if p is not None]
            merged.append(before)
        else:
            parts.append(v)
    return _inserted(rewriter, node.op, parts[0], *merged, node, rest=parts[1:]) if merged else None


def _split(_rewriter: GraphRewriter, node: Node) -> Value | None:
    return _data(node) if len(node.outputs) == 1 else None


def _neutral(number: int, *, either_side: bool) -> Rule:
    """The rule of a binary operator for which `number` is neutral, on the right or on either side."""

    def rule(rewriter: GraphRewriter, node: Node) -> Value | None:
        a, b = node.inputs
        for data, other in ((a, b), (b, a)) if either_side else ((a, b),):
            constant = rewriter.constant(other)
            if data is None or constant is None or data.type != node.outputs[0].type:
                continue
            if constant.size and np.all(constant == number):
                return data
        return None

    return rule


def _unbroadcast(rewriter: GraphRewriter, node: Node) -> Value | None:
    """The node on an operand as it was before a broadcast, if the result has the same shape."""
    for place, operand in enumerate(node.inputs):
        before = rewriter.producer(operand)
        if before is None or not isinstance(before.op, BroadcastTo):
            continue
        first, *rest = [_data(before) if d == place else v for d, v in enumerate(node.inputs)]
        assert first is not None
        if infer(node.op, [first, *rest]) == (node.outputs[0].type,):
            return _inserted(rewriter, node.op, first, before, node, rest=rest)
    return None


def _first(*rules: Rule) -> Rule:
    """What the first of the rules gives that applies."""

    def rule(rewriter: GraphRewriter, node: Node) -> Value | None:
        return next((value for rule in rules if (value := rule(rewriter, node)) is not None), None)

    return rule


def _power(rewriter: GraphRewriter, node: Node) -> Value | None:
    data, exponent = _data(node), rewriter.constant(node.inputs[1])
    if exponent is None or not exponent.size or data.type != node.outputs[0].type:
        return None
    number = exponent.flat[0]
    if not np.all(exponent == number):
        return None
    if number == 0.5 and data.type.dtype.is_float:
        return _inserted(rewriter, Sqrt(), data, node)
    if number not in (1, 2, 3):
        return None
    value = data
    for _ in range(int(number) - 1):
        value = _inserted(rewriter, Multiply(), value, node, rest=[data])
    return value


def _clip(rewriter: GraphRewriter, node: Node) -> Value | None:
    """Limits compose: clip(clip(x, a, b), c, d) is clip(x, max(a, c), min(b, d)) if that is not empty."""
    limits = _limits(node.op)
    before = rewriter.producer(_data(node))
    earlier = None if before is None else _limits(before.op)
    if limits is None or before is None or earlier is None:
        return None
    low = max((x for x in (limits[0], earlier[0]) if x is not None), default=None)
    high = min((x for x in (limits[1], earlier[1]) if x is not None), default=None)
    if low is not None and high is not None and low > high:
        return None
    if (low, high) == earlier:
        return _data(node)
    op = Relu() if (low, high) == (0, None) else Clip(low, high)
    return _inserted(rewriter, op, _data(before), before, node)


def _limits(op: Operator) -> tuple[float | None, float | None] | None:
    match op:
        case Relu():
            return 0, None
        case Clip(low=low, high=high):
            return low, high
    return None


def _quantisation(rewriter: GraphRewriter, node: Node) -> Value | None:
    _, scale, *zero_point = node.inputs
    constant = rewriter.constant(zero_point[0]) if zero_point else None
    if constant is None or np.any(constant):
        return None
    return _inserted(rewriter, node.op, _data(node), node, rest=[scale])


def _conv(rewriter: GraphRewriter, node: Node) -> Value | None:
    assert isinstance(node.op, Conv)
    before, pads = _zeros_around(rewriter, node)
    if before is None:
        return None
    op = replace(node.op, pads=_sum(node.op.pads, pads))
    return _inserted(rewriter, op, _data(before), before, node, rest=node.inputs[1:])


def _average_pool(rewriter: GraphRewriter, node: Node) -> Value | None:
    assert isinstance(node.op, AveragePool)
    before, pads = _zeros_around(rewriter, node)
    counted = node.op.count_include_pad or not any(node.op.pads)
    if before is None or not counted or node.op.ceil_mode:
        return None
    op = replace(node.op, pads=_sum(node.op.pads, pads), count_include_pad=True)
    return _inserted(rewriter, op, _data(before), before, node)


def _zeros_around(rewriter: GraphRewriter, node: Node) -> tuple[Node | None, tuple[int, ...]]:
    """A pad before a node that puts zeros around the spatial axes only, and their numbers, as (begin…, end…)."""
    before = rewriter.producer(_data(node))
    if before is None or not isinstance(before.op, Pad):
        return None, ()
    op, rank = before.op, _data(node).type.rank
    zeros = op.mode == "constant" and op.value == 0 and len(before.inputs) == 1
    if not zeros or not all(isinstance(pad, int) and pad >= 0 for pad in op.pads):
        return None, ()
    pads = numbers(op.pads)
    begin, end = pads[:rank], pads[rank:]
    if any((*begin[:2], *end[:2])):
        return None, ()
    return before, (*begin[2:], *end[2:])


def _sum(own: tuple[int, ...], added: tuple[int, ...]) -> tuple[int, ...]:
    """Pads of an operator, of which none are zeros, with others around them."""
    return tuple(a + b for a, b in zip(own or (0,) * len(added), added, strict=True))


_RULES: dict[type[Operator], Rule] = {
    Identity: _same_type,
    Cast: _same_type,
    CopyTo: _same_device,
    BroadcastTo: _same_type,
    Tile: _same_type,
    Reshape: _reshape,
    Transpose: _transpose,
    Slice: _slice,
    Gather: _gather,
    Pad: _pad,
    Concat: _concat,
    Split: _split,
    Add: _first(_neutral(0, either_side=True), _unbroadcast),
    Subtract: _first(_neutral(0, either_side=False), _unbroadcast),
    Multiply: _first(_neutral(1, either_side=True), _unbroadcast),
    Divide: _first(_neutral(1, either_side=False), _unbroadcast),
    Power: _power,
    Clip: _clip,
    Relu: _clip,
    Dequantize: _quantisation,
    Quantize: _quantisation,
    Conv: _conv,
    AveragePool: _average_pool,
}
