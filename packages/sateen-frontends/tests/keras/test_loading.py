"""Files of Keras: what is recognised, which weights belong to which layer, and what is refused."""

import io
import json
import zipfile

import h5py
import numpy as np
import pytest

from sateen import frontends
from sateen.frontends.core.source import LIMITS, Limits, Source
from sateen.frontends.keras import KERAS
from sateen.frontends.keras.networks import layer_of
from sateen.frontends.keras.recognition import is_keras
from sateen.frontends.readers import READERS
from sateen.runtime.errors import FrontendError

X = np.array([[1.0, -2.0, 3.0]], np.float32)


def expected(weights):
    (_, kernel), (_, bias) = weights["y"]
    return np.maximum(X @ kernel + bias, 0)


def test_a_whole_model_of_keras_2(files, dense, run):
    configuration, weights = dense
    data = files.written(configuration, weights)
    graph, parameters = frontends.load(data)
    assert [str(value.type) for value in graph.inputs] == ["float32[?x.0, 3]"]
    assert [value.name for value in (*graph.inputs, *graph.outputs)] == ["x", "y"]
    assert {name: array.shape for name, array in parameters.items()} == {"y/kernel": (3, 2), "y/bias": (2,)}
    assert "node 'y' (Dense) of model 'the given bytes'" in {str(span) for node in graph.nodes for span in node.spans}
    np.testing.assert_allclose(run(data, X)[0], expected(weights), rtol=1e-6)


def test_an_archive_of_keras_3(files, dense, run):
    _, weights = dense
    arguments = {"class_name": "__keras_tensor__", "config": {"shape": [None, 3], "keras_history": ["x", 0, 0]}}
    layers = [
        files.given("x", 3),
        {
            **files.layer("Dense", "y", units=2, activation="relu"),
            "module": "keras.layers",
            "inbound_nodes": [{"args": [arguments], "kwargs": {}}],
        },
    ]
    paths = {f"layers/dense/vars/{i}": array for i, (_, array) in enumerate(weights["y"])}
    data = files.archived(files.functional(layers, ["y"]), paths)
    np.testing.assert_allclose(run(data, X)[0], expected(weights), rtol=1e-6)


def test_an_architecture_and_weights_find_each_other(files, dense, tmp_path):
    configuration, weights = dense
    architecture, data = json.dumps(configuration).encode(), files.written(None, weights)
    (tmp_path / "net.json").write_bytes(architecture)
    (tmp_path / "net_weights.h5").write_bytes(data)
    texts = {
        str([(node.op, node.inputs, node.outputs) for node in frontends.load(*given)[0].nodes])
        for given in (
            (tmp_path / "net.json",),
            (tmp_path / "net_weights.h5",),
            (architecture, data),
            (data, architecture),
        )
    }
    assert len(texts) == 1
    with pytest.raises(FrontendError, match=r"expected the weights of a Keras model \(HDF5\) too, found none; give it"):
        frontends.load(architecture)


def test_weights_of_other_names_are_taken_in_order(files, dense, run):
    configuration, weights = dense
    data = files.written(configuration, {"other": weights["y"]})
    np.testing.assert_allclose(run(data, X)[0], expected(weights), rtol=1e-6)


def test_weights_of_layers_within_are_listed_with_those_that_training_changes_first(files, run):
    random = np.random.default_rng(1)
    names = ("gamma", "beta", "moving_mean", "moving_variance")
    first, second = ([random.uniform(0.5, 1, 3).astype(np.float32) for _ in names] for _ in range(2))
    inner = files.functional(
        [
            files.given("i", 3),
            files.layer("BatchNormalization", "a", "i", axis=-1, epsilon=0.0),
            files.layer("BatchNormalization", "b", "a", axis=-1, epsilon=0.0, trainable=True),
        ],
        ["b"],
    )
    whole = files.functional(
        [files.given("x", 3), {**inner, "name": "inner", "inbound_nodes": [[["x", 0, 0, {}]]]}], ["inner"]
    )
    order = [*first[:2], *second[:2], *first[2:], *second[2:]]
    data = files.written(whole, {"inner": [(f"v{i}", array) for i, array in enumerate(order)]})
    wanted = X
    for gamma, beta, mean, variance in (first, second):
        wanted = (wanted - mean) / np.sqrt(variance) * gamma + beta
    np.testing.assert_allclose(run(data, X)[0], wanted, rtol=1e-5)


