"""The network of a .cfg: numbered layers, the layers that each reads, and the size of what it gives.

Layers have no names in darknet; here layer 3 of type route is called route_3, as darknet's list of layers numbers it.
Sizes have to be known to find the weights of layers in their file, which has no names either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from sateen.frontends.core.inputs import Declaration
from sateen.frontends.core.source import Limits, Source
from sateen.frontends.darknet.config import Section, sections_of
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

FLOAT = DType.of("float32")
INPUT = "data"
"""The name of the input, which darknet does not have, as OpenCV calls it."""
MOST_ELEMENTS = 2**31 - 1
"""Darknet counts elements with an int."""

Size = tuple[int, int, int]
"""Channels, height and width of what a layer gives; a row of n numbers is (n, 1, 1)."""
DETECTORS = frozenset({"Gaussian_yolo", "detection", "region", "yolo"})
"""Layers whose results are detections, so that they are outputs wherever they stand."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A layer; `sources` are the positions of the layers that it reads, -1 for the input. `sizes` are those of what it
    reads and `size` that of what it gives, None behind a layer of unknown size."""

    index: int
    section: Section
    sources: tuple[int, ...]
    sizes: tuple[Size | None, ...]
    size: Size | None

    @property
    def name(self) -> str:
        return name_of(self.index, self.section)


@dataclass(frozen=True, slots=True)
class Network:
    """The layers in order. A layer rnn also reads LAYER.state, an input, and gives LAYER.next_state, an output."""

    inputs: tuple[Declaration, ...]
    layers: tuple[Layer, ...]

    @property
    def outputs(self) -> tuple[str, ...]:
        """The results of detectors, of the last layer that is no cost (src/network.c, get_network_output), and the
        states for the next call."""
        named = [layer.name for layer in self.layers if layer.section.type in DETECTORS]
        named += [layer.name for layer in self.layers if layer.section.type != "cost"][-1:]
        named += [name for layer in self.layers for name in self.gives(layer)[1:]]
        return tuple(dict.fromkeys(named))

    def reads(self, layer: Layer) -> tuple[str, ...]:
        sources = (INPUT if index < 0 else self.layers[index].name for index in layer.sources)
        return (*sources, *([f"{layer.name}.state"] if layer.section.type == "rnn" else []))

    def gives(self, layer: Layer) -> tuple[str, ...]:
        return (layer.name, *([f"{layer.name}.next_state"] if layer.section.type == "rnn" else []))


def name_of(index: int, section: Section) -> str:
    return f"{section.type}_{index}"


def load_network(source: Source, limits: Limits) -> Network:
    """The network of a text. Raises FrontendError, which names file and layer, for any other."""
    try:
        return _network(sections_of(source, limits))
    except FrontendError as error:
        raise FrontendError(f"{source.place}: {error}") from None


def _network(sections: Sequence[Section]) -> Network:
    if not sections or sections[0].type != "net":
        raise FrontendError("expected [net] as the first section")
    if len(sections) == 1:
        raise FrontendError("expected a layer behind [net], found none")
    declared, size = _input(sections[0])
    layers: list[Layer] = []
    for index, section in enumerate(sections[1:]):
        try:
            sources = _sources(section, index)
            sizes = tuple(size if source < 0 else layers[source].size for source in sources)
            found = _size(section, sizes)
        except FrontendError as error:
            raise FrontendError(f"line {section.line}: layer {name_of(index, section)!r}: {error}") from None
        layers.append(Layer(index, section, sources, sizes, found))
    states = [_state(layer) for layer in layers if layer.section.type == "rnn"]
    return Network((declared, *states), tuple(layers))


def _state(layer: Layer) -> Declaration:
    """What a layer rnn remembers, which darknet keeps from call to call and fills with zeros before the first."""
    hidden = layer.section.integer("hidden", 1)
    if not 1 <= hidden <= MOST_ELEMENTS:
        raise FrontendError(f"layer {layer.name!r}: expected hidden of 1 or more, found {hidden}")
    return Declaration(f"{layer.name}.state", FLOAT, (1, hidden))


def _input(net: Section) -> tuple[Declaration, Size]:
    """The input, one picture or one row of numbers: the batch of the file is that of training."""
    size = tuple(net.integer(name, 0) for name in ("channels", "height", "width"))
    if not any(size):
        size = (net.integer("inputs", 0), 1, 1)
        shape: tuple[int, ...] = (1, size[0])
    else:
        shape = (1, *size)
    if min(size) < 1 or prod(size) > MOST_ELEMENTS:
        raise FrontendError(f"line {net.line}: expected channels, height and width, or inputs, found {list(size)}")
    return Declaration(INPUT, FLOAT, shape), (size[0], size[1], size[2])


def _sources(section: Section, index: int) -> tuple[int, ...]:
    """What a layer reads: the layer before it, layers by number or by distance, or both."""
    before = index - 1
    match section.type:
        case "route":
            given = section.integers("layers")
            if not given:
                raise FrontendError("expected layers, found none")
            return tuple(_source(number, index) for number in given)
        case "shortcut" | "scale_channels" | "sam":
            given = section.integers("from")
            if not given or (len(given) > 1 and section.type != "shortcut"):
                raise FrontendError(f"expected a layer as from, found {section.text('from') or 'none'}")
            return (before, *(_source(number, index) for number in given))
    return (before,)


def _source(number: int, index: int) -> int:
    """A layer by its number, or by its distance if that is negative."""
    source = number if number >= 0 else index + number
    if not 0 <= source < index:
        raise FrontendError(f"expected a layer before it, found {number}")
    return source


def _size(section: Section, sizes: Sequence[Size | None]) -> Size | None:
    """What a layer gives; None if it is unknown. Raises FrontendError for a size that no layer has."""
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes) or section.type not in SIZES:
        return None
    found = SIZES[section.type](section, known)
    if min(found) < 1 or prod(found) > MOST_ELEMENTS:
        raise FrontendError(f"expected to give channels, height and width of 1 or more, found {list(found)}")
    return found


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
        ("Gaussian_yolo", "activation", "batchnorm", "cost", "detection", "dropout", "empty", "l2norm", "normalization",
         "region", "sam", "shortcut", "softmax", "yolo"), _same,
    ),
    "avgpool": lambda section, sizes: (sizes[0][0], 1, 1),
    "connected": lambda section, sizes: (section.integer("output", 1), 1, 1),
    "convolutional": _convolved,
    "crop": lambda section, sizes: (sizes[0][0], section.integer("crop_height", 1), section.integer("crop_width", 1)),
    "deconvolutional": _deconvolved,
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
