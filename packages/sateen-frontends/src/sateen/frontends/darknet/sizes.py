"""What layers give, by the sizes of what they read: without it the weights of later layers can't be found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sateen.frontends.darknet.config import Section
from sateen.runtime.errors import FrontendError

Size = tuple[int, int, int]
"""Channels, height and width of what a layer gives; a row of n numbers is (n, 1, 1)."""


def padding_of(section: Section) -> int:
    """`padding`, or half the window with `pad` (parse_convolutional)."""
    return section.integer("size", 1) // 2 if section.flag("pad") else section.integer("padding", 0)


def strides_of(section: Section) -> tuple[int, int]:
    """The strides of rows and columns."""
    stride = section.integer("stride", 1)
    found = tuple(section.integer(name, stride) for name in ("stride_y", "stride_x"))
    return tuple(stride if s < 1 else s for s in found)  # type: ignore[return-value]


def _convolved(section: Section, sizes: Sequence[Size]) -> Size:
    (_, height, width), size, pad = sizes[0], section.integer("size", 1), padding_of(section)
    rows, columns = strides_of(section)
    _require_positive(size, rows, columns)
    return section.integer("filters", 1), (height + 2 * pad - size) // rows + 1, (width + 2 * pad - size) // columns + 1


def _deconvolved(section: Section, sizes: Sequence[Size]) -> Size:
    (_, height, width), size, stride = sizes[0], section.integer("size", 1), section.integer("stride", 1)
    _require_positive(size, stride)
    change = size - stride - 2 * padding_of(section)
    return section.integer("filters", 1), height * stride + change, width * stride + change


def pool_of(section: Section) -> tuple[int, int]:
    """The window of a pool, and its padding at both ends together (make_maxpool_layer)."""
    size = section.integer("size", section.integer("stride", 1))
    return size, section.integer("padding", size - 1)


def _pooled(section: Section, sizes: Sequence[Size]) -> Size:
    (channels, height, width), (size, pad), (rows, columns) = sizes[0], pool_of(section), strides_of(section)
    _require_positive(size, rows, columns)
    if section.flag("maxpool_depth"):
        return section.integer("out_channels", 1), height, width
    return channels, (height + pad - size) // rows + 1, (width + pad - size) // columns + 1


def _require_positive(*numbers: int) -> None:
    if min(numbers) < 1:
        raise FrontendError(f"expected sizes and strides of 1 or more, found {list(numbers)}")


def _local(section: Section, sizes: Sequence[Size]) -> Size:
    """`pad` is 0 or 1 (local_layer.c, local_out_height)."""
    (_, height, width), size, stride = sizes[0], section.integer("size", 1), section.integer("stride", 1)
    _require_positive(size, stride)
    less = 1 if section.flag("pad") else size
    return section.integer("filters", 1), (height - less) // stride + 1, (width - less) // stride + 1


def filters_of(section: Section) -> tuple[int, int]:
    """The channels of the state and of the result of a layer crnn, which pjreddie's darknet calls hidden_filters and
    output_filters."""
    hidden, output = (section.integer(f"{name}_filters", section.integer(name, 1)) for name in ("hidden", "output"))
    return hidden, output


@dataclass(frozen=True, slots=True)
class RecurrentWindow:
    """The window of the convolutions of a layer crnn."""

    size: int
    pad: int
    stride: int
    dilation: int
    groups: int


def recurrent_window_of(section: Section) -> RecurrentWindow:
    """3 x 3 with padding in pjreddie's darknet, options of the file in AlexeyAB's (parse_crnn of both)."""
    if "hidden_filters" in section.options or "output_filters" in section.options:
        return RecurrentWindow(3, 1, 1, 1, 1)
    size = section.integer("size", 3)
    pad = size // 2 if section.flag("pad") else section.integer("padding", 0)
    stride, dilation, groups = (section.integer(name, 1) for name in ("stride", "dilation", "groups"))
    return RecurrentWindow(size, pad, stride, dilation, groups)


def _routed(section: Section, sizes: Sequence[Size]) -> Size:
    """Channels side by side, or of each layer one of `groups` parts."""
    groups = section.integer("groups", 1)
    if any(size[1:] != sizes[0][1:] for size in sizes):
        raise FrontendError(f"expected layers of one height and width, found {', '.join(str(list(s)) for s in sizes)}")
    if groups < 1 or any(size[0] % groups for size in sizes):
        raise FrontendError(f"{[size[0] for size in sizes]} channels can't be divided into {groups} groups")
    return sum(size[0] // groups for size in sizes), *sizes[0][1:]


def _reorganized(section: Section, sizes: Sequence[Size]) -> Size:
    (channels, height, width), stride = sizes[0], section.integer("stride", 1)
    _require_positive(stride)
    if section.flag("reverse"):
        return channels // stride**2, height * stride, width * stride
    return channels * stride**2, height // stride, width // stride


def _upsampled(section: Section, sizes: Sequence[Size]) -> Size:
    (channels, height, width), stride = sizes[0], section.integer("stride", 2)
    return channels, height * max(stride, 1), width * max(stride, 1)


def _same(_: Section, sizes: Sequence[Size]) -> Size:
    return sizes[0]


SIZES: dict[str, Callable[[Section, Sequence[Size]], Size]] = {
    **dict.fromkeys(
        ("Gaussian_yolo", "activation", "batchnorm", "cost", "detection", "dropout", "empty", "iseg", "l2norm",
         "logistic", "normalization", "region", "sam", "shortcut", "softmax", "yolo"), _same,
    ),
    "avgpool": lambda section, sizes: (sizes[0][0], 1, 1),
    "connected": lambda section, sizes: (section.integer("output", 1), 1, 1),
    "convolutional": _convolved,
    "crnn": lambda section, sizes: (filters_of(section)[1], *sizes[0][1:]),
    "crop": lambda section, sizes: (sizes[0][0], section.integer("crop_height", 1), section.integer("crop_width", 1)),
    "deconvolutional": _deconvolved,
    "implicit": lambda section, sizes: (section.integer("filters", 128), section.integer("atoms", 1), 1),
    "local": _local,
    "local_avgpool": _pooled,
    "maxpool": _pooled,
    "reorg": _reorganized,
    "reorg3d": _reorganized,
    "rnn": lambda section, sizes: (section.integer("output", 1), 1, 1),
    "route": _routed,
    "scale_channels": lambda section, sizes: sizes[1],
    "upsample": _upsampled,
}  # fmt: skip
"""What layers of each type give; other types are not read."""