def test_kernels_of_theano_are_turned_around(files, run):
    kernel = np.arange(6, dtype=np.float32).reshape(3, 2, 1)
    net = files.functional([files.given("x", 5, 2), files.layer("Conv1D", "y", "x", filters=1, use_bias=False)], ["y"])
    x = np.random.default_rng(0).standard_normal((1, 5, 2)).astype(np.float32)
    usual, turned = (
        files.written(net, {"y": [("k", data)]}, backend=backend)
        for data, backend in ((kernel, "tensorflow"), (kernel[::-1], "theano"))
    )
    np.testing.assert_array_equal(run(usual, x)[0], run(turned, x)[0])


def test_old_arguments_are_read_in_todays_terms(files, run):
    kernel = np.ones((2, 2, 1, 3), np.float32)
    old = {"nb_filter": 3, "nb_row": 2, "nb_col": 2, "border_mode": "valid", "subsample": [2, 1], "dim_ordering": "tf"}
    convolution = {
        "class_name": "Convolution2D",
        "config": {"name": "y", **old, "bias": False, "batch_input_shape": [None, 4, 4, 1]},
    }
    data = files.written(
        {"class_name": "Sequential", "config": [convolution]}, {"y": [("y_W", kernel)]}, keras_version="1.2.2"
    )
    assert [value.name for value in frontends.load(data)[0].inputs] == ["y_input"]
    found = run(data, np.ones((1, 4, 4, 1), np.float32))[0]
    assert (found.shape, set(found.flat)) == ((1, 2, 3, 3), {4.0})


def test_kernels_of_keras_1_had_their_axes_in_another_order(files, run):
    kernel = np.random.default_rng(0).standard_normal((3, 3, 3, 3)).astype(np.float32)
    x = np.random.default_rng(1).standard_normal((1, 3, 5, 5)).astype(np.float32)
    old = {"nb_filter": 3, "nb_row": 3, "nb_col": 3, "dim_ordering": "th", "bias": False}
    new = {"filters": 3, "kernel_size": [3, 3], "data_format": "channels_first", "use_bias": False}
    found = [
        run(
            files.written(files.functional([files.given("x", 3, 5, 5), layer], ["y"]), {"y": [("k", data)]}, **version),
            x,
        )
        for layer, data, version in (
            (files.layer("Convolution2D", "y", "x", **old), kernel.transpose(3, 2, 0, 1), {"keras_version": "1.2.2"}),
            (files.layer("Conv2D", "y", "x", **new), kernel, {}),
        )
    ]
    np.testing.assert_array_equal(*found)


def test_files_are_recognised_by_their_content(files, dense):
    configuration, weights = dense
    text = json.dumps(configuration).encode()
    for data in (files.written(configuration, weights), files.archived(configuration, {}), text, b"\n " + text):
        assert [reader.described for reader in READERS if reader.recognises(Source(data))] == ["a Keras model"]
    for data in (b"{}", b'{"nodes": []}', b"PK\x03\x04" + bytes(50), b""):
        assert not is_keras(Source(data))


def refusal(*given):
    with pytest.raises(FrontendError) as error:
        frontends.load(*given)
    return error.value.report()


def test_weights_that_are_missing_or_others_are_refused(files, dense):
    configuration, weights = dense
    message = "layer 'y' expects 2 arrays (kernel, bias), found 1: 'y/kernel:0'"
    assert message in refusal(files.written(configuration, {"y": weights["y"][:1]}))
    message = "expected the weights of 1 layers ('y'), found those of 0 ()"
    assert message in refusal(files.written(configuration, {}))
    wrong = [("k", np.ones((3, 2, 1), np.float32)), ("b", np.ones(2, np.float32))]
    message = "expected variable 'kernel' of 2 dimensions, found shape [3, 2, 1]"
    assert message in refusal(files.written(configuration, {"y": wrong}))
    message = "expected 'kernel' of layer 'y' (Dense), found no 'layers/dense/vars/0'"
    assert message in refusal(files.archived(configuration, {}))


