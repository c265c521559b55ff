"""Operators that become several of ours, against NumPy; and those that never do."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sateen.runtime.errors import FrontendError

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("time", [0, 1])
def test_sequences_are_reversed_up_to_their_lengths(run_node: Callable[..., list[Array]], time: int) -> None:
    x = RANDOM.standard_normal((4, 4, 3)).astype("float32")
    lengths = np.array([4, 1, 3, 0])
    (found,) = run_node("ReverseSequence", {"x": x, "n": lengths}, time_axis=time, batch_axis=1 - time)
    expected = x.copy()
    for b, n in enumerate(lengths):
        place = (slice(None), b) if time == 0 else (b,)
        expected[place][:n] = x[place][:n][::-1]
    np.testing.assert_array_equal(found, expected)


def test_padding_with_a_number_that_is_computed(run_node: Callable[..., list[Array]]) -> None:
    x = RANDOM.standard_normal((2, 3)).astype("float32")
    inputs = {"x": x, "pads": np.array([0, 1, 2, -1]), "value": np.array([7], "float32")}
    (found,) = run_node("Pad", inputs, bound=("pads",))
    np.testing.assert_array_equal(found, np.pad(x[:, :2], ((0, 2), (1, 0)), constant_values=7))


@pytest.mark.parametrize("value", [True, False])
def test_padding_of_booleans(run_node: Callable[..., list[Array]], value: bool) -> None:
    inputs = {"x": np.array([True, False]), "pads": np.array([1, 2]), "value": np.array(value)}
    (found,) = run_node("Pad", inputs, bound=("pads", "value"))
    np.testing.assert_array_equal(found, np.array([value, True, False, value, value]))


def test_slices_that_a_known_condition_chooses(run_node: Callable[..., list[Array]]) -> None:
    x = RANDOM.standard_normal((3, 4)).astype("float32")
    condition = np.array([False, True, True])
    inputs = {"x": x, "c": condition}
    np.testing.assert_array_equal(run_node("Compress", inputs, bound=("c",), axis=1)[0], x[:, 1:3])
    np.testing.assert_array_equal(run_node("Compress", inputs, bound=("c",))[0], x.reshape(-1)[1:3])
    with pytest.raises(FrontendError, match="expected a condition of at most 1 elements, found"):
        run_node("Compress", {"x": x[:1], "c": condition}, bound=("c",), axis=0)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 3, 27), (4, 3)])
@pytest.mark.parametrize("bound", [(), ("x", "scale", "bias", "mean", "variance")])
def test_batch_normalisation_by_the_statistics_of_the_batch(
    run_node: Callable[..., list[Array]],
    reference: Callable[..., list[Array]],
    shape: tuple[int, ...],
    bound: tuple[str, ...],
) -> None:
    inputs = {name: RANDOM.random(3, dtype="float32") for name in ("scale", "bias", "mean", "variance")}
    inputs = {"x": RANDOM.standard_normal(shape).astype("float32") + 5, **inputs}
    given = {"outputs": 3, "training_mode": 1, "momentum": 0.75}
    found = run_node("BatchNormalization", inputs, bound=bound, **given)
    for ours, theirs in zip(found, reference("BatchNormalization", inputs, **given), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-6)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("ceil_mode", [0, 1])
def test_norms_of_windows(run_node: Callable[..., list[Array]], p: int, ceil_mode: int) -> None:
    x = RANDOM.standard_normal((1, 2, 6, 7)).astype("float32")
    attributes = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 0, 0], "p": p, "ceil_mode": ceil_mode}
    (found,) = run_node("LpPool", {"x": x}, **attributes)
    padded = np.pad(np.abs(x) ** p, ((0, 0), (0, 0), (1, 0), (0, ceil_mode)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 2), (2, 3))[:, :, ::2, ::2]
    np.testing.assert_allclose(found, windows.sum((4, 5)) ** (1 / p), rtol=1e-5)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_norms_of_whole_channels(run_node: Callable[..., list[Array]], p: int) -> None:
    x = RANDOM.standard_normal((1, 2, 6, 7)).astype("float32")
    (found,) = run_node("GlobalLpPool", {"x": x}, p=p)
    np.testing.assert_allclose(found, (np.abs(x) ** p).sum((2, 3), keepdims=True) ** (1 / p), rtol=1e-5)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize(("operator", "kernel"), [("LpPool", {"kernel_shape": [2, 2]}), ("GlobalLpPool", {})])
def test_powers_within_a_norm_may_leave_the_range_of_short_floats(
    run_node: Callable[..., list[Array]], operator: str, kernel: dict[str, Any], p: int
) -> None:
    (found,) = run_node(operator, {"x": np.full((1, 1, 2, 2), 3000, "float16")}, p=p, **kernel)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found.item(), 3000 * 4 ** (1 / p), rtol=1e-3)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("ReduceL1", np.abs),
        ("ReduceL2", np.abs),
        ("ReduceLogSum", np.log),
        ("ReduceLogSumExp", np.positive),
        ("ReduceSumSquare", np.square),
    ],
)
def test_a_reduction_over_no_axes_is_its_function_in_the_type_of_its_input(
    run_node: Callable[..., list[Array]], operator: str, expected: Callable[[Array], Array]
) -> None:
    inputs = {"x": np.array([1e4, 1 / 3, 2], "float64"), "axes": np.array([], "int64")}
    (found,) = run_node(operator, inputs, bound=("axes",), opset=18, noop_with_empty_axes=1)
    np.testing.assert_allclose(found, expected(inputs["x"]), rtol=1e-15)


def test_a_quantised_convolution_is_exact_with_a_scale_per_channel(run_node: Callable[..., list[Array]]) -> None:
    x, w = RANDOM.integers(0, 256, (1, 3, 5, 5), "uint8"), RANDOM.integers(-128, 128, (4, 3, 3, 3), "int8")
    zeros, scales = np.array([0, 3, -5, 100], "int8"), np.array([0.5, 0.25, 0.01, 1], "float32")
    bias = RANDOM.integers(-1000, 1000, 4, "int32")
    windows = np.lib.stride_tricks.sliding_window_view(x.astype("int32") - 7, (3, 3), (2, 3))
    weight = w.astype("int32") - zeros.reshape(-1, 1, 1, 1)
    total = np.einsum("nchwij,ocij->nohw", windows, weight)
    inputs = {"x": x, "w": w, "xz": np.array(7, "uint8"), "wz": zeros}
    np.testing.assert_array_equal(run_node("ConvInteger", inputs)[0], total)
    scalar = {name: np.array(value, "float32") for name, value in (("xs", 0.02), ("ys", 1.5))}
    inputs = {
        "x": x, "xs": scalar["xs"], "xz": np.array(7, "uint8"), "w": w, "ws": scales, "wz": zeros, "ys": scalar["ys"],
        "yz": np.array(128, "uint8"), "b": bias,
    }  # fmt: skip
    exact = (total + bias.reshape(-1, 1, 1)) * (0.02 * scales.reshape(-1, 1, 1) / 1.5)
    expected = np.clip(np.round(exact) + 128, 0, 255)
    (found,) = run_node("QLinearConv", inputs)
    assert found.dtype == np.uint8
    assert np.abs(found.astype(float) - expected).max() <= 1, "the factor is rounded to float32"
    assert (found == expected).mean() > 0.95


@pytest.mark.parametrize("layout", [0, 1])
def test_recurrent_layers_of_float16(run_node: Callable[..., list[Array]], layout: int) -> None:
    x = RANDOM.standard_normal((3, 3, 4)).astype("float16")
    inputs = {"x": x, **{k: RANDOM.standard_normal((1, 20, n)).astype("float16") for k, n in (("w", 4), ("r", 5))}}
    wide = {name: data.astype("float32") for name, data in inputs.items()}
    found = run_node("LSTM", inputs, outputs=3, opset=14, hidden_size=5, layout=layout)
    expected = run_node("LSTM", wide, outputs=3, opset=14, hidden_size=5, layout=layout)
    for half, single in zip(found, expected, strict=True):
        np.testing.assert_array_equal(half, single.astype("float16"))


def test_bits_of_a_truth_value(run_node: Callable[..., list[Array]]) -> None:
    (found,) = run_node("BitCast", {"x": np.array([True, False])}, opset=26, to=3)
    np.testing.assert_array_equal(found, np.array([1, 0], "int8"))


@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize(("most", "threshold"), [(1, 0.3), (4, 1.0), (99, 1.0), (0, 0.5)])
def test_boxes_whose_number_is_known(
    run_node: Callable[..., list[Array]],
    reference: Callable[..., list[Array]],
    most: int,
    threshold: float,
    center: int,
) -> None:
    inputs = {
        "boxes": RANDOM.random((2, 9, 4)).astype("float32"), "scores": RANDOM.random((2, 3, 9)).astype("float32"),
        "most": np.array([most]), "threshold": np.array([threshold], "float32"),
    }  # fmt: skip
    bound = ("most", "threshold")
    (found,) = run_node("NonMaxSuppression", inputs, bound=bound, opset=11, center_point_box=center)
    (expected,) = reference("NonMaxSuppression", inputs, opset=11, center_point_box=center)
    np.testing.assert_array_equal(found, expected)


def test_boxes_whose_number_the_data_decides_are_refused(run_node: Callable[..., list[Array]]) -> None:
    boxes, scores = np.zeros((1, 2, 4), "float32"), np.zeros((1, 1, 2), "float32")
    inputs = {"b": boxes, "s": scores, "most": np.array([2])}
    message = "how many boxes it selects depends .* end the model at input 0 .* graph_ir.ops.NonMaxSuppression"
    with pytest.raises(FrontendError, match=re.compile(message, re.DOTALL)):
        run_node("NonMaxSuppression", inputs, bound=("most",))


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "text"),
    [
        ("Unique", {"x": (3,)}, {}, "how many elements it gives depends on the values of its inputs"),
        ("RandomNormalLike", {"x": (3,)}, {}, "draw them outside and make them an input of the model"),
        ("SequenceConstruct", {"x": (3,)}, {}, "sequences and optional values are not supported, only tensors"),
    ],
)
def test_what_no_compiled_model_can_do_is_refused_with_its_reason(
    run_node: Callable[..., list[Array]],
    operator: str,
    inputs: dict[str, tuple[int, ...]],
    attributes: dict[str, Any],
    text: str,
) -> None:
    with pytest.raises(FrontendError) as caught:
        run_node(operator, {name: np.zeros(shape, "float32") for name, shape in inputs.items()}, **attributes)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "text"),
    [
        (
            "ReverseSequence",
            {"x": np.zeros((4, 3), "float32"), "n": np.zeros(4, "int64")},
            {},
            "expected lengths of 3 sequences, found [4]",
        ),
        (
            "TensorScatter",
            {"c": np.zeros((1, 4, 2), "float32"), "u": np.zeros((1, 1, 2), "float32")},
            {"mode": "round", "opset": 24},
            "expected mode linear or circular, found 'round'",
        ),
    ],
)
def test_inputs_and_modes_that_do_not_fit_are_refused(
    run_node: Callable[..., list[Array]], operator: str, inputs: dict[str, Array], attributes: dict[str, Any], text: str
) -> None:
    with pytest.raises(FrontendError) as caught:
        run_node(operator, inputs, **attributes)
    assert text in str(caught.value)


@pytest.mark.parametrize(("dtype", "result"), [("float32", "float32"), ("float16", "float32"), ("float64", "float64")])
def test_a_normalisation_by_root_mean_square(run_node: Callable[..., list[Array]], dtype: str, result: str) -> None:
    """The result has the type of the scale."""
    x, scale = RANDOM.standard_normal((4, 6, 5)).astype(dtype), RANDOM.standard_normal((6, 5)).astype(result)
    (y,) = run_node("RMSNormalization", {"x": x, "scale": scale}, axis=-2, epsilon=0.5)
    wide = x.astype("float64")
    expected = wide / np.sqrt((wide**2).mean((1, 2), keepdims=True) + 0.5) * scale
    assert y.dtype == np.dtype(result)
    np.testing.assert_allclose(y, expected, rtol=2e-3 if dtype == "float16" else 1e-5, atol=1e-6)


@pytest.mark.parametrize(("dtype", "outputs"), [("float32", 3), ("float32", 2), ("float64", 3)])
def test_statistics_of_a_layer_normalisation(run_node: Callable[..., list[Array]], dtype: str, outputs: int) -> None:
    """As exact far from zero as the output is: no difference of squares."""
    x = (1000 + RANDOM.standard_normal((4, 6, 5))).astype(dtype)
    scale = RANDOM.standard_normal((6, 5)).astype(dtype)
    y, mean, *inverse = run_node("LayerNormalization", {"x": x, "scale": scale}, outputs=outputs, axis=-2)
    wide = x.astype("float64")
    expected = 1 / np.sqrt(wide.var((1, 2), keepdims=True) + 1e-5)
    centred = wide - wide.mean((1, 2), keepdims=True)
    assert mean.dtype == np.float32
    np.testing.assert_allclose(mean, wide.mean((1, 2), keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(y, centred * expected * scale, rtol=1e-3, atol=1e-3)
    for found in inverse:
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_pads_beside_auto_pad_are_refused(run_node: Callable[..., list[Array]]) -> None:
    """The shape inference of onnx follows pads, onnxruntime's pools auto_pad; its convolutions refuse both."""
    x = np.zeros((1, 1, 8), "float32")
    message = r"auto_pad SAME_UPPER and pads \[2, 2\] are given both, which ONNX forbids, .*; leave one out"
    with pytest.raises(FrontendError, match=message):
        run_node("MaxPool", {"x": x}, kernel_shape=[3], auto_pad="SAME_UPPER", pads=[2, 2])


