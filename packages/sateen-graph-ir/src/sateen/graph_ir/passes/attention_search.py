"""Where a graph computes attention: the products, scales and masks of which it consists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod

import numpy as np

from sateen.graph_ir.ir import Array, Graph, Node, Value
from sateen.graph_ir.ops import (
    Add,
    BroadcastTo,
    Cast,
    Divide,
    Equal,
    MatMul,
    Multiply,
    ReduceMax,
    Reshape,
    Softmax,
    Transpose,
    Where,
)
from sateen.runtime import DeviceKind
from sateen.topi.operators import Operator

EXCLUDING = -1e30
"""A score that is at most this, next to one of usual size, has a power of 0, exactly."""


@dataclass(slots=True)
class AttentionParts:
    """The parts of attention in a graph."""

    q: Value
    k: Value
    v: Value
    nodes: list[Node]
    """Those between the products and at their operands, the last one first."""
    permutation: tuple[int, ...] = ()
    """How axes of k are to be permuted."""
    scale: float = 1.0
    factors: list[tuple[Operator, Value]] = field(default_factory=list)
    """Products and quotients of each matrix of scores with a number of its own."""
    masks: list[tuple[Value, tuple[int, ...]]] = field(default_factory=list)
    """Those that are added, with the shape that scores have there."""
    chooser: Value | None = None
    """The mask that chooses scores where it is true."""
    is_inverted: bool = False
    """Whether the chooser chooses them where it is false."""
    fill: float = -inf
    reach: int | None = None
    empty_is_zero: bool = False


class AttentionSearch:
    """Follows values back to where they come from."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.producers: Mapping[Value, Node] = graph.producers()
        self.consumers = graph.consumers()

    def ending_with(self, node: Node) -> AttentionParts | None:
        """The attention that ends with a node; None if it is the end of none."""
        if not isinstance(node.op, MatMul) or node.outputs[0].device.kind is not DeviceKind.CPU:
            return None
        weights, v = _two(node)
        softmax, chosen = self._softmax(weights)
        found = None if softmax is None else self._scores(softmax, v, is_chosen=chosen)
        if found is None or not _fits(found, node.outputs[0]):
            return None
        found.q = self._unscaled(found, found.q)
        self._untranspose_keys(found)
        found.v = self._shared(found.v)
        if found.permutation == tuple(range(len(found.permutation))):
            found.k = self._shared(found.k)
        self._find_reach(found)
        return found

    def _alone(self, value: Value | None, readers: int = 1) -> Node | None:
        """The node that gives a value which only one node reads, or some."""
        if value is None or value in self.graph.outputs or len(self.consumers.get(value, ())) != readers:
            return None
        return self.producers.get(value)

    def _softmax(self, weights: Value) -> tuple[Node | None, bool]:
        """The softmax that gives weights, perhaps through a conversion between types of floats; and whether a row
        whose scores are all -inf is 0."""
        node = self._alone(weights)
        if node is not None and isinstance(node.op, Cast) and _is_float_cast(node):
            node = self._alone(node.inputs[0])
        if node is None or not isinstance(node.op, Where):
            return (node if node is not None and isinstance(node.op, Softmax) else None), False
        condition, zero, value = node.inputs
        equal, softmax = self._alone(condition), self._alone(value)
        if self._scalar(zero) != 0 or softmax is None or equal is None or not isinstance(equal.op, Equal):
            return None, False
        largest, least = _two(equal)
        reduction = self._alone(largest)
        is_largest = reduction is not None and reduction.op == ReduceMax((softmax.outputs[0].type.rank - 1,))
        same = is_largest and reduction is not None and reduction.inputs == softmax.inputs
        fits = isinstance(softmax.op, Softmax) and same and self._scalar(least) == -inf
        return (softmax if fits else None), True

    def _scores(self, softmax: Node, v: Value, *, is_chosen: bool) -> AttentionParts | None:
        """The product, scale and masks before a softmax along the last axis. If rows are chosen by their largest score,
        the scores are read for that as well."""
        scores = softmax.inputs[0]
        assert scores is not None
        if not isinstance(softmax.op, Softmax) or softmax.op.axis != scores.type.rank - 1:
            return None
        found = AttentionParts(scores, scores, v, [softmax], empty_is_zero=is_chosen)
        shape = scores.type.static_shape
        is_scaled = False
        readers = 2 if is_chosen else 1
        while True:
            node, readers = self._alone(scores, readers), 1
            if node is None:
                return None
            found.nodes.append(node)
            here = scores.type.static_shape
            match node.op:
                case MatMul():
                    found.q, found.k = _two(node)
                    return found if here == shape else None
                case Reshape() if (before := _with_other_stack(node)) is not None:
                    scores = before
                case Cast() if _is_float_cast(node):
                    (scores,) = (v for v in node.inputs if v is not None)
                case Multiply() | Divide() if (number := self._number(node)) is not None:
                    scores, factor = number
                    found.scale *= factor
                    is_scaled = True
                case Multiply() | Divide() if here == shape and (each := self._by_matrix(node)) is not None:
                    scores, numbers = each
                    found.factors.append((node.op, numbers))
                    is_scaled = True
                case Add() if not is_scaled and found.chooser is None and (parts := self._parts(node, here)):
                    scores, mask = parts
                    found.masks.append((mask, here))
                case Where() if here == shape and not is_scaled and not found.masks and found.chooser is None:
                    chosen = self._chosen(node, shape)
                    if chosen is None:
                        return None
                    scores, found.chooser, found.is_inverted, found.fill = chosen
                case _:
                    return None

    def _parts(self, node: Node, shape: Sequence[object]) -> tuple[Value, Value] | None:
        """The scores and what is added to them: of two values of the shape, what comes from a product or a scaled
        one, before what comes from a reshape."""
        a, b = _two(node)
        for kinds in ((MatMul, Multiply, Divide, Add, Where, Cast), (Reshape,)):
            for scores, mask in ((a, b), (b, a)):
                producer = self._alone(scores)
                if producer is not None and isinstance(producer.op, kinds) and scores.type.shape == shape:
                    return scores, mask
        return None

    def _by_matrix(self, node: Node) -> tuple[Value, Value] | None:
        """The scores that a node multiplies, or divides by one number for each of their matrices, and the numbers."""
        a, b = _two(node)
        for scores, other in ((a, b),) if isinstance(node.op, Divide) else ((a, b), (b, a)):
            is_one_each = other.type.shape[-2:] == (1, 1) and scores.type == node.outputs[0].type
            if is_one_each and scores.type.dtype.bits >= 32 and self._alone(scores) is not None:
                return scores, other
        return None

    def _chosen(self, node: Node, shape: Sequence[object]) -> tuple[Value, Value, bool, float] | None:
        """The scores, the mask, whether it is inverted, and what is in place of scores."""
        mask, a, b = (v for v in node.inputs if v is not None)
        for scores, other, inverted in ((a, b, False), (b, a, True)):
            fill = self._scalar(other)
            if fill is not None and scores.type.shape == shape:
                return scores, mask, inverted, fill
        return None

    def _scalar(self, value: Value | None) -> float | None:
        """The number that a constant of one element is."""
        data = None if value is None else self.graph.parameters.get(value)
        return None if data is None or data.size != 1 else float(np.asarray(data).reshape(()))

    def _number(self, node: Node) -> tuple[Value, float] | None:
        """The value that a node multiplies, or divides by a number, and the factor."""
        a, b = _two(node)
        pairs = ((a, b),) if isinstance(node.op, Divide) else ((a, b), (b, a))
        for value, other in pairs:
            number = self._scalar(other)
            if number is not None and value.type.shape == node.outputs[0].type.shape and number != 0:
                return value, 1 / number if isinstance(node.op, Divide) else number
        return None

    def _unscaled(self, found: AttentionParts, value: Value) -> Value:
        """Queries or keys before they are scaled by a number."""
        node = self.producers.get(value)
        if node is None or not isinstance(node.op, (Multiply, Divide)):
            return value
        number = self._number(node)
        if number is None:
            return value
        found.scale *= number[1]
        found.nodes.append(node)
        return number[0]

    def _untranspose_keys(self, found: AttentionParts) -> None:
        """Make keys [..., keys, depth] of what is [..., depth, keys]."""
        *stack, depth, keys = range(found.k.type.rank)
        found.k, found.permutation = self._unscaled(found, found.k), (*stack, keys, depth)
        producer = self.producers.get(found.k)
        if producer is not None and isinstance(producer.op, Transpose):
            (before,) = producer.inputs
            assert before is not None
            found.permutation = tuple(producer.op.permutation[d] for d in found.permutation)
            found.k = self._unscaled(found, before)

    def _shared(self, value: Value) -> Value:
        """Keys or values before they are repeated for neighbours in the stack."""
        joined = self.producers.get(value)
        spread = None if joined is None or not isinstance(joined.op, Reshape) else self._before(joined)
        apart = None if spread is None or not isinstance(spread.op, BroadcastTo) else self._before(spread)
        if spread is None or apart is None or not isinstance(apart.op, Reshape):
            return value
        (source,) = apart.inputs
        assert source is not None
        shape, repeated = source.type.shape, spread.outputs[0].type.shape
        if len(shape) < 3 or len(repeated) != len(shape) + 1:
            return value
        *stack, own, rows, columns = source.type.static_shape
        each = repeated[-3]
        fits = apart.outputs[0].type.shape == (*stack, own, 1, rows, columns)
        fits = fits and repeated == (*stack, own, each, rows, columns)
        return source if fits and value.type.shape == (*stack, own * each, rows, columns) else value

    def _before(self, node: Node) -> Node | None:
        """The node that gives the only input of a node."""
        (data,) = node.inputs
        return None if data is None else self.producers.get(data)

    def _find_reach(self, found: AttentionParts) -> None:
        """Take a constant mask that only excludes the keys behind each query's as the reach."""
        if found.chooser is not None:
            data = self.graph.parameters.get(found.chooser)
            if data is not None and found.fill <= EXCLUDING:
                found.reach = _reach(np.asarray(data) != found.is_inverted)
                found.chooser = found.chooser if found.reach is None else None
            return
        for place, (mask, _) in enumerate(found.masks):
            data = self.graph.parameters.get(mask)
            if data is None or prod(data.shape[:-2]) != 1 or data.ndim < 2:
                continue
            allowed = np.asarray(data == 0)
            reach = _reach(allowed) if bool(np.all(allowed | (data.astype(np.float64) <= EXCLUDING))) else None
            if reach is not None:
                found.reach = reach
                del found.masks[place]
                return


