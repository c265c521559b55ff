"""Operators that slide a window over spatial axes, or change the size of pictures."""

from __future__ import annotations

import numpy as np

from sateen.frontends.caffe2.node import Caffe2Node, Converter
from sateen.frontends.core.channels import to_channels_first
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.windows import limited_strides, same_pads
from sateen.graph_ir.ir import Value
from sateen.graph_ir.ops import (
    AveragePool,
    Conv,
    ConvTranspose,
    Gather,
    GlobalAveragePool,
    GlobalMaxPool,
    MaxPool,
    Pad,
    Resize,
)
from sateen.runtime.errors import FrontendError
from sateen.topi.computations.windows import Window

_VALID, _SAME, _CAFFE = 1, 2, 3
"""Kinds of `legacy_pad` (caffe2_legacy.proto)."""


def _per_axis(node: Caffe2Node, name: str, rank: int, default: int) -> tuple[int, ...]:
    """A number for each axis: `names`, `name_h` and `name_w`, or `name` for all (conv_pool_op_base.h)."""
    plain = {"strides": "stride", "dilations": "dilation", "kernels": "kernel"}[name]
    if found := node.wholes(name):
        if len(found) != rank:
            raise FrontendError(f"expected {rank} {name}, found {list(found)}")
        return found
    both = tuple(node.whole(f"{plain}_{end}", 0) for end in "hw")
    if rank == 2 and any(both):
        return tuple(size or default for size in both)
    return (node.whole(plain, default),) * rank


def _pads(node: Caffe2Node, rank: int) -> tuple[int, ...]:
    """All begins, then all ends: `pads`, `pad_t` to `pad_r`, or `pad` for all."""
    if found := node.wholes("pads"):
        if len(found) != 2 * rank:
            raise FrontendError(f"expected {2 * rank} pads, found {list(found)}")
        return found
    sides = [f"pad_{side}" for side in "tlbr"]
    if rank == 2 and any(map(node.given, sides)):
        return tuple(node.whole(side, 0) for side in sides)
    return (node.whole("pad", 0),) * (2 * rank)


def _window(node: Caffe2Node, data: Value, kernel: tuple[int, ...] | None = None) -> tuple[Window, bool]:
    """The window, and whether pools round up. With `legacy_pad` 2 an odd element of padding comes last; 3 rounds up as
    Caffe does (conv_pool_op_base.h, ComputePadAndOutSize)."""
    rank = data.type.rank - 2
    if rank < 1 or (kernel is not None and len(kernel) != rank):
        raise FrontendError(f"expected data of three axes or more, as many as the weight has, found {data.type}")
    kernel = _per_axis(node, "kernels", rank, 0) if kernel is None else kernel
    strides, dilations = _per_axis(node, "strides", rank, 1), _per_axis(node, "dilations", rank, 1)
    pads, legacy = _pads(node, rank), node.whole("legacy_pad", 0)
    if min((*kernel, *strides, *dilations)) < 1 or min(pads) < 0 or legacy not in range(4):
        raise FrontendError(
            f"expected kernel, strides and dilations of 1 or more, pads of 0 or more, legacy_pad of 0 to 3, found "
            f"{list(kernel)}, {list(strides)}, {list(dilations)}, {list(pads)} and {legacy}"
        )
    if legacy == _VALID:
        pads = (0,) * (2 * rank)
    if legacy == _SAME:
        if any(d != 1 for d in dilations):
            raise UnsupportedError("legacy_pad 2 with dilation is not supported", "give pads")
        pads = same_pads(data.type.shape[2:], strides, kernel, f"legacy_pad of {node.described(0)}")
    if legacy == _CAFFE:
        _require_cover(data, kernel, strides, pads)
    return Window(kernel, strides, pads, dilations), legacy == _CAFFE


