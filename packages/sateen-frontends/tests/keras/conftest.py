"""Writes small Keras files without Keras: configurations as it writes them, and their weights."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

from sateen import frontends, runtime
from sateen.graph_ir.compile import build

Array = np.ndarray[Any, Any]
Weights = Mapping[str, Sequence[tuple[str, Array]]]
"""Of each layer of the outermost network, the names and data of its variables in order."""
Layers = Sequence[dict[str, Any]]


def layer(class_name: str, name: str, *inbound: Any, **config: Any) -> dict[str, Any]:
    """A layer of a Functional configuration of Keras 2, called with tensors."""
    return {
        "class_name": class_name,
        "name": name,
        "config": {"name": name, **config},
        "inbound_nodes": [[_tensor(one) for one in inbound]] if inbound else [],
    }


def _tensor(one: Any) -> list[Any]:
    return [one, 0, 0, {}] if isinstance(one, str) else list(one)


def given(name: str, *shape: int | None, dtype: str = "float32") -> dict[str, Any]:
    return layer("InputLayer", name, batch_input_shape=[None, *shape], dtype=dtype)


def functional(layers: Layers, outputs: Sequence[str], **config: Any) -> dict[str, Any]:
    inputs = [[one["name"], 0, 0] for one in layers if one["class_name"] == "InputLayer"]
    ends = [[name, 0, 0] for name in outputs]
    named = {"name": "net", "layers": list(layers), "input_layers": inputs, "output_layers": ends}
    return {"class_name": "Functional", "config": {**named, **config}}


def written(configuration: dict[str, Any] | str | None, weights: Weights, **attributes: str) -> bytes:
    """An .h5 file of Keras 2; without a configuration, only weights."""
    data = io.BytesIO()
    with h5py.File(data, "w") as file:
        group = file
        if configuration is not None:
            text = configuration if isinstance(configuration, str) else json.dumps(configuration)
            file.attrs["model_config"] = text
            group = file.create_group("model_weights")
        group.attrs["layer_names"] = np.array([name.encode() for name in weights] or np.zeros(0, "S1"))
        for name, value in {"keras_version": "2.9.0", "backend": "tensorflow", **attributes}.items():
            group.attrs[name] = value
        for name, variables in weights.items():
            inner = group.create_group(name)
            inner.attrs["weight_names"] = np.array([one.encode() for one, _ in variables] or np.zeros(0, "S1"))
            for one, array in variables:
                inner[one] = array
    return data.getvalue()


def archived(configuration: dict[str, Any] | str, groups: Mapping[str, Array], **files: bytes) -> bytes:
    """A .keras file of Keras 3, whose weights are datasets by their paths."""
    weights = io.BytesIO()
    with h5py.File(weights, "w") as file:
        for path, array in groups.items():
            file[path] = array
    data = io.BytesIO()
    text = configuration if isinstance(configuration, str) else json.dumps(configuration)
    members = {
        "metadata.json": json.dumps({"keras_version": "3.8.0"}), "config.json": text,
        "model.weights.h5": weights.getvalue(), **files,
    }  # fmt: skip
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return data.getvalue()


@pytest.fixture
def files() -> SimpleNamespace:
    """What writes files: given, layer, functional, written, archived."""
    return SimpleNamespace(given=given, layer=layer, functional=functional, written=written, archived=archived)


@pytest.fixture
def run() -> Callable[..., list[Array]]:
    """run(model, inputs...): the outputs of a model for inputs in order."""

    def computed(model: bytes, *inputs: Array, **options: Any) -> list[Array]:
        declared = frontends.load(model)[0].inputs
        shapes = {value.name: data.shape for value, data in zip(declared, inputs, strict=True)}
        graph, params = frontends.load(model, shapes=shapes, **options)
        names = [value.name for value in graph.inputs]
        found = runtime.load(build(graph, params=params)).run(dict(zip(names, inputs, strict=True)))
        return [found[value.name].numpy() for value in graph.outputs]

    return computed


@pytest.fixture
def dense() -> tuple[dict[str, Any], Weights]:
    """A network of one Dense layer, y = relu(x w + b), and its weights."""
    random = np.random.default_rng(0)
    weights = {"y": [("y/kernel:0", _float(random, 3, 2)), ("y/bias:0", _float(random, 2))]}
    return functional([given("x", 3), layer("Dense", "y", "x", units=2, activation="relu")], ["y"]), weights


def _float(random: np.random.Generator, *shape: int) -> Array:
    return random.standard_normal(shape).astype(np.float32)
