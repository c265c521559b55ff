"""Calls with training=True: refused where they give something else than calls without it."""

from typing import Any

import numpy as np
import pytest

from sateen import frontends

REASON = "it is called with training=True: its results depend on chance or on the other rows of the batch"
X = np.array([[1, 2, 3, 4]], np.float32)


def _called(layer, given):
    """The layer `y` on `x`, called with `training`."""
    return {**layer, "inbound_nodes": [[["x", 0, 0, {"training": given}]]]}


def _net(files, kind, given, **config: Any):
    return files.functional([files.given("x", 5, 4), _called(files.layer(kind, "y", **config), given)], ["y"])


def _sequential(*layers):
    return {"class_name": "Sequential", "name": "y", "config": {"name": "y", "layers": list(layers)}}


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("BatchNormalization", {"scale": False, "center": False}),
        ("Dropout", {"rate": 0.5}),
        ("RandomFlip", {"mode": "horizontal"}),
        ("Attention", {"dropout": 0.1}),
    ],
)
@pytest.mark.parametrize("given", [True, 1, ["x", 0, 0]])
def test_layers_with_a_training_mode_are_gaps(files, kind, config, given):
    weights = {"y": [("mean", X[0]), ("variance", X[0])]} if kind == "BatchNormalization" else {}
    (gap,) = frontends.check(files.written(_net(files, kind, given, **config), weights)).gaps
    assert (gap.node, gap.operator, gap.reason) == ("y", kind, REASON)
    assert gap.help == "build the network without this argument, and save it again"


@pytest.mark.parametrize(
    ("kind", "given", "config"),
    [("Dropout", False, {"rate": 0.5}), ("Dropout", 0, {"rate": 0.5}), ("Dropout", None, {"rate": 0.5}),
     ("Flatten", True, {})],
)  # fmt: skip
def test_calls_at_inference_and_layers_without_a_training_mode_are_read(files, kind, given, config):
    assert frontends.check(files.written(_net(files, kind, given, **config), {})).is_supported


def test_archives_of_keras_3_say_it_among_the_arguments(files):
    history = {"class_name": "__keras_tensor__", "config": {"keras_history": ["x", 0, 0]}}
    layer = files.layer("Dropout", "y", rate=0.5)
    layer["inbound_nodes"] = [{"args": [history], "kwargs": {"training": True}}]
    layer["config"]["trainable"] = True  # of a layer, not of a function
    (gap,) = frontends.check(files.archived(files.functional([files.given("x", 4), layer], ["y"]), {})).gaps
    assert gap.reason == REASON


def test_keras_3_writes_it_for_layers_of_pictures_by_itself(files):
    configuration = _net(files, "RandomFlip", True, mode="horizontal")
    assert frontends.check(files.archived(configuration, {})).is_supported


def test_a_network_passes_it_on_to_its_layers(files):
    layers = [files.layer("Flatten", "flat"), files.layer("Dropout", "drop", rate=0.5)]
    for inner, expected in ((layers, ["y/drop"]), (layers[:1], [])):
        first = files.given("given", 5, 4)
        network = _called(_sequential(first, *inner), True)
        report = frontends.check(files.written(files.functional([files.given("x", 5, 4), network], ["y"]), {}))
        assert [gap.node for gap in report.gaps] == expected


@pytest.mark.parametrize("wrapper", ["TimeDistributed", "SpectralNormalization"])
def test_wrappers_pass_it_on_to_their_layer(files, wrapper):
    configuration = _net(files, wrapper, True, layer=files.layer("Dropout", "drop", rate=0.5))
    groups = {"layers/spectral_normalization/vars/0": X} if wrapper == "SpectralNormalization" else {}
    (gap,) = frontends.check(files.archived(configuration, groups)).gaps
    assert gap.reason == REASON


@pytest.mark.parametrize(("rate", "gaps"), [(0.0, 0), (0.25, 2)])
def test_directions_drop_only_with_a_rate(files, rate, gaps):
    lstm = files.layer("LSTM", "lstm", units=1, recurrent_dropout=rate, activation="tanh", use_bias=False,
                       recurrent_activation="sigmoid")  # fmt: skip
    configuration = _net(files, "Bidirectional", True, layer=lstm, merge_mode="concat")
    arrays = [(f"{name}{i}", np.ones((rows, 4), np.float32)) for i in range(2) for name, rows in (("w", 4), ("r", 1))]
    report = frontends.check(files.written(configuration, {"y": arrays}))
    assert [gap.reason for gap in report.gaps] == [REASON] * gaps
