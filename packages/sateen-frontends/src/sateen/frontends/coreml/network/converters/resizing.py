"""Layers that resize images."""

from __future__ import annotations

from collections.abc import Mapping

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.network.node import Converter, LayerNode
from sateen.frontends.coreml.sampling import bilinear_resize
from sateen.graph_ir import ops
from sateen.runtime.errors import FrontendError

NEAREST, BILINEAR = range(2)
"""Values of InterpolationMode."""
_LINEAR_MODES = ("UPSAMPLE", "STRICT_ALIGN_CORNERS", "HALF_PIXEL")
"""How positions are spaced, by the values of LinearUpsampleMode."""
SAMPLING_MODES = ("STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "UPSAMPLE", "ROI_ALIGN")
"""The same by the values of SamplingMode."""


def _upsample(node: LayerNode) -> Operand:
    given, images = node.parameters, node.images()
    if given.fractionalScalingFactor:
        raise UnsupportedError(
            "the format does not say how fractional scaling factors round the extents",
            "use whole factors, or resizeBilinear with a target size",
        )
    factors = node.pair("scalingFactor", 1)
    height, width = (extent * factor for extent, factor in zip(images.type.shape[2:], factors, strict=True))
    sizes = (*images.type.shape[:2], height, width)
    if given.mode == NEAREST:
        scales = (1.0, 1.0, float(factors[0]), float(factors[1]))
        op = ops.Resize(sizes, "nearest", "asymmetric", "floor", scales=scales)
    elif given.mode == BILINEAR and 0 <= given.linearUpsampleMode < len(_LINEAR_MODES):
        rows, columns = static_extents((height, width), "the result")
        op = bilinear_resize(images.type.shape, (rows, columns), _LINEAR_MODES[given.linearUpsampleMode])
    else:
        raise FrontendError(f"expected a known mode, found {given.mode} with {given.linearUpsampleMode}")
    return node.of_images(op, images)


def _resize_bilinear(node: LayerNode) -> Operand:
    images, mode = node.images(), node.parameters.mode.samplingMethod
    if not 0 <= mode < len(SAMPLING_MODES):
        raise FrontendError(f"expected a sampling mode of 0 to {len(SAMPLING_MODES) - 1}, found {mode}")
    op = bilinear_resize(images.type.shape, node.pair("targetSize", 1), SAMPLING_MODES[mode])
    return node.of_images(op, images)


RESIZING: Mapping[str, Converter] = {
    "resizeBilinear": _resize_bilinear,
    "upsample": _upsample,
}
