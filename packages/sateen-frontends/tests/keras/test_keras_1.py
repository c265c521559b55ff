"""Models as Keras 1.2 wrote them, against the equations of its layers: no Keras 1 runs any more."""

import numpy as np
import pytest

from sateen import frontends
from sateen.runtime.errors import FrontendError

RANDOM = np.random.default_rng(2)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def relu(x):
    return np.maximum(x, 0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def hard_sigmoid(x):
    return np.clip(0.2 * x + 0.5, 0, 1)


@pytest.fixture
def old(files, run):
    """old((class, settings, variables), x): the result of a Sequential of one layer of Keras 1.2."""

    def result(layer, x):
        kind, config, variables = layer
        given = {"name": "y", "batch_input_shape": [None, *x.shape[1:]], "input_dtype": str(x.dtype)}
        configuration = {"class_name": "Sequential", "config": [{"class_name": kind, "config": {**given, **config}}]}
        weights = {"y": [(f"y_{i}", data) for i, data in enumerate(variables)]}
        return run(files.written(configuration, weights, keras_version="1.2.2"), x)[0]

    return result


def convolved(x, kernel, stride=1, dilation=1):
    """[N, H, W, C] by [h, w, C, F], windows within the data."""
    h, w = ((n - 1) * dilation + 1 for n in kernel.shape[:2])
    rows, columns = ((n - k) // stride + 1 for n, k in zip(x.shape[1:3], (h, w), strict=True))
    out = np.zeros((len(x), rows, columns, kernel.shape[3]))
    for i in range(kernel.shape[0]):
        for j in range(kernel.shape[1]):
            top, left = i * dilation, j * dilation
            part = x[:, top : top + (rows - 1) * stride + 1 : stride, left : left + (columns - 1) * stride + 1 : stride]
            out += part @ kernel[i, j]
    return out


def first(x):
    """Channels last as channels first."""
    return np.moveaxis(x, -1, 1)


CONVOLUTION = {"nb_filter": 4, "nb_row": 3, "nb_col": 2, "border_mode": "valid", "activation": "relu", "bias": True}


def test_convolutions_of_both_layouts(old):
    x, kernel, bias = floats(2, 7, 6, 3), floats(3, 2, 3, 4), floats(4)
    wanted = relu(convolved(x, kernel, 2) + bias)
    config = {**CONVOLUTION, "subsample": [2, 2]}
    found = old(("Convolution2D", {**config, "dim_ordering": "tf"}, [kernel, bias]), x)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    turned = kernel.transpose(3, 2, 0, 1)
    found = old(("Convolution2D", {**config, "dim_ordering": "th"}, [turned, bias]), first(x))
    np.testing.assert_allclose(found, first(wanted), rtol=1e-4, atol=1e-5)


def test_atrous_convolutions(old):
    x, kernel, bias = floats(2, 9, 8, 3), floats(3, 2, 3, 4), floats(4)
    config = {**CONVOLUTION, "atrous_rate": [2, 2], "dim_ordering": "tf"}
    found = old(("AtrousConvolution2D", config, [kernel, bias]), x)
    np.testing.assert_allclose(found, relu(convolved(x, kernel, dilation=2) + bias), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["Convolution1D", "AtrousConvolution1D"])
def test_convolutions_over_time_have_kernels_of_pictures_of_one_column(old, kind):
    x, kernel, bias = floats(2, 9, 3), floats(3, 1, 3, 4), floats(4)
    config = {"nb_filter": 4, "filter_length": 3, "border_mode": "valid", "activation": "linear", "bias": True}
    rate = {"atrous_rate": 2} if kind.startswith("Atrous") else {"subsample_length": 2}
    wanted = convolved(x[:, :, None], kernel, *([1, 2] if kind.startswith("Atrous") else [2]))[:, :, 0] + bias
    np.testing.assert_allclose(old((kind, {**config, **rate}, [kernel, bias]), x), wanted, rtol=1e-4, atol=1e-5)


def test_separable_convolutions_of_both_layouts(old):
    x, deep, point, bias = floats(1, 6, 6, 3), floats(3, 3, 3, 2), floats(1, 1, 6, 4), floats(4)
    between = np.concatenate([convolved(x[..., [c]], deep[:, :, [c]]) for c in range(3)], -1)
    wanted = between @ point[0, 0] + bias
    config = {"nb_filter": 4, "nb_row": 3, "nb_col": 3, "border_mode": "valid", "depth_multiplier": 2, "bias": True}
    found = old(("SeparableConvolution2D", {**config, "dim_ordering": "tf"}, [deep, point, bias]), x)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    turned = [deep.transpose(3, 2, 0, 1), point.transpose(3, 2, 0, 1), bias]
    found = old(("SeparableConvolution2D", {**config, "dim_ordering": "th"}, turned), first(x))
    np.testing.assert_allclose(found, first(wanted), rtol=1e-4, atol=1e-5)


def test_deconvolution_spreads_each_element(old):
    x, kernel = floats(1, 3, 4, 2), floats(2, 2, 3, 2)
    wanted = np.zeros((1, 6, 8, 3))
    for i in range(2):
        for j in range(2):
            wanted[:, i::2, j::2] = x @ kernel[i, j].T
    config = {"nb_filter": 3, "nb_row": 2, "nb_col": 2, "subsample": [2, 2], "border_mode": "valid", "bias": False}
    shaped = {**config, "dim_ordering": "tf", "output_shape": [None, 6, 8, 3]}
    found = old(("Deconvolution2D", shaped, [kernel.transpose(0, 1, 3, 2)]), x)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    with pytest.raises(FrontendError, match=r"a result of extents \[7, 8\], which would be \[6, 8\] in Keras 2"):
        old(("Deconvolution2D", {**shaped, "output_shape": [None, 7, 8, 3]}, [kernel]), x)


def test_convolutions_of_volumes(old):
    x, kernel = floats(1, 3, 4, 5, 2), floats(1, 1, 2, 2, 3)
    wanted = x[:, :, :, :-1] @ kernel[0, 0, 0] + x[:, :, :, 1:] @ kernel[0, 0, 1]
    config = {"nb_filter": 3, "kernel_dim1": 1, "kernel_dim2": 1, "kernel_dim3": 2, "bias": False}
    config |= {"border_mode": "valid", "dim_ordering": "th"}
    found = old(("Convolution3D", config, [kernel.transpose(4, 3, 0, 1, 2)]), first(x))
    np.testing.assert_allclose(found, first(wanted), rtol=1e-4, atol=1e-5)


def test_pools_margins_and_flattening(old):
    x = floats(2, 6, 8, 3)
    pooled = x.reshape(2, 3, 2, 4, 2, 3)
    pool = {"pool_size": [2, 2], "strides": [2, 2], "border_mode": "valid", "dim_ordering": "tf"}
    np.testing.assert_allclose(old(("MaxPooling2D", pool, []), x), pooled.max((2, 4)))
    np.testing.assert_allclose(old(("AveragePooling2D", pool, []), x), pooled.mean((2, 4)), rtol=1e-5, atol=1e-6)
    for padding in ([1, 0, 2, 1], {"top_pad": 1, "left_pad": 2, "right_pad": 1}):
        found = old(("ZeroPadding2D", {"padding": padding, "dim_ordering": "tf"}, []), x)
        np.testing.assert_array_equal(found, np.pad(x, ((0, 0), (1, 0), (2, 1), (0, 0))))
    time = floats(2, 6, 3)
    pool = {"pool_length": 2, "stride": 2, "border_mode": "valid"}
    np.testing.assert_allclose(old(("MaxPooling1D", pool, []), time), time.reshape(2, 3, 2, 3).max(2))
    np.testing.assert_array_equal(old(("UpSampling1D", {"length": 2}, []), time), time.repeat(2, 1))
    np.testing.assert_array_equal(
        old(("ZeroPadding1D", {"padding": {"left_pad": 2}}, []), time), np.pad(time, ((0, 0), (2, 0), (0, 0)))
    )
    np.testing.assert_array_equal(old(("Flatten", {}, []), first(x)), first(x).reshape(2, -1))


def test_dense_layers_and_those_that_keras_2_dropped(old):
    x, (kernel, gate), (bias, other) = floats(3, 4), floats(2, 4, 4), floats(2, 4)
    dense = old(("Dense", {"output_dim": 4, "activation": "tanh", "bias": True}, [kernel, bias]), x)
    np.testing.assert_allclose(dense, np.tanh(x @ kernel + bias), rtol=1e-5, atol=1e-6)
    t = sigmoid(x @ gate + other)
    wanted = t * np.tanh(x @ kernel + bias) + (1 - t) * x
    for variables in ([kernel, gate, bias, other], [kernel, bias, gate, other]):
        found = old(("Highway", {"activation": "tanh", "bias": True}, variables), x)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    pieces, biases = floats(5, 4, 2), floats(5, 2)
    found = old(("MaxoutDense", {"output_dim": 2, "nb_feature": 5, "bias": True}, [pieces, biases]), x)
    np.testing.assert_allclose(found, (x @ pieces + biases[:, None]).max(0), rtol=1e-4, atol=1e-5)
    time = floats(2, 5, 4)
    found = old(("TimeDistributedDense", {"output_dim": 4, "activation": "linear", "bias": True}, [kernel, bias]), time)
    np.testing.assert_allclose(found, time @ kernel + bias, rtol=1e-4, atol=1e-5)


def test_activations_with_variables(old):
    x, (alpha, beta) = 3 * floats(3, 4), floats(2, 4)
    softplus = old(("ParametricSoftplus", {"alpha_init": 0.2, "beta_init": 5.0}, [alpha, beta]), x)
    np.testing.assert_allclose(softplus, alpha * np.log1p(np.exp(beta * x)), rtol=1e-4, atol=1e-5)
    left, low, right, high = floats(4, 4)
    actual = left + np.abs(right)
    shaped = np.where(x < left, left + low * (x - left), np.minimum(x, actual)) + high * relu(x - actual)
    np.testing.assert_allclose(old(("SReLU", {}, [left, low, right, high]), x), shaped, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(old(("PReLU", {}, [alpha]), x), relu(x) - alpha * relu(-x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(old(("LeakyReLU", {"alpha": 0.1}, []), x), np.where(x > 0, x, 0.1 * x), rtol=1e-5)


def test_normalization_uses_the_statistics_of_the_file(old):
    x, (gamma, beta, mean), variance = floats(3, 4), floats(3, 4), np.abs(floats(4)) + 0.5
    config = {"epsilon": 1e-3, "mode": 0, "axis": -1, "momentum": 0.99}
    found = old(("BatchNormalization", config, [gamma, beta, mean, variance]), x)
    wanted = (x - mean) / np.sqrt(variance + 1e-3) * gamma + beta
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_gru_resets_before_the_product(old):
    x, kernels, recurrent, biases = floats(2, 4, 3), floats(3, 3, 5), floats(3, 5, 5), floats(3, 5)
    state = np.zeros((2, 5))
    for step in range(4):
        z, r = (hard_sigmoid(x[:, step] @ kernels[i] + state @ recurrent[i] + biases[i]) for i in (0, 1))
        fresh = np.tanh(x[:, step] @ kernels[2] + (r * state) @ recurrent[2] + biases[2])
        state = z * state + (1 - z) * fresh
    variables = [one[gate] for gate in range(3) for one in (kernels, recurrent, biases)]
    config = {"output_dim": 5, "activation": "tanh", "inner_activation": "hard_sigmoid", "return_sequences": False}
    np.testing.assert_allclose(old(("GRU", config, variables), x), state, rtol=1e-4, atol=1e-5)


def test_convolutional_lstm_has_variables_for_each_gate(old):
    x, kernels, recurrent, biases = floats(1, 3, 4, 5, 2), floats(4, 1, 1, 2, 3), floats(4, 1, 1, 3, 3), floats(4, 3)
    hidden = carried = np.zeros((1, 4, 5, 3))
    for step in range(3):
        i, f, c, o = (x[:, step] @ kernels[g, 0, 0] + hidden @ recurrent[g, 0, 0] + biases[g] for g in range(4))
        carried = hard_sigmoid(f) * carried + hard_sigmoid(i) * np.tanh(c)
        hidden = hard_sigmoid(o) * np.tanh(carried)
    config = {"nb_filter": 3, "nb_row": 1, "nb_col": 1, "activation": "tanh", "inner_activation": "hard_sigmoid"}
    config |= {"border_mode": "same", "subsample": [1, 1], "return_sequences": False}
    order = (0, 2, 1, 3)
    variables = [one[gate] for gate in order for one in (kernels, recurrent, biases)]
    found = old(("ConvLSTM2D", {**config, "dim_ordering": "tf"}, variables), x)
    np.testing.assert_allclose(found, hidden, rtol=1e-4, atol=1e-5)
    turned = [one.transpose(3, 2, 0, 1) if one.ndim == 4 else one for one in variables]
    found = old(("ConvLSTM2D", {**config, "dim_ordering": "th"}, turned), np.moveaxis(x, -1, 2))
    np.testing.assert_allclose(found, first(hidden), rtol=1e-4, atol=1e-5)


def test_an_embedding_takes_integers(old):
    table, x = floats(7, 3), np.array([[1, 6, 0]], np.int32)
    np.testing.assert_array_equal(old(("Embedding", {"input_dim": 7, "output_dim": 3}, [table]), x), table[x])


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("sum", lambda a, b: a + b),
        ("mul", lambda a, b: a * b),
        ("ave", lambda a, b: (a + b) / 2),
        ("max", np.maximum),
        ("concat", lambda a, b: np.concatenate([a, b], -1)),
        ("dot", lambda a, b: (a * b).sum(-1, keepdims=True)),
        ("cos", lambda a, b: ((a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1)))[:, None, None]),
    ],
)
def test_merges_of_branches_whose_layers_are_those_of_the_whole(files, run, mode, expected):
    branches, weights, inputs, values = [], {}, [], []
    for index, width in enumerate((3, 5)):
        x, kernel = floats(2, width), floats(width, 4)
        config = {"name": f"dense_{index}", "output_dim": 4, "activation": "tanh", "bias": False}
        config["batch_input_shape"] = [None, width]
        branches.append({"class_name": "Sequential", "config": [{"class_name": "Dense", "config": config}]})
        weights[f"dense_{index}"] = [(f"dense_{index}_W", kernel)]
        inputs.append(x)
        values.append(np.tanh(x @ kernel))
    merge = {"name": "merge", "mode": mode, "mode_type": "raw", "concat_axis": -1, "dot_axes": -1, "layers": branches}
    last = {"class_name": "Activation", "config": {"name": "last", "activation": "linear"}}
    configuration = {"class_name": "Sequential", "config": [{"class_name": "Merge", "config": merge}, last]}
    data = files.written(configuration, weights, keras_version="1.2.2")
    assert [value.name for value in frontends.load(data)[0].inputs] == ["dense_0_input", "dense_1_input"]
    np.testing.assert_allclose(run(data, *inputs)[0], expected(*values), rtol=1e-4, atol=1e-5)


def test_a_merge_by_a_program_is_refused(files):
    layers = [files.given("x", 3), files.given("y", 3), files.layer("Merge", "m", "x", "y", mode="4wEAAAA")]
    (gap,) = frontends.check(files.written(files.functional(layers, ["m"]), {}, keras_version="1.2.2")).gaps
    assert gap.reason == "its mode is a program of Python, which is never run"
