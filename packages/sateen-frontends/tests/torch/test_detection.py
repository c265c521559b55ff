"""Operators of torchvision for detectors."""

import numpy as np
import pytest

from sateen.frontends import check, from_torch
from sateen.frontends.core.refusals import DATA_DECIDES
from sateen.runtime.errors import FrontendError

PICTURE = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)


@pytest.mark.parametrize(("aligned", "shift"), [(True, 0.0), (False, 0.5)])
def test_regions_are_averages_of_points_between_elements(written, run, aligned, shift):
    """A plane's average over a bin is its value at the centre of the bin."""
    x, rois = written.input("x", PICTURE.shape), written.input("rois", (1, 5))
    y = written.call(
        "torchvision.roi_align.default", input=x, rois=rois, spatial_scale=0.5, pooled_height=2, pooled_width=1,
        sampling_ratio=2, aligned=aligned,
    )  # fmt: skip
    found = run(written, [y], x=PICTURE, rois=np.array([[0, 2, 2, 6, 6]], np.float32))[0]
    rows, columns = np.array([1.0, 2.0]) + shift, 1.5 + shift
    np.testing.assert_allclose(found[0, :, :, 0], [rows * 4 + columns, 16 + rows * 4 + columns], rtol=1e-6)


def _deformable(written, offset, **changed):
    x = written.input("x", PICTURE.shape)
    weight, bias = np.ones((2, 1, 2, 2), np.float32), np.array([0, 100], np.float32)
    arguments = {
        "input": x, "weight": written.parameter("w", weight), "offset": written.parameter("o", offset),
        "mask": written.parameter("m", np.full((1, 4, 3, 3), 0.5, np.float32)), "bias": written.parameter("b", bias),
        "stride_h": 1, "stride_w": 1, "pad_h": 0, "pad_w": 0, "dilation_h": 1, "dilation_w": 1, "groups": 2,
        "offset_groups": 1, "use_mask": False,
    }  # fmt: skip
    return written.call("torchvision.deform_conv2d.default", **(arguments | changed))


@pytest.mark.parametrize("use_mask", [False, True])
def test_a_deformable_convolution_reads_where_offsets_say(written, run, use_mask):
    offset = np.zeros((1, 8, 3, 3), np.float32)
    offset[:, 0::2] = 0.25  # a quarter of a row down, where the rows end with zeros
    y = _deformable(written, offset, use_mask=use_mask)
    below = np.concatenate([PICTURE[:, :, 1:], np.zeros((1, 2, 1, 4))], 2)
    moved = 0.75 * PICTURE + 0.25 * below
    sums = sum(moved[:, :, i : i + 3, j : j + 3] for i in range(2) for j in range(2))
    expected = sums * (0.5 if use_mask else 1) + np.array([0, 100]).reshape(2, 1, 1)
    np.testing.assert_allclose(run(written, [y], x=PICTURE)[0], expected, rtol=1e-6)


def test_a_weight_of_other_channels_is_a_gap(written):
    y = _deformable(written, np.zeros((1, 8, 3, 3), np.float32), groups=3)
    with pytest.raises(FrontendError, match=r"expected a weight for float32\[1, 2, 4, 4\] in 3 groups"):
        from_torch(written.data(y))


def test_suppression_of_boxes_gives_as_many_as_the_data_decide(written):
    boxes, scores = written.input("boxes", (9, 4)), written.input("scores", (9,))
    y = written.call("torchvision.nms.default", dets=boxes, scores=scores, iou_threshold=0.5)
    (gap,) = check(written.data(y)).gaps
    assert (gap.reason, gap.help) == DATA_DECIDES
