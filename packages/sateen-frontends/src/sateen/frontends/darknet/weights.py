"""The weights of a .weights: numbers in a row, which the layers of the network divide among themselves in their order.

Source: src/parser.c, load_weights_upto and the functions that it calls.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from sateen.frontends.core.source import Limits, Source
from sateen.frontends.darknet.config import Section
from sateen.frontends.darknet.network import Layer, Network
from sateen.frontends.darknet.sizes import filters_of, recurrent_window_of
from sateen.graph_ir.ir import Array
from sateen.runtime.errors import FrontendError

VERSION = struct.Struct("<iii")
"""Major, minor and revision; the number of pictures seen follows, in 64 bits as of version 0.2."""
TRANSPOSED = 1000
"""From this version on the matrices of layers connected are transposed."""

Weights = Mapping[str, Array]
"""The arrays of a layer by their role: biases, scales, mean, variance, weights."""


@dataclass(frozen=True, slots=True)
class Header:
    start: int
    is_transposed: bool


def header_of(data: bytes) -> Header:
    """Where the numbers begin. Raises FrontendError for a file without a header."""
    if len(data) < VERSION.size + 4:
        raise FrontendError(f"expected weights of darknet, found {len(data)} bytes")
    major, minor, _ = VERSION.unpack_from(data)
    seen = 8 if major * 10 + minor >= 2 else 4
    return Header(VERSION.size + seen, major > TRANSPOSED or minor > TRANSPOSED)


def has_weights(network: Network) -> bool:
    """Whether layers of known size have weights."""
    return _needed(network, with_biases=True) > 0


def weights_of(source: Source, network: Network, limits: Limits) -> Mapping[int, Weights]:
    """The weights of the layers that have any, by number. Raises FrontendError if the file has not as many numbers.

    Behind a layer of unknown size they can't be found: the layers there are left out.
    """
    header = header_of(source.data)
    count = (len(source.data) - header.start) // 4
    if count * 4 > limits.tensor_bytes:
        raise FrontendError(f"{source.place}: expected at most {limits.tensor_bytes} bytes of weights, found more")
    needed = {with_biases: _needed(network, with_biases) for with_biases in (True, False)}
    known = all(layer.size is not None for layer in network.layers)
    # pjreddie's darknet saves layers batchnorm without biases, AlexeyAB's with them; the length tells
    with_biases = not (known and needed[False] == count != needed[True])
    if count < needed[with_biases] or (known and count > needed[with_biases]):
        least = "" if known else " or more"
        raise FrontendError(
            f"{source.place}: expected {needed[with_biases]}{least} numbers of weights for {network.place}, found "
            f"{count}; they belong to another network, or are cut short"
        )
    numbers = np.frombuffer(source.data, "<f4", count, header.start).astype(np.float32, copy=False)
    found, place = {}, 0
    for layer in _with_known_weights(network):
        arrays = {}
        for role, shape in shapes_of(layer, with_biases).items():
            size = prod(shape)
            arrays[role] = _arranged(layer, role, numbers[place : place + size], shape, header)
            place += size
        if arrays:
            found[layer.index] = arrays
    return found


def _with_known_weights(network: Network) -> Iterator[Layer]:
    """The layers up to the first of unknown size."""
    for layer in network.layers:
        if layer.size is None:
            return
        yield layer


def _needed(network: Network, with_biases: bool) -> int:
    layers = _with_known_weights(network)
    return sum(prod(shape) for layer in layers for shape in shapes_of(layer, with_biases).values())


def shapes_of(layer: Layer, with_biases: bool = True) -> Mapping[str, tuple[int, ...]]:
    """The shapes of a layer's weights, in the order of the file."""
    section, given, size = layer.section, layer.sizes[0], layer.size
    if given is None or size is None:
        return {}
    channels, outputs = given[0], size[0]
    norm = dict.fromkeys(("scales", "mean", "variance"), (outputs,)) if section.flag("batch_normalize") else {}
    window = (section.integer("size", 1),) * 2
    match section.type:
        case "convolutional":
            groups = section.integer("groups", 1)
            if groups < 1 or channels % groups or outputs % groups:
                raise FrontendError(f"layer {layer.name!r}: {channels} channels can't be divided into {groups} groups")
            return {"biases": (outputs,), **norm, "weights": (outputs, channels // groups, *window)}
        case "deconvolutional":
            return {"biases": (outputs,), **norm, "weights": (channels, outputs, *window)}
        case "connected":
            return {"biases": (outputs,), "weights": (outputs, prod(given)), **norm}
        case "rnn":
            return _of_recurrent(section, prod(given), outputs)
        case "crnn":
            return _of_recurrent_convolutions(section, channels)
        case "local":
            places = prod(size[1:])
            return {"biases": size, "weights": (places, outputs, channels * prod(window))}
        case "implicit":
            return {"weights": (1, *size)}
        case "shortcut":
            return _of_shortcut(layer, channels)
        case "batchnorm":
            roles = ("biases", "scales", "mean", "variance") if with_biases else ("scales", "mean", "variance")
            return dict.fromkeys(roles, (outputs,))
    return {}


def _of_recurrent(section: Section, inputs: int, outputs: int) -> Mapping[str, tuple[int, ...]]:
    """The weights of the three layers connected of a layer rnn: from its input, its state, and to its output."""
    hidden = section.integer("hidden", 1)
    shapes: dict[str, tuple[int, ...]] = {}
    for part, size, given in (("input", hidden, inputs), ("self", hidden, hidden), ("output", outputs, hidden)):
        roles = ("scales", "mean", "variance") if section.flag("batch_normalize") else ()
        shapes |= {f"{part}.biases": (size,), f"{part}.weights": (size, given)}
        shapes |= {f"{part}.{role}": (size,) for role in roles}
    return shapes


def _of_recurrent_convolutions(section: Section, inputs: int) -> Mapping[str, tuple[int, ...]]:
    """The weights of the three convolutions of a layer crnn."""
    (hidden, outputs), window = filters_of(section), recurrent_window_of(section)
    shapes: dict[str, tuple[int, ...]] = {}
    for part, filters, channels in (("input", hidden, inputs), ("self", hidden, hidden), ("output", outputs, hidden)):
        if window.groups < 1 or channels % window.groups or filters % window.groups:
            raise FrontendError(f"{channels} and {filters} channels can't be divided into {window.groups} groups")
        norm = ("scales", "mean", "variance") if section.flag("batch_normalize") else ()
        shapes |= {f"{part}.{role}": (filters,) for role in ("biases", *norm)}
        shapes[f"{part}.weights"] = (filters, channels // window.groups, window.size, window.size)
    return shapes


def _of_shortcut(layer: Layer, channels: int) -> Mapping[str, tuple[int, ...]]:
    """A weight for each layer that is added, or for each of its channels (shortcut_layer.c, make_shortcut_layer)."""
    match layer.section.text("weights_type", "none"):
        case "per_channel":
            return {"weights": (len(layer.sources), channels)}
        case "per_feature" | "per_layer":
            return {"weights": (len(layer.sources), 1)}
    return {}


def _arranged(layer: Layer, role: str, numbers: Array, shape: tuple[int, ...], header: Header) -> Array:
    """The numbers in their shape; matrices may be transposed, by the version or by `flipped`."""
    is_connected = layer.section.type in {"connected", "rnn"}
    if role.endswith("weights") and (header.is_transposed if is_connected else layer.section.flag("flipped")):
        rows = shape[0]
        return np.ascontiguousarray(numbers.reshape(-1, rows).T).reshape(shape)
    return numbers.reshape(shape)
