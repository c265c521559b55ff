"""The layers of a configuration and their connections, in all dialects: Keras 1 and 2, and Keras 3."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sateen.frontends.core.source import Limits
from sateen.frontends.keras.calls import CallReader, nodes_of, shown
from sateen.frontends.keras.dialects import in_todays_terms, kind_of
from sateen.frontends.keras.layers import Arguments, Layer, LayerCall, Network, Part, Reference, leaves
from sateen.runtime.errors import FrontendError, printable
from sateen.runtime.signature import LONGEST_NAME

FUNCTIONAL = ("Functional", "Model", "Network", "Container")
"""The names that networks of connected layers had."""
NETWORKS = (*FUNCTIONAL, "Sequential")
_PACKAGES = ("keras", "tf_keras", "tensorflow", "keras_core")
"""The packages whose classes are Keras's own."""
_WRAPPERS = ("SpectralNormalization", "TimeDistributed")
"""Layers around one layer."""
_CELLS = {
    "ConvLSTM1D": "ConvLSTMCell",
    "ConvLSTM2D": "ConvLSTMCell",
    "ConvLSTM3D": "ConvLSTMCell",
    "GRU": "GRUCell",
    "LSTM": "LSTMCell",
    "SimpleRNN": "SimpleRNNCell",
}
"""Recurrent layers, each of which runs a cell over time."""
_CLASSES = {"GroupQueryAttention": "GroupedQueryAttention"}
"""Classes whose names in configurations are not their own."""
_RUNS = {cell: layer for layer, cell in _CELLS.items()}
_OF_RUN = (
    "return_sequences",
    "return_state",
    "go_backwards",
    "stateful",
    "zero_output_for_mask",
    "time_major",
    "dtype",
)
"""The settings of RNN that concern the run over time, not the cell."""


def layer_of(data: object, limits: Limits, depth: int = 0) -> Layer:
    """A layer, with the layers within it. Raises FrontendError if it is malformed or nested too deeply."""
    if depth > limits.nesting:
        raise FrontendError(f"expected layers nested at most {limits.nesting} deep, found deeper ones")
    if not isinstance(data, dict) or not isinstance(data.get("class_name"), str):
        raise FrontendError(f"expected a layer with its class_name, found {shown(data)}")
    term = printable(data["class_name"])
    config = data.get("config")
    name = _name_of(data, term)
    if term in NETWORKS and _is_kerass(data):
        return _network_layer(term, name, config, limits, depth)
    if not isinstance(config, dict):
        raise FrontendError(f"layer {name!r} ({term}): expected a config, found {shown(config)}")
    kind = _kind_of(data, term, config)
    config = in_todays_terms(kind, config)

    def inner(given: object) -> Layer:
        return layer_of(given, limits, depth + 1)

    match kind:
        case "Bidirectional":
            return Layer(kind, term, name, config, _directions(name, config, inner))
        case "RNN":
            return _run(term, name, config, inner(config.get("cell")))
        case "StackedRNNCells":
            cells = [inner(one) for one in _listed(config.get("cells"), f"cells of {name!r}")]
            return Layer(kind, term, name, config, tuple(map(Part, _groups(cells, "cells"), cells)))
        case _ if kind in _WRAPPERS:
            return Layer(kind, term, name, config, (Part("layer", inner(config.get("layer"))),))
        case _ if kind in _CELLS:
            return recurrent(term, name, config, Layer(_CELLS[kind], term, name, config), kind)
        case _:
            return Layer(kind, term, name, config)


def recurrent(term: str, name: str, config: Mapping[str, Any], cell: Layer, kind: str = "") -> Layer:
    """The layer that runs a cell over time."""
    return Layer(kind or _RUNS[cell.kind], term, name, config, (Part("cell", cell),))


def _run(term: str, name: str, config: Mapping[str, Any], cell: Layer) -> Layer:
    """RNN with a cell is the layer of that cell; with several cells, it stays RNN around them."""
    of_run = {setting: config[setting] for setting in _OF_RUN if setting in config}
    if cell.kind in _RUNS and not cell.kind.startswith("Conv"):
        return recurrent(term, name, {**cell.config, **of_run}, cell)
    return Layer("RNN", term, name, of_run, (Part("cell", cell),))


