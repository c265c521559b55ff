"""Operators that resize images."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from sateen.frontends.core.operands import Operand
from sateen.frontends.mxnet.description import REQUIRED, operator
from sateen.frontends.mxnet.node import MxnetNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Value
from sateen.runtime.errors import FrontendError


def _nearest(node: MxnetNode, data: Value, scale: int) -> Value:
    sizes = (*data.type.shape[:2], *(extent * scale for extent in data.type.shape[2:]))
    op = ops.Resize(
        sizes=sizes,
        scales=(1.0, 1.0, float(scale), float(scale)),
        coordinate_transformation="asymmetric",
        nearest_mode="floor",
    )
    return node.step(op, data)


def _upsampling(node: MxnetNode) -> Operand:
    """Nearest: all inputs to the size of the first times `scale`, then concatenated or added. Bilinear: a transposed
    convolution by channel with the weight (src/operator/nn/upsampling.cc)."""
    scale = node.integer("scale")
    if not 1 <= scale <= 1000 or node.rank(0) != 4:
        raise FrontendError(f"expected images [N, C, H, W] and a scale of 1 to 1000, found {node.shape(0)}, {scale}")
    if node.choice("sample_type", "nearest", "bilinear") == "bilinear":
        return _bilinear(node, scale)
    height = node.static_shape(0)[2] * scale
    resized = []
    for index, value in enumerate(node.values()):
        own = node.static_shape(index)[2]
        if own < 1 or height % own:
            raise FrontendError(f"{node.described(index)} has {own} rows, of which {height} is no multiple")
        resized.append(_nearest(node, value, height // own))
    if len(resized) == 1:
        return node.result(ops.Identity(), resized[0])
    if node.choice("multi_input_mode", "concat", "sum") == "concat":
        return node.result(ops.Concat(axis=1), *resized)
    total = resized[0]
    for value in resized[1:-1]:
        total = node.step(ops.Add(), total, value)
    return node.result(ops.Add(), total, resized[-1])


def _bilinear(node: MxnetNode, scale: int) -> Operand:
    channels = node.static_shape(0)[1]
    kernel = 2 * scale - scale % 2
    if node.shape(1) != (channels, 1, kernel, kernel):
        raise FrontendError(f"expected a weight of {[channels, 1, kernel, kernel]}, found {list(node.shape(1))}")
    pad = ceil((scale - 1) / 2)
    op = ops.ConvTranspose(strides=(scale, scale), pads=(pad,) * 4, groups=channels)
    return node.result(op, node.value(0), node.value(1))


_EXTENTS: dict[str, Callable[[int, float], int]] = {
    "size": lambda n, scale: int(n * scale),
    "odd_scale": lambda n, scale: int(n * scale) if n % 2 == 0 else int((n - 1) * scale) + 1,
    "to_even_down": lambda n, _: n - n % 2,
    "to_even_up": lambda n, _: n + n % 2,
    "to_odd_down": lambda n, _: n - 1 + n % 2,
    "to_odd_up": lambda n, _: n + 1 - n % 2,
}
"""The extents of modes that follow from those of the data (src/operator/contrib/bilinear_resize-inl.h)."""


def _bilinear_resize(node: MxnetNode) -> Operand:
    shape = node.static_shape(0)
    if len(shape) != 4:
        raise FrontendError(f"expected images [N, C, H, W], found {list(shape)}")
    mode = node.choice("mode", "like", *_EXTENTS)
    scales = [node.attribute(f"scale_{name}") for name in ("height", "width")]
    if mode == "like":
        sizes = node.static_shape(1)[2:]
    elif mode == "size" and None in scales:
        sizes = (node.integer("height"), node.integer("width"))
    else:
        extent = _EXTENTS[mode]
        sizes = tuple(
            extent(n, node.number(f"scale_{name}") if mode in {"size", "odd_scale"} else 1.0)
            for n, name in zip(shape[2:], ("height", "width"), strict=True)
        )
    transformation = "align_corners" if node.flag("align_corners") else "half_pixel"
    op = ops.Resize(sizes=(*shape[:2], *sizes), mode="linear", coordinate_transformation=transformation)
    return node.result(op, node.value(0))


def _adaptive_pooling(node: MxnetNode) -> Operand:
    """Averages of about equal parts of an image: part i begins at floor(i·n/m) and ends at ceil((i+1)·n/m)."""
    shape, wanted = node.static_shape(0), node.integers("output_size") or (1, 1)
    sizes = wanted * 2 if len(wanted) == 1 else wanted
    if len(shape) != 4 or len(sizes) != 2 or not all(1 <= m <= 4096 for m in sizes):
        raise FrontendError(f"expected images [N, C, H, W] and 1 or 2 extents, found {list(shape)}, {list(wanted)}")
    return node.result(ops.AdaptiveAveragePool(shape=sizes), node.value(0))


RESIZING = {
    "UpSampling": operator(_upsampling, scale=REQUIRED, num_filter=0, sample_type=REQUIRED, multi_input_mode="concat"),
    "_contrib_AdaptiveAvgPooling2D": operator(_adaptive_pooling, output_size=()),
    "_contrib_BilinearResize2D": operator(
        _bilinear_resize,
        "data like",
        height=1,
        width=1,
        scale_height=None,
        scale_width=None,
        mode="size",
        align_corners=True,
    ),
}
