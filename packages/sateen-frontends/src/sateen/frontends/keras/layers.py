"""A Keras model as data: layers, networks of layers, and the calls that connect them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Structure = Any
"""Tuples, lists and dictionaries with references or tensors among their leaves; other leaves are data of the file."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A tensor of a network: a layer, which of its calls, and which of the call's results."""

    layer: str
    call: int
    result: int


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a layer is called with."""

    positional: tuple[Structure, ...]
    named: Mapping[str, Structure] = field(default_factory=dict)

    def map(self, leaf: type, function: Callable[[Any], Any]) -> Arguments:
        """The arguments with each leaf of a type replaced."""
        positional = tuple(mapped(item, leaf, function) for item in self.positional)
        return Arguments(positional, {name: mapped(item, leaf, function) for name, item in self.named.items()})

    def leaves(self, leaf: type) -> Iterator[Any]:
        """The leaves of a type, in order: positional arguments first."""
        yield from leaves(self.positional, leaf)
        yield from leaves(self.named, leaf)


def mapped(structure: Structure, leaf: type, function: Callable[[Any], Any]) -> Structure:
    """A structure with each leaf of a type replaced."""
    match structure:
        case _ if isinstance(structure, leaf):
            return function(structure)
        case list() | tuple():
            return type(structure)(mapped(item, leaf, function) for item in structure)
        case dict():
            return {name: mapped(item, leaf, function) for name, item in structure.items()}
        case _:
            return structure


def leaves(structure: Structure, leaf: type) -> Iterator[Any]:
    """The leaves of a type in a structure, in order; those of a dictionary by the order of its keys in the file."""
    match structure:
        case _ if isinstance(structure, leaf):
            yield structure
        case list() | tuple():
            for item in structure:
                yield from leaves(item, leaf)
        case dict():
            for item in structure.values():
                yield from leaves(item, leaf)
        case _:
            pass


@dataclass(frozen=True, slots=True)
class LayerCall:
    """One use of a layer in a network; its arguments have References."""

    layer: Layer
    index: int
    arguments: Arguments


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """Layers that are connected. Inputs and outputs are structures of References, as the file has them."""

    layers: tuple[Layer, ...]
    calls: tuple[LayerCall, ...]
    inputs: Structure
    outputs: Structure


@dataclass(frozen=True, slots=True)
class Part:
    """A layer inside another one, and the group of its weights within that of the other (Keras 3)."""

    group: str
    layer: Layer


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A layer and its configuration, in today's terms.

    `kind` is its class: of keras.layers by its name, of keras.ops as `ops.Add`, a function of TensorFlow that Keras 2
    took as a layer as `tf.math.add`, anything else as `?Name`, or `?Package>Name` if it is registered. `term` is the
    class as the file says it. A network within a network has both `network` and `parts`.
    """

    kind: str
    term: str
    name: str
    config: Mapping[str, Any]
    parts: tuple[Part, ...] = ()
    network: Network | None = None

    @property
    def is_trainable(self) -> bool:
        return self.config.get("trainable", True) is not False

    def part(self, group: str) -> Layer:
        """The inner layer with its weights in a group."""
        return next(part.layer for part in self.parts if part.group == group)


def quantised_mode(config: Mapping[str, Any]) -> str | None:
    """How a layer is quantised, such as int8, by its policy; None if it is not (keras/src/dtype_policies)."""
    policy = config.get("dtype")
    if isinstance(policy, dict):
        inner = policy.get("config")
        mode = inner.get("mode") if isinstance(inner, dict) else None
        return str(mode) if mode is not None or "Quantized" in str(policy.get("class_name")) else None
    return policy.partition("_from_")[0] if isinstance(policy, str) and "_from_" in policy else None
