"""Operators that take elements from places. Indices count from the end if they are negative."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sateen.frontends.core.operands import Operand
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.frontends.torch.program import Reference
from sateen.frontends.torch.promotion import INT64
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.computations.broadcast import broadcast_shape
from sateen.topi.dimensions import product


def indices_of(node: TorchNode) -> list[Value | None]:
    """An index per axis, None for a whole one. A mask that is known is the indices of what it chooses."""
    found: list[Value | None] = []
    argument = node.argument("indices")
    for item in argument if isinstance(argument, tuple) else ():
        if not isinstance(item, Reference):
            found.append(None)
            continue
        value = node.value_of(item, "indices")
        if not (value.type.dtype.is_bool or str(value.type.dtype) == "uint8"):
            found.append(value)
            continue
        position = node.position(item.name)
        if not node.is_known(position):
            raise UnsupportedError(
                "how many elements a mask chooses is known at run time only",
                "write torch.where instead, or bind what decides the mask",
            )
        found += [node.parameter(np.asarray(places), "places") for places in np.nonzero(node.constant(position))]
    return found


def _index(node: TorchNode) -> Operand:
    """index: several indices broadcast; their axes take the place of the first one, or come first if indexed axes are
    apart (NumPy's advanced indexing)."""
    data, indices = node.tensor("self"), indices_of(node)
    axes = [axis for axis, index in enumerate(indices) if index is not None]
    given = [index for index in indices if index is not None]
    if len(axes) == 1:
        return node.result(ops.Gather(axis=axes[0]), data, given[0])
    moved, places, order = at_front(node, data, axes, given)
    found = node.step(ops.GatherND(), moved, places)
    return node.result(ops.Transpose(permutation=as_torch(axes, places.type.rank - 1, len(order) - len(axes))), found)


def at_front(
    node: TorchNode, data: Value, axes: Sequence[int], given: Sequence[Value]
) -> tuple[Value, Value, tuple[int, ...]]:
    """Data with the indexed axes first, indices stacked in a last axis, and the order of axes."""
    order = (*axes, *(axis for axis in range(data.type.rank) if axis not in axes))
    moved = data if order == tuple(range(len(order))) else node.step(ops.Transpose(permutation=order), data)
    shape = broadcast_shape(*(index.type.shape for index in given))
    wide = [node.cast(index, INT64) for index in given]
    spread = [node.reshaped(node.broadcast(index, shape), (*shape, 1)) for index in wide]
    return moved, node.step(ops.Concat(axis=len(shape)), *spread) if len(spread) > 1 else spread[0], order


def as_torch(axes: Sequence[int], indexed: int, rest: int) -> tuple[int, ...]:
    """The permutation from [indices…, others…] to torch's order of axes."""
    adjacent = list(axes) == list(range(axes[0], axes[0] + len(axes)))
    before = axes[0] if adjacent else 0
    places, others = list(range(indexed)), list(range(indexed, indexed + rest))
    return (*others[:before], *places, *others[before:])


def is_mask(node: TorchNode, items: Sequence[object]) -> bool:
    (item,) = items
    return isinstance(item, Reference) and node.value_of(item, "indices").type.dtype.is_bool


def _index_select(node: TorchNode) -> Operand:
    data, index = node.tensor("self"), node.tensor("index")
    axis = node.one_axis(data.type.rank)
    if not data.type.rank:
        return node.result(ops.Reshape(shape=()), data)
    return node.result(ops.Gather(axis=axis), data, node.reshaped(index, (product(index.type.shape),)))


def _embedding(node: TorchNode) -> Operand:
    node.ignore("padding_idx", "scale_grad_by_freq", "sparse")  # these concern gradients
    return node.result(ops.Gather(axis=0), node.tensor("weight"), node.tensor("indices"))


def with_axis(node: TorchNode, value: Value) -> Value:
    """A number counts as one that has an axis."""
    return value if value.type.rank else node.reshaped(value, (1,))


def _gather(node: TorchNode) -> Operand:
    node.ignore("sparse_grad")
    data, index = with_axis(node, node.tensor("self")), with_axis(node, node.tensor("index"))
    axis = node.one_axis(data.type.rank)
    if node.type("index").rank == data.type.rank:
        return node.result(ops.GatherElements(axis=axis), data, index)
    return node.result(
        ops.Reshape(shape=node.type("index").shape), node.step(ops.GatherElements(axis=axis), data, index)
    )


def _take(node: TorchNode) -> Operand:
    """Elements of all axes as one row."""
    data = node.tensor("self")
    return node.result(ops.Gather(axis=0), node.reshaped(data, (product(data.type.shape),)), node.tensor("index"))


def _take_along(node: TorchNode) -> Operand:
    """take_along_dim: gather after broadcasting the other axes."""
    data, index = node.tensor("self"), node.tensor("indices")
    if not node.gives("dim"):
        data, index = (node.reshaped(v, (product(v.type.shape),)) for v in (data, index))
        return node.result(ops.GatherElements(axis=0), data, index)
    rank = data.type.rank
    axis = node.one_axis(rank)
    shape = broadcast_shape(*([1 if d == axis else n for d, n in enumerate(v.type.shape)] for v in (data, index)))
    data, index = (
        node.broadcast(v, [v.type.shape[axis] if d == axis else n for d, n in enumerate(shape)]) for v in (data, index)
    )
    return node.result(ops.GatherElements(axis=axis), data, index)


def _grid_sample(node: TorchNode) -> Operand:
    """Modes and paddings by their numbers (aten/src/ATen/native/GridSamplerUtils.h)."""
    modes, paddings = ("linear", "nearest", "cubic"), ("zeros", "border", "reflection")
    mode, padding = node.integer("interpolation_mode", 0), node.integer("padding_mode", 0)
    if not 0 <= mode < 3 or not 0 <= padding < 3:
        raise FrontendError(f"expected modes of 0 to 2, found {mode} and {padding}")
    op = ops.GridSample(mode=modes[mode], padding=paddings[padding], align_corners=node.flag("align_corners"))
    return node.result(op, node.tensor("input"), node.tensor("grid"))


GATHER: dict[str, Converter] = {
    "_unsafe_index": _index,
    "embedding": _embedding,
    "gather": _gather,
    "grid_sampler": _grid_sample,
    "grid_sampler_2d": _grid_sample,
    "grid_sampler_3d": _grid_sample,
    "index": _index,
    "index_select": _index_select,
    "take": _take,
    "take_along_dim": _take_along,
}
