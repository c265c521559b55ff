"""Operators on regions of pictures, whose rows are two corners, perhaps behind the number of their image."""

from __future__ import annotations

from sateen.frontends.caffe2.node import Caffe2Node, Converter
from sateen.frontends.core.operands import Operand
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import BroadcastTo, Cast, Reshape, RoiAlign, RoiPool, Split
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

INDEX = DType.of("int64")


def _regions(node: Caffe2Node) -> tuple[Value, Value]:
    """The corners of the regions, and their images: the first one, if the rows don't say."""
    node.require_inputs(2, 2)
    rows = node.value(1)
    if rows.type.rank != 2 or rows.type.shape[1] not in {4, 5}:
        raise FrontendError(f"expected regions of 4 or 5 numbers, found {rows.type}")
    count = rows.type.shape[0]
    if rows.type.shape[1] == 4:
        return rows, node.step(BroadcastTo((count,)), node.literal(0, INDEX, (1,)))
    image, corners = node.steps(Split(1, (1, 4)), rows, count=2)
    return corners, node.step(Cast(INDEX), node.step(Reshape((count,)), image))


def _shape(node: Caffe2Node) -> tuple[int, int]:
    return node.whole("pooled_h", 1), node.whole("pooled_w", 1)


def _roi_align(node: Caffe2Node) -> Operand:
    """Averages of samples, as many as a part has elements unless `sampling_ratio` says (roi_align_op.cc)."""
    corners, images = _regions(node)
    op = RoiAlign(
        _shape(node),
        samples=max(node.whole("sampling_ratio", -1), 0),
        scale=node.real("spatial_scale", 1.0),
        half_pixel=bool(node.whole("aligned", 0)),
    )
    return node.pictured(op, node.picture(), corners, images)


def _roi_pool(node: Caffe2Node) -> Operand:
    """Maxima of parts (roi_pool_op.cc)."""
    node.require_one_result()
    corners, images = _regions(node)
    op = RoiPool(_shape(node), node.real("spatial_scale", 1.0))
    return node.pictured(op, node.picture(), corners, images)


REGIONS: dict[str, Converter] = {"RoIAlign": _roi_align, "RoIPool": _roi_pool}
