"""The network of a .cfg: numbered layers, the layers that each reads, and the size of what it gives.

Layers have no names in darknet; here layer 3 of type route is called route_3, as darknet's list of layers numbers it.
Sizes have to be known to find the weights of layers in their file, which has no names either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from sateen.frontends.core.inputs import Declaration
from sateen.frontends.darknet.config import Section
from sateen.frontends.darknet.sizes import SIZES, Size, filters_of
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

FLOAT = DType.of("float32")
INPUT = "data"
"""The name of the input, which darknet does not have, as OpenCV calls it."""
MOST_ELEMENTS = 2**31 - 1
"""Darknet counts elements with an int."""

STATEFUL = frozenset({"crnn", "rnn"})
"""Layers that darknet gives a state, which it keeps from call to call and fills with zeros before the first."""
DETECTORS = frozenset({"Gaussian_yolo", "detection", "iseg", "region", "yolo"})
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
    """The layers in order. One with a state also reads LAYER.state, an input, and gives LAYER.next_state, an output.
    `place` is the file's name in errors."""

    place: str
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
        return (*sources, *([f"{layer.name}.state"] if layer.section.type in STATEFUL else []))

    def gives(self, layer: Layer) -> tuple[str, ...]:
        return (layer.name, *([f"{layer.name}.next_state"] if layer.section.type in STATEFUL else []))


def name_of(index: int, section: Section) -> str:
    return f"{section.type}_{index}"


def network_of(sections: Sequence[Section], place: str) -> Network:
    """The network of a file. Raises FrontendError, which names a line and a layer, for sections that are none."""
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
    states = [_state(layer) for layer in layers if layer.section.type in STATEFUL and layer.size is not None]
    return Network(place, (declared, *states), tuple(layers))


def _state(layer: Layer) -> Declaration:
    """What a layer remembers: a row, or a picture as large as its input."""
    section, given = layer.section, layer.sizes[0]
    assert given is not None
    shape = (1, section.integer("hidden", 1)) if section.type == "rnn" else (1, filters_of(section)[0], *given[1:])
    if min(shape) < 1 or prod(shape) > MOST_ELEMENTS:
        raise FrontendError(f"layer {layer.name!r}: expected a state of 1 or more elements, found {list(shape)}")
    return Declaration(f"{layer.name}.state", FLOAT, shape, is_usual=True)


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
    return Declaration(INPUT, FLOAT, shape, is_usual=True), (size[0], size[1], size[2])


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