def _directions(name: str, config: Mapping[str, Any], inner: Callable[[object], Layer]) -> tuple[Part, ...]:
    """A layer forwards and one backwards in time; the second is given, or else the first turned around
    (keras/src/layers/rnn/bidirectional.py).

    The first is read again for that, and so may have no such pair within it: each level would double the layers.
    """
    wrapped = config.get("layer")
    forward = inner(wrapped)
    if not isinstance(wrapped, dict) or not isinstance(wrapped.get("config"), dict) or _has_pairs_or_networks(forward):
        raise FrontendError(f"layer {name!r} (Bidirectional): expected a recurrent layer in it, found {forward.term!r}")
    given = config.get("backward_layer")
    if given is None:
        turned = {**wrapped["config"], "go_backwards": not forward.config.get("go_backwards"), "name": forward.name}
        given = {**wrapped, "config": turned, "name": forward.name}
    names = (f"forward_{forward.name.removeprefix('forward_')}", f"backward_{forward.name.removeprefix('forward_')}")
    both = (("forward_layer", forward), ("backward_layer", inner(given)))
    return tuple(
        Part(group, replace(layer, name=name, config={**layer.config, "zero_output_for_mask": True}))
        for (group, layer), name in zip(both, names, strict=True)
    )


def _has_pairs_or_networks(layer: Layer) -> bool:
    """Whether a layer is, or has in it, one of two directions or a network."""
    is_one = layer.kind == "Bidirectional" or layer.network is not None
    return is_one or any(_has_pairs_or_networks(part.layer) for part in layer.parts)


