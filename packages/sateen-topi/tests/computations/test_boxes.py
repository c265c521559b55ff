"""Boxes by hand; sateen-graph-ir compares them at random with loops in Python."""

import numpy as np
import pytest

from sateen.topi.computations import boxes, multibox

BOXES = np.array([[[0, 0, 2, 2], [0, 0, 2, 1.5], [3, 3, 2, 2], [2, 2, 3, 3], [9, 9, 9, 9]]], "float32")
SCORES = np.array([[[0.5, 0.9, 0.7, 0.7, 0.8]]], "float32")


@pytest.mark.parametrize(
    ("form", "threshold", "chosen"),
    [
        ("diagonal", 0.5, [1, 4, 2]),  # the third and the fourth are one box
        ("corners", 0.5, [1, 4, 2, 3]),  # the third is empty
        ("diagonal", 0.8, [1, 4, 2, 0]),
        ("diagonal", 1.0, [1, 4, 2, 3, 0]),
    ],
)
def test_the_best_box_comes_first_and_takes_those_that_it_overlaps(computed, form, threshold, chosen):
    def suppressed(b, s):
        return boxes.non_max_suppression(b, s, 5, threshold, None, form)

    found, count = computed(suppressed, BOXES, SCORES)
    assert found[0, 0].tolist() == chosen + [-1] * (5 - len(chosen))
    assert count.tolist() == [[len(chosen)]]


def test_a_score_must_exceed_the_threshold(computed):
    found, count = computed(lambda b, s: boxes.non_max_suppression(b, s, 2, 1.0, 0.8), BOXES, SCORES)
    assert (found.tolist(), count.tolist()) == ([[[1, -1]]], [[1]])


def test_records_of_another_class_stay(computed):
    records = np.concatenate([np.array([[[0], [1], [0], [0], [1]]], "f4"), SCORES.transpose(0, 2, 1), BOXES], 2)
    kept = [1, 4, 3, 2, 0]  # of equal scores the first comes first, but it is empty and takes none
    found, count = computed(lambda d: boxes.suppress_records(d, boxes.Records(classes=0)), records)
    assert (sorted(found[0].tolist()), count.tolist()) == (sorted(records[0, kept].tolist()), [5])
    found, count = computed(lambda d: boxes.suppress_records(d, boxes.Records(classes=0, across=True)), records)
    np.testing.assert_array_equal(found[0], [*records[0, [1, 4, 2, 3]], [-1] * 6])


def test_anchors_at_the_middle_of_each_place(computed):
    found = computed(lambda: multibox.multibox_prior((1, 2), (1.0,), (1.0,)))
    np.testing.assert_allclose(found, [[[0, 0, 0.5, 1], [0.5, 0, 1, 1]]])


def test_an_anchor_that_is_moved_and_grows(computed):
    probabilities, anchor = np.array([[[0.2], [0.8]]], "float32"), np.array([[[0, 0, 2, 4]]], "float32")
    offsets = np.array([[1, 0, np.log(2), 0]], "float32")

    def decoded(p, o, a):
        return multibox.multibox_transform_loc(p, o, a, clip=False, variances=(1.0, 1.0, 1.0, 1.0))

    found, count = computed(decoded, probabilities, offsets, anchor)
    np.testing.assert_allclose(found, [[[0, 0.8, 1, 0, 5, 4]]], rtol=1e-6)
    assert count.tolist() == [1]


def many_boxes(random, shape, dtype):
    """Boxes of a small picture, many of which overlap, and scores of which many are equal and some are NaN."""
    *batch, count = shape
    corners = random.integers(0, 12, (batch[0], count, 2)).astype(dtype)
    boxes_ = np.concatenate([corners, corners + random.integers(0, 9, corners.shape).astype(dtype)], 2)
    scores = (random.integers(0, 20, shape) / 32).astype(dtype)
    scores[random.random(shape) < 0.1] = np.nan
    return boxes_, scores


@pytest.mark.parametrize(
    ("shape", "dtype", "most", "iou", "least", "form"),
    [
        ((2, 3, 70), "float32", 70, 0.4, None, "diagonal"), ((1, 1, 150), "float32", 9, 0.1, 0.2, "center"),
        ((1, 2, 1), "float16", 1, 0.5, None, "corners"), ((1, 1, 66), "float64", 66, 1.0, 0.9, "corners"),
    ],
    ids=str,
)  # fmt: skip
def test_devices_select_as_processors(as_defined, random, shape, dtype, most, iou, least, form):
    arrays = many_boxes(random, shape, dtype)

    def suppressed(b, s):
        return boxes.non_max_suppression(b, s, most, iou, least, form)

    as_defined(suppressed, *arrays)


@pytest.mark.parametrize(
    "how",
    [
        boxes.Records(classes=0, background=1, iou_threshold=0.3),
        boxes.Records(iou_threshold=0.2, most=20),
        boxes.Records(classes=0, iou_threshold=0.1, keeps_suppressed=True),
        boxes.Records(classes=0, across=True, iou_threshold=0.1, keeps_suppressed=True, most=30),
    ],
    ids=str,
)
def test_devices_suppress_records_as_processors(as_defined, random, how):
    box, scores = many_boxes(random, (2, 1, 80), "float32")
    classes = random.integers(0, 3, (2, 80, 1)).astype("float32")
    records = np.concatenate([classes, scores.transpose(0, 2, 1), box], 2)

    def suppressed(d):
        return boxes.suppress_records(d, how)

    as_defined(suppressed, records)


@pytest.mark.parametrize(("threshold", "count"), [(0.6, 70), (0.0, 5), (2.0, 5)])
def test_devices_decode_anchors_as_processors(as_defined, random, threshold, count):
    arrays = [random.random(s).astype("float32") for s in ((2, 4, count), (2, 4 * count), (1, count, 4))]
    arrays[1][:] = 0  # of which the exponential is exact
    arrays[0][0, :, 3] = np.nan

    def decoded(*views):
        return multibox.multibox_transform_loc(*views, threshold)

    as_defined(decoded, *arrays)


def test_no_records_are_none_on_devices(on_device):
    found, count = on_device(lambda d: boxes.suppress_records(d, boxes.Records()), np.zeros((2, 0, 6), "float32"))
    assert (found.shape, count.tolist()) == ((2, 0, 6), [0, 0])
