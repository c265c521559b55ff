"""Layers against their definitions in NumPy; tests/suites compares all layers and options with Keras itself."""

import numpy as np
import pytest

from sateen import frontends
from sateen.runtime.errors import FrontendError

RANDOM = np.random.default_rng(0)


QUANTISED = {"class_name": "QuantizedDTypePolicy", "config": {"mode": "int8", "source_name": "float32"}}


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def network(files, shape, *layers, dtype="float32"):
    """Layers in a row: each its class, name, settings, and variables."""
    configured, weights, before = [files.given("x", *shape, dtype=dtype)], {}, "x"
    for kind, name, config, variables in layers:
        configured.append(files.layer(kind, name, before, **config))
        weights[name] = [(f"{name}/v{i}", data) for i, data in enumerate(variables)]
        before = name
    return files.functional(configured, [before]), weights


def test_channels_first_and_last_are_the_same_network(files, run):
    kernel, depthwise, bias = floats(3, 3, 2, 4), floats(3, 3, 4, 2), floats(4)
    statistics = [np.abs(floats(8)) + 0.5 for _ in range(4)]

    def layers(order):
        same = {"data_format": order, "padding": "same"}
        return (
            ("Conv2D", "a", {"filters": 4, "kernel_size": [3, 3], "strides": [2, 2], **same}, [kernel, bias]),
            ("DepthwiseConv2D", "b", {"kernel_size": [3, 3], "use_bias": False, **same}, [depthwise]),
            ("BatchNormalization", "c", {"axis": -1 if order == "channels_last" else 1, "epsilon": 1e-3}, statistics),
            ("MaxPooling2D", "d", {"pool_size": [2, 2], **same}, []),
            ("UpSampling2D", "e", {"size": [2, 3], "data_format": order}, []),
            ("Flatten", "f", {"data_format": order}, []),
        )

    x = floats(2, 7, 9, 2)
    last = run(files.written(*network(files, (7, 9, 2), *layers("channels_last"))), x)[0]
    first = run(files.written(*network(files, (2, 7, 9), *layers("channels_first"))), x.transpose(0, 3, 1, 2))[0]
    np.testing.assert_allclose(last, first, rtol=1e-5, atol=1e-6)


def lstm(x, kernel, recurrent, bias, mask=None, recurrent_activation=sigmoid):
    """The hidden state after each step, gates i f c o; at a masked step the state stays."""
    hidden = carried = np.zeros((len(x), len(recurrent)), np.float32)
    results = []
    for step in range(x.shape[1]):
        i, f, c, o = np.split(x[:, step] @ kernel + hidden @ recurrent + bias, 4, -1)
        new = recurrent_activation(f) * carried + recurrent_activation(i) * np.tanh(c)
        there = np.ones((len(x), 1), bool) if mask is None else mask[:, step, None]
        hidden = np.where(there, recurrent_activation(o) * np.tanh(new), hidden)
        carried = np.where(there, new, carried)
        results.append(hidden)
    return np.stack(results, 1)


def of_lstm(**settings):
    return {"units": 3, "activation": "tanh", "recurrent_activation": "sigmoid", "return_sequences": True, **settings}


def test_lstm(files, run):
    x, variables = floats(2, 5, 4), [floats(4, 12), floats(3, 12), floats(12)]
    data = files.written(*network(files, (5, 4), ("LSTM", "y", of_lstm(), variables)))
    np.testing.assert_allclose(run(data, x)[0], lstm(x, *variables), rtol=1e-4, atol=1e-6)


def test_variables_for_each_gate_of_keras_1(files, run):
    """Its LSTM has i c f o, a kernel, a recurrent kernel and a bias of each."""
    x, (kernel, recurrent, bias) = floats(2, 5, 4), [floats(4, 12), floats(3, 12), floats(12)]
    gates = [[np.split(one, 4, -1)[gate] for one in (kernel, recurrent, bias)] for gate in (0, 2, 1, 3)]
    old = {"output_dim": 3, "activation": "tanh", "inner_activation": "hard_sigmoid", "return_sequences": True}
    net = network(files, (5, 4), ("LSTM", "y", old, [one for gate in gates for one in gate]))
    expected = lstm(x, kernel, recurrent, bias, recurrent_activation=lambda v: np.clip(0.2 * v + 0.5, 0, 1))
    np.testing.assert_allclose(run(files.written(*net, keras_version="1.2.2"), x)[0], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("version", "slope"), [("2.9.0", 0.2), ("3.1.0", 1 / 6)])
