"""Layers of detectors: the suppression of boxes, and regions of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sateen.frontends.core.operands import Operand
from sateen.frontends.coreml.network.converters.resizing import SAMPLING_MODES
from sateen.frontends.coreml.network.node import Converter, LayerNode
from sateen.frontends.coreml.regions import BOX_FORMS, Cropping, of_each_image
from sateen.frontends.coreml.suppression import Suppression, at_places, never_none, selected
from sateen.graph_ir import ops
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product


def _suppression(node: LayerNode) -> Sequence[Operand]:
    """Boxes, scores, places and numbers of those that are left; inputs, which must be known, take the place of
    parameters from the third on."""
    given = node.parameters
    overlap, score, most = (
        float(node.scalar(index)) if len(node.inputs) > index else float(getattr(given, name))
        for index, name in enumerate(("iouThreshold", "scoreThreshold", "maxBoxes"), 2)
    )
    how = Suppression(overlap, score, given.perClassSuppression, int(most))
    boxes, scores = node.value(0), node.value(1)
    places, counts = never_none(node, scores, *selected(node, boxes, scores, how))
    return (
        node.result(ops.Identity(), at_places(node, boxes, places)),
        node.result(ops.Identity(), at_places(node, scores, places), output=1),
        node.float_result(places, output=2),
        node.float_result(counts, output=3),
    )


def _crop_and_resize(node: LayerNode) -> Operand:
    """Images [1, Batch, C, H, W] and regions [N, 1, 4 or 5, 1, 1]: [N, Batch or 1, C, height, width]."""
    given, images, rank = node.parameters, node.value(0), 4 + node.has_batch
    mode, form = given.mode.samplingMethod, given.boxIndicesMode.boxMode
    if not 0 <= mode < len(SAMPLING_MODES) or not 0 <= form < len(BOX_FORMS):
        raise FrontendError(f"expected a sampling mode and a mode of boxes of 0 to 3, found {mode}, {form}")
    if node.rank(0) != rank or node.shape(0)[0] != 1:
        raise FrontendError(f"expected images [1, Batch, C, H, W], found {node.operand_text(0)}")
    if node.rank(1) != rank or node.shape(1)[-2:] != (1, 1) or (node.has_batch and node.shape(1)[1] != 1):
        raise FrontendError(f"expected regions [N, 1, 4 or 5, 1, 1], found {node.operand_text(1)}")
    regions = node.step(ops.Reshape((node.shape(1)[0], node.shape(1)[-3])), node.value(1))
    images = node.step(ops.Reshape((product(images.type.shape[:-3]), *images.type.shape[-3:])), images)
    how = Cropping(
        node.pair("targetSize", 1), BOX_FORMS[form], SAMPLING_MODES[mode], given.normalizedCoordinates,
        node.number("spatialScale", 1.0),
    )  # fmt: skip
    parts = of_each_image(node, images, regions, how)
    shape = parts.type.shape if node.has_batch else (parts.type.shape[0], *parts.type.shape[2:])
    return node.result(ops.Reshape(shape), parts)


DETECTION: Mapping[str, Converter] = {
    "NonMaximumSuppression": _suppression,
    "cropResize": _crop_and_resize,
}
