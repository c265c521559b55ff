"""Layers of forks that enlarge pictures."""

from __future__ import annotations

from sateen.frontends.caffe.node import CaffeNode, Converter
from sateen.frontends.core.operands import Operand, static_extents
from sateen.graph_ir.ops import BroadcastTo, Cast, Pad, Reshape, Resize, ScatterElements
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError


def _interp(node: CaffeNode) -> Operand:
    """Bilinear with corners on corners; pads of 0 or less cut borders off (DeepLab, interp_layer.cpp, LayerSetUp)."""
    data = node.the_value()
    begin, end = node.integer("pad_beg"), node.integer("pad_end")
    if data.type.rank != 4 or max(begin, end) > 0:
        raise FrontendError(f"expected data of four axes and pads of 0 or less, found {data.type}, {begin} and {end}")
    cut = tuple(extent + begin + end for extent in static_extents(data.type.shape[2:], node.described(0)))
    if min(cut) < 1:
        raise FrontendError(f"pads {begin} and {end} leave nothing of {data.type}")
    if begin or end:
        data = node.step(Pad(pads=(0, 0, begin, begin, 0, 0, end, end)), data)
    height, width = _interpolated(node, cut)
    op = Resize((*data.type.shape[:2], height, width), mode="linear", coordinate_transformation="align_corners")
    return node.result(op, data)


def _interpolated(node: CaffeNode, extents: tuple[int, ...]) -> tuple[int, ...]:
    """The extents that shrink_factor, zoom_factor, both, or height and width give."""
    height, width, zoom, shrink = (node.attribute(name) for name in ("height", "width", "zoom_factor", "shrink_factor"))
    if any(factor is not None and factor < 1 for factor in (height, width, zoom, shrink)):
        raise FrontendError(f"expected sizes and factors of 1 or more, found {[height, width, zoom, shrink]}")
    if shrink is not None or zoom is not None:
        extents = tuple((extent - 1) // (shrink or 1) + 1 for extent in extents)
        return tuple(extent + (extent - 1) * ((zoom or 1) - 1) for extent in extents)
    if height is None or width is None:
        raise FrontendError("expected height and width, zoom_factor or shrink_factor, found none")
    return height, width


def _upsample(node: CaffeNode) -> Operand:
    """Each element repeated; with a mask of a pool each element at its place, 0 elsewhere.

    Sources: the layers of this name of YOLO for Caffe and of SegNet (alexgkendall/caffe-segnet, upsample_layer.cpp).
    """
    node.require_inputs(1, 2)
    data = node.value(0)
    scales = [node.attribute(name) or node.attribute("scale") for name in ("scale_h", "scale_w")]
    if data.type.rank != 4:
        raise FrontendError(f"expected data of four axes, found {data.type}")
    if len(node.inputs) == 1:
        if None in scales or min(scales) < 1:
            raise FrontendError(f"expected a scale of 1 or more, found {scales}")
        sizes = (*data.type.shape[:2], *(extent * s for extent, s in zip(data.type.shape[2:], scales, strict=True)))
        op = Resize(
            sizes, coordinate_transformation="asymmetric", nearest_mode="floor", scales=(1.0, 1.0, *map(float, scales))
        )
        return node.result(op, data)
    return _unpooled(node, scales)


def _unpooled(node: CaffeNode, scales: list[int | None]) -> Operand:
    """Extents are upsample_h and upsample_w, or scaled ones less 1 where pad_out_h and pad_out_w say so."""
    batch, channels, *spatial = node.static_shape(0)
    sizes = []
    for extent, end, scale in zip(spatial, "hw", scales, strict=True):
        given = node.attribute(f"upsample_{end}")
        if given is None and scale is None:
            raise FrontendError(f"expected scale or upsample_{end}, found neither")
        sizes.append(given if given is not None else extent * (scale or 1) - node.flag(f"pad_out_{end}"))
    if min(sizes) < 1 or node.static_shape(1) != node.static_shape(0):
        raise FrontendError(f"expected a mask of the shape of the data, and sizes of 1 or more, found {sizes}")
    plane = sizes[0] * sizes[1]
    flat = Reshape((batch, channels, spatial[0] * spatial[1]))
    places = node.step(Cast(DType.of("int64")), node.step(flat, node.value(1)))
    zeros = node.step(BroadcastTo((batch, channels, plane)), node.literal(0, DType.of("float32"), (1, 1, 1)))
    filled = node.step(ScatterElements(axis=2), zeros, places, node.step(flat, node.value(0)))
    return node.result(Reshape((batch, channels, *sizes)), filled)


RESIZING: dict[str, Converter] = {"Interp": _interp, "Upsample": _upsample}
