"""Layers that slide a window over a picture, or change its size."""

from __future__ import annotations

from sateen.frontends.core.columns import columns
from sateen.frontends.core.operands import Operand, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.windows import limited_strides
from sateen.frontends.darknet.activations import FLOAT, finished
from sateen.frontends.darknet.converters.normalization import normalized
from sateen.frontends.darknet.node import Converter, DarknetNode
from sateen.frontends.darknet.sizes import padding_of, pool_of, strides_of
from sateen.graph_ir.ops import (
    Add,
    AveragePool,
    Conv,
    ConvTranspose,
    GlobalAveragePool,
    MatMul,
    MaxPool,
    Multiply,
    ReduceMax,
    Reshape,
    Resize,
    Slice,
    Transpose,
)
from sateen.runtime.errors import FrontendError
from sateen.topi.computations.windows import Window
from sateen.topi.dimensions import product
from sateen.topi.operators import Operator

_OTHER_CONVOLUTIONS = {
    "antialiasing": "blurred strides are not supported",
    "assisted_excitation": "assisted excitation is not supported",
    "binary": "binary weights are not supported",
    "bin_output": "binary outputs are not supported",
    "coordconv": "coordinates as channels are not supported",
    "rotate": "rotated windows are not supported",
    "share_index": "shared weights are not supported",
    "stretch": "stretched windows are not supported",
    "stretch_sway": "stretched windows are not supported",
    "sway": "swaying windows are not supported",
    "xnor": "binary products are not supported",
}


def _convolutional(node: DarknetNode) -> Operand:
    """Sizes leave dilation out of account, and pads are dilated, too (convolutional_layer.c, convolutional_out_height
    and forward_convolutional_layer): both agree only for pads of half a window."""
    section, data = node.section, node.picture()
    section.require_zero(_OTHER_CONVOLUTIONS)
    size, pad, strides = section.integer("size", 1), padding_of(section), strides_of(section)
    dilation = 1 if size == 1 else section.integer("dilation", 1)
    if dilation < 1 or pad < 0:
        raise FrontendError(f"expected a dilation of 1 or more and padding of 0 or more, found {dilation} and {pad}")
    if dilation > 1 and 2 * pad != size - 1:
        raise UnsupportedError(
            f"darknet gives another size with dilation {dilation}, size {size} and padding {pad}", "use pad=1"
        )
    pads = (pad * dilation,) * 4
    op = Conv(
        strides=limited_strides(strides, data.type.shape[2:], pads),
        pads=pads,
        dilations=(dilation, dilation),
        groups=section.integer("groups", 1),
    )
    return _with_bias(node, op)


def _deconvolutional(node: DarknetNode) -> Operand:
    """A transposed convolution (pjreddie/darknet, deconvolutional_layer.c)."""
    stride, pad = node.section.integer("stride", 1), padding_of(node.section)
    return _with_bias(node, ConvTranspose(strides=(stride, stride), pads=(pad,) * 4))


def _with_bias(node: DarknetNode, op: Operator) -> Operand:
    if not node.section.flag("batch_normalize"):
        return finished(node, op, node.picture(), node.weight("weights"), node.weight("biases"), default="logistic")
    return normalized(node, node.step(op, node.picture(), node.weight("weights")), default="logistic")


def _local(node: DarknetNode) -> Operand:
    """A convolution with weights of its own at each place; `pad` pads by one element (local_layer.c, im2col.c)."""
    section, data = node.section, node.picture()
    size, stride, pad = section.integer("size", 1), section.integer("stride", 1), int(section.flag("pad"))
    if pad and size != 3:
        raise UnsupportedError(f"darknet reads beyond the data with pad=1 and size={size}", "use size=3")
    seen = columns(node, data, Window((size, size), (stride, stride), (pad,) * 4, (1, 1)))
    batch, channels, taps, *spatial = seen.type.shape
    weight = node.weight("weights")
    rows = node.step(Reshape((batch, channels * taps, product(spatial))), seen)
    found = node.step(MatMul(), weight, node.step(Transpose((2, 1, 0)), rows))
    whole = node.step(Reshape((batch, weight.type.shape[1], *spatial)), node.step(Transpose((2, 1, 0)), found))
    return finished(node, Add(), whole, node.weight("biases"), default="logistic")


