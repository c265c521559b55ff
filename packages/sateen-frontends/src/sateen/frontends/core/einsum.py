"""Einsum: sums of products of elements named by letters, as matrix products and sums."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sateen.frontends.core.node import ModelNode
from sateen.frontends.core.operands import require_bound, static_extents
from sateen.graph_ir.ir import Dim, Value
from sateen.graph_ir.ops import BroadcastTo, MatMul, ReduceSum, Reshape, Slice, Transpose
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product, symbols_of
from sateen.topi.operators import Operator

_SPELLING = re.compile(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*")


def einsum(node: ModelNode, equation: str, operands: Sequence[Value]) -> tuple[Operator, Value]:
    """The last operator of a sum of products, and its input; those before it are steps of the node.

    Operands are joined from the left; a label that neither another operand nor the result has is summed before. The
    axes that `...` stands for are labelled by numbers from the last one on.
    """
    terms, result = _labels(equation.replace(" ", ""), [value.type.rank for value in operands])
    steps = _Product(node)
    extents: dict[str, Dim] = {}
    named = [steps.named(value, term, extents) for value, term in zip(operands, terms, strict=True)]
    total, *rest = named
    for i, operand in enumerate(rest, 1):
        kept = set(result).union(*(other.labels for other in named[i + 1 :]))
        total = steps.joined(steps.summed(total, kept | set(operand.labels)), operand, kept)
    total = steps.ordered(steps.summed(total, set(result)), result)
    return BroadcastTo(shape=tuple(extents[label] for label in result)), total.value


def _labels(equation: str, ranks: Sequence[int]) -> tuple[list[list[str]], list[str]]:
    """The labels of each operand's axes and of the result's."""
    left, arrow, right = equation.partition("->")
    spelt = left.split(",")
    if len(spelt) != len(ranks) or not all(_SPELLING.fullmatch(term) for term in (*spelt, right)):
        raise FrontendError(f"expected an equation of {len(ranks)} operands, found {equation!r}")
    terms = []
    for i, (term, rank) in enumerate(zip(spelt, ranks, strict=True)):
        letters = len(term.replace("...", ""))
        implied = rank - letters
        if implied < 0 or (implied and "..." not in term):
            raise FrontendError(f"{term!r} names {letters} axes, input {i} has {rank}")
        terms.append(_expanded(term, implied))
    named = [label for term in terms for label in term]
    shared = sorted({label for label in named if label.isdigit()}, key=int, reverse=True)
    if not arrow:
        return terms, [*shared, *sorted(label for label in set(named) if named.count(label) == 1 and label.isalpha())]
    result = _expanded(right, len(shared)) if "..." in right else list(right)
    if len(set(result)) < len(result) or not set(result) <= set(named):
        raise FrontendError(f"expected each letter of the result once and in an operand, found {equation!r}")
    return terms, result


def _expanded(term: str, implied: int) -> list[str]:
    """A letter per axis, with numbers for the `implied` axes that `...` stands for."""
    before, dots, after = term.partition("...")
    return [*before, *(str(i) for i in reversed(range(implied)) if dots), *after]


@dataclass(frozen=True, slots=True)
class _Named:
    """A value with a label for each axis, all different."""

    value: Value
    labels: tuple[str, ...]

    def extent(self, label: str) -> Dim:
        return self.value.type.shape[self.labels.index(label)]


def _contradiction(label: str, one: Dim, other: Dim) -> FrontendError:
    """The error about a label that stands for two extents. Raises UnsupportedError if sizes may make them equal."""
    require_bound(symbols_of(one, other), f"label {label!r}, which stands for extents {one} and {other},")
    return FrontendError(f"label {label!r} stands for extents {one} and {other}")


class _Product:
    """The steps of one node."""

    def __init__(self, node: ModelNode) -> None:
        self.node = node

    def step(self, op: Operator, *values: Value) -> Value:
        return self.node.step(op, *values)

    def named(self, value: Value, term: list[str], extents: dict[str, Dim]) -> _Named:
        """An operand with its labels; of axes with the same label only the diagonal is left."""
        labels = tuple(term)
        while len(set(labels)) < len(labels):
            label = next(one for one in labels if labels.count(one) > 1)
            first, second = [axis for axis, one in enumerate(labels) if one == label][:2]
            others = [axis for axis in range(len(labels)) if axis not in (first, second)]
            shape = value.type.shape
            (extent,) = static_extents([shape[first]], f"label {label!r}, which an operand has twice,")
            if extent != shape[second]:
                raise _contradiction(label, extent, shape[second])
            kept = [shape[axis] for axis in others]
            value = self.step(Transpose(permutation=(*others, first, second)), value)
            value = self.step(Reshape(shape=(*kept, extent * extent)), value)
            starts, steps = (0,) * len(shape[1:]), (*[1] * len(kept), extent + 1)
            value = self.step(Slice(starts=starts, ends=(*kept, extent * extent), steps=steps), value)
            labels = (*(labels[axis] for axis in others), label)
        for label, found in zip(labels, value.type.shape, strict=True):
            known = extents.get(label, 1)
            if 1 not in (known, found) and known != found:
                raise _contradiction(label, known, found)
            if known == 1:
                extents[label] = found
        return _Named(value, labels)

    def summed(self, operand: _Named, kept: set[str]) -> _Named:
        axes = tuple(axis for axis, label in enumerate(operand.labels) if label not in kept)
        if not axes:
            return operand
        left = tuple(label for label in operand.labels if label in kept)
        return _Named(self.step(ReduceSum(axes=axes, keepdims=False), operand.value), left)

    def ordered(self, operand: _Named, labels: list[str]) -> _Named:
        order = tuple(operand.labels.index(label) for label in labels)
        if order == tuple(range(len(order))):
            return operand
        return _Named(self.step(Transpose(permutation=order), operand.value), tuple(labels))

    def joined(self, left: _Named, right: _Named, kept: set[str]) -> _Named:
        """A matrix product: labels of both operands are summed over, or make a stack if they are kept."""
        right = self.summed(right, kept | set(left.labels))
        both = [label for label in left.labels if label in right.labels]
        unequal = [label for label in both if label not in kept and left.extent(label) != right.extent(label)]
        if unequal:
            left, right = self._spread(left, right, unequal)
        stack = [label for label in both if label in kept]
        inner = [label for label in both if label not in kept]
        rows = [label for label in left.labels if label not in both]
        columns = [label for label in right.labels if label not in both]
        a, b = self.ordered(left, [*stack, *rows, *inner]), self.ordered(right, [*stack, *inner, *columns])
        row_extents, column_extents = [left.extent(x) for x in rows], [right.extent(x) for x in columns]
        depth = product(left.extent(x) for x in inner)
        a_shape = (*(left.extent(x) for x in stack), product(row_extents), depth)
        b_shape = (*(right.extent(x) for x in stack), depth, product(column_extents))
        joined = self.step(
            MatMul(), self.step(Reshape(shape=a_shape), a.value), self.step(Reshape(shape=b_shape), b.value)
        )
        shape = (*joined.type.shape[: len(stack)], *row_extents, *column_extents)
        return _Named(self.step(Reshape(shape=shape), joined), (*stack, *rows, *columns))

    def _spread(self, left: _Named, right: _Named, labels: list[str]) -> tuple[_Named, _Named]:
        """Both operands with their axes of extent 1 broadcast along labels."""

        def spread(one: _Named, other: _Named) -> _Named:
            spread_to = {x: other.extent(x) for x in labels if one.extent(x) == 1}
            shape = tuple(spread_to.get(x, one.extent(x)) for x in one.labels)
            return _Named(self.step(BroadcastTo(shape=shape), one.value), one.labels)

        return spread(left, right), spread(right, left)
