"""Lists of tensors of one shape, as one tensor along a new first axis: TensorList, and TensorArray of TensorFlow 1.

Of a TensorArray, the flow is that tensor (data_flow_ops.cc: it is what orders reads after writes).
"""

from __future__ import annotations

import numpy as np

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.tensorflow.node import INT64, Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Array, Value
from sateen.runtime.dtype import DType


def _empty(node: TensorflowNode, count: int, extents: tuple[int, ...] | None, dtype: DType) -> Operand:
    """A list without data: zeros. If the elements' shape is unknown, it has none until a loop writes them."""
    if extents is None or min(extents, default=0) < 0:
        return node.evaluated(np.zeros((count, 0), dtype.numpy))
    return node.step(ops.BroadcastTo(shape=(count, *extents)), node.literal(0, dtype))


def _reserved(node: TensorflowNode) -> Operand:
    given = node.integers_at(0)
    extents = None if node.constant(0).ndim == 0 and given == (-1,) else given
    return _empty(node, int(node.scalar(1)), extents, node.type("element_dtype"))


def _array(node: TensorflowNode) -> tuple[Operand, Operand]:
    """The handle, and the list."""
    shape = node.attribute("element_shape")
    return np.zeros(0, np.int32), _empty(node, int(node.scalar(0)), shape, node.type("dtype"))


def _whole(index: int) -> Converter:
    """The tensor of a list."""
    return lambda node: node.operand(index)


def _read(held: int, place: int) -> Converter:
    return lambda node: node.result(ops.Gather(axis=0), node.value(held), node.value(place))


def _scattered(node: TensorflowNode) -> Operand:
    """Elements written at all places in order."""
    places = node.constant(1)
    if places.tolist() != list(range(len(places))) or node.shape(2)[:1] != (len(places),):
        raise UnsupportedError("lists whose elements are written in another order are not supported")
    return node.operand(2)


def _written(held: int, place: int, element: int) -> Converter:
    """The list with another element."""

    def convert(node: TensorflowNode) -> Operand:
        data: Value = node.value(held)
        shape = node.shape(element)
        if data.type.shape[1:] != shape:
            raise UnsupportedError(
                f"the elements of a list of {data.type} become {node.value(element).type}",
                "give the list the shape of its elements, or bind what decides how often the loop runs",
            )
        at = node.step(ops.Reshape(shape=(1, 1)), node.cast(node.value(place), INT64))
        row = node.step(ops.Reshape(shape=(1, *shape)), node.value(element))
        return node.result(ops.ScatterND(), data, at, row)

    return convert


def _length(node: TensorflowNode) -> Array:
    return np.array(static_extents(node.shape(len(node.inputs) - 1)[:1], "the length of the list")[0], np.int32)


LISTS: dict[str, Converter] = {
    "TensorArrayGatherV3": _read(2, 1),
    "TensorArrayReadV3": _read(2, 1),
    "TensorArrayScatterV3": _scattered,
    "TensorArraySizeV3": _length,
    "TensorArrayV3": _array,
    "TensorArrayWriteV3": _written(3, 1, 2),
    "TensorListFromTensor": _whole(0),
    "TensorListGather": _read(0, 1),
    "TensorListGetItem": _read(0, 1),
    "TensorListLength": _length,
    "TensorListReserve": _reserved,
    "TensorListSetItem": _written(0, 1, 2),
    "TensorListStack": _whole(0),
}
