"""Layers that join blobs, split them, and repeat them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.coreml.network.node import CHANNEL, Converter, LayerNode
from sateen.frontends.coreml.shapes import stacked
from sateen.graph_ir import ops
from sateen.runtime.errors import FrontendError

MOST_PARTS = 1 << 20
"""The most parts of a blob."""


def _concat(node: LayerNode) -> Operand:
    if not node.parameters.sequenceConcat:
        node.require_rank(3)
        return node.result(ops.Concat(axis=node.normal(CHANNEL)), *node.values())
    node.require_rank(4 + node.has_batch)
    return node.result(ops.Concat(axis=0), *node.values())


def _concat_nd(node: LayerNode) -> Operand:
    """With `interleave`, slices of the inputs alternate."""
    axis, values = node.normal_parameter(), node.values()
    if not node.parameters.interleave:
        return node.result(ops.Concat(axis=axis), *values)
    if len({value.type for value in values}) > 1:
        raise FrontendError(f"expected inputs of one shape, found {', '.join(str(value.type) for value in values)}")
    shape = list(values[0].type.shape)
    stack = stacked(node, values, axis + 1)
    shape[axis] = shape[axis] * len(values)
    return node.result(ops.Reshape(tuple(shape)), stack)


def _stack(node: LayerNode) -> Operand:
    values = node.values()
    axis = normal_axis(node.parameters.axis, node.rank(0) + 1)
    parts = [node.step(ops.Reshape((*v.type.shape[:axis], 1, *v.type.shape[axis:])), v) for v in values]
    return node.result(ops.Concat(axis=axis), *parts)


def _split(node: LayerNode) -> Sequence[Operand]:
    node.require_rank(3)
    return _pieces(node, node.normal(CHANNEL), node.parameters.nOutputs, ())


def _split_nd(node: LayerNode) -> Sequence[Operand]:
    given = node.parameters
    return _pieces(node, node.normal_parameter(), given.numSplits, tuple(given.splitSizes))


def _pieces(node: LayerNode, axis: int, count: int, sizes: tuple[int, ...]) -> Sequence[Operand]:
    if not sizes:
        extent = node.shape(0)[axis]
        count = count or len(node.outputs)
        if not isinstance(extent, int) or extent % count or count > MOST_PARTS:
            raise FrontendError(f"expected {count} equal parts of axis {axis}, found {node.operand_text(0)}")
        sizes = (extent // count,) * count
    if len(sizes) != len(node.outputs):
        raise FrontendError(f"expected {len(sizes)} outputs, one per part, found {len(node.outputs)}")
    return node.results(ops.Split(axis=axis, sizes=sizes), node.value(0), count=len(sizes))


def _sequence_repeat(node: LayerNode) -> Operand:
    node.require_rank(4 + node.has_batch)
    count = node.parameters.nRepetitions or 1
    return node.result(ops.Tile(repeats=(count, *(1,) * (node.rank(0) - 1))), node.value(0))


def _tile(node: LayerNode) -> Operand:
    """Fewer repetitions than axes are those of the last ones."""
    rank = node.rank(0)
    given = node.dimensions_of(1) if len(node.inputs) > 1 else tuple(node.parameters.reps)
    if not 0 < len(given) <= rank or any(isinstance(n, int) and n < 1 for n in given):
        raise FrontendError(f"expected 1 to {rank} repetitions, found {list(given)}")
    return node.result(ops.Tile(repeats=(*(1,) * (rank - len(given)), *given)), node.value(0))


JOINING: Mapping[str, Converter] = {
    "concat": _concat,
    "concatND": _concat_nd,
    "sequenceRepeat": _sequence_repeat,
    "split": _split,
    "splitND": _split_nd,
    "stack": _stack,
    "tile": _tile,
}
