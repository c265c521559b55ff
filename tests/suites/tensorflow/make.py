"""Writes the cases of the suite for TensorFlow; TensorFlow itself computes what they give.

    python make.py FOLDER [--only TEXT]

Each case of `GRAPHS` is a frozen graph of one operator or a few, each of `CONTROL` one with loops and choices as
TensorFlow 1 has them, each of `MODULES` and `LAYERS` a SavedModel, each of `CUDNN` a graph of a layer for GPUs, each
of `TRAINED` a graph with variables of TensorFlow 1.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from control import CONTROL
from graphs import GRAPHS
from saved import CUDNN, LAYERS, MODULES, SAVED, TRAINED

Array = Any
V1 = tf.compat.v1
KERAS_RECURRENT = import_module("keras.src.backend.tensorflow.rnn")
CUDA = {"is_cuda_build": True, "is_rocm_build": False}
"""What Keras asks TensorFlow for the order of gates."""


def write_graph(folder: Path, function: Callable[..., Any], given: Sequence[Array]) -> None:
    """A graph of constants and placeholders x0, x1 …, whose results are y0, y1 …"""
    with tf.Graph().as_default() as graph, V1.Session() as session:
        inputs = [V1.placeholder(x.dtype, x.shape, name=f"x{i}") for i, x in enumerate(given)]
        results = [tf.identity(y, name=f"y{i}") for i, y in enumerate(tf.nest.flatten(function(*inputs)))]
        found = session.run(results, dict(zip(inputs, given, strict=True)))
        (folder / "model.pb").write_bytes(graph.as_graph_def().SerializeToString())
    named = {f"in/x{i}": x for i, x in enumerate(given)} | {f"out/y{i}": y for i, y in enumerate(found)}
    write_case(folder, "model.pb", named)


def write_saved(folder: Path, make: Callable[[], tf.Module], given: Mapping[str, Array]) -> None:
    """A SavedModel of a module whose method `call` takes named tensors."""
    module = make()
    specs = {name: tf.TensorSpec(x.shape, x.dtype, name) for name, x in given.items()}
    function = tf.function(module.call).get_concrete_function(**specs)
    tf.saved_model.save(module, str(folder / "saved"), {"serving_default": function})
    loaded = tf.saved_model.load(str(folder / "saved")).signatures["serving_default"]
    found = loaded(**{name: tf.constant(x) for name, x in given.items()})
    named = {f"in/{name}": x for name, x in given.items()} | {f"out/{name}": y.numpy() for name, y in found.items()}
    write_case(folder, "saved", named)


def write_keras(folder: Path, make: Callable[[], Any], given: Array, *, exported: bool = True) -> None:
    """A SavedModel of a Keras model, as its `export` or tf.saved_model.save writes it."""
    tf.keras.utils.set_random_seed(0)
    model = make()
    model(given)  # so that all layers have weights
    random = np.random.default_rng(0)
    model.set_weights([_weight(random, w) for w in model.get_weights()])
    if exported:
        model.export(str(folder / "saved"), verbose=False)
    else:
        tf.saved_model.save(model, str(folder / "saved"))
    loaded = tf.saved_model.load(str(folder / "saved")).signatures["serving_default"]
    (name,) = loaded.structured_input_signature[1]
    found = loaded(**{name: tf.constant(given)})
    named = {f"in/{name}": given} | {f"out/{key}": y.numpy() for key, y in found.items()}
    write_case(folder, "saved", named, {"shapes": {name: list(given.shape)}})


def _weight(random: np.random.Generator, weight: Array) -> Array:
    """Random numbers; variances are positive."""
    if weight.dtype.kind != "f":
        return weight
    return random.uniform(0.05, 0.5, weight.shape).astype(weight.dtype)


def write_cudnn(folder: Path, layer: Callable[[], Any], lengths: Sequence[int] | None, time_major: bool) -> None:
    """A frozen graph of a recurrent layer of Keras by cuDNN, which needs a GPU to run; the layer itself, on the CPU, is
    the judge."""
    random = np.random.default_rng(0)
    x = random.uniform(-1.0, 1.0, (2, 6, 5)).astype("f")
    made = layer()
    made(x)
    made.set_weights([random.uniform(-0.5, 0.5, w.shape).astype("f") for w in made.get_weights()])
    kernel, recurrence, bias = made.get_weights()
    counts = [6, 6] if lengths is None else list(lengths)
    is_lstm = isinstance(made, tf.keras.layers.LSTM)
    mask = np.arange(6) < np.array(counts)[:, None]

    def network(x: Any) -> Any:
        data = tf.transpose(x, [1, 0, 2]) if time_major else x
        kept = None if lengths is None else tf.constant(mask.T if time_major else mask)
        states = [tf.zeros([2, made.units])] * (2 if is_lstm else 1)
        run = KERAS_RECURRENT._cudnn_lstm if is_lstm else KERAS_RECURRENT._cudnn_gru
        given = states if is_lstm else [states[0]]
        _, y, ends = run(data, *given, kernel, recurrence, bias, kept, time_major, made.go_backwards, True)
        return [tf.transpose(y, [1, 0, 2]) if time_major else y, *ends]

    with tf.Graph().as_default() as graph, patch.object(tf.sysconfig, "get_build_info", return_value=CUDA):
        for i, y in enumerate(network(V1.placeholder("float32", x.shape, name="x"))):
            tf.identity(y, name=f"y{i}")
        (folder / "model.pb").write_bytes(graph.as_graph_def().SerializeToString())
    found = [np.array(y) for y in made(x, mask=None if lengths is None else tf.constant(mask))]
    if lengths is not None:  # Keras repeats the last output there, cuDNN gives 0
        found[0] = np.where(mask[:, :: -1 if made.go_backwards else 1, None], found[0], 0)
    write_case(folder, "model.pb", {"in/x": x} | {f"out/y{i}": y for i, y in enumerate(found)})


def write_trained(folder: Path, function: Callable[..., Any], given: Array, kind: str) -> None:
    """A graph of TensorFlow 1 with variables: a `.meta` with a checkpoint, or a SavedModel."""
    with tf.Graph().as_default(), V1.Session() as session:
        V1.set_random_seed(0)
        x = V1.placeholder(given.dtype, given.shape, name="x")
        y = tf.identity(function(x), name="y")
        session.run(V1.global_variables_initializer())
        found = session.run(y, {x: given})
        if kind == "saved":
            V1.saved_model.simple_save(session, str(folder / "saved"), {"x": x}, {"y": y})
        else:
            V1.train.Saver().save(session, str(folder / "net"))
    (folder / "checkpoint").unlink(missing_ok=True)
    write_case(folder, "saved" if kind == "saved" else "net.meta", {"in/x": given, "out/y": found})


def write_case(folder: Path, model: str, named: Mapping[str, Array], options: Mapping[str, Any] | None = None) -> None:
    np.savez(folder / "io.npz", **named)
    case = {"model": model, "options": options or {}}
    (folder / "case.json").write_text(json.dumps(case), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="make the cases with this text in their names")
    options = parser.parse_args()
    writers: list[tuple[str, Callable[..., None], Mapping[str, tuple[Any, ...]]]] = [
        ("graph", lambda folder, function, *given: write_graph(folder, function, given), GRAPHS),
        ("module", write_saved, MODULES),
        ("keras", write_keras, LAYERS),
        ("saved", partial(write_keras, exported=False), {name: LAYERS[name] for name in SAVED}),
        ("cudnn", write_cudnn, CUDNN),
        ("trained", write_trained, TRAINED),
        ("control", lambda folder, function, *given: write_graph(folder, function, given), CONTROL),
    ]
    for kind, write, cases in writers:
        if kind == "control":
            V1.disable_control_flow_v2()
        for name, case in cases.items():
            folder = options.folder / f"{kind}-{name}"
            if options.only in folder.name:
                folder.mkdir(parents=True, exist_ok=True)
                write(folder, *case)


if __name__ == "__main__":
    main()