def _maxpool(node: DarknetNode) -> Operand:
    node.section.require_zero({
        "antialiasing": "blurred strides are not supported",
        "maxpool_zero_nonmax": "pools that keep the size are not supported",
    })  # fmt: skip
    if node.section.flag("maxpool_depth"):
        return _over_channels(node)
    return node.result(MaxPool(*_window(node)), node.picture())


def _local_avgpool(node: DarknetNode) -> Operand:
    """Averages of what lies in the picture (maxpool_layer.c, forward_local_avgpool_layer)."""
    return node.result(AveragePool(*_window(node)), node.picture())


def _window(node: DarknetNode) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The window of a pool: padding is that of both ends together, by default all of a window but one element, and the
    smaller half of it comes first (maxpool_layer.c, make_maxpool_layer and forward_maxpool_layer)."""
    size, pad = pool_of(node.section)
    begin, end = pad // 2, pad - pad // 2
    if pad < 0 or end >= size:
        raise UnsupportedError(f"padding {pad} of a pool of {size} would cover padding alone", "use less padding")
    return (size, size), strides_of(node.section), (begin, begin, end, end)


def _over_channels(node: DarknetNode) -> Operand:
    """Maxima of channels that are `out_channels` apart (maxpool_layer.c, maxpool_depth)."""
    data, outputs = node.picture(), node.section.integer("out_channels", 1)
    batch, channels, *spatial = data.type.shape
    (count,) = static_extents((channels,), "the channels")
    if outputs < 1 or count % outputs:
        raise UnsupportedError(f"{count} channels can't be divided among {outputs}", "use a divisor")
    parts = node.step(Reshape((batch, count // outputs, outputs, *spatial)), data)
    return node.result(ReduceMax(axes=(1,), keepdims=False), parts)


def _avgpool(node: DarknetNode) -> Operand:
    return node.result(GlobalAveragePool(), node.picture())


def _upsample(node: DarknetNode) -> Operand:
    """Each element repeated, times `scale` (upsample_layer.c, blas.c upsample_cpu)."""
    section, data = node.section, node.picture()
    stride, scale = section.integer("stride", 2), section.number("scale", 1)
    if stride < 1:
        raise UnsupportedError(f"stride {stride}, which makes pictures smaller, is not supported", "use a pool")
    op = Resize(
        (*data.type.shape[:2], *(extent * stride for extent in data.type.shape[2:])),
        coordinate_transformation="asymmetric",
        nearest_mode="floor",
        scales=(1.0, 1.0, float(stride), float(stride)),
    )
    if scale == 1:
        return node.result(op, data)
    return node.result(Multiply(), node.step(op, data), node.literal(scale, FLOAT))


def _crop(node: DarknetNode) -> Operand:
    """The middle of a picture, from 0 to 1 spread to -1 to 1 without `noadjust` (crop_layer.c, forward_crop_layer)."""
    section, data = node.section, node.picture()
    height, width = section.integer("crop_height", 1), section.integer("crop_width", 1)
    batch, channels, *spatial = data.type.shape
    rows, columns = static_extents(spatial, "the picture")
    if not (0 < height <= rows and 0 < width <= columns):
        raise FrontendError(f"expected a crop of at most {rows} x {columns}, found {height} x {width}")
    top, left = (rows - height) // 2, (columns - width) // 2
    op = Slice((0, 0, top, left), (batch, channels, top + height, left + width), (1, 1, 1, 1))
    if section.flag("noadjust"):
        return node.result(op, data)
    doubled = node.step(Multiply(), node.step(op, data), node.literal(2, FLOAT))
    return node.result(Add(), doubled, node.literal(-1, FLOAT))


WINDOWS: dict[str, Converter] = {
    "avgpool": _avgpool,
    "convolutional": _convolutional,
    "crop": _crop,
    "deconvolutional": _deconvolutional,
    "local": _local,
    "local_avgpool": _local_avgpool,
    "maxpool": _maxpool,
    "upsample": _upsample,
}