def _reach(allowed: Array) -> int | None:
    """How many keys behind its own place each query reaches, if all reach as far and those before; else None."""
    if allowed.ndim < 2 or prod(allowed.shape[:-2]) != 1:
        return None
    rows, columns = allowed.shape[-2:]
    matrix = allowed.reshape(rows, columns)
    reach = int(matrix[0].sum()) - 1
    if reach < 0 or matrix.all():
        return None
    query, key = np.ogrid[:rows, :columns]
    return reach if bool(np.array_equal(matrix, key <= query + reach)) else None


def _fits(found: AttentionParts, result: Value) -> bool:
    """Whether the operator takes operands of these types, with keys still [..., depth, keys]."""
    q, kt, v = (x.type for x in (found.q, found.k, found.v))
    types_fit = q.dtype.is_float and q.dtype == kt.dtype == v.dtype == result.type.dtype
    if not types_fit or q.rank < 3 or not q.rank == kt.rank == v.rank or 0 in (*q.shape, *kt.shape, *v.shape):
        return False
    stacks_fit = all(own in (whole, 1) for x in (kt, v) for whole, own in zip(q.shape[:-2], x.shape[:-2], strict=True))
    return stacks_fit and all(m.type.dtype == q.dtype for m, _ in found.masks)


def _with_other_stack(node: Node) -> Value | None:
    """The matrices that a reshape arranges in a stack of another shape, if it does that."""
    (data,) = node.inputs
    if data is None or data.type.rank <= 2 or data.type.shape[-2:] != node.outputs[0].type.shape[-2:]:
        return None
    return data


def _two(node: Node) -> tuple[Value, Value]:
    a, b = node.inputs
    assert a is not None
    assert b is not None
    return a, b


def _is_float_cast(node: Node) -> bool:
    (data,) = node.inputs
    assert data is not None
    return data.type.dtype.is_float and node.outputs[0].type.dtype.is_float