def test_hard_sigmoid_is_that_of_the_version(files, run, version, slope):
    net = network(files, (3,), ("Activation", "y", {"activation": "hard_sigmoid"}, []))
    x = np.array([[-1.0, 0.5, 4.0]], np.float32)
    found = run(files.written(*net, keras_version=version), x)[0]
    np.testing.assert_allclose(found, np.clip(slope * x + 0.5, 0, 1), rtol=1e-6)


def test_a_mask_keeps_states_and_outputs(files, run):
    table, variables = floats(4, 4), [floats(4, 12), floats(3, 12), floats(12)]
    net = network(
        files, (6,),
        ("Embedding", "e", {"input_dim": 4, "output_dim": 4, "mask_zero": True}, [table]),
        ("Dropout", "d", {"rate": 0.5}, []),
        ("LSTM", "y", of_lstm(), variables),
        dtype="int32",
    )  # fmt: skip
    x = np.array([[1, 0, 2, 3, 0, 0], [0, 0, 1, 2, 3, 1]], np.int32)
    expected = lstm(table[x], *variables, mask=x != 0)
    np.testing.assert_allclose(run(files.written(*net), x)[0], expected, rtol=1e-4, atol=1e-6)


def test_bidirectional_runs_a_copy_backwards(files, run):
    x, both = floats(2, 5, 4), [[floats(4, 12), floats(3, 12), floats(12)] for _ in range(2)]
    inner = {"class_name": "LSTM", "config": {"name": "l", **of_lstm()}}
    wrapper = ("Bidirectional", "y", {"layer": inner, "merge_mode": "concat"}, [one for part in both for one in part])
    expected = np.concatenate([lstm(x, *both[0]), lstm(x[:, ::-1], *both[1])[:, ::-1]], -1)
    found = run(files.written(*network(files, (5, 4), wrapper)), x)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_bidirectional_turns_a_cell_run_by_rnn(files, run):
    x, both = floats(2, 5, 4), [[floats(4, 12), floats(3, 12), floats(12)] for _ in range(2)]
    of_cell = {"name": "c", "units": 3, "activation": "tanh", "recurrent_activation": "sigmoid"}
    cell = {"class_name": "LSTMCell", "config": of_cell}
    inner = {"class_name": "RNN", "config": {"name": "r", "return_sequences": True, "cell": cell}}
    wrapper = ("Bidirectional", "y", {"layer": inner, "merge_mode": "concat"}, [one for part in both for one in part])
    expected = np.concatenate([lstm(x, *both[0]), lstm(x[:, ::-1], *both[1])[:, ::-1]], -1)
    found = run(files.written(*network(files, (5, 4), wrapper)), x)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_time_distributed_applies_its_layer_to_each_step(files, run):
    x, kernel, bias = floats(2, 5, 4), floats(4, 3), floats(3)
    inner = {"class_name": "Dense", "config": {"name": "d", "units": 3, "activation": "tanh"}}
    net = network(files, (5, 4), ("TimeDistributed", "y", {"layer": inner}, [kernel, bias]))
    np.testing.assert_allclose(run(files.written(*net), x)[0], np.tanh(x @ kernel + bias), rtol=1e-5, atol=1e-6)


def test_layers_of_bytes_round_their_inputs(files, run):
    """As `quantize("int8")` makes Dense: 127 / (max |x| + 1e-7) is the scale of each row."""
    x, kernel, bias = floats(3, 5), RANDOM.integers(-127, 128, (5, 2)).astype(np.int8), floats(2)
    scales = np.abs(floats(2)) + 30
    net = network(files, (5,), ("Dense", "y", {"units": 2, "dtype": QUANTISED}, [kernel, bias, scales]))
    scale = np.float32(127) / (np.abs(x).max(1, keepdims=True) + np.float32(1e-7))
    wanted = (np.round(x * scale).astype(np.int32) @ kernel.astype(np.int32)) / (scale * scales) + bias
    np.testing.assert_allclose(run(files.written(*net, keras_version="3.15.1"), x)[0], wanted, rtol=1e-5, atol=1e-6)


