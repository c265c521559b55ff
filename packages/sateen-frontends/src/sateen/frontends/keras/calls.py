"""The calls of layers in a configuration, in the dialects of Keras 1 and 2, and of Keras 3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sateen.frontends.keras.layers import Arguments, Layer, Reference, Structure
from sateen.runtime.errors import FrontendError

MOST_RESULTS = 1024
"""The most results of one call."""
_CONSTANT = "_CONSTANT_VALUE"
"""In place of a layer's name: an argument that is data (tf_keras/src/engine/node.py)."""


def shown(value: object) -> str:
    return repr(value)[:100]


def nodes_of(layer: Layer, given: Mapping[str, Any]) -> list[Any]:
    nodes = given.get("inbound_nodes", [])
    if not isinstance(nodes, list):
        raise FrontendError(f"layer {layer.name!r}: expected inbound_nodes, found {shown(nodes)}")
    return nodes


@dataclass(frozen=True, slots=True)
class CallReader:
    """How the calls of one network name tensors. `counts` is the number of calls of each layer."""

    network: str
    layers: Mapping[str, Layer]
    counts: Mapping[str, int]

    def arguments(self, node: object, where: str) -> Arguments:
        """The arguments of a call: Keras 3 has all of them by position and name; before, the tensors of the first
        argument come first, with the others by name beside the first of them."""
        if isinstance(node, dict) and "args" in node:
            args, kwargs = node.get("args"), node.get("kwargs", {})
            if not isinstance(args, list) or not isinstance(kwargs, dict):
                raise FrontendError(f"{where}: expected args and kwargs, found {shown(node)}")
            return Arguments(
                tuple(self._value(one, where) for one in args),
                {name: self._value(one, where) for name, one in kwargs.items()},
            )
        entries = [node] if self._is_entry(node) else node
        first = self._first(entries, where)
        if isinstance(first, list) and len(first) == 1:
            first = first[0]
        return Arguments((first,), self._named(entries, where))

    def _first(self, entries: Structure, where: str) -> Structure:
        if self._is_entry(entries):
            if entries[0] == _CONSTANT:
                return np.asarray(entries[2]) if isinstance(entries[2], list) else entries[2]
            return self.reference(entries[:3], where, 1)
        if isinstance(entries, list):
            return [self._first(one, where) for one in entries]
        if isinstance(entries, dict):
            return {name: self._first(one, where) for name, one in entries.items()}
        raise FrontendError(f"{where}: expected tensors as [layer, call, result], found {shown(entries)}")

    def _is_entry(self, value: object) -> bool:
        """Whether a value is a tensor of the first argument, [layer, call, result] with perhaps other arguments."""
        return (
            isinstance(value, list)
            and len(value) in {3, 4}
            and isinstance(value[0], str)
            and (value[0] == _CONSTANT or isinstance(value[2], int))
            and isinstance(value[1], int)
        )

    def _named(self, entries: Structure, where: str) -> dict[str, Structure]:
        if self._is_entry(entries):
            given = entries[3] if len(entries) == 4 else {}
            if not isinstance(given, dict):
                raise FrontendError(f"{where}: expected arguments by name, found {shown(given)}")
            return {name: self._legacy_value(one, where) for name, one in given.items()}
        several = entries if isinstance(entries, list) else list(entries.values())
        return self._named(several[0], where) if several else {}

    def _legacy_value(self, value: Any, where: str) -> Structure:
        if self._is_entry(value) and len(value) == 3 and value[0] in self.layers:
            return self.reference(value, where, 1)
        if isinstance(value, list):
            return [self._legacy_value(one, where) for one in value]
        if isinstance(value, dict):
            return {name: self._legacy_value(one, where) for name, one in value.items()}
        return value

    def _value(self, value: Any, where: str) -> Structure:
        """An argument of Keras 3 (keras/src/saving/serialization_lib.py)."""
        if isinstance(value, list):
            return [self._value(one, where) for one in value]
        if not isinstance(value, dict):
            return value
        config = value.get("config")
        inner: Mapping[str, Any] = config if isinstance(config, dict) else {}
        match value.get("class_name"):
            case "__keras_tensor__":
                return self.reference(inner.get("keras_history"), where, 0)
            case "__slice__":
                return slice(*(self._value(inner.get(end), where) for end in ("start", "stop", "step")))
            case "__ellipsis__":
                return Ellipsis
            case "__tuple__":
                return tuple(self._value(one, where) for one in value.get("items", []))
            case "__tensor__" | "__numpy__":
                return _array(inner, where)
            case _:
                return {name: self._value(one, where) for name, one in value.items()}

    def tensors(self, value: Any, where: str, nested_from: int) -> Structure:
        """The inputs or outputs of a network."""
        if isinstance(value, list) and len(value) == 3 and isinstance(value[0], str):
            return self.reference(value, where, nested_from)
        if isinstance(value, list):
            return [self.tensors(one, where, nested_from) for one in value]
        if isinstance(value, dict):
            return {name: self.tensors(one, where, nested_from) for name, one in value.items()}
        raise FrontendError(f"{where}: expected tensors as [layer, call, result], found {shown(value)}")

    def reference(self, value: Any, where: str, nested_from: int) -> Reference:
        """A tensor. The calls of networks within this one are counted from `nested_from`: the first is what made such a
        network itself, which is not saved (`get_network_config` of Keras 2 and 3). Some writers count from 0 anyway."""
        fits = isinstance(value, list) and len(value) == 3
        if not fits or not isinstance(value[0], str) or not all(type(one) is int for one in value[1:]):
            raise FrontendError(f"{where}: expected a tensor as [layer, call, result], found {shown(value)}")
        name, call, result = value
        if name not in self.layers:
            raise FrontendError(f"{where}: expected a layer of network {self.network!r}, found {name!r}")
        count = self.counts[name]
        if self.layers[name].network is not None and (nested_from or call == count) and call > 0:
            call -= 1
        if not 0 <= call < count:
            raise FrontendError(f"{where}: expected one of {count} calls of layer {name!r}, found {value[1:]}")
        results = 1 if self.layers[name].kind == "InputLayer" else MOST_RESULTS
        if not 0 <= result < results:
            raise FrontendError(f"{where}: expected one of {results} results of layer {name!r}, found {value[1:]}")
        return Reference(name, call, result)


def _array(config: Mapping[str, Any], where: str) -> Any:
    """A tensor whose data is an argument."""
    try:
        return np.asarray(config.get("value"), np.dtype(str(config.get("dtype"))))
    except (TypeError, ValueError, OverflowError) as error:
        raise FrontendError(f"{where}: expected the data of a tensor: {error}") from None
