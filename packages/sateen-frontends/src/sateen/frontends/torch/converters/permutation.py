"""Axes, or the elements along them, in another order: transposes, flips, rolls, turns."""

from __future__ import annotations

from collections.abc import Sequence

from sateen.frontends.core.operands import Operand, normal_axes, normal_axis, static_extents
from sateen.frontends.core.slices import turned
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.graph_ir import ops
from sateen.topi.dimensions import product


def _permuted(node: TorchNode, order: Sequence[int]) -> Operand:
    return node.result(ops.Transpose(permutation=tuple(order)), node.tensor("self"))


def _permute(node: TorchNode) -> Operand:
    rank = node.type("self").rank
    return _permuted(node, [normal_axis(axis, rank) for axis in node.integers("dims")])


def _transpose(node: TorchNode) -> Operand:
    rank = node.type("self").rank
    names = ("axis0", "axis1") if node.gives("axis0") else ("dim0", "dim1")  # the former of swapaxes
    one, other = (node.one_axis(rank, name) for name in names)
    order = list(range(rank))
    if rank:
        order[one], order[other] = other, one
    return _permuted(node, order)


def _matrix_transpose(node: TorchNode) -> Operand:
    rank = node.type("self").rank
    return _permuted(node, [*range(rank - 2), *reversed(range(max(rank - 2, 0), rank))])


def _reversed_axes(node: TorchNode) -> Operand:
    return _permuted(node, list(reversed(range(node.type("self").rank))))


def _move_axes(node: TorchNode) -> Operand:
    rank = node.type("self").rank
    source, target = ([normal_axis(a, rank) for a in node.integers(name)] for name in ("source", "destination"))
    order = [axis for axis in range(rank) if axis not in source]
    for place, axis in sorted(zip(target, source, strict=True)):
        order.insert(place, axis)
    return _permuted(node, order)


def _flip(node: TorchNode) -> Operand:
    data = node.tensor("self")
    return node.result(turned(data.type.shape, normal_axes(node.integers("dims"), data.type.rank)), data)


def _flip_of(axis: int) -> Converter:
    return lambda node: node.result(turned(node.tensor("self").type.shape, (axis,)), node.tensor("self"))


def _roll(node: TorchNode) -> Operand:
    """Elements moved along axes, those beyond the end to the beginning; along none: as one row."""
    data, shifts = node.tensor("self"), node.integers("shifts")
    shape, axes = data.type.shape, node.integers("dims", ()) if node.gives("dims") else ()
    if not axes:
        data, axes = node.reshaped(data, (product(shape),)), (0,)
    for given, shift in zip(axes, shifts, strict=True):
        axis = normal_axis(given, max(data.type.rank, 1))
        (extent,) = static_extents(data.type.shape[axis : axis + 1] or (1,), "an axis that is rolled")
        cut = -shift % extent if extent else 0
        if cut:
            parts = node.steps(ops.Split(axis=axis, sizes=(cut, extent - cut)), data, count=2)
            data = node.step(ops.Concat(axis=axis), parts[1], parts[0])
    return node.result(ops.Reshape(shape=shape), data)


def _rotate(node: TorchNode) -> Operand:
    """rot90: k quarters of a turn from the first axis to the second."""
    data = node.tensor("self")
    rank, turns = data.type.rank, node.integer("k", 1) % 4
    first, second = (normal_axis(axis, rank) for axis in node.integers("dims", (0, 1)))
    back = ((), (second,), (first, second), (first,))[turns]
    rotated = node.step(turned(data.type.shape, back), data)
    order = list(range(rank))
    if turns % 2:
        order[first], order[second] = second, first
    return node.result(ops.Transpose(permutation=tuple(order)), rotated)


PERMUTATION: dict[str, Converter] = {
    "adjoint": _matrix_transpose,
    "flip": _flip,
    "fliplr": _flip_of(1),
    "flipud": _flip_of(0),
    "mH": _matrix_transpose,
    "mT": _matrix_transpose,
    "matrix_H": _matrix_transpose,
    "moveaxis": _move_axes,
    "movedim": _move_axes,
    "numpy_T": _reversed_axes,
    "permute": _permute,
    "permute_copy": _permute,
    "roll": _roll,
    "rot90": _rotate,
    "swapaxes": _transpose,
    "swapdims": _transpose,
    "t": _matrix_transpose,
    "t_copy": _matrix_transpose,
    "transpose": _transpose,
    "transpose_copy": _transpose,
}
