"""Operations that give the elements of a tensor another shape or order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sateen.frontends.core.operands import Operand, extents_array, normal_axis
from sateen.frontends.core.shapes import filled_shape, squeezed_axes, with_axes, without_axes
from sateen.frontends.coreml.program.node import Converter, OperationNode, defaulting
from sateen.graph_ir import ops
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product


def _reshape(node: OperationNode) -> Operand:
    """A 0 keeps the extent of the axis that is as far from the last one; beyond the first it is 1 (iOS 17)."""
    x, wanted = node.take("x"), node.dimensions_of("shape")
    own = x.type.shape
    beyond = (1,) * max(len(wanted) - len(own), 0)
    kept = (*beyond, *own)[len(beyond) + len(own) - len(wanted) :]
    target = [kept[i] if isinstance(n, int) and n == 0 and 0 not in own else n for i, n in enumerate(wanted)]
    return node.result(ops.Reshape(filled_shape(target, own)), x)


def _reshape_like(node: OperationNode) -> Operand:
    """The extents of parts of other tensors, one after the other."""
    shapes = [node.shape(index) for index in node.places("ref_tensors")]
    settings = [_listed(node, name, len(shapes)) for name in ("begins", "ends", "end_masks")]
    target = [
        extent
        for shape, begin, end, masked in zip(shapes, *settings, strict=True)
        for extent in shape[int(begin) : None if masked else int(end)]
    ]
    return node.result(ops.Reshape(filled_shape(target, node.shape(node.at("x")))), node.take("x"))


def _listed(node: OperationNode, name: str, count: int) -> Sequence[object]:
    numbers = [node.scalar(index) for index in node.places(name)]
    if len(numbers) != count:
        raise FrontendError(f"expected {count} numbers as {name}, found {len(numbers)}")
    return numbers


def _expand_dims(node: OperationNode) -> Operand:
    x = node.take("x")
    given = (node.integer("axes"),) if isinstance(node.attribute("axes"), int) else node.integers("axes")
    return node.result(ops.Reshape(with_axes(x.type.shape, given)), x)


def _squeeze(node: OperationNode) -> Operand:
    x = node.take("x")
    given = None if node.attribute("axes") is None else node.integers("axes")
    axes = squeezed_axes(x.type.shape, given, node.described(node.at("x")))
    return node.result(ops.Reshape(without_axes(x.type.shape, axes)), x)


def _transpose(node: OperationNode) -> Operand:
    x, order = node.take("x"), node.integers("perm")
    axes = tuple(normal_axis(axis, x.type.rank) for axis in order)
    if sorted(axes) != list(range(x.type.rank)):
        raise FrontendError(f"expected an order of {x.type.rank} axes, found {list(order)}")
    return node.result(ops.Transpose(axes), x)


def _shape(node: OperationNode) -> Operand:
    extents = extents_array(node.shape(node.at("x")))
    return extents if extents.dtype == object else extents.astype(np.int32)


def _flatten_2d(node: OperationNode) -> Operand:
    x, axis = node.take("x"), node.integer("axis")
    if not -x.type.rank <= axis <= x.type.rank:
        raise FrontendError(f"expected an axis of {-x.type.rank} to {x.type.rank}, found {axis}")
    at = axis + x.type.rank if axis < 0 else axis
    return node.result(ops.Reshape((product(x.type.shape[:at]), product(x.type.shape[at:]))), x)


def _classify(node: OperationNode) -> Operand:
    """The probabilities, in the order of the labels."""
    return node.result(ops.Identity(), node.take("probabilities"))


def _state(node: OperationNode) -> Operand:
    """What a state holds then, which the names of the step say."""
    return node.result(ops.Identity(), node.take("input"))


SHAPE: Mapping[str, Converter] = {
    "classify": _classify,
    "read_state": _state,
    "write_state": _state,
    "expand_dims": _expand_dims,
    "flatten2d": defaulting(_flatten_2d, axis=1),
    "reshape": _reshape,
    "reshape_like": _reshape_like,
    "shape": _shape,
    "squeeze": _squeeze,
    "transpose": _transpose,
}