def test_numbers_are_looked_up(files, run):
    x = np.array([[7, 2, 4, 5]], np.int64)
    net = network(files, (4,), ("IntegerLookup", "y", {"vocabulary": [7, 2, 5]}, []), dtype="int64")
    np.testing.assert_array_equal(run(files.written(*net), x)[0], [[1, 2, 0, 3]])
    net = network(files, (4,), ("Discretization", "y", {"bin_boundaries": [0.5, -1.0]}, []))
    x = np.array([[-1.5, -1.0, 0.0, 0.5]], np.float32)
    np.testing.assert_array_equal(run(files.written(*net), x)[0], [[0, 1, 1, 2]])


def test_a_shared_layer_gives_a_tensor_for_each_call(files, run):
    kernel = floats(3, 3)
    shared = {
        **files.layer("Dense", "d", units=3, use_bias=False),
        "inbound_nodes": [[["x", 0, 0, {}]], [["d", 0, 0, {}]]],
    }
    net = files.functional([files.given("x", 3), shared], [])
    net["config"]["output_layers"] = [["d", 1, 0], ["d", 0, 0]]
    data = files.written(net, {"d": [("k", kernel)]})
    graph, parameters = frontends.load(data)
    assert ([value.name for value in graph.outputs], list(parameters)) == (["d@1", "d"], ["d/kernel"])
    x = floats(2, 3)
    for found, expected in zip(run(data, x), (x @ kernel @ kernel, x @ kernel), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_network_can_be_cut_at_its_layers(files, run):
    kernel = floats(4, 2)
    net = network(files, (4,), ("ReLU", "r", {}, []), ("Dense", "y", {"units": 2, "use_bias": False}, [kernel]))
    x = floats(1, 4)
    np.testing.assert_array_equal(run(files.written(*net), x, outputs=("r",))[0], np.maximum(x, 0))


def test_mixed_precision_computes_in_its_type(files, run):
    kernel, policy = floats(4, 2), {"class_name": "Policy", "config": {"name": "mixed_float16"}}
    net = network(files, (4,), ("Dense", "y", {"units": 2, "use_bias": False, "dtype": policy}, [kernel]))
    x = floats(1, 4)
    (found,) = run(files.written(*net), x)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, x @ kernel, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    ("layer", "reason", "remedy"),
    [
        (("LSTM", of_lstm(stateful=True)), "keeps its state between calls", "save it with stateful=False"),
        (("Dense", {"dtype": "int4_from_float32", "units": 3}), "a quantised layer (int4 Dense)", "quantised"),
        (("Conv1D", {"dtype": QUANTISED}), "a quantised layer (int8 Conv1D)", "quantised"),
        (("Activation", {"dtype": "int8_from_float32", "activation": "relu"}), "(int8 Activation)", "quantised"),
        (("BatchNormalization", {"mode": 2}), "statistics of each batch", "train it with mode 0"),
        (("Activation", {"activation": "mine"}), "the activation 'mine' is not known", "replace it by one of"),
        (("UpSampling1D", {"size": 2, "interpolation": "bicubic"}), "interpolation 'bicubic'", "use nearest, bilinear"),
        (("Discretization", {}), "boundaries that the file does not have", "inputs="),
        (("Discretization", {"bin_boundaries": [1.0, "x"]}), "expected numbers as 'bin_boundaries'", ""),
        (("IntegerLookup", {"vocabulary": None}), "a vocabulary that the file does not have", "inputs="),
        (("IntegerLookup", {"vocabulary": [3], "num_oov_indices": 2}), "num_oov_indices=2", "use 1, or run it before"),
        (("MyLayer", {}), "sateen has no such layer", "replace it by layers of Keras"),
    ],
)  # fmt: skip
def test_what_can_not_be_compiled_says_why(files, layer, reason, remedy):
    kind, config = layer
    variables = {"LSTM": [floats(4, 12), floats(3, 12), floats(12)], "Dense": [floats(4, 3), floats(3)]}.get(kind, [])
    if kind == "Conv1D":
        variables = [floats(3, 4, 2), floats(2)]
    if kind == "BatchNormalization":
        variables = [floats(4)] * 4
    report = frontends.check(files.written(*network(files, (5, 4), (kind, "y", config, variables))))
    (gap,) = report.gaps
    assert (gap.node, gap.operator) == ("y", kind)
    assert reason in gap.reason
    assert remedy in gap.help


