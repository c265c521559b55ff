"""Operators that slide a window over spatial axes: convolutions, their transposes and pools.

Data is [N, …, C] (NHWC), or [N, C, …] (NCHW); weights are [window…, inputs, outputs].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from sateen.frontends.core.channels import result_channels_last, to_channels_first
from sateen.frontends.core.operands import Operand, require_few, static_extents
from sateen.frontends.core.report import UnsupportedError
from sateen.frontends.core.windows import limited_strides, same_pads
from sateen.frontends.tensorflow.node import INT64, Converter, TensorflowNode
from sateen.graph_ir import ops
from sateen.graph_ir.ir import Dim, Value
from sateen.runtime.errors import FrontendError
from sateen.topi.computations.windows import Window
from sateen.topi.operators import Operator

_MOST_NODES = 1 << 8
"""The most elements under a window each of which becomes nodes."""
CHANNELS_LAST = frozenset({"NHWC", "NDHWC", "NWC"})
CHANNELS_FIRST = frozenset({"NCHW", "NCDHW", "NCW"})


def has_channels_first(node: TensorflowNode) -> bool:
    """Whether the channels come before the spatial axes. Raises UnsupportedError for formats of other hardware."""
    given = node.text("data_format")
    if given not in CHANNELS_FIRST | CHANNELS_LAST:
        raise UnsupportedError(f"data format {given} is not supported", "export the model with NHWC or NCHW")
    return given in CHANNELS_FIRST


def channels_first(node: TensorflowNode, index: int) -> Value:
    """Input `index` as [N, C, …]."""
    return node.value(index) if has_channels_first(node) else to_channels_first(node, node.value(index))


def in_format(node: TensorflowNode, data: Value) -> Operand:
    """[N, C, …] as the node's result, in its format."""
    return data if has_channels_first(node) else result_channels_last(node, data)


def in_format_of(node: TensorflowNode, op: Operator, *inputs: Value) -> Operand:
    """The result of an operator on channels first as the node's, in its format."""
    if has_channels_first(node):
        return node.result(op, *inputs)
    return result_channels_last(node, node.step(op, *inputs))


def _spatial(node: TensorflowNode, name: str, rank: int) -> tuple[int, ...]:
    """The numbers of an attribute for the spatial axes; those of batch and channels must be 1."""
    return _of_spatial(node, node.integers(name), name, rank)


def _of_spatial(node: TensorflowNode, given: Sequence[int], name: str, rank: int) -> tuple[int, ...]:
    first = has_channels_first(node)
    if len(given) != rank + 2:
        raise FrontendError(f"expected {rank + 2} numbers as {name}, found {list(given)}")
    batch, channels = given[0], given[1 if first else -1]
    if (batch, channels) != (1, 1):
        raise UnsupportedError(f"{name} along batch or channels are not supported: {list(given)}")
    spatial = tuple(given[2:] if first else given[1:-1])
    if min(spatial) < 1:
        raise FrontendError(f"expected {name} of 1 or more, found {list(given)}")
    return spatial


def _window(node: TensorflowNode, kernel: tuple[int, ...], spatial: Sequence[Dim]) -> Window:
    """The window with the node's strides, dilations and padding over data of these extents."""
    rank = len(kernel)
    strides = _spatial(node, "strides", rank)
    dilations = _spatial(node, "dilations", rank) if node.attribute("dilations") is not None else (1,) * rank
    return padded_window(node, Window(kernel, strides, (0,) * (2 * rank), dilations), spatial)


def padded_window(node: TensorflowNode, window: Window, spatial: Sequence[Dim]) -> Window:
    """The window with pads by attribute `padding`: SAME puts an odd element at the end (common_shape_fns.cc)."""
    rank = len(window.kernel)
    match node.text("padding"):
        case "SAME":
            pads = same_pads(spatial, window.strides, window.reaches, f"padding SAME of {node.described(0)}")
        case "VALID":
            pads = (0,) * (2 * rank)
        case "EXPLICIT":
            pads = _explicit(node, rank)
        case other:
            raise FrontendError(f"expected padding SAME, VALID or EXPLICIT, found {other!r}")
    return replace(window, pads=pads)


