"""Operators that change shapes, and the codes in shapes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sateen.frontends.core.operands import (
    Operand,
)
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.shapes import filled_shape, squeezed_axes, with_axes, without_axes
from sateen.frontends.mxnet.description import REQUIRED, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product


def shaped(node: MxnetNode, shape: Sequence[Dim]) -> Operand:
    """Input 0 in a shape; data stay data, since weights of recurrent layers are put together from reshaped ones."""
    operand = node.operand(0)
    if isinstance(operand, np.ndarray) and all(isinstance(extent, int) for extent in shape):
        if product(tuple(shape)) != operand.size:
            raise FrontendError(f"expected a shape of {operand.size} elements, found {list(shape)}")
        return operand.reshape([int(extent) for extent in shape if isinstance(extent, int)])
    return node.result(ops.Reshape(shape=tuple(shape)), node.value(0))


def _reshape(node: MxnetNode) -> Operand:
    """The shape, in which some numbers are codes; before 0.9 target_shape, where 0 stood for what is left."""
    given = node.shape(0)
    target = node.integers("target_shape")
    if target and not node.integers("shape"):
        wanted = [given[0], *target[1:]] if node.flag("keep_highest") else list(target)
        return shaped(node, filled_shape([-1 if extent == 0 else extent for extent in wanted], given))
    codes = node.integers("shape")
    if node.flag("reverse"):
        return shaped(node, decoded_shape(codes[::-1], given[::-1], is_reversed=True)[::-1])
    return shaped(node, decoded_shape(codes, given))


def decoded_shape(codes: Sequence[int], given: Sequence[Dim], *, is_reversed: bool = False) -> list[Dim]:
    """The shape that codes ask for, which walk along the axes of the given one (InferReshapeShape of
    src/operator/tensor/matrix_op-inl.h):

    0 takes an axis, -1 is what is left, -2 takes all axes that follow, -3 takes two axes as one, -4 splits an axis into
    the two numbers that follow, of which one may be -1. If both sequences are reversed, the two numbers are in front.
    """
    found: list[Dim] = []
    axes, codes = list(given), list(codes)
    while codes:
        code = codes.pop(0)
        if code > 0 or code == -1:
            found.append(code)
            del axes[:1]
        elif code == 0:
            found.append(_next(axes))
        elif code == -2:
            found.extend(axes)
            axes.clear()
        elif code == -3:
            found.append(_next(axes) * _next(axes))
        elif code == -4 and len(codes) >= 2 and not is_reversed:
            found.extend(_split(_next(axes), codes.pop(0), codes.pop(0)))
        else:
            raise UnsupportedError(f"code {code} of a shape is not supported{' with reverse' * is_reversed}")
    return list(filled_shape(found, given))


def _next(axes: list[Dim]) -> Dim:
    if not axes:
        raise FrontendError("expected data of as many axes as its shape's codes take, found fewer")
    return axes.pop(0)


def _split(extent: Dim, first: int, second: int) -> tuple[Dim, Dim]:
    if first == -1 and second > 0:
        return extent // second, second
    if second == -1 and first > 0:
        return first, extent // first
    if first > 0 and second > 0:
        return first, second
    raise FrontendError(f"expected two extents after -4, of which one may be -1, found {first} and {second}")


def _reshape_like(node: MxnetNode) -> Operand:
    """The shape of the second operand; with begins and ends, a range of its axes in place of a range of the first's."""
    left, right = node.shape(0), node.shape(1)
    first = _range(node, "lhs", len(left))
    second = _range(node, "rhs", len(right))
    return shaped(node, (*left[: first[0]], *right[second[0] : second[1]], *left[first[1] :]))


def _range(node: MxnetNode, side: str, rank: int) -> tuple[int, int]:
    begin, end = (node.optional_integer(f"{side}_{name}") for name in ("begin", "end"))
    first = 0 if begin is None else begin + rank * (begin < 0)
    last = rank if end is None else end + rank * (end < 0)
    if not 0 <= first <= last <= rank:
        raise FrontendError(f"expected a range of the {rank} axes of {side}, found {begin} to {end}")
    return first, last


def _flatten(node: MxnetNode) -> Operand:
    shape = node.shape(0)
    return shaped(node, (shape[0], product(shape[1:])))


def _expand_dims(node: MxnetNode) -> Operand:
    return shaped(node, with_axes(node.shape(0), (node.integer("axis"),)))


def _squeeze(node: MxnetNode) -> Operand:
    """Without the given axes, or all of 1; at least one axis is left."""
    shape = node.shape(0)
    given = None if node.attribute("axis") is None else node.integers("axis")
    axes = squeezed_axes(shape, given, node.described(0))
    return shaped(node, without_axes(shape, axes) or (1,))


RESHAPE = {
    "Flatten": operator(_flatten),
    "Reshape": operator(_reshape, shape=(), reverse=False, target_shape=(), keep_highest=False),
    "expand_dims": operator(_expand_dims, axis=REQUIRED),
    "reshape_like": operator(_reshape_like, "lhs rhs", lhs_begin=None, lhs_end=None, rhs_begin=None, rhs_end=None),
    "squeeze": operator(_squeeze, axis=None),
}
