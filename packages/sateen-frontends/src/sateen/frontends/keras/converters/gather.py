"""Functions of keras.ops that take elements from places.

Sources: keras/src/ops/numpy.py and keras/src/backend/tensorflow/numpy.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.node import Converter
from sateen.frontends.core.operands import Operand, normal_axis
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.keras.converters.operands import INT32, integers, tensor
from sateen.frontends.keras.node import KerasNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value


def _take(node: KerasNode) -> Operand:
    data, axis = node.argument(0, "x"), node.setting("axis", None)
    indices = node.argument(1, "indices")
    if type(axis) is not int or not isinstance(data, Value):
        raise UnsupportedError("taking from flattened data is not supported", "give an axis")
    if not isinstance(indices, Value):
        indices = tensor(node, integers(indices, "indices"), INT32)
    return node.result(ops.Gather(normal_axis(axis, data.type.rank)), data, indices)


def _take_along(node: KerasNode) -> Operand:
    data, indices, axis = node.argument(0, "x"), node.argument(1, "indices"), node.setting("axis", None)
    if type(axis) is not int or not isinstance(data, Value) or not isinstance(indices, Value):
        raise UnsupportedError("taking from flattened data, or by known indices, is not supported", "give an axis")
    rank = data.type.rank
    known = normal_axis(axis, rank)
    kept = [(a, b) for i, (a, b) in enumerate(zip(data.type.shape, indices.type.shape, strict=True)) if i != known]
    if any(a != b for a, b in kept):
        raise UnsupportedError("indices that broadcast are not supported", "broadcast them before")
    return node.result(ops.GatherElements(known), data, indices)


GATHER: Mapping[str, Converter[KerasNode]] = {
    "ops.Take": _take,
    "ops.TakeAlongAxis": _take_along,
}
