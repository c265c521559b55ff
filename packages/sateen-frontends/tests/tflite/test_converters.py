"""What operators of TensorFlow Lite compute, judged by their definitions. The suite judges them by LiteRT."""

import numpy as np
import pytest

from sateen.frontends import check, from_tflite
from sateen.frontends.core.report import UnsupportedError
from sateen.graph_ir.judge import interpret
from sateen.runtime.errors import FrontendError

DRAW = np.random.default_rng(0)


def _numbers(*shape: int) -> np.ndarray:
    return DRAW.uniform(-1, 1, shape).astype(np.float32)


def _convolved(x: np.ndarray, w: np.ndarray, stride: int, before: int, after: int) -> np.ndarray:
    """x [N, H, W, C] with w [O, H, W, C]."""
    x = np.pad(x, ((0, 0), (before, after), (before, after), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[1:3], (1, 2))[:, ::stride, ::stride]
    return np.einsum("nhwcij,oijc->nhwo", windows, w)


@pytest.mark.parametrize(
    ("extent", "kernel", "stride", "pads"), [(5, 3, 1, (1, 1)), (6, 3, 2, (0, 1)), (5, 2, 1, (0, 1)), (7, 1, 3, (0, 0))]
)
def test_same_pads_the_odd_element_at_the_end(run_operator, extent, kernel, stride, pads):
    x, w, b = _numbers(1, extent, extent, 2), _numbers(3, kernel, kernel, 2), _numbers(3)
    (y,) = run_operator("CONV_2D", [x, w, b], constant=(1, 2), padding="SAME", stride_w=stride, stride_h=stride)
    np.testing.assert_allclose(y, _convolved(x, w, stride, *pads) + b, rtol=1e-5, atol=1e-6)


def test_a_transposed_convolution_inverts_the_shape_of_a_convolution(run_operator):
    x, w = _numbers(1, 2, 3, 2), _numbers(4, 3, 3, 2)
    shape = np.array([1, 4, 5, 4], np.int32)
    (y,) = run_operator("TRANSPOSE_CONV", [shape, w, x], constant=(0, 1), padding="SAME", stride_w=2, stride_h=2)
    whole = np.zeros((1, 6, 8, 4), np.float32)
    for i, j in np.ndindex(2, 3):
        whole[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3] += np.einsum("nc,oijc->nijo", x[:, i, j], w)
    np.testing.assert_allclose(y, whole[:, 0:4, 1:6], rtol=1e-5, atol=1e-6)  # an even extent pads at the end only


def test_channels_of_depthwise_results_are_beside_each_other(run_operator):
    x, w = _numbers(1, 4, 4, 2), _numbers(1, 2, 2, 6)
    (y,) = run_operator("DEPTHWISE_CONV_2D", [x, w], constant=(1,), padding="VALID", stride_w=1, stride_h=1)
    for c in range(6):
        expected = _convolved(x[..., [c // 3]], w[..., c][..., None], 1, 0, 0)
        np.testing.assert_allclose(y[..., [c]], expected, rtol=1e-5, atol=1e-6)


QUANTISED = {0: (0.02, 3), 1: ([0.01, 0.02], 0), 3: (0.05, -10)}


@pytest.mark.parametrize(("activation", "low", "high"), [("NONE", -128, 127), ("RELU", -10, 127), ("RELU6", -10, 110)])
def test_a_quantised_product_scales_its_bias_and_limits_integers(run_operator, activation, low, high):
    x, w = DRAW.integers(-128, 128, (5, 30)).astype(np.int8), DRAW.integers(-127, 128, (2, 30)).astype(np.int8)
    b = np.array([-4000, 5000], np.int32)
    (y,) = run_operator(
        "FULLY_CONNECTED", [x, w, b], ("INT8",), constant=(1, 2), scales=QUANTISED, activation=activation
    )
    sums = (x.astype(int) - 3) @ w.T.astype(int) + b
    expected = np.round(sums * (0.02 * np.array([0.01, 0.02]) / 0.05)) - 10
    assert y.dtype == np.int8
    np.testing.assert_array_equal(y, np.clip(expected, low, high))


def test_a_fused_activation_that_kernels_ignore_is_refused(run_operator):
    with pytest.raises(FrontendError, match="the fused activation TANH has no meaning here"):
        run_operator("ADD", [_numbers(2), _numbers(2)], activation="TANH")


def test_operators_that_move_elements_take_integers(run_operator):
    x = np.array([[[[-128], [127]], [[3], [5]]]], np.int8)
    scales = {0: (0.1, 4), 1: (0.1, 4)}
    pool = {"padding": "SAME", "stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
    (y,) = run_operator("MAX_POOL_2D", [x], ("INT8",), scales=scales, **pool)
    assert y.tolist() == [[[[127]]]]
    pads = np.array([[0, 0], [1, 0], [0, 0], [0, 0]], np.int32)
    (y,) = run_operator("PAD", [x, pads], ("INT8",), constant=(1,), scales={0: (0.1, 4), 2: (0.1, 4)})
    assert y[0, 0, :, 0].tolist() == [4, 4]


def test_concatenation_scales_anew_what_has_another_scale(run_operator):
    a, b = np.array([0, 100, 255], np.uint8), np.array([10, 20], np.uint8)
    scales = {0: (0.5, 100), 1: (1.0, 0), 2: (1.0, 50)}
    (y,) = run_operator("CONCATENATION", [a, b], ("UINT8",), scales=scales, axis=0)
    assert y.tolist() == [0, 50, 128, 60, 70]


def test_rows_of_features_are_taken_whatever_the_shape(run_operator):
    x, w = _numbers(2, 3, 4), _numbers(5, 12)
    (y,) = run_operator("FULLY_CONNECTED", [x, w, None], constant=(1,))
    np.testing.assert_allclose(y, x.reshape(2, 12) @ w.T, rtol=1e-5, atol=1e-6)
    (y,) = run_operator("FULLY_CONNECTED", [x, w[:, :4].copy(), None], constant=(1,), keep_num_dims=True)
    np.testing.assert_allclose(y, x @ w[:, :4].T, rtol=1e-5, atol=1e-6)


MASKS = {
    "steps": ({}, (1, 5, 1), (3, 1, 4), (1, -2, 1), lambda x: x[1:3, 5:1:-2, 1:4]),
    "masks": ({"begin_mask": 1, "end_mask": 4}, (9, 1, 2), (2, 3, 9), (1, 1, 1), lambda x: x[:2, 1:3, 2:]),
    "index": ({"shrink_axis_mask": 2}, (0, -1, 0), (3, 0, 4), (1, 1, 1), lambda x: x[0:3, -1, 0:4]),
    "new": ({"new_axis_mask": 2}, (0, 0, 1), (2, 0, 3), (1, 1, 1), lambda x: x[0:2, None, 1:3]),
    "ellipsis": ({"ellipsis_mask": 1}, (0, 1), (0, 3), (1, 1), lambda x: x[..., 1:3]),
    "offset": ({"offset": True}, (1, 1, 1), (2, 3, 2), (1, 1, 1), lambda x: x[1:3, 1:4, 1:3]),
}


@pytest.mark.parametrize("case", MASKS)
def test_slices_are_numpys(run_operator, case):
    options, *numbers, expected = MASKS[case]
    x = _numbers(4, 6, 5)
    given = [np.array(values, np.int32) for values in numbers]
    (y,) = run_operator("STRIDED_SLICE", [x, *given], constant=(1, 2, 3), **options)
    np.testing.assert_array_equal(y, expected(x))


def test_a_condition_of_one_dimension_chooses_rows(run_operator):
    a, b = _numbers(2, 3), _numbers(2, 3)
    (y,) = run_operator("SELECT", [np.array([True, False]), a, b])
    np.testing.assert_array_equal(y, np.stack([a[0], b[1]]))


def test_indices_outside_are_off(run_operator):
    given = [np.array([-1, 1, 3], np.int32), np.array(3, np.int32), np.array(5.0, "f"), np.array(2.0, "f")]
    (y,) = run_operator("ONE_HOT", given, constant=(1, 2, 3), axis=-1)
    assert y.tolist() == [[2, 2, 2], [2, 5, 2], [2, 2, 2]]


def test_gathering_keeps_batches(run_operator):
    x, indices = _numbers(2, 3, 4, 5), DRAW.integers(0, 4, (2, 3)).astype(np.int32)
    (y,) = run_operator("GATHER", [x, indices], axis=2, batch_dims=1)
    np.testing.assert_array_equal(y, np.stack([x[i][:, indices[i]] for i in range(2)]))


def test_a_part_is_replaced_within_the_data(run_operator):
    x, u = _numbers(3, 4), _numbers(2, 4)
    for begin in (-5, 0, 1, 7):
        (y,) = run_operator("DYNAMIC_UPDATE_SLICE", [x, u, np.array([begin, 0], np.int32)])
        expected = x.copy()
        expected[max(min(begin, 1), 0) :][:2] = u
        np.testing.assert_array_equal(y, expected)


def test_the_nearest_pixel_is_the_one_around_the_centre(run_operator):
    x = np.arange(5, dtype=np.float32).reshape(1, 5, 1, 1)
    size = np.array([2, 1], np.int32)
    (y,) = run_operator("RESIZE_NEAREST_NEIGHBOR", [x, size], constant=(1,), half_pixel_centers=True)
    assert y.reshape(-1).tolist() == [1, 3]
    (y,) = run_operator("RESIZE_NEAREST_NEIGHBOR", [x, size], constant=(1,))
    assert y.reshape(-1).tolist() == [0, 2]


def test_each_place_of_a_block_is_a_batch(run_operator):
    x = np.arange(6, dtype=np.float32).reshape(1, 2, 3, 1)
    blocks, pads = np.array([1, 2], np.int32), np.array([[0, 0], [1, 0]], np.int32)
    (y,) = run_operator("SPACE_TO_BATCH_ND", [x, blocks, pads], constant=(1, 2))
    assert y[..., 0].tolist() == [[[0, 1], [0, 4]], [[0, 2], [3, 5]]]
    (back,) = run_operator("BATCH_TO_SPACE_ND", [y, blocks, pads], constant=(1, 2))
    np.testing.assert_array_equal(back, x)


def test_only_the_sequence_is_reversed(run_operator):
    x = np.arange(8).reshape(2, 4).astype(np.float32)
    (y,) = run_operator("REVERSE_SEQUENCE", [x, np.array([2, 4], np.int32)], seq_dim=1, batch_dim=0)
    assert y.tolist() == [[1, 0, 2, 3], [7, 6, 5, 4]]


def test_a_coupled_input_gate_is_one_minus_the_forget_gate(run_operator):
    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    x = _numbers(1, 3, 2)
    w, r, b = ([_numbers(*shape) for _ in range(3)] for shape in ((4, 2), (4, 4), (4,)))
    state = np.zeros((1, 4), np.float32)
    given = [x, None, *w, None, *r, None, None, None, None, *b, None, None, state, state]
    (y,) = run_operator("UNIDIRECTIONAL_SEQUENCE_LSTM", given, constant=range(1, 20), activation="TANH")
    hidden = cell = state
    for t in range(3):
        f, c, o = (x[:, t] @ w[i].T + hidden @ r[i].T + b[i] for i in range(3))
        cell = sigmoid(f) * cell + (1 - sigmoid(f)) * np.tanh(c)
        hidden = sigmoid(o) * np.tanh(cell)
        np.testing.assert_allclose(y[:, t], hidden, rtol=1e-4, atol=1e-6)


def test_recurrent_layers_of_integers_are_refused(run_operator):
    x, w, r = (np.ones(shape, np.int8) for shape in ((1, 2), (3, 2), (3, 3)))
    b, state = np.ones(3, np.int32), np.zeros((1, 3), np.int8)
    scales = dict.fromkeys((0, 1, 2, 4, 5), (0.1, 0))
    with pytest.raises(FrontendError, match="recurrent layers of quantised data are not supported"):
        run_operator("RNN", [x, w, r, b, state], ("INT8",), constant=(1, 2, 3, 4), scales=scales, activation="TANH")


DETECTOR = {
    "max_detections": 3, "max_classes_per_detection": 1, "nms_score_threshold": 0.5, "nms_iou_threshold": 0.5,
    "num_classes": 2, "y_scale": 1.0, "x_scale": 1.0, "h_scale": 1.0, "w_scale": 1.0,
}  # fmt: skip


@pytest.mark.parametrize("regular", [False, True])
def test_a_detector_keeps_the_best_boxes(run_operator, flex_map, regular):
    """The second box overlaps the first, with a better score for another class."""
    encoded = np.zeros((1, 3, 4), np.float32)
    scores = np.array([[[0, 0.9, 0.1], [0, 0.2, 0.8], [0, 0.3, 0.4]]], np.float32)
    anchors = np.array([[1, 1, 2, 2], [1, 1, 2, 2], [5, 5, 2, 2]], np.float32)
    given = [encoded, scores, anchors]
    options = flex_map({**DETECTOR, "use_regular_nms": regular, "detections_per_class": 2})
    results = ["FLOAT32"] * 4
    boxes, classes, values, count = run_operator(
        "TFLite_Detection_PostProcess", given, results, constant=(2,), custom=options
    )
    assert count.tolist() == [2.0 if regular else 1.0]
    assert classes.tolist() == ([[0, 1, 0]] if regular else [[0, 0, 0]])
    np.testing.assert_allclose(values, [[0.9, 0.8, 0]] if regular else [[0.9, 0, 0]])
    assert boxes[0, 0].tolist() == [0, 0, 2, 2]
    assert boxes[0, 2].tolist() == [0, 0, 0, 0]


def _counted(model):
    """x doubled while the counter is below 3."""
    i, x = model.constant("zero", np.array(0, np.int32)), model.tensor("x", (2,))
    j, y = model.tensor("j", (), "INT32"), model.tensor("y", (2,))
    condition, body = model.network(), model.network()
    for network in (condition, body):
        network.inputs = [network.tensor("i", (), "INT32"), network.tensor("v", (2,))]
    condition.outputs = [condition.tensor("less", (), "BOOL")]
    limit = condition.constant("limit", np.array(3, np.int32))
    condition.node("LESS", [0, limit], condition.outputs)
    one = body.constant("one", np.array(1, np.int32))
    body.outputs = [body.tensor("next", (), "INT32"), body.tensor("twice", (2,))]
    body.node("ADD", [0, one], body.outputs[:1], activation="NONE")
    body.node("ADD", [1, 1], body.outputs[1:], activation="NONE")
    model.node("WHILE", [i, x], [j, y], cond_subgraph_index=1, body_subgraph_index=2)
    model.inputs, model.outputs = [x], [y]


def test_a_loop_ends_when_its_condition_says_so(model, run):
    _counted(model)
    np.testing.assert_array_equal(run(model, x=np.array([1, 2], np.float32))["y"], [8, 16])


@pytest.mark.parametrize("step", [1, 2])
def test_a_write_to_a_list_is_one_operator(model, step):
    """What replaces the element at 1, written as slices, unless the second begins elsewhere."""
    x, e = model.tensor("list", (3, 2)), model.tensor("element", (1, 2))
    i = model.tensor("i", (), "INT32")
    names = ("next", "at", "after", "size", "begin")
    following, at, after, size, begin = (model.tensor(name, (1,), "INT32") for name in names)
    head, tail, y = (model.tensor(name, (1, 1), shape_signature=[-1, -1]) for name in ("head", "tail", "y"))
    ones, shape = model.constant("one", np.array(step, np.int32)), model.constant("shape", np.array([1], np.int32))
    rest, zero = model.constant("rest", np.array([-1], np.int32)), model.constant("zero", np.array([0], np.int32))
    first, all_ = model.constant("first", np.zeros(2, np.int32)), model.constant("all", np.full(2, -1, np.int32))
    model.node("ADD", [i, ones], [following], activation="NONE")
    model.node("RESHAPE", [i, shape], [at])
    model.node("RESHAPE", [following, shape], [after])
    model.node("CONCATENATION", [at, rest], [size], axis=0, activation="NONE")
    model.node("CONCATENATION", [after, zero], [begin], axis=0, activation="NONE")
    model.node("SLICE", [x, first, size], [head])
    model.node("SLICE", [x, begin, all_], [tail])
    model.node("CONCATENATION", [head, e, tail], [y], axis=0, activation="NONE")
    model.inputs, model.outputs = [x, e, i], [y]
    report = check(model.bytes())
    assert report.is_supported == (step == 1)
    if report.is_supported:
        graph, _ = from_tflite(model.bytes())
        values = np.arange(6, dtype=np.float32).reshape(3, 2)
        given = {"list": values, "element": np.full((1, 2), 9, np.float32), "i": np.array(1, np.int32)}
        assert interpret(graph, given)["y"].tolist() == [[0, 1], [9, 9], [4, 5]]


def test_segments_are_reduced(run_operator):
    data, segments = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([1, -1, 1], np.int32)
    count = np.array(2, np.int32)
    (y,) = run_operator("UNSORTED_SEGMENT_SUM", [data, segments, count], constant=(1, 2))
    assert y.tolist() == [[0, 0], [4, 6]]
    (y,) = run_operator("UNSORTED_SEGMENT_MAX", [data, segments, count], constant=(1, 2))
    assert y.tolist() == [[float(np.finfo(np.float32).min)] * 2, [4, 5]]
    (y,) = run_operator("SEGMENT_SUM", [data, np.array([0, 0, 1], np.int32)], constant=(1,))
    assert y.tolist() == [[2, 4], [4, 5]]


@pytest.mark.parametrize("known", [False, True])
def test_a_branch_is_chosen(model, run, known):
    x, y = model.tensor("x", (2,)), model.tensor("y", (2,))
    condition = model.constant("c", np.array(True)) if known else model.tensor("c", (), "BOOL")
    for operator in ("NEG", "EXP"):
        branch = model.network()
        branch.inputs, branch.outputs = [branch.tensor("a", (2,))], [branch.tensor("b", (2,))]
        branch.node(operator, branch.inputs, branch.outputs)
    model.node("IF", [condition, x], [y], then_subgraph_index=1, else_subgraph_index=2)
    model.inputs, model.outputs = [x] if known else [condition, x], [y]
    given = {} if known else {"c": np.array(True)}
    np.testing.assert_array_equal(run(model, x=np.array([1, 2], np.float32), **given)["y"], [-1, -2])


def test_a_composite_is_the_network_that_decomposes_it(model, run):
    x, y = model.tensor("x", (2,)), model.tensor("y", (2,))
    inner = model.network()
    inner.inputs, inner.outputs = [inner.tensor("a", (2,))], [inner.tensor("b", (2,))]
    inner.node("NEG", inner.inputs, inner.outputs)
    model.node("STABLEHLO_COMPOSITE", [x], [y], name="acme.minus", decomposition_subgraph_index=1)
    model.inputs, model.outputs = [x], [y]
    np.testing.assert_array_equal(run(model, x=np.array([1, 2], np.float32))["y"], [-1, -2])


def test_a_network_that_does_not_fit_is_refused(model, run):
    _counted(model)
    model.operators[0]["builtin_options"][1]["body_subgraph_index"] = 7
    with pytest.raises(FrontendError, match="expected body_subgraph_index of 1 to 2, found 7"):
        run(model)


def test_shapes_that_depend_on_data_are_refused(run_operator):
    with pytest.raises(FrontendError) as error:
        run_operator("SLICE", [_numbers(3), np.array([0], np.int32), np.array([2], np.int32)])
    assert "must be known while compiling" in str(error.value)
    assert not isinstance(error.value, UnsupportedError)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"half_pixel_centers": True}, [10, 11, 15, 19, 20]),
        ({"align_corners": True}, [10, 13, 15, 18, 20]),
        ({}, [10, 14, 18, 20, 20]),
    ],
)
def test_integers_are_interpolated_in_steps(run_operator, options, expected):
    """Positions are multiples of 410/1024, or with the corners aligned of 256/1024, and halves go away from 0."""
    data = np.array([10, 20], np.int8).reshape(1, 1, 2, 1)
    for sign in (1, -1):
        (y,) = run_operator(
            "RESIZE_BILINEAR", [sign * data, np.array([1, 5], np.int32)], ("INT8",), constant=(1,), **options
        )
        np.testing.assert_array_equal(y.reshape(-1), sign * np.array(expected))
