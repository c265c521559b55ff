"""Operations that join tensors, split them, and repeat them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sateen.frontends.core.operands import Operand
from sateen.frontends.coreml.program.node import Converter, OperationNode, defaulting
from sateen.frontends.coreml.shapes import stacked
from sateen.graph_ir import ops
from sateen.runtime.errors import FrontendError


def _concat(node: OperationNode) -> Operand:
    """Scalars, which have no axis to be joined along, become a vector (coremltools, mil/ops/defs/iOS15/
    tensor_operation.py, concat: `retshape = [concat_dim_len]`, and `np.stack`)."""
    values = node.take_all("values")
    if not values:
        raise FrontendError("expected values, found none")
    if values[0].type.rank == 0:
        return node.result(ops.Identity(), stacked(node, values, node.axis(1)))
    axis = node.axis(values[0].type.rank)
    if not node.flag("interleave"):
        return node.result(ops.Concat(axis=axis), *values)
    if len({value.type for value in values}) > 1:
        raise FrontendError(f"expected values of one shape, found {', '.join(str(value.type) for value in values)}")
    shape = list(values[0].type.shape)
    shape[axis] = shape[axis] * len(values)
    return node.result(ops.Reshape(tuple(shape)), stacked(node, values, axis + 1))


def _stack(node: OperationNode) -> Operand:
    values = node.take_all("values")
    if not values:
        raise FrontendError("expected values, found none")
    return node.result(ops.Identity(), stacked(node, values, node.axis(values[0].type.rank + 1)))


def _split(node: OperationNode) -> Sequence[Operand]:
    x = node.take("x")
    axis = node.axis(x.type.rank)
    if node.given("split_sizes"):
        sizes = node.dimensions_of("split_sizes")
    else:
        count, extent = node.integer("num_splits"), x.type.shape[axis]
        if not isinstance(extent, int) or count < 1 or extent % count:
            raise FrontendError(f"expected {count} equal parts of axis {axis}, found {x.type}")
        sizes = (extent // count,) * count
    if len(sizes) != len(node.outputs):
        raise FrontendError(f"expected {len(sizes)} results, one per part, found {len(node.outputs)}")
    return node.results(ops.Split(axis=axis, sizes=sizes), x, count=len(sizes))


def _tile(node: OperationNode) -> Operand:
    return node.result(ops.Tile(repeats=node.dimensions_of("reps")), node.take("x"))


JOINING: Mapping[str, Converter] = {
    "concat": defaulting(_concat, interleave=False),
    "split": _split,
    "stack": _stack,
    "tile": _tile,
}