def test_masks_that_meet_are_refused_only_where_they_matter(files):
    tables = [floats(3, 4), floats(3, 4)]
    layers = [files.given("x", 6, dtype="int32"), files.given("y", 6, dtype="int32")]
    layers += [
        files.layer("Embedding", name, given, input_dim=3, output_dim=4, mask_zero=True)
        for name, given in (("a", "x"), ("b", "y"))
    ]
    layers.append(files.layer("Add", "s", "a", "b"))
    weights = {name: [("t", table)] for name, table in zip("ab", tables, strict=True)}
    assert frontends.check(files.written(files.functional(layers, ["s"]), weights)).is_supported
    layers.append(files.layer("LSTM", "l", "s", **of_lstm()))
    weights["l"] = [(f"v{i}", data) for i, data in enumerate((floats(4, 12), floats(3, 12), floats(12)))]
    with pytest.raises(FrontendError, match="masks of several tensors meet in its input"):
        frontends.load(files.written(files.functional(layers, ["l"]), weights))


@pytest.mark.parametrize(("version", "is_masked"), [("2.9.0", True), ("3.8.0", False)])
def test_masks_meet_initial_states_in_keras_2_only(files, run, version, is_masked):
    table, variables = floats(4, 4), [floats(4, 12), floats(3, 12), floats(12)]
    begun = ["e", 0, 0, {"initial_state": [["h", 0, 0], ["c", 0, 0]]}]
    settings = {"activation": "tanh", "recurrent_activation": "sigmoid", "return_sequences": True}
    config = files.functional(
        [
            files.given("x", 3, dtype="int32"),
            files.given("h", 3),
            files.given("c", 3),
            files.layer("Embedding", "e", "x", input_dim=4, output_dim=4, mask_zero=True),
            files.layer("LSTM", "y", begun, units=3, **settings),
        ],
        ["y"],
    )
    weights = {"e": [("e/v0", table)], "y": [(f"y/v{i}", data) for i, data in enumerate(variables)]}
    x, zeros = np.array([[1, 0, 2], [0, 3, 0]], np.int32), np.zeros((2, 3), np.float32)
    expected = lstm(table[x], *variables, mask=x != 0 if is_masked else None)
    (found,) = run(files.written(config, weights, keras_version=version), x, zeros, zeros)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def resized(files, run, x, **settings):
    return run(files.written(*network(files, x.shape[1:], ("Resizing", "y", settings, []))), x)[0]


def test_pictures_of_another_aspect_ratio_are_cut_or_get_borders(files, run):
    x = floats(1, 5, 9, 2)
    wanted = {"height": 6, "width": 6, "interpolation": "nearest"}
    cropped = resized(files, run, x, **wanted, crop_to_aspect_ratio=True)
    np.testing.assert_array_equal(cropped, resized(files, run, x[:, :, 2:7], **wanted))
    padded = resized(files, run, x, **wanted, pad_to_aspect_ratio=True, fill_value=0.5)
    bordered = np.pad(x, ((0, 0), (2, 2), (0, 0), (0, 0)), constant_values=0.5)
    np.testing.assert_array_equal(padded, resized(files, run, bordered, **wanted))
    with pytest.raises(FrontendError, match="expected crop_to_aspect_ratio or pad_to_aspect_ratio, found both"):
        resized(files, run, x, **wanted, crop_to_aspect_ratio=True, pad_to_aspect_ratio=True)
