"""What operators compute, by Caffe2's definitions. tests/suites/caffe2 has a case for each operator and option."""

import numpy as np
import pytest

from sateen import frontends
from sateen.frontends.caffe2.schemas.net_pb2 import Net

RANDOM = np.random.default_rng(0)


def picture(*shape: int) -> np.ndarray:
    return RANDOM.uniform(-2, 2, shape).astype(np.float32)


def test_a_pool_of_caffe_rounds_up_and_leaves_out_what_begins_in_the_padding(operator, run):
    x = picture(1, 1, 5, 5)
    op = operator("MaxPool", ["x"], ["y"], kernel=2, stride=3, pad=1, legacy_pad=3)
    found = run([op], {"x": x}, ["y"])["y"]
    assert (found.shape, found[0, 0, 1, 1]) == ((1, 1, 2, 2), x[0, 0, 2:4, 2:4].max())


def test_averages_leave_padding_out(operator, run):
    ones = np.ones((1, 1, 4, 4), np.float32)
    found = run([operator("AveragePool", ["x"], ["y"], kernel=3, pad=1)], {"x": ones}, ["y"])["y"]
    np.testing.assert_allclose(found, ones, rtol=1e-6)


def test_channels_last(operator, run):
    x, weight, bias = picture(1, 4, 4, 3), RANDOM.normal(size=(2, 1, 1, 3)), RANDOM.normal(size=2)
    op = operator("Conv", ["x", "w", "b"], ["y"], kernel=1, order="NHWC")
    found = run([op], {"x": x}, ["y"], w=weight, b=bias)["y"]
    np.testing.assert_allclose(found, x @ weight[:, 0, 0].T + bias, rtol=1e-4, atol=1e-5)


def test_sizes_of_joined_inputs_divide_the_result_again(operator, run):
    x = picture(2, 3)
    ops = [
        operator("Concat", ["x", "x"], ["joined", "sizes"], axis=1),
        operator("Split", ["joined", "sizes"], ["a", "b"], axis=1),
    ]
    found = run(ops, {"x": x}, ["a", "b"])
    np.testing.assert_array_equal(found["b"], x)


def test_fractions_of_sizes_are_computed_in_float32(operator, run):
    x = np.arange(12, dtype=np.float32).reshape(1, 1, 12, 1)
    op = operator("ResizeNearest", ["x"], ["y"], height_scale=1.1)
    found = run([op], {"x": x}, ["y"])["y"].ravel()
    expected = [min(int(np.float32(i) / np.float32(1.1)), 11) for i in range(13)]
    np.testing.assert_array_equal(found, expected)


def test_pictures_of_cameras_and_back(operator, run):
    pixels = RANDOM.integers(0, 256, (1, 3, 5, 4), np.uint8)
    ops = [
        operator("PackedInt8BGRANHWCToNCHWCStylizerPreprocess", ["x", "m"], ["a"], noise_std=5.0),
        operator("BRGNCHWCToPackedInt8BGRAStylizerDeprocess", ["a", "m"], ["y"]),
    ]
    found = run(ops, {"x": pixels}, ["a", "y"], m=np.array([100, 110.5, 120]))
    np.testing.assert_allclose(found["a"][0, 1], pixels[0, :, :, 1] - 110.5)
    np.testing.assert_array_equal(found["y"][..., :3], pixels[..., :3])
    assert (found["y"][..., 3] == 255).all()


def test_numbers_replace_what_is_none(run, operator):
    x = np.array([1, np.nan, -np.inf], np.float32)
    found = run([operator("ReplaceNaN", ["x"], ["y"], value=2.0)], {"x": x}, ["y"])["y"]
    np.testing.assert_array_equal(found, [1, 2, -np.inf])


def test_regions_without_an_image_are_of_the_first(run, operator):
    x, regions = np.arange(32, dtype=np.float32).reshape(2, 1, 4, 4), np.array([[0, 0, 3, 3], [1, 2, 1, 3]])
    ops = [operator("RoIPool", ["x", "r"], ["y"]), operator("RoIPool", ["x", "s"], ["z"])]
    found = run(ops, {"x": x}, ["y", "z"], r=regions, s=np.insert(regions, 0, 1, axis=1))
    np.testing.assert_array_equal(found["y"].ravel(), [15, 13])
    np.testing.assert_array_equal(found["z"].ravel(), [31, 29])


@pytest.mark.parametrize(
    ("type_", "arguments", "reason"),
    [
        ("Dropout", {}, "dropout in training is not supported"),
        ("MaxPool", {"kernel": 0}, "expected kernel, strides and dilations of 1 or more"),
        (
            "MaxPool",
            {"kernel": 1, "stride": 4, "legacy_pad": 3},
            "a window of 1 with stride 4 begins behind the data, 4",
        ),
        ("Relu", {"x": 1}, ""),
        ("LRN", {"size": 2}, "expected an odd size, found 2"),
        ("Cast", {"to": 99}, "expected a type of Caffe2 as to, found 99"),
        ("Reshape", {"shape": [5, -1]}, "shape [5, -1] can't hold the 32 elements"),
        ("Split", {"split": [1, 2]}, "expected 1 sizes that come to 2, found [1, 2]"),
        ("Int8Relu", {}, "quantised operators of Caffe2 are not read"),
        ("BBoxTransform", {}, "versions of Caffe2 place the far corners of boxes differently"),
        ("Glu", {"dim": 0}, "expected an even extent of axis 0, found 1"),
        ("PrependDim", {"dim_size": 2}, "1 elements of the first axis can't be divided among 2"),
        ("ColwiseMax", {}, "expected matrices [B, M, N], found float32[1, 2, 4, 4]"),
        ("GenerateProposals", {}, "how many elements it gives depends on the values"),
        ("Rellu", {}, "sateen has no such operator"),
        ("MaxPool", {"kernel": 2, "order": "NCWH"}, "expected order NCHW or NHWC, found 'NCWH'"),
        ("LeakyRelu", {"alpha": "much"}, "expected a number as attribute 'alpha', found b'much'"),
    ],
)
def test_gaps_name_the_operator_and_the_reason(operator, init, type_, arguments, reason):
    net = Net(op=[operator(type_, ["x"], ["y"], **arguments)]).SerializeToString()
    report = frontends.check(net, init(), shapes={"x": (1, 2, 4, 4)})
    expected = [("y", type_, True)] if reason else []
    assert [(gap.node, gap.operator, reason in gap.reason) for gap in report.gaps] == expected, report.gaps


def test_an_output_for_training_is_refused_only_if_something_reads_it(operator, init):
    ops = [operator("LayerNorm", ["x"], ["y", "mean", "deviation"]), operator("Relu", ["y"], ["z"])]
    net = Net(op=ops, external_output=["z"])
    assert frontends.check(net.SerializeToString(), init(), shapes={"x": (2, 3)}).is_supported
    net.external_output.append("mean")
    (gap,) = frontends.check(net.SerializeToString(), init(), shapes={"x": (2, 3)}).gaps
    assert gap.reason == "outputs beyond the first are not supported"


def test_random_weights_are_refused(operator):
    init = Net(op=[operator("XavierFill", [], ["w"], shape=[2, 3]), operator("ConstantFill", [], ["b"], shape=[2])])
    net = Net(op=[operator("FC", ["x", "w", "b"], ["y"])])
    report = frontends.check(net.SerializeToString(), init.SerializeToString(), shapes={"x": (1, 3)})
    assert [(gap.node, gap.reason) for gap in report.gaps] == [("w", "it fills a blob with random numbers")]
