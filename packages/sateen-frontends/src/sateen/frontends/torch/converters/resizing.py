"""Upsampling by interpolation, with positions in float32 (aten/src/ATen/native/UpSample.h)."""

from __future__ import annotations

from math import floor

from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.torch.node import Converter, TorchNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.errors import FrontendError
from sateen.topi.dimensions import listed

_SCALES = (("scales",), ("scales_h", "scales_w"), ("scales_d", "scales_h", "scales_w"))
"""The names of the scales of one, two and three axes."""


def _sizes(node: TorchNode, data: Value) -> tuple[tuple[Dim, ...], tuple[float, ...] | None]:
    """Extents of the result, and the scales if they are given, which positions then follow from."""
    spatial = data.type.shape[2:]
    scales: tuple[float, ...] | None = None
    factors = node.argument("scale_factors")
    if isinstance(factors, tuple) and all(isinstance(factor, (int, float)) for factor in factors):
        scales = tuple(float(factor) for factor in factors if isinstance(factor, (int, float)))
    names = _SCALES[len(spatial) - 1]
    if [name for name in names if node.gives(name)] == list(names):
        scales = tuple(node.number(name) for name in names)
    if node.gives("output_size"):
        sizes = node.dims("output_size")
    elif scales is not None:
        sizes = tuple(
            extent * int(scale) if scale == int(scale) else floor(static_extents((extent,), "the input")[0] * scale)
            for extent, scale in zip(spatial, scales, strict=True)
        )
    else:
        raise FrontendError("expected output_size or scales, found neither")
    if len(sizes) != len(spatial) or any(isinstance(size, int) and size < 1 for size in sizes):
        raise FrontendError(f"expected {len(spatial)} extents of the result of 1 or more, found {listed(sizes)}")
    if scales is not None and not all(scale > 0 for scale in scales):
        raise FrontendError(f"expected scales above 0, found {list(scales)}")
    return sizes, scales


def _nearest(exact: bool) -> Converter:
    """nearest takes element floor(i·step), nearest-exact floor((i + 1/2)·step)."""

    def convert(node: TorchNode) -> Operand:
        data = node.tensor("self" if node.gives("self") else "input")
        sizes, scales = _sizes(node, data)
        op = ops.Resize(
            sizes=(*data.type.shape[:2], *sizes),
            mode="nearest",
            coordinate_transformation="tf_half_pixel_for_nn" if exact else "asymmetric",
            nearest_mode="floor",
            scales=() if scales is None else (1.0, 1.0, *scales),
            float32_positions=True,
        )
        return node.result(op, data)

    return convert


def _interpolated(mode: str, antialias: bool = False) -> Converter:
    def convert(node: TorchNode) -> Operand:
        data = node.tensor("self" if node.gives("self") else "input")
        sizes, scales = _sizes(node, data)
        corners = node.flag("align_corners")
        op = ops.Resize(
            sizes=(*data.type.shape[:2], *sizes),
            mode=mode,
            coordinate_transformation="align_corners" if corners else "half_pixel",
            cubic_coeff_a=-0.5 if antialias else -0.75,  # as Pillow has it (UpSampleKernel.cpp)
            antialias=antialias,
            exclude_outside=antialias,
            scales=() if scales is None or corners else (1.0, 1.0, *scales),
            float32_positions=not antialias,
        )
        return node.result(op, data)

    return convert


RESIZING: dict[str, Converter] = {
    "_upsample_bicubic2d_aa": _interpolated("cubic", antialias=True),
    "_upsample_bilinear2d_aa": _interpolated("linear", antialias=True),
    "_upsample_nearest_exact1d": _nearest(exact=True),
    "_upsample_nearest_exact2d": _nearest(exact=True),
    "_upsample_nearest_exact3d": _nearest(exact=True),
    "upsample_bicubic2d": _interpolated("cubic"),
    "upsample_bilinear2d": _interpolated("linear"),
    "upsample_linear1d": _interpolated("linear"),
    "upsample_nearest1d": _nearest(exact=False),
    "upsample_nearest2d": _nearest(exact=False),
    "upsample_nearest3d": _nearest(exact=False),
    "upsample_trilinear3d": _interpolated("linear"),
}