def _explicit(node: TensorflowNode, rank: int) -> tuple[int, ...]:
    """Begin and end of each axis, batch and channels included."""
    given = node.integers("explicit_paddings")
    if len(given) != 2 * (rank + 2) or min(given) < 0:
        raise FrontendError(f"expected {2 * (rank + 2)} explicit_paddings of 0 or more, found {list(given)}")
    begins, ends = given[::2], given[1::2]
    first = 2 if has_channels_first(node) else 1
    others = {0, 1 if has_channels_first(node) else rank + 1}
    if any(begins[axis] or ends[axis] for axis in others):
        raise UnsupportedError(f"padding of batch or channels is not supported: {list(given)}")
    return (*begins[first : first + rank], *ends[first : first + rank])


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution of channels first: the operator, its data and its weight."""

    op: ops.Conv
    data: Value
    weight: Value


def convolution(node: TensorflowNode) -> Convolution:
    """Conv2D or Conv3D. Fewer channels of the weight than of the data make groups (conv_ops_impl.h)."""
    data = channels_first(node, 0)
    rank = data.type.rank - 2
    if rank < 1 or node.rank(1) != rank + 2:
        raise FrontendError(f"expected data and weight of equal ranks, 3 or more, found {node.rank(0)}, {node.rank(1)}")
    *kernel, inputs, _ = node.static_shape(1)
    window = _window(node, tuple(kernel), data.type.shape[2:])
    (channels,) = static_extents(data.type.shape[1:2], "the number of channels")
    if not inputs or channels % inputs:
        raise FrontendError(f"expected channels that {inputs}, those of the weight, divide, found {channels}")
    weight = node.step(ops.Transpose(permutation=(rank + 1, rank, *range(rank))), node.value(1))
    return Convolution(_conv(window, data, channels // inputs), data, weight)


def depthwise_convolution(node: TensorflowNode) -> Convolution:
    """Each channel by itself with `multiplier` filters: output c · multiplier + m (depthwise_conv_op.h)."""
    data = channels_first(node, 0)
    if data.type.rank != 4 or node.rank(1) != 4:
        raise FrontendError(f"expected data and weight of rank 4, found {node.rank(0)} and {node.rank(1)}")
    height, width, channels, multiplier = node.static_shape(1)
    window = _window(node, (height, width), data.type.shape[2:])
    moved = node.step(ops.Transpose(permutation=(2, 3, 0, 1)), node.value(1))
    weight = node.step(ops.Reshape(shape=(channels * multiplier, 1, height, width)), moved)
    return Convolution(_conv(window, data, channels), data, weight)


def _conv(window: Window, data: Value, groups: int) -> ops.Conv:
    strides = limited_strides(window.strides, data.type.shape[2:], window.pads)
    dilations = tuple(1 if k == 1 else d for k, d in zip(window.kernel, window.dilations, strict=True))
    return ops.Conv(strides=strides, pads=window.pads, dilations=dilations, groups=groups)


def _convolved(node: TensorflowNode) -> Operand:
    found = convolution(node)
    return in_format_of(node, found.op, found.data, found.weight)


def _convolved_by_channel(node: TensorflowNode) -> Operand:
    found = depthwise_convolution(node)
    return in_format_of(node, found.op, found.data, found.weight)


def _transposed(node: TensorflowNode) -> Operand:
    """The gradient of a convolution by its data, used as a transposed convolution. Inputs: the shape of the result, the
    weight of that convolution, [window…, outputs, inputs], and the data."""
    data = channels_first(node, 2)
    rank = data.type.rank - 2
    if rank < 1 or node.rank(1) != rank + 2:
        raise FrontendError(f"expected data and weight of equal ranks, found {node.rank(2)} and {node.rank(1)}")
    *kernel, outputs, _ = node.static_shape(1)
    sizes = node.dimensions_at(0)
    if len(sizes) == rank:  # older graphs leave batch and channels out
        wanted = static_extents(sizes, node.described(0))
    else:
        whole = sizes[2:] if has_channels_first(node) else sizes[1:-1]
        wanted = static_extents(whole, node.described(0))
        given = sizes[1] if has_channels_first(node) else sizes[-1]
        if given != outputs:
            raise UnsupportedError(
                f"a transposed convolution in groups is not supported: {given} of {outputs} channels"
            )
    if len(wanted) != rank:
        raise FrontendError(f"expected the shape of the result, {rank + 2} extents, found {list(wanted)}")
    window = _window(node, tuple(kernel), wanted)
    spatial = static_extents(data.type.shape[2:], node.described(2))
    if tuple(window.output(wanted)) != spatial:
        raise FrontendError(
            f"a result of {list(wanted)} needs data of {list(window.output(wanted))}, found {list(spatial)}"
        )
    full = replace(window, pads=(0,) * (2 * rank)).transposed_output(spatial, (0,) * rank)
    begins = window.pads[:rank]
    rest = [whole - part - begin for whole, part, begin in zip(full, wanted, begins, strict=True)]
    op = ops.ConvTranspose(
        strides=window.strides,
        pads=(*begins, *(max(end, 0) for end in rest)),
        dilations=window.dilations,
        output_padding=tuple(max(-end, 0) for end in rest),
    )
    weight = node.step(ops.Transpose(permutation=(rank + 1, rank, *range(rank))), node.value(1))
    return in_format_of(node, op, data, weight)


def _pool_window(node: TensorflowNode, rank: int, spatial: Sequence[Dim]) -> Window:
    """V2 has kernel and strides as inputs."""
    if node.operator == "MaxPoolV2":
        kernel = _of_spatial(node, node.integers_at(1), "ksize", rank)
        strides = _of_spatial(node, node.integers_at(2), "strides", rank)
        return padded_window(node, Window(kernel, strides, (0,) * (2 * rank), (1,) * rank), spatial)
    return _window(node, _spatial(node, "ksize", rank), spatial)


def _pool(kind: type[ops.MaxPool | ops.AveragePool]) -> Converter:
    """Padding takes part neither in a maximum nor in an average (pooling_ops_common.h)."""

    def convert(node: TensorflowNode) -> Operand:
        data = channels_first(node, 0)
        window = _pool_window(node, data.type.rank - 2, data.type.shape[2:])
        strides = limited_strides(window.strides, data.type.shape[2:], window.pads)
        return in_format_of(node, kind(kernel=window.kernel, strides=strides, pads=window.pads), data)

    return convert


def _pool_with_places(node: TensorflowNode) -> tuple[Operand, ...]:
    """Maxima, and their places (y · width + x) · channels + c, with the batch if include_batch_in_index says so
    (maxpooling_op.cc)."""
    data = to_channels_first(node, node.value(0))
    batch, channels, height, width = static_extents(data.type.shape, node.described(0))
    window = _plain_window(node, (height, width))
    op = ops.MaxPoolIndices(window.kernel, window.strides, window.pads, (1, 1), False, False)
    values, places = node.steps(op, data, count=2)
    maxima = result_channels_last(node, values)
    last = node.step(ops.Transpose(permutation=(0, 2, 3, 1)), places)
    plane = node.literal(height * width, INT64)
    within = node.step(ops.Multiply(), node.step(ops.Modulo(), last, plane), node.literal(channels, INT64))
    offsets = node.counted(channels).reshape(1, 1, 1, channels)
    if node.flag("include_batch_in_index"):
        require_few(batch, channels)
        offsets = offsets + node.counted(batch).reshape(batch, 1, 1, 1) * height * width * channels
    wanted = node.type("Targmax") if node.attribute("Targmax") is not None else INT64
    shifted = node.step(ops.Add(), within, node.parameter(offsets, "offsets"))
    return maxima, node.result(ops.Identity() if wanted == INT64 else ops.Cast(dtype=wanted), shifted, output=1)


def _plain_window(node: TensorflowNode, spatial: tuple[int, int]) -> Window:
    kernel, strides = (node.integers(name)[1:3] for name in ("ksize", "strides"))
    if len(kernel) != 2 or len(strides) != 2 or min(*kernel, *strides) < 1:
        raise FrontendError(f"expected ksize and strides of 4 numbers, found {list(kernel)} and {list(strides)}")
    return padded_window(node, Window(kernel, strides, (0,) * 4, (1, 1)), spatial)


def _patches(node: TensorflowNode) -> Operand:
    """The elements under each window, one after the other, all channels of each; padding is 0
    (extract_image_patches_op.cc)."""
    batch, height, width, channels = node.shape(0)
    kernel, strides, rates = (node.integers(name)[1:3] for name in ("ksizes", "strides", "rates"))
    if not len(kernel) == len(strides) == len(rates) == 2 or min(*kernel, *strides, *rates) < 1:
        raise FrontendError(f"expected ksizes, strides and rates of 4 numbers, found {list(kernel)}")
    window = padded_window(node, Window(kernel, strides, (0,) * 4, rates), (height, width))
    top, left, bottom, right = window.pads
    value = node.step(ops.Pad(pads=(0, top, left, 0, 0, bottom, right, 0)), node.value(0))
    extents = static_extents(window.output((height, width)), node.described(0))
    for axis, extent, taps, stride, rate in zip((1, 3), extents, kernel, strides, rates, strict=True):
        starts, reached = node.counted(extent)[:, None] * stride, node.counted(taps) * rate
        require_few(extent, taps)
        value = node.step(ops.Gather(axis=axis), value, node.parameter(starts + reached, "places"))
    together = node.step(ops.Transpose(permutation=(0, 1, 3, 2, 4, 5)), value)
    return node.result(ops.Reshape(shape=(batch, *extents, kernel[0] * kernel[1] * channels)), together)


def _dilated_maxima(node: TensorflowNode) -> Operand:
    """The largest sum of an element and the filter's under a window; padding does not take part (dilation_ops.cc)."""
    data = to_channels_first(node, node.value(0))
    height, width, channels = node.static_shape(1)
    strides, rates = (node.integers(name)[1:3] for name in ("strides", "rates"))
    if len(strides) != 2 or len(rates) != 2 or min(*strides, *rates, height, width) < 1 or data.type.rank != 4:
        raise FrontendError(f"expected a filter, strides and rates of 1 or more, found {list(strides)}, {list(rates)}")
    if height * width > _MOST_NODES or not node.dtype(0).is_float:
        raise UnsupportedError(f"windows of {height} x {width} of {node.dtype(0)} are not supported")
    window = padded_window(node, Window((height, width), strides, (0,) * 4, rates), data.type.shape[2:])
    rows, columns = static_extents(window.output(data.type.shape[2:]), node.described(0))
    top, left, bottom, right = window.pads
    whole = node.step(ops.Pad(pads=(0, 0, top, left, 0, 0, bottom, right), value=-inf), data)
    batch = whole.type.shape[0]
    total: Value | None = None
    for y, x in np.ndindex(height, width):
        begin = (0, 0, y * rates[0], x * rates[1])
        end = (batch, channels, begin[2] + (rows - 1) * strides[0] + 1, begin[3] + (columns - 1) * strides[1] + 1)
        seen = node.step(ops.Slice(begin, end, (1, 1, *strides)), whole)
        tap = node.step(ops.Slice((y, x, 0), (y + 1, x + 1, channels), (1, 1, 1)), node.value(1))
        raised = node.step(ops.Add(), seen, node.step(ops.Reshape(shape=(channels, 1, 1)), tap))
        total = raised if total is None else node.step(ops.Maximum(), total, raised)
    assert total is not None
    return result_channels_last(node, total)


WINDOWS: dict[str, Converter] = {
    "AvgPool": _pool(ops.AveragePool),
    "AvgPool3D": _pool(ops.AveragePool),
    "Conv2D": _convolved,
    "Conv2DBackpropInput": _transposed,
    "Conv3D": _convolved,
    "Conv3DBackpropInputV2": _transposed,
    "DepthwiseConv2dNative": _convolved_by_channel,
    "Dilation2D": _dilated_maxima,
    "ExtractImagePatches": _patches,
    "MaxPool": _pool(ops.MaxPool),
    "MaxPool3D": _pool(ops.MaxPool),
    "MaxPoolV2": _pool(ops.MaxPool),
    "MaxPoolWithArgmax": _pool_with_places,
}
