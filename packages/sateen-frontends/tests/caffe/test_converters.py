"""What layers compute, by Caffe's definitions. tests/suites/caffe has a case for each layer and option."""

import numpy as np
import pytest

from sateen import frontends
from sateen.runtime.errors import FrontendError

RANDOM = np.random.default_rng(0)


def picture(*shape: int) -> np.ndarray:
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


def layer(type_: str, parameters: str = "", bottoms: str = "x", tops: str = "y") -> str:
    given = "".join(f' bottom: "{b}"' for b in bottoms.split()) + "".join(f' top: "{t}"' for t in tops.split())
    return f'layer {{ name: "l" type: "{type_}"{given} {parameters} }}'


def test_a_pool_rounds_up_and_leaves_out_a_window_in_the_padding(run):
    x = picture(1, 1, 5, 5)
    found = run(layer("Pooling", "pooling_param { kernel_size: 2 stride: 3 pad: 1 }"), {"x": x})["y"]
    assert found.shape == (1, 1, 2, 2)  # a third window would begin at 5
    assert found[0, 0, 1, 1] == x[0, 0, 2:4, 2:4].max()


def test_averages_count_padding_as_far_as_it_reaches(run):
    x = np.ones((1, 1, 4, 4), np.float32)
    found = run(layer("Pooling", "pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }"), {"x": x})["y"]
    np.testing.assert_allclose(
        found[0, 0], [[4 / 9, 6 / 9, 2 / 6], [6 / 9, 1, 3 / 6], [2 / 6, 3 / 6, 1 / 4]], rtol=1e-6
    )


def test_batch_norm_divides_its_statistics_by_their_sum(run):
    x, mean, variance = picture(2, 3, 4), picture(3), np.abs(picture(3)) + 1
    found = run(layer("BatchNorm"), {"x": x}, l=[mean * 5, variance * 5, np.float32([5])])["y"]
    expected = (x - mean[:, None]) / np.sqrt(variance[:, None] + 1e-5)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_mvn_adds_epsilon_to_the_deviation(run):
    x = picture(1, 2, 3, 3)
    found = run(layer("MVN", "mvn_param { eps: 0.5 }"), {"x": x})["y"]
    expected = (x - x.mean((2, 3), keepdims=True)) / (x.std((2, 3), keepdims=True) + 0.5)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_of_equal_elements_argmax_takes_the_last(run):
    x = np.float32([[1, 3, 3, 0]])
    parameters = "argmax_param { axis: 1 top_k: 2 }"
    np.testing.assert_array_equal(run(layer("ArgMax", parameters), {"x": x})["y"], [[2, 1]])
    np.testing.assert_array_equal(run(layer("ArgMax", "argmax_param { axis: 1 }"), {"x": x})["y"], [[2]])


def test_layers_in_place(run):
    x = picture(2, 3)
    text = layer("Power", "power_param { scale: -1 }", tops="y") + layer("ReLU", bottoms="y", tops="y").replace(
        '"l"', '"r"'
    )
    np.testing.assert_array_equal(run(text, {"x": x})["y"], np.maximum(-x, 0))


def test_several_bottoms_of_a_convolution_share_its_weights(run):
    given, weight = {"a": picture(1, 2, 3, 3), "b": picture(1, 2, 3, 3)}, picture(4, 2, 1, 1)
    text = layer("Convolution", "convolution_param { num_output: 4 kernel_size: 1 bias_term: false }", "a b", "y z")
    found = run(text, given, l=[weight])
    for name, bottom in zip("yz", "ab", strict=True):
        np.testing.assert_allclose(
            found[name], np.einsum("nchw,oc->nohw", given[bottom], weight[:, :, 0, 0]), rtol=1e-5
        )


def test_a_sequence_begins_where_the_second_bottom_is_0(run):
    x, weight, bias, recurrence = picture(4, 1, 2), picture(8, 2), picture(8), picture(8, 2)
    text = layer("LSTM", "recurrent_param { num_output: 2 }", "x c")
    begins = np.float32([[0], [1], [0], [1]])
    found = run(text, {"x": x, "c": begins}, l=[weight, bias, recurrence])["y"]
    again = run(text, {"x": x[2:], "c": begins[2:]}, l=[weight, bias, recurrence])["y"]
    np.testing.assert_allclose(found[2:], again, rtol=1e-6)
    assert (
        np.abs(found[1] - run(text, {"x": x[1:2], "c": begins[:1]}, l=[weight, bias, recurrence])["y"][0]).max() > 1e-3
    )


def test_prior_boxes_are_constants(run):
    text = layer("PriorBox", "prior_box_param { min_size: 4 aspect_ratio: 4 flip: true }", "x p")
    found = run(text, {"x": picture(1, 1, 1, 1), "p": picture(1, 3, 8, 16)})["y"]
    boxes = [[6, 2, 10, 6], [4, 3, 12, 5], [7, 0, 9, 8]]
    np.testing.assert_allclose(found[0, 0].reshape(-1, 4) * [16, 8, 16, 8], boxes, rtol=1e-6)
    np.testing.assert_allclose(found[0, 1], 0.1)


