"""A darknet model is a pair of files, known by their content; damage to either is an error that names it."""

import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from sateen import frontends, runtime
from sateen.frontends import readers
from sateen.frontends.core.source import Source
from sateen.frontends.darknet import DARKNET
from sateen.frontends.darknet.activations import ACTIVATIONS
from sateen.frontends.darknet.converters import CONVERTERS
from sateen.frontends.darknet.refusals import REFUSALS
from sateen.frontends.darknet.sizes import SIZES
from sateen.graph_ir.compile import build
from sateen.runtime.errors import FrontendError

NETWORK = b"""[net]
channels=2
height=4
width=4
[convolutional]
filters=3
size=3
activation=relu
[connected]
output=5
activation=linear
"""
RANDOM = np.random.default_rng(0)
BIAS, WEIGHT = RANDOM.normal(size=3), RANDOM.normal(size=(3, 2, 3, 3))
OFFSET, MATRIX = RANDOM.normal(size=5), RANDOM.normal(size=(5, 12))


@pytest.fixture
def data(weights):
    return weights(BIAS, WEIGHT, OFFSET, MATRIX)


@pytest.fixture
def folder(tmp_path, data):
    (tmp_path / "net.cfg").write_bytes(NETWORK)
    (tmp_path / "net_final.weights").write_bytes(data)
    return tmp_path


def test_either_file_is_enough(folder):
    for name in ("net.cfg", "net_final.weights"):
        graph, params = frontends.load(folder / name)
        assert [value.name for value in (*graph.inputs, *graph.outputs)] == ["data", "connected_1"]
        assert sorted(params) == [
            "connected_1.biases", "connected_1.weights", "convolutional_0.biases", "convolutional_0.weights",
        ]  # fmt: skip
        assert {(span.node, span.operator) for node in graph.nodes for span in node.spans} == {
            ("convolutional_0", "convolutional"), ("connected_1", "connected"),
        }  # fmt: skip


def test_a_shape_replaces_that_of_the_file(data):
    graph, params = frontends.load(NETWORK, data, shapes={"data": (3, 2, 4, 4)})
    x = RANDOM.normal(size=(3, 2, 4, 4)).astype(np.float32)
    found = runtime.load(build(graph, params=params)).run({"data": x})["connected_1"].numpy()
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    hidden = np.maximum(np.einsum("nchwij,ocij->nohw", windows, WEIGHT) + BIAS[:, None, None], 0)
    np.testing.assert_allclose(found, hidden.reshape(3, -1) @ MATRIX.T + OFFSET, rtol=1e-4, atol=1e-5)


def test_a_cut_behind_layers_with_weights(data):
    graph, params = frontends.load(NETWORK, data, inputs=["convolutional_0"], shapes={"convolutional_0": (1, 3, 2, 2)})
    assert [value.name for value in (*graph.inputs, *graph.outputs)] == ["convolutional_0", "connected_1"]
    np.testing.assert_array_equal(params["connected_1.weights"], MATRIX.astype(np.float32))


def test_both_files_are_known_by_their_content_and_by_no_other_reader(data, weights):
    for source in (
        Source(NETWORK),
        Source(data),
        Source(b"\n# a network\n;\n [network]\n"),
        Source(weights(np.ones(9))),
    ):
        assert [reader.described for reader in readers.READERS if reader.recognises(source)] == ["a darknet model"]
    others = (
        b" " * 100_000,
        b"[package]\nname=1",
        b"x [net]",
        data[:20],
        weights(np.full(9, 1e6)),
        weights(np.full(9, np.nan)),
    )
    for other in (*others, weights(np.ones(9), version=(1, 2, 5))):
        assert not DARKNET.recognises(Source(other))


@pytest.mark.parametrize("change", [-4, 4, 400])
def test_weights_of_another_network_are_refused(data, change):
    given = data[:change] if change < 0 else data + bytes(change)
    found = 122 + change // 4
    message = f"expected 122 numbers of weights for the given bytes, found {found}; they belong to another"
    with pytest.raises(FrontendError, match=message):
        frontends.load(NETWORK, given)


def test_a_missing_file_is_named(folder):
    (folder / "net_final.weights").unlink()
    with pytest.raises(
        FrontendError, match=r"expected weights of darknet \(.weights\) beside it, found no net.weights"
    ):
        frontends.load(folder / "net.cfg")


def test_a_network_without_weights_is_whole(tmp_path):
    (tmp_path / "net.cfg").write_bytes(b"[net]\nchannels=2\nheight=4\nwidth=4\n[maxpool]\nsize=2\nstride=2\n")
    graph, params = frontends.load(tmp_path / "net.cfg")
    assert (str(graph.outputs[0].type), params) == ("float32[1, 2, 2, 2]", {})


def test_damage_is_an_error_of_the_frontend(data):
    numbers = random.Random(0)
    for _ in range(300):
        text = bytearray(NETWORK)
        for _ in range(numbers.randrange(1, 6)):
            text[numbers.randrange(len(text))] = numbers.randrange(256)
        with suppress(FrontendError):
            frontends.load(bytes(text), data[: numbers.randrange(len(data))] if numbers.random() < 0.3 else data)


def test_every_layer_and_activation_has_a_line_in_the_page():
    page = Path(__file__).parents[4].joinpath("docs/formats/darknet.md").read_text(encoding="utf-8")
    layers, _, rest = page.partition("## Layers")[2].partition("## Activations")
    named = [line.split("|")[1].split("`")[1::2] for line in layers.splitlines() if line.startswith("| `")]
    assert {name for row in named for name in row} == CONVERTERS.keys() == SIZES.keys() - REFUSALS.keys()
    assert set(rest.partition("## ")[0].split("`")[1::2]) == ACTIVATIONS.keys()
