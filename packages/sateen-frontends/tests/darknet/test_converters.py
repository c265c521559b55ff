"""What layers compute, by darknet's definitions. tests/suites/darknet has a case for each layer and option."""

import numpy as np
import pytest

from sateen import frontends

RANDOM = np.random.default_rng(0)
NET = b"[net]\nchannels=2\nheight=4\nwidth=4\n"
CONV = "[convolutional]\nfilters=2\nsize=1\nactivation=linear\n"
SAME = (np.zeros(2), np.eye(2))
"""Weights of CONV with which it changes nothing."""


def picture(*shape: int) -> np.ndarray:
    return RANDOM.uniform(-2, 2, (1, *shape)).astype(np.float32)


def logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def test_batch_normalisation_comes_before_the_bias_in_the_file_and_behind_the_product_in_the_layer(run):
    x, bias, scale, mean, weight = picture(2, 3, 3), *RANDOM.normal(size=(3, 2)), RANDOM.normal(size=(2, 2))
    variance = np.array([0.5, 1.5])
    found = run(CONV.replace("linear", "leaky") + "batch_normalize=1", x, bias, scale, mean, variance, weight)
    product = np.einsum("nchw,oc->nohw", x, weight)
    expected = (product - mean[:, None, None]) / np.sqrt(variance + 1e-6)[:, None, None] * scale[:, None, None]
    expected += bias[:, None, None]
    np.testing.assert_allclose(
        found["convolutional_0"], np.where(expected > 0, expected, 0.1 * expected), rtol=1e-4, atol=1e-5
    )


def test_a_pool_pads_at_the_end_first(run):
    x = np.zeros((1, 2, 4, 4), np.float32)
    x[0, 0] = np.arange(16).reshape(4, 4)
    found = run(CONV + "[maxpool]\nsize=2\nstride=1", x, *SAME)["maxpool_1"]
    np.testing.assert_array_equal(found[0, 0], x[0, 0][[1, 2, 3, 3]][:, [1, 2, 3, 3]])


def test_yolo_activates_all_but_widths_and_heights(run):
    x = picture(16, 2, 2)
    sections = "[convolutional]\nfilters=16\nsize=1\nactivation=linear\n[yolo]\nmask=0,1\nclasses=3\nscale_x_y=1.2\n"
    found = run(sections, x, np.zeros(16), np.eye(16))["yolo_1"].reshape(2, 8, 2, 2)
    boxes = x.reshape(2, 8, 2, 2)
    np.testing.assert_allclose(found[:, :2], logistic(boxes[:, :2]) * 1.2 - 0.1, rtol=1e-5)
    np.testing.assert_allclose(found[:, 2:4], boxes[:, 2:4], rtol=1e-6)
    np.testing.assert_allclose(found[:, 4:], logistic(boxes[:, 4:]), rtol=1e-5)


def test_reorg_takes_the_picture_for_a_larger_one_of_fewer_channels(run):
    x = np.arange(4 * 2 * 2, dtype=np.float32).reshape(1, 4, 2, 2)
    sections = "[convolutional]\nfilters=4\nsize=1\nactivation=linear\n[reorg]\nstride=2\n"
    found = run(sections, x, np.zeros(4), np.eye(4))["reorg_1"]
    larger = x.reshape(1, 4, 4)  # the four channels of 2x2 as one of 4x4
    planes = [larger[0, i::2, j::2] for i in (0, 1) for j in (0, 1)]
    np.testing.assert_array_equal(found.ravel(), np.stack(planes).ravel())


def test_a_shortcut_adds_the_channels_that_both_have(run):
    x = picture(2, 2, 2)
    sections = CONV + "[convolutional]\nfilters=1\nsize=1\nactivation=linear\n[shortcut]\nfrom=0\n"
    found = run(sections, x, *SAME, np.zeros(1), np.ones((1, 2)))["shortcut_2"]
    np.testing.assert_allclose(found[0, 0], x[0].sum(0) + x[0, 0], rtol=1e-5, atol=1e-6)