@pytest.mark.parametrize(("auto_pad", "expected"), [("SAME_UPPER", [3, 5, 7, 4]), ("SAME_LOWER", [1, 3, 5, 7])])
def test_the_odd_element_of_padding_is_where_auto_pad_says(
    run_node: Callable[..., list[Array]], auto_pad: str, expected: list[float]
) -> None:
    x = np.array([[[1, 2, 3, 4]]], "float32")
    (found,) = run_node("Conv", {"x": x, "w": np.ones((1, 1, 2), "float32")}, auto_pad=auto_pad)
    np.testing.assert_array_equal(found[0, 0], expected)


def test_a_reduction_of_a_scalar_is_that_of_one_element(run_node: Callable[..., list[Array]]) -> None:
    (found,) = run_node("ReduceSumSquare", {"x": np.array(3, "float32")})
    assert found == 9


@pytest.mark.parametrize(("operator", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_the_batch_first_in_recurrent_layers(run_node: Callable[..., list[Array]], operator: str, gates: int) -> None:
    x = RANDOM.standard_normal((2, 3, 4)).astype("float32")
    w = RANDOM.standard_normal((2, gates * 5, 4)).astype("float32")
    r = RANDOM.standard_normal((2, gates * 5, 5)).astype("float32")
    attributes = {"hidden_size": 5, "direction": "bidirectional"}
    y, last = run_node(operator, {"x": x, "w": w, "r": r}, outputs=2, layout=1, **attributes)
    expected, state = run_node(operator, {"x": x.swapaxes(0, 1).copy(), "w": w, "r": r}, outputs=2, **attributes)
    np.testing.assert_array_equal(y, expected.transpose(2, 0, 1, 3))
    np.testing.assert_array_equal(last, state.swapaxes(0, 1))