def test_detections_are_in_the_order_of_classes_and_scores_with_rows_to_spare(run):
    priors = np.stack([[0.1, 0.1, 0.3, 0.3, 0.1, 0.1, 0.3, 0.32, 0.6, 0.6, 0.9, 0.9], np.full(12, 0.1)])[None]
    scores = np.float32([[0, 0.8, 0.2, 0, 0.9, 0.3, 0, 0.1, 0.7]])
    parameters = "num_classes: 3 keep_top_k: 4 confidence_threshold: 0.25 nms_param { nms_threshold: 0.5 }"
    inputs = {"loc": np.zeros((1, 12), np.float32), "conf": scores, "prior": np.float32(priors)}
    found = run(layer("DetectionOutput", f"detection_output_param {{ {parameters} }}", "loc conf prior"), inputs)["y"]
    expected = [
        [0, 1, 0.9, 0.1, 0.1, 0.3, 0.32], [0, 2, 0.7, 0.6, 0.6, 0.9, 0.9], [0, 2, 0.3, 0.1, 0.1, 0.3, 0.32], [-1] * 7,
    ]  # fmt: skip
    np.testing.assert_allclose(found[0, 0], expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (layer("Convolution", "convolution_param { kernel_size: 1 }"), "expected attribute 'num_output', found none"),
        (layer("Convolution", "convolution_param { num_output: 4 }"), "expected kernel_size once or 2 times, found []"),
        (layer("Convolution", "convolution_param { num_output: 4 kernel_size: 1 }"), "expected blob 0 of its weights"),
        (layer("Pooling", "pooling_param { kernel_size: 2 pool: STOCHASTIC }"), "stochastic pools are not supported"),
        (layer("Pooling", "pooling_param { kernel_size: 2 pool: LEAST }"), "expected MAX or AVE or STOCHASTIC as pool"),
        (layer("Pooling", "pooling_param { kernel_size: 1 stride: 4 }"), "begins behind the data, 4"),
        (layer("Pooling", "pooling_param { kernel_size: 2 gate: 1 }"), "Caffe has no field 'gate' in pooling_param"),
        (layer("ReLU", "quantization_param { }"), "Caffe has no field 'quantization_param' in layers of type ReLU"),
        (layer("ReLU", "relu_param { } relu_param { }"), "expected relu_param once, found it 2 times"),
        (layer("SoftmaxWithLoss"), "it compares with labels"),
        (layer("Python"), "its code is in Python, which no reader runs"),
        (layer("Filter"), "how many elements it gives depends on the values"),
        (layer("Convolutoin"), "sateen has no such layer"),
        (layer("Reshape", "reshape_param { shape { dim: 5 dim: -1 } }"), "shape [5, -1] can't hold the 32 elements"),
        (layer("Slice", "slice_param { slice_point: 9 }", tops="y z"), "expected 1 slice points that rise from 0 to 2"),
        (layer("BN", "bn_param { }"), "forks of Caffe have several layers BN, and this file does not tell which"),
        (layer("BN", "bn_param { bn_mode: INFERENCE }"), "expected blob 0 of its weights, found no blobs"),
        (layer("ConvolutionDepthwise", "convolution_param { num_output: 4 kernel_size: 1 }"), "num_output 2, as many"),
        (layer("Im2col", "convolution_param { kernel_size: 5 }"), "expected a window within float32[1, 2, 4, 4]"),
        (layer("ROIAlign"), "forks of Caffe place the samples of its regions in different ways"),
        (layer("Eltwise"), "expected two bottoms or more of one shape"),
    ],
)  # fmt: skip
def test_gaps_name_the_layer_and_the_reason(weights, text, reason):
    report = frontends.check(b'input: "x" input_shape { dim: [1, 2, 4, 4] }' + text.encode(), weights())
    assert [(gap.node, reason in gap.reason) for gap in report.gaps] == [("l", True)], report.gaps


def test_what_a_misspelt_type_may_mean_is_told(weights):
    report = frontends.check(b'input: "x" input_shape { dim: 1 }' + layer("Convolutoin").encode(), weights())
    assert report.gaps[0].reason == "sateen has no such layer; did you mean Convolution or Deconvolution?"


def test_a_blob_of_another_shape_is_refused(weights):
    text = (
        b'input: "x" input_shape { dim: [1, 2] }'
        + layer("InnerProduct", "inner_product_param { num_output: 3 }").encode()
    )
    with pytest.raises(FrontendError, match=r"expected blob 0 of shape \[3, 2\], found \[2, 3\]"):
        frontends.from_caffe(text, weights(l=[picture(2, 3), picture(3)]))