def _require_cover(data: Value, kernel: tuple[int, ...], strides: tuple[int, ...], pads: tuple[int, ...]) -> None:
    """Raises UnsupportedError for windows of Caffe behind the data, which it leaves out only if there is padding."""
    extents = static_extents(data.type.shape[2:], "a pool")
    for extent, k, s, pad in zip(extents, kernel, strides, pads, strict=False):
        if not pad and s > k and -(-(extent - k) // s) * s >= extent:
            raise UnsupportedError(f"a window of {k} with stride {s} begins behind the data, {extent}", "use a pad")


def _conv(node: Caffe2Node) -> Operand:
    """Weights are [O, C, H, W], or [O, H, W, C] with channels last."""
    node.require_inputs(2, 3)
    data, weight = node.picture(), node.value(1)
    weight = to_channels_first(node, weight) if node.is_channels_last else weight
    kernel = static_extents(weight.type.shape[2:], node.described(1))
    _require_kernel(node, kernel)
    window, _ = _window(node, data, kernel)
    op = Conv(
        strides=limited_strides(window.strides, data.type.shape[2:], window.pads),
        pads=window.pads,
        dilations=window.dilations,
        groups=node.whole("group", 1),
    )
    return node.pictured(op, data, weight, *(node.value(i) for i in range(2, len(node.inputs))))


def _require_kernel(node: Caffe2Node, kernel: tuple[int, ...]) -> None:
    """Raises FrontendError if the arguments name another kernel than the weight has."""
    named = any(node.given(name) for name in ("kernel", "kernel_h", "kernel_w", "kernels"))
    if named and _per_axis(node, "kernels", len(kernel), 0) != kernel:
        raise FrontendError(
            f"the kernel is {list(_per_axis(node, 'kernels', len(kernel), 0))}, the weight's {list(kernel)}"
        )


def _conv_transpose(node: Caffe2Node) -> Operand:
    """Weights are [C, O, H, W]; `adj` widens the result at its end (conv_transpose_unpool_op_base.h)."""
    node.require_inputs(2, 3)
    if node.is_channels_last:
        raise UnsupportedError("ConvTranspose with channels last is not supported", "export with order NCHW")
    data, weight = node.value(0), node.value(1)
    kernel = static_extents(weight.type.shape[2:], node.described(1))
    _require_kernel(node, kernel)
    if node.whole("legacy_pad", 0) not in {0, _VALID}:
        raise UnsupportedError("legacy_pad of a transposed convolution is not supported", "give pads")
    window, _ = _window(node, data, kernel)
    rank = len(kernel)
    adjusted = node.wholes("adjs") or tuple(node.whole(f"adj_{end}", node.whole("adj", 0)) for end in "hw")[:rank]
    if len(adjusted) != rank or any(a < 0 or a >= s for a, s in zip(adjusted, window.strides, strict=True)):
        raise FrontendError(f"expected adj of 0 to less than the stride for {rank} axes, found {list(adjusted)}")
    op = ConvTranspose(
        window.strides, window.pads, window.dilations, groups=node.whole("group", 1), output_padding=adjusted
    )
    return node.result(op, data, weight, *(node.value(i) for i in range(2, len(node.inputs))))


def _pool(node: Caffe2Node) -> Operand:
    """Averages leave padding out, unless `count_include_pad` says otherwise (pool_op.cc)."""
    data, is_max = node.the_value(), node.operator.startswith("MaxPool")
    data = node.picture()
    if node.whole("global_pooling", 0):
        return node.pictured(GlobalMaxPool() if is_max else GlobalAveragePool(), data)
    window, rounds_up = _window(node, data)
    settings = (window.kernel, window.strides, window.pads, window.dilations, rounds_up)
    if is_max:
        return node.pictured(MaxPool(*settings), data)
    return node.pictured(AveragePool(*settings, bool(node.whole("count_include_pad", 0))), data)


def _pad_image(node: Caffe2Node) -> Operand:
    """Pictures with a border: of `value`, mirrored without the edge, or the edge repeated (pad_op.cc)."""
    data, mode = node.picture(), node.word("mode", "constant")
    if data.type.rank != 4 or mode not in {"constant", "reflect", "edge"}:
        raise FrontendError(
            f"expected data of four axes and mode constant, reflect or edge, found {data.type}, {mode!r}"
        )
    top, left, bottom, right = _pads(node, 2)
    op = Pad(mode=mode, pads=(0, 0, top, left, 0, 0, bottom, right), value=node.real("value", 0.0))
    return node.pictured(op, data)


def _resize_nearest(node: Caffe2Node) -> Operand:
    """Element int(y / scale) of each axis, computed in float32 (resize_op.cc)."""
    if len(node.inputs) > 1:
        raise UnsupportedError("scales as an input are not supported", "give width_scale and height_scale")
    data = node.picture()
    scales = tuple(np.float32(node.real(name, 1.0)) for name in ("height_scale", "width_scale"))
    if data.type.rank != 4 or min(scales) <= 0:
        raise FrontendError(f"expected data of four axes and scales above 0, found {data.type} and {list(scales)}")
    if all(scale == int(scale) for scale in scales):
        return _repeated(node, data, int(scales[0]), int(scales[1]))
    for axis, extent, scale in zip((2, 3), static_extents(data.type.shape[2:], node.described(0)), scales, strict=True):
        size = int(np.float32(extent) * scale)
        if not 1 <= size <= 1 << 15:
            raise UnsupportedError(f"a picture of {size} rows or columns is not supported", "use another scale")
        places = np.minimum((np.arange(size, dtype=np.float32) / scale).astype(np.int64), extent - 1)
        op, indices = Gather(axis), node.parameter(places, "places")
        last = axis == 3
        data = node.pictured(op, data, indices) if last else node.step(op, data, indices)
    return data


def _repeated(node: Caffe2Node, data: Value, rows: int, columns: int) -> Operand:
    op = Resize(
        (*data.type.shape[:2], data.type.shape[2] * rows, data.type.shape[3] * columns),
        coordinate_transformation="asymmetric",
        nearest_mode="floor",
        scales=(1.0, 1.0, float(rows), float(columns)),
    )
    return node.pictured(op, data)


def _upsample_nearest(node: Caffe2Node) -> Operand:
    """Each element repeated, 2 times by default (upsample_nearest_op.h)."""
    data, scale = node.the_value(), node.whole("scale", 2)
    if data.type.rank != 4 or scale < 1:
        raise FrontendError(f"expected data of four axes and a scale of 1 or more, found {data.type} and {scale}")
    return _repeated(node, data, scale, scale)


def _upsample_bilinear(node: Caffe2Node) -> Operand:
    """Corners lie on corners (upsample_op.cc)."""
    if len(node.inputs) > 1:
        raise UnsupportedError("scales as an input are not supported", "give width_scale and height_scale")
    data = node.picture()
    scales = tuple(np.float32(node.real(name, 1.0)) for name in ("height_scale", "width_scale"))
    if data.type.rank != 4 or min(scales) <= 0:
        raise FrontendError(f"expected data of four axes and scales above 0, found {data.type} and {list(scales)}")
    extents = static_extents(data.type.shape[2:], node.described(0))
    sizes = [int(np.float32(extent) * scale) for extent, scale in zip(extents, scales, strict=True)]
    if min(sizes) < 1 or max(sizes) > 1 << 15:
        raise UnsupportedError(f"a picture of {sizes} is not supported", "use another scale")
    op = Resize((*data.type.shape[:2], *sizes), mode="linear", coordinate_transformation="align_corners")
    return node.pictured(op, data)


WINDOWS: dict[str, Converter] = {
    **dict.fromkeys(("AveragePool", "AveragePool1D", "AveragePool2D", "AveragePool3D"), _pool),
    **dict.fromkeys(("Conv", "Conv1D", "Conv2D", "Conv3D"), _conv),
    "ConvTranspose": _conv_transpose,
    **dict.fromkeys(("MaxPool", "MaxPool1D", "MaxPool2D", "MaxPool3D"), _pool),
    "PadImage": _pad_image,
    "ResizeNearest": _resize_nearest,
    "UpsampleBilinear": _upsample_bilinear,
    "UpsampleNearest": _upsample_nearest,
}