def test_arrays_that_no_layer_reads_are_those_of_another_network(files, dense, run):
    configuration, weights = dense
    more = {"y": weights["y"], "z": [("z/kernel:0", X)]}
    message = "found arrays that none of its layers has: z/z/kernel:0; give the file that was saved with this network"
    assert message in refusal(files.written(configuration, more))
    paths = {f"layers/dense/vars/{i}": array for i, (_, array) in enumerate(weights["y"])}
    assert "layers has: layers/dense_1/vars/0" in refusal(
        files.archived(configuration, {**paths, "layers/dense_1/vars/0": X})
    )
    of_training = {"optimizer/vars/0": X, "metrics/mean/vars/0": X, "layers/dropout/seed_generator/vars/0": X}
    np.testing.assert_allclose(
        run(files.archived(configuration, {**paths, **of_training}), X)[0], expected(weights), rtol=1e-6
    )


def test_arrays_of_layers_that_are_not_read_are_no_fault(files):
    layers = [files.given("x", 3), files.layer("My>Magic", "magic", "x"), files.layer("ReLU", "y", "magic")]
    network = files.functional(layers, ["y"])
    for data in (
        files.written(network, {"magic": [("magic/w:0", X)]}),
        files.archived(network, {"layers/magic/vars/0": X}),
    ):
        assert [gap.node for gap in frontends.check(data).gaps] == ["magic"]


def test_programs_in_a_model_are_refused_with_what_to_do(files):
    layers = [
        files.given("x", 3),
        files.layer("Lambda", "a", "x", function=["4wEAAAA", None, None]),
        files.layer("Custom>Magic", "b", "x"),
        {**files.layer("Dense", "c", "x"), "module": "os", "registered_name": "system"},
    ]
    data = files.written(files.functional(layers, ["a", "b", "c"]), {})
    report = frontends.check(data)
    assert [(gap.node, gap.operator) for gap in report.gaps] == [("a", "Lambda"), ("b", "Custom>Magic"), ("c", "Dense")]
    assert report.gaps[0].reason == "it is a program of Python, which is never run"
    assert report.gaps[1].reason == "it is a class of the user's, whose program is not in the file"
    assert all("replace it by layers of Keras" in gap.help for gap in report.gaps)


def test_data_outside_the_file_is_never_read(files, dense, tmp_path):
    configuration, weights = dense
    (tmp_path / "secret").write_bytes(bytes(24))
    path = tmp_path / "net.h5"
    for name, put in {
        "found a link to another place": lambda group: group.__setitem__("k", h5py.ExternalLink("secret", "/")),
        "found a link to another place ": lambda group: group.__setitem__("k", h5py.SoftLink("/model_weights")),
        "expected data in this file, found data that is stored in others": lambda group: group.create_dataset(
            "k", (3, 2), "f4", external=[(str(tmp_path / "secret"), 0, 24)]
        ),
    }.items():
        path.write_bytes(files.written(configuration, {"y": weights["y"][1:]}))
        with h5py.File(path, "a") as file:
            group = file["model_weights/y"]
            put(group)
            group.attrs["weight_names"] = np.array([b"k", b"y/bias:0"])
        assert name.strip() in refusal(path)


def test_data_that_its_file_can_not_hold_is_refused(files, dense):
    configuration, weights = dense
    data = io.BytesIO(files.written(configuration, {"y": weights["y"][1:]}))
    with h5py.File(data, "a") as file:
        group = file["model_weights/y"]
        group.create_dataset("k", (1 << 20, 1 << 20), "f4", track_times=False)
        group.attrs["weight_names"] = np.array([b"k", b"y/bias:0"])
    assert "expected 4398046511104 bytes of data, which were never written" in refusal(data.getvalue())


