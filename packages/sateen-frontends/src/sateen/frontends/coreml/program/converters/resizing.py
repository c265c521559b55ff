"""Operations that resize and sample images."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import floor

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.coreml.program.node import Converter, OperationNode, defaulting
from sateen.frontends.coreml.sampling import bilinear_resize
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import product
from sateen.topi.operators import Operator

MOST_TIMES = 1 << 16
"""What a factor must be below."""
_MODES = {
    "DEFAULT": "UPSAMPLE", "STRICT_ALIGN_CORNERS": "STRICT_ALIGN_CORNERS", "ALIGN_CORNERS": "ALIGN_CORNERS",
    "OFFSET_CORNERS": "ROI_ALIGN", "UNALIGN_CORNERS": "HALF_PIXEL",
}  # fmt: skip
"""The sampling modes by the names of the layers."""


def _resized(node: OperationNode, make: Callable[[Value], Operator]) -> Operand:
    """The result of an operator on images [N, C, H, W]; all axes before the channels are a batch."""
    x = node.take("x")
    if x.type.rank < 3:
        raise FrontendError(f"expected x of 3 or more dimensions, found {x.type}")
    if x.type.rank == 4:
        return node.result(make(x), x)
    images = node.step(ops.Reshape((product(x.type.shape[:-3]), *x.type.shape[-3:])), x)
    made = node.step(make(images), images)
    return node.result(ops.Reshape((*x.type.shape[:-3], *made.type.shape[1:])), made)


def _target(node: OperationNode) -> tuple[int, int]:
    return node.integer("target_size_height"), node.integer("target_size_width")


def _scaled(node: OperationNode, images: Value) -> tuple[int, int]:
    """floor(extent · factor) of height and width."""
    factors = node.number("scale_factor_height"), node.number("scale_factor_width")
    if not all(0 < factor < MOST_TIMES for factor in factors):
        raise FrontendError(f"expected factors above 0 and below {MOST_TIMES}, found {list(factors)}")
    extents = static_extents(images.type.shape[2:], "the resized axes")
    height, width = (floor(n * factor) for n, factor in zip(extents, factors, strict=True))
    return height, width


def sampling_mode(node: OperationNode) -> str:
    mode = node.text("sampling_mode")
    if mode not in _MODES:
        raise FrontendError(f"expected a sampling_mode of {', '.join(_MODES)}, found {mode!r}")
    return _MODES[mode]


def _nearest(images: Value, spatial: tuple[int, int]) -> Operator:
    """Only whole factors: the format does not say which of two pixels is nearest."""
    extents = static_extents(images.type.shape[2:], "the resized axes")
    if any(after % before for before, after in zip(extents, spatial, strict=True)):
        raise UnsupportedError(
            f"nearest neighbours of {list(extents)} for {list(spatial)}: the format does not say how positions are "
            "rounded where extents are no multiples",
            "resize to a multiple, or bilinearly",
        )
    sizes = (*images.type.shape[:2], *spatial)
    scales = (1.0, 1.0, *(after / before for before, after in zip(extents, spatial, strict=True)))
    return ops.Resize(sizes, "nearest", "asymmetric", "floor", scales=scales)


def _upsample_nearest(node: OperationNode) -> Operand:
    return _resized(node, lambda images: _nearest(images, _scaled(node, images)))


def _resize_nearest(node: OperationNode) -> Operand:
    return _resized(node, lambda images: _nearest(images, _target(node)))


def _upsample_bilinear(node: OperationNode) -> Operand:
    """Positions by the ratio of the extents. Without half pixels and aligned corners they are i · ratio (iOS 16)."""
    if node.flag("align_corners"):
        mode = "STRICT_ALIGN_CORNERS"
    else:
        mode = "HALF_PIXEL" if node.flag("half_pixel_centers") else "UPSAMPLE"
    return _resized(node, lambda images: bilinear_resize(images.type.shape, _scaled(node, images), mode))


def _resize_bilinear(node: OperationNode) -> Operand:
    mode = sampling_mode(node)
    return _resized(node, lambda images: bilinear_resize(images.type.shape, _target(node), mode))


def _resize(node: OperationNode) -> Operand:
    """The last axes get the last extents of `shape`; 0 keeps that of x."""
    x, count = node.take_of_rank("x", 3, 4, 5), node.integer("resized_dims")
    wanted = node.dimensions_of("shape")
    if count not in (1, 2) or count > len(wanted):
        raise UnsupportedError(f"resizing of {count} axes is not supported", "resize the last two axes")
    given = (0,) * (2 - count) + tuple(wanted[-count:])
    own = x.type.shape[-2:]
    spatial = static_extents(tuple(own[i] if n == 0 else n for i, n in enumerate(given)), "the resized axes")
    match node.text("interpolation_mode"):
        case "LINEAR":
            mode = sampling_mode(node)
            return _resized(node, lambda images: bilinear_resize(images.type.shape, (spatial[0], spatial[1]), mode))
        case "NEAREST_NEIGHBOR":
            return _resized(node, lambda images: _nearest(images, (spatial[0], spatial[1])))
        case mode:
            raise FrontendError(f"expected interpolation_mode LINEAR or NEAREST_NEIGHBOR, found {mode!r}")


def _resample(node: OperationNode) -> Operand:
    """Pixels at coordinates (x, y) of -1 to 1."""
    paddings = {"constant": "zeros", "border": "border"}
    padding, coordinates = node.text("padding_mode"), node.text("coordinates_mode")
    reflects = {True: "reflection", False: "symmetric"}[node.flag("align_corners")]
    paddings[reflects] = "reflection"  # at the centres of the outermost pixels, or at their edges
    modes = {"bilinear": "linear", "nearest": "nearest"}
    if (
        coordinates != "normalized_minus_one_to_one"
        or padding not in paddings
        or node.text("sampling_mode") not in modes
    ):
        raise UnsupportedError(
            f"coordinates_mode {coordinates!r} with padding_mode {padding!r}", "scale the coordinates to -1 to 1"
        )
    if padding == "constant" and node.number("padding_value") != 0:
        raise UnsupportedError(f"padding with {node.number('padding_value')}", "pad with 0")
    op = ops.GridSample(modes[node.text("sampling_mode")], paddings[padding], align_corners=node.flag("align_corners"))
    x, grid = node.take("x"), node.take("coordinates")
    same = grid.type.dtype == x.type.dtype
    return node.result(op, x, grid if same else node.step(ops.Cast(x.type.dtype), grid))


RESIZING: Mapping[str, Converter] = {
    "resample": _resample,
    "resize": defaulting(_resize, interpolation_mode="LINEAR", sampling_mode="DEFAULT"),
    "resize_bilinear": defaulting(_resize_bilinear, target_size_height=1, target_size_width=1, sampling_mode="DEFAULT"),
    "resize_nearest_neighbor": _resize_nearest,
    "upsample_bilinear": defaulting(
        _upsample_bilinear, scale_factor_height=1, scale_factor_width=1, align_corners=True, half_pixel_centers=True
    ),
    "upsample_nearest_neighbor": defaulting(_upsample_nearest, scale_factor_height=1, scale_factor_width=1),
}