def test_weights_of_a_shortcut_are_normalised_for_each_channel(run):
    x, weights = picture(2, 2, 2), np.array([[1, 2], [3, -1]])
    sections = CONV * 2 + "[shortcut]\nfrom=0\nweights_type=per_channel\nweights_normalization=relu"
    (found,) = run(sections, x, *SAME, *SAME, weights)["shortcut_2"]
    factors = np.maximum(weights, 0).sum(0) / (np.maximum(weights, 0).sum(0) + 1e-4)
    np.testing.assert_allclose(found, x[0] * factors[:, None, None], rtol=1e-6)


def test_a_local_layer_has_weights_for_each_place(run):
    x, weight, bias = picture(2, 3, 4), RANDOM.normal(size=(6, 1, 8)), RANDOM.normal(size=(1, 2, 3))
    found = run("[local]\nsize=2\nactivation=linear", x, bias, weight)["local_0"]
    windows = np.lib.stride_tricks.sliding_window_view(x[0], (2, 2), (1, 2)).transpose(1, 2, 0, 3, 4)
    expected = (windows.reshape(6, 8) * weight[:, 0]).sum(1).reshape(2, 3) + bias[0]
    np.testing.assert_allclose(found[0, 0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("section", "numbers", "reason"),
    [
        ("[convolutional]\nxnor=1", 3, "xnor=1: binary products are not supported"),
        ("[convolutional]\nactivation=lelu", 3, "sateen has no activation lelu; did you mean elu or selu?"),
        ("[convolutional]\nsize=3\npadding=2\ndilation=2", 19, "darknet gives another size with dilation 2"),
        ("[maxpool]\nsize=2\npadding=5", 0, "padding 5 of a pool of 2 would cover padding alone"),
        ("[maxpool]\nantialiasing=1", 0, "antialiasing=1: blurred strides are not supported"),
        ("[shortcut]\nfrom=0\nweights_type=per_place", 0, "expected weights_type none, per_feature or per_channel"),
        ("[shortcut]\nfrom=0\nweights_type=per_layer\nweights_normalization=l2", 2, "weights_normalization none, relu"),
        ("[softmax]\ntree=9k.tree", 0, "the tree of classes '9k.tree' is not read"),
        ("[region]\nclasses=1\ntree=9k.tree", 0, "trees of classes are not read"),
        ("[yolo]\nclasses=3", 0, "expected 1 x 8 channels for these boxes and classes, found 2"),
        ("[normalization]", 0, "darknet leaves a channel out of the first sum"),
        ("[crnn]\noutput=1\nhidden=1", 39, "windows that change the size of the picture don't fit the state"),
        ("[conv_lstm]\noutput=3", 0, "layers that remember pictures are not read"),
        ("[implicit_add]\nfilters=3", 0, "darknet has no layer of this type; YOLOR's networks are those of a program"),
        ("[contrastive]", 0, "it compares with labels, which there are only in training"),
        ("[lstm]\noutput=3", 0, "save the weights of its gates in different orders"),
        ("[local]\nsize=5\npad=1", 816, "darknet reads beyond the data with pad=1 and size=5"),
        ("[convolutionel]", 0, "sateen has no such layer"),
    ],
)
def test_gaps_name_the_layer_and_the_reason(weights, section, numbers, reason):
    text = NET + CONV.encode() + section.encode()
    layer = section.split("]")[0][1:]
    report = frontends.check(text, weights(*SAME, np.ones(numbers)))
    assert [(gap.node, reason in gap.reason) for gap in report.gaps] == [(f"{layer}_1", True)], report.gaps


def test_behind_a_layer_of_unknown_size_there_are_no_weights(weights):
    text = NET + CONV.encode() + b"[lstm]\noutput=3\n[connected]\noutput=2\n"
    report = frontends.check(text, weights(*SAME, np.ones(100)))
    assert ([gap.node for gap in report.gaps], report.unchecked) == (["lstm_1"], 1)
