"""Operations of detectors: the suppression of boxes, and regions of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sateen.frontends.core.operands import Operand
from sateen.frontends.coreml.program.converters.resizing import sampling_mode
from sateen.frontends.coreml.program.node import Converter, OperationNode, defaulting
from sateen.frontends.coreml.regions import Cropping, cropped, of_each_image
from sateen.frontends.coreml.suppression import Suppression, at_places, never_none, selected
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

_INDEX = DType.of("int64")


def _suppression(node: OperationNode) -> Sequence[Operand]:
    """Boxes [n, B, 4] and scores [n, B, K]; as of iOS 17 the boxes are along the last axis, and there is no threshold
    of scores, and no number of the boxes that are left."""
    is_old = node.given("score_threshold")
    turned = ops.Transpose((0, 2, 1))
    boxes, scores = (
        v if is_old else node.step(turned, v) for v in (node.take_of_rank("boxes", 3), node.take_of_rank("scores", 3))
    )
    how = Suppression(
        node.number("iou_threshold"), node.number("score_threshold") if is_old else None,
        node.flag("per_class_suppression"), node.integer("max_boxes"),
    )  # fmt: skip
    places, counts = never_none(node, scores, *selected(node, boxes, scores, how))
    rows = [at_places(node, data, places) for data in (boxes, scores)]
    last = ops.Identity() if is_old else turned
    results = (*(node.result(last, v, output=i) for i, v in enumerate(rows)), node.typed(places, 2))
    return (*results, node.typed(counts, 3)) if is_old else results


def _crop_and_resize(node: OperationNode) -> Operand:
    """With `roi` [N, 1, 4 or 5, 1, 1] the result is [N, B or 1, C, height, width]; as of iOS 17 there are `boxes`
    [N, 4] and `box_indices` [N], and the result is [N, C, height, width]."""
    images = node.take_of_rank("x", 4)
    how = Cropping(
        (_extent(node, "target_height"), _extent(node, "target_width")), node.text("box_coordinate_mode"),
        sampling_mode(node), node.flag("normalized_coordinates"), node.number("spatial_scale"),
        node.number("pad_value"),
    )  # fmt: skip
    if node.given("roi"):
        regions = node.take_of_rank("roi", 5)
        if regions.type.shape[1] != 1 or regions.type.shape[3:] != (1, 1):
            raise FrontendError(f"expected regions [N, 1, 4 or 5, 1, 1], found {regions.type}")
        flat = node.step(ops.Reshape((regions.type.shape[0], regions.type.shape[2])), regions)
        return node.result(ops.Identity(), of_each_image(node, images, flat, how))
    boxes = node.take_of_rank("boxes", 2)
    return node.result(ops.Identity(), cropped(node, images, boxes, _owners(node, boxes), how))


def _owners(node: OperationNode, boxes: Value) -> Value:
    """The image of each box: by default the first box is of the first image, and so on."""
    if not node.given("box_indices"):
        return node.positions(boxes.type.shape[0])
    return node.step(ops.Cast(_INDEX), node.take_of_rank("box_indices", 1))


def _extent(node: OperationNode, name: str) -> int:
    extent = node.integer(name)
    if not 0 < extent < 1 << 31:
        raise FrontendError(f"expected {name} of 1 or more, found {extent}")
    return extent


DETECTION: Mapping[str, Converter] = {
    "crop_resize": defaulting(
        _crop_and_resize, target_height=1, target_width=1, normalized_coordinates=False, spatial_scale=1.0,
        box_coordinate_mode="CORNERS_HEIGHT_FIRST", sampling_mode="DEFAULT", pad_value=0.0,
    ),
    "non_maximum_suppression": defaulting(_suppression, per_class_suppression=False),
}  # fmt: skip