def _listed(value: object, what: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise FrontendError(f"expected a list of the {what}, found {shown(value)}")
    return value


def _name_of(data: Mapping[str, Any], term: str) -> str:
    config = data.get("config")
    found = data.get("name") or (config.get("name") if isinstance(config, dict) else None) or term.lower()
    if not isinstance(found, str) or not found.isprintable() or len(found) > LONGEST_NAME:
        expected = f"printable text of 1 to {LONGEST_NAME} characters as the name of a layer ({term})"
        raise FrontendError(f"expected {expected}, found {shown(found)}")
    return found


def _is_kerass(data: Mapping[str, Any]) -> bool:
    """Whether a class is Keras's own, and not registered or imported from elsewhere."""
    module, registered = data.get("module"), data.get("registered_name")
    own = module is None or (isinstance(module, str) and module.split(".")[0] in _PACKAGES)
    return own and ">" not in data["class_name"] and not (isinstance(registered, str) and ">" in registered)


def _kind_of(data: Mapping[str, Any], term: str, config: Mapping[str, Any]) -> str:
    if not _is_kerass(data):
        registered = data.get("registered_name")
        return f"?{printable(registered) if isinstance(registered, str) and '>' in registered else term}"
    if ".ops." in f".{data.get('module') or ''}." or _is_function(data, config):
        return f"ops.{term}"
    if term in {"TFOpLambda", "SlicingOpLambda", "ClassMethod"}:
        return f"tf.{config.get('function') or config.get('symbol')}"
    return kind_of(term, config)


def _is_function(data: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
    """Whether an entry without a module is a function of keras.ops, in an .h5 file of Keras 3: it has a call with
    `args`, and none of the settings that all layers have (`Operation.get_config`)."""
    calls = data.get("inbound_nodes")
    of_keras_3 = isinstance(calls, list) and any(isinstance(call, dict) and "args" in call for call in calls)
    return data.get("module") is None and of_keras_3 and not config.keys() & {"trainable", "dtype"}


def _groups(layers: Sequence[Layer], container: str) -> list[str]:
    """The groups of layers in a container: by class, with a number where there are several of one."""
    counts: dict[str, int] = {}
    groups = []
    for layer in layers:
        name = snake_case(_CLASSES.get(layer.term, layer.term.rpartition(">")[2]))
        number = counts.get(name, 0)
        counts[name] = number + 1
        groups.append(f"{container}/{name}_{number}" if number else f"{container}/{name}")
    return groups


def snake_case(name: str) -> str:
    """A class as the name of a group: conv2d_transpose of Conv2DTranspose (keras/src/utils/naming.py)."""
    return re.sub(r"(?<=.)(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _network_layer(term: str, name: str, config: object, limits: Limits, depth: int) -> Layer:
    """A network as a layer; the configuration of an old Sequential is the list of its layers."""
    whole: dict[str, Any] = (
        {"layers": config} if isinstance(config, list) else config if isinstance(config, dict) else {}
    )
    given = whole.get("layers")
    if not isinstance(given, list) or not given:
        raise FrontendError(f"network {name!r} ({term}): expected its layers, found {shown(given)}")
    if len(given) > limits.nodes:
        raise FrontendError(f"expected at most {limits.nodes} layers, found {len(given)}")
    layers = tuple(layer_of(one, limits, depth + 1) for one in given)
    branches = _branches(given[0], layers[0], limits, depth) if term == "Sequential" else ()
    own = layers
    layers = (*(layer for branch in branches for layer in _network_of(branch).layers), *layers)
    names = [layer.name for layer in layers]
    if len(set(names)) < len(names):
        twice = next(one for one, count in Counter(names).items() if count > 1)
        raise FrontendError(f"network {name!r}: the name {twice!r} belongs to two layers")
    if branches:
        network = _joined(branches, own)
    else:
        network = _sequential(layers, whole) if term == "Sequential" else _functional(name, layers, given, whole)
    parts = tuple(map(Part, _groups(layers, "layers"), layers))
    return Layer("Sequential" if term == "Sequential" else "Functional", term, name, whole, parts, network)


def _branches(given: Mapping[str, Any], first: Layer, limits: Limits, depth: int) -> tuple[Layer, ...]:
    """The networks that a Sequential of Keras 1 joins, if it begins with Merge."""
    if given.get("class_name") != "Merge" or not first.config.get("layers"):
        return ()
    listed = _listed(first.config["layers"], f"branches of {first.name!r}")
    found = tuple(layer_of(one, limits, depth + 1) for one in listed)
    for branch in found:
        if branch.network is None:
            raise FrontendError(f"layer {first.name!r}: expected networks as its branches, found {branch.term!r}")
    return found


def _network_of(branch: Layer) -> Network:
    assert branch.network is not None
    return branch.network


def _joined(branches: Sequence[Layer], layers: Sequence[Layer]) -> Network:
    """Branches beside each other, the layer that merges them, and those behind it in a row. Their layers are layers of
    the whole network (`flattened_layers` of keras-1.2.2/keras/models.py)."""
    networks = [_network_of(branch) for branch in branches]
    ends = [one for network in networks for one in leaves(network.outputs, Reference)]
    calls = [call for network in networks for call in network.calls]
    calls.append(LayerCall(layers[0], 0, Arguments((ends,))))
    for before, layer in pairwise(layers):
        calls.append(LayerCall(layer, 0, Arguments((Reference(before.name, 0, 0),))))
    inputs = [one for network in networks for one in leaves(network.inputs, Reference)]
    whole = (*(layer for network in networks for layer in network.layers), *layers)
    return Network(whole, tuple(calls), inputs, [Reference(layers[-1].name, 0, 0)])


def _sequential(layers: tuple[Layer, ...], config: Mapping[str, Any]) -> Network:
    """Layers in a row. One without an InputLayer begins with an input that is called after its first layer."""
    first = layers[0]
    if first.kind != "InputLayer":
        given = {"batch_shape": _input_shape(first, config), "dtype": _input_dtype(first)}
        layers = (Layer("InputLayer", "InputLayer", f"{first.name}_input", given), *layers)
    calls = [LayerCall(layers[0], 0, Arguments(()))]
    for before, layer in pairwise(layers):
        calls.append(LayerCall(layer, 0, Arguments((Reference(before.name, 0, 0),))))
    return Network(layers, tuple(calls), [Reference(layers[0].name, 0, 0)], [Reference(layers[-1].name, 0, 0)])


def _input_shape(first: Layer, config: Mapping[str, Any]) -> Any:
    """The shape with which the first layer of a row is called, None if the file does not say it."""
    if first.network is not None:
        return shape_of_input(_first_input(first.network).config)
    return first.config.get("batch_input_shape") or config.get("build_input_shape")


def _input_dtype(first: Layer) -> Any:
    return _first_input(first.network).config.get("dtype") if first.network is not None else first.config.get("dtype")


def _first_input(network: Network) -> Layer:
    reference = next(leaves(network.inputs, Reference))
    return next(layer for layer in network.layers if layer.name == reference.layer)


def shape_of_input(config: Mapping[str, Any]) -> Any:
    """The shape of an InputLayer with the batch; None if it is unknown."""
    return config.get("batch_shape") or config.get("batch_input_shape")


def _functional(
    name: str, layers: tuple[Layer, ...], given: Sequence[Mapping[str, Any]], config: Mapping[str, Any]
) -> Network:
    """Layers connected by the nodes of their calls."""
    by_name = {layer.name: layer for layer in layers}
    nodes = {layer.name: nodes_of(layer, one) for layer, one in zip(layers, given, strict=True)}
    counts = {one.name: 1 if one.kind == "InputLayer" else len(nodes[one.name]) for one in layers}
    calls_of = CallReader(name, by_name, counts)
    calls: list[LayerCall] = []
    for layer in layers:
        for index, node in enumerate(nodes[layer.name]):
            where = f"layer {layer.name!r}, call {index}"
            arguments = calls_of.arguments(node, where)
            if not any(True for _ in arguments.leaves(Reference)):
                raise FrontendError(f"{where}: expected the tensors that it is called with, found none")
            calls.append(LayerCall(layer, index, arguments))
        if layer.kind == "InputLayer":
            calls.append(LayerCall(layer, 0, Arguments(())))
    ends = [config.get(key) for key in ("input_layers", "output_layers")]
    inputs, outputs = (calls_of.tensors(end, f"network {name!r}", nested_from=1) for end in ends)
    for end, what in ((inputs, "inputs"), (outputs, "outputs")):
        if not any(True for _ in leaves(end, Reference)):
            raise FrontendError(f"network {name!r}: expected its {what}, found none")
    return Network(layers, tuple(calls), inputs, outputs)
