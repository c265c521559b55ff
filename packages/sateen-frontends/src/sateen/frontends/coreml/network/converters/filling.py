"""Layers that fill blobs: borders, constants, ranges, and what is beside a diagonal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.coreml.network.converters.windows import border
from sateen.frontends.coreml.network.node import FLOAT, Converter, LayerNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim
from sateen.runtime.errors import FrontendError

MOST_NUMBERS = 1 << 20
"""The most numbers of a range."""


def _padding(node: LayerNode) -> Operand:
    """Of height and width; reflection does not repeat the outermost element, replication repeats it alone."""
    node.require_rank(3)
    given = node.parameters
    modes = {"constant": "constant", "reflection": "reflect", "replication": "edge"}
    kind = given.WhichOneof("padding_type") or "constant"
    top, left, bottom, right = border(given.paddingAmounts)
    none = (0,) * (node.rank(0) - 2)
    value = given.constant.value if kind == "constant" else 0.0
    return node.result(ops.Pad(modes[kind], (*none, top, left, *none, bottom, right), value), node.value(0))


def _constant_padding(node: LayerNode) -> Operand:
    """Pads (before, after) of each axis, or in their place the wanted extents."""
    given, rank = node.parameters, node.rank(0)
    amounts = node.integers_of(1) if len(node.inputs) > 1 else tuple(given.padAmounts)
    if len(amounts) != 2 * rank:
        raise FrontendError(f"expected {2 * rank} amounts, two per axis, found {len(amounts)}")
    before, after = list(amounts[::2]), list(amounts[1::2])
    if given.padToGivenOutputSizeMode:
        for pads, others in ((before, after), (after, before)):
            for axis, extent in enumerate(node.static_shape(0)):
                if pads[axis] and others[axis]:
                    raise FrontendError(f"expected a wanted extent on one side of axis {axis}, found two")
                pads[axis] = max(pads[axis] - extent, 0)
    return node.result(ops.Pad("constant", (*before, *after), given.value), node.value(0))


def _constant(node: LayerNode) -> Operand:
    shape = tuple(node.parameters.shape)
    if len(shape) != 3:
        raise FrontendError(f"expected a shape [C, H, W], found {list(shape)}")
    return node.weights("data", shape).reshape(node.blob_shape(*shape))


def _constant_nd(node: LayerNode) -> Operand:
    return node.weights("data", tuple(node.parameters.shape))


def _filled(node: LayerNode, shape: Sequence[Dim]) -> Operand:
    """A fill stays an operator, however large it is."""
    if not all(not isinstance(extent, int) or extent > 0 for extent in shape):
        raise FrontendError(f"expected extents of 1 or more, found {list(shape)}")
    return node.result(ops.BroadcastTo(tuple(shape)), node.literal(node.parameters.value, FLOAT, (1,)))


def _broadcast(node: LayerNode, shape: Sequence[Dim]) -> Operand:
    return node.result(ops.BroadcastTo(tuple(shape)), node.value(0))


def _range(node: LayerNode) -> Operand:
    """Numbers from a start by steps to before an end, as numpy.arange gives them. Inputs: end, start, step."""
    given = node.parameters
    numbers = [float(node.scalar(index)) for index in range(len(node.inputs))]
    named = [getattr(given, name) for name in ("endValue", "startValue", "stepSizeValue") if hasattr(given, name)]
    given_numbers = [*numbers, *named[len(named) - 3 + len(numbers) :]]
    if len(given_numbers) != 3:
        raise FrontendError(f"expected at most three inputs, found {len(numbers)}")
    end, start, step = given_numbers
    if not np.all(np.isfinite([end, start, step])) or step == 0 or not 0 < (end - start) / step <= MOST_NUMBERS:
        raise FrontendError(f"expected a range of 1 to {MOST_NUMBERS} numbers, found {start} to {end} by {step}")
    return node.evaluated(np.arange(start, end, step, dtype=np.float32))


def _triangle(*, upper: bool) -> Converter:
    return lambda node: node.result(ops.Trilu(upper=upper, k=_diagonal(node.parameters.k)), node.value(0))


def _diagonal(k: int) -> int:
    """Beyond 2^31 all diagonals are alike."""
    return int(max(-(1 << 31), min(k, 1 << 31)))


def _band(node: LayerNode) -> Operand:
    """numLower diagonals below the main one and numUpper above it; negative numbers keep all."""
    lower, upper = node.parameters.numLower, node.parameters.numUpper
    kinds = [ops.Trilu(upper=True, k=_diagonal(-lower))] * (lower >= 0)
    kinds += [ops.Trilu(upper=False, k=_diagonal(upper))] * (upper >= 0)
    data = node.value(0)
    for op in islice(kinds, max(len(kinds) - 1, 0)):
        data = node.step(op, data)
    return node.result(kinds[-1] if kinds else ops.Identity(), data)


FILLING: Mapping[str, Converter] = {
    "broadcastToDynamic": lambda node: _broadcast(node, node.dimensions_of(1)),
    "broadcastToLike": lambda node: _broadcast(node, node.shape(1)),
    "broadcastToStatic": lambda node: _broadcast(node, tuple(node.parameters.targetShape)),
    "constantPad": _constant_padding,
    "fillDynamic": lambda node: _filled(node, node.dimensions_of(0)),
    "fillLike": lambda node: _filled(node, node.shape(0)),
    "fillStatic": lambda node: _filled(node, tuple(node.parameters.targetShape)),
    "loadConstant": _constant,
    "loadConstantND": _constant_nd,
    "lowerTriangular": _triangle(upper=False),
    "matrixBandPart": _band,
    "padding": _padding,
    "rangeDynamic": _range,
    "rangeStatic": _range,
    "upperTriangular": _triangle(upper=True),
}