def test_damaged_files_are_refused(files, dense):
    configuration, weights = dense
    whole = files.written(configuration, weights)
    assert "expected an HDF5 file as Keras writes it, which is damaged" in refusal(whole[: len(whole) // 2])
    assert "expected a whole zip archive, found a damaged one" in refusal(files.archived(configuration, {})[:300])
    assert "expected each key of a JSON object once, found 'a' twice" in refusal(files.written('{"a": 1, "a": 2}', {}))
    for depth in (600, 100_000):
        assert "nested at most 512 deep" in refusal(files.written('{"a": ' + "[" * depth + "]" * depth + "}", {}))


def test_archives_hold_each_file_once_and_unpack_to_little(files, dense):
    configuration, _ = dense
    archive = io.BytesIO(files.archived(configuration, {}))
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(archive, "a") as file:
        file.writestr("config.json", "{}")
    assert "expected each file of the archive once, found 'config.json' twice" in refusal(archive.getvalue())
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("config.json", " " * 10_000_000)
    assert "bytes for 10000000; expected at most 100 for one" in refusal(bomb.getvalue())


def test_networks_that_do_not_fit_together_are_refused(files):
    cases = {
        "expected a layer of network 'net', found 'z'": [files.layer("ReLU", "y", "z")],
        "layer 'a' depends on itself, through a cycle": [files.layer("ReLU", "a", "b"), files.layer("ReLU", "b", "a")],
        "the name 'a' belongs to two layers": [files.layer("ReLU", "a", "x"), files.layer("ReLU", "a", "x")],
        "expected one of 1 calls of layer 'x', found [7, 0]": [files.layer("ReLU", "y", ["x", 7, 0])],
        "expected one of 1 calls of layer 'x', found [-1, 0]": [files.layer("ReLU", "y", ["x", -1, 0])],
        "expected one of 1 results of layer 'x', found [0, 1]": [files.layer("ReLU", "y", ["x", 0, 1])],
        "expected one of 1024 results of layer 'r', found [0, 4611686018427387904]": [
            files.layer("ReLU", "r", "x"),
            files.layer("ReLU", "y", ["r", 0, 1 << 62]),
        ],
        "expected a layer with its class_name, found 3": [3],
        "expected printable text of 1 to 512 characters as the name of": [files.layer("ReLU", "a\n", "x")],
    }
    for message, layers in cases.items():
        network = files.functional([files.given("x", 3)], ["x"])
        network["config"]["layers"] += layers
        assert message in refusal(files.written(network, {}))


def test_networks_within_networks_are_bounded(files):
    """Each network calls the one inside it twice: few bytes, and any number of layers."""
    inner = files.functional([files.given("i", 3), files.layer("ReLU", "o", "i")], ["o"])
    for depth in range(20):
        name = f"n{depth}"
        calls = [[["i", 0, 0, {}]], [[name, 1, 0, {}]]]
        inner = files.functional([files.given("i", 3), {**inner, "name": name, "inbound_nodes": calls}], [name])
        inner["config"]["output_layers"] = [[name, 2, 0]]
    with pytest.raises(FrontendError, match="expected at most 100 calls of layers, found more"):
        KERAS.load(Source(files.written(inner, {})), Limits(expanded=100)).declarations()


def test_weights_of_other_sizes_are_refused(files):
    for config in ({"units": 3}, {"units": 5}):
        layers = [files.given("x", 3), files.layer("Dense", "y", "x", **config)]
        weights = {"y": [("k", np.ones((3, 4), np.float32)), ("b", np.ones(4, np.float32))]}
        expected = f"layer 'y' (Dense) has units of {config['units']}, found 'kernel' of shape [3, 4]; give the file"
        assert expected in refusal(files.written(files.functional(layers, ["y"]), weights))


def test_sums_of_tensors_in_h5_files_of_keras_3_are_no_layers():
    """`a + b` is written as a class Add, without the settings of a layer, and merges no masks."""
    call = {"args": [{"class_name": "__keras_tensor__", "config": {"shape": [None, 2], "dtype": "float32",
            "keras_history": ["x", 0, 0]}}] * 2, "kwargs": {}}  # fmt: skip
    function = {"class_name": "Add", "name": "y", "config": {"name": "y"}, "inbound_nodes": [call]}
    whole = {**function, "config": {"name": "y", "trainable": True, "dtype": "float32"}}
    assert [layer_of(given, LIMITS).kind for given in (function, whole)] == ["ops.Add", "Add"]


def test_directions_within_directions_are_refused(files):
    """Each level of them would double the layers; Keras makes none."""
    inner = {"class_name": "LSTM", "config": {"name": "l", "units": 3}}
    pair = {"class_name": "Bidirectional", "config": {"name": "b", "layer": inner}}
    run = {"class_name": "RNN", "config": {"name": "r", "cell": pair}}
    for wrapped in (pair, run, files.functional([files.given("x", 3)], ["x"])):
        layers = [files.given("x", 5, 4), files.layer("Bidirectional", "y", "x", layer=wrapped)]
        with pytest.raises(
            FrontendError, match=r"layer 'y' \(Bidirectional\): expected a recurrent layer in it, found"
        ):
            frontends.load(files.written(files.functional(layers, ["y"]), {}))
