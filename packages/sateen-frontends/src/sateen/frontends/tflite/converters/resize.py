"""Pictures in another size, with positions in float32 as the kernels compute them."""

from __future__ import annotations

from sateen.frontends.core.channels import to_channels_first
from sateen.frontends.core.operands import Operand
from sateen.frontends.tflite.node import Converter, TfliteNode
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import Resize, Transpose
from sateen.runtime.errors import FrontendError

_LAST = Transpose((0, 2, 3, 1))


def _resized(node: TfliteNode, data: Value, mode: str, centred: str, nearest: str) -> Value:
    """Data with channels first; `centred` is the transformation for half_pixel_centers."""
    if data.type.rank != 4:
        raise FrontendError(f"expected data of 4 dimensions, found {data.type}")
    size = node.integers_at(1)
    if len(size) != 2:
        raise FrontendError(f"expected a height and a width, found {list(size)}")
    if node.flag("align_corners") and node.flag("half_pixel_centers"):
        raise FrontendError("expected either align_corners or half_pixel_centers, found both")
    transformation = "asymmetric"
    if node.flag("align_corners"):
        transformation, nearest = "align_corners", "round_prefer_ceil"
    elif node.flag("half_pixel_centers"):
        transformation = centred
    op = Resize((*data.type.shape[:2], *size), mode, transformation, nearest_mode=nearest, float32_positions=True)
    return node.step(op, data)


def _bilinear(node: TfliteNode) -> Operand:
    data = to_channels_first(node, node.real(0))
    return node.finish(_LAST, _resized(node, data, "linear", "half_pixel", "floor"))


def _nearest(node: TfliteNode) -> Operand:
    """The position rounded down, also of pixels' centres (reference_ops.h, GetNearestNeighbor); the corners' is rounded
    to the nearest."""
    data = to_channels_first(node, node.value(0))
    return node.result(_LAST, _resized(node, data, "nearest", "tf_half_pixel_for_nn", "floor"))


RESIZE: dict[str, Converter] = {"RESIZE_BILINEAR": _bilinear, "RESIZE_NEAREST_NEIGHBOR": _nearest}
