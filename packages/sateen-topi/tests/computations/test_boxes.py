"""Boxes by hand; sateen-graph-ir compares them at random with loops in Python."""

import numpy as np
import pytest

from sateen.topi.computations import boxes

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
    found = computed(lambda: boxes.multibox_prior((1, 2), (1.0,), (1.0,)))
    np.testing.assert_allclose(found, [[[0, 0, 0.5, 1], [0.5, 0, 1, 1]]])


def test_an_anchor_that_is_moved_and_grows(computed):
    probabilities, anchor = np.array([[[0.2], [0.8]]], "float32"), np.array([[[0, 0, 2, 4]]], "float32")
    offsets = np.array([[1, 0, np.log(2), 0]], "float32")

    def decoded(p, o, a):
        return boxes.multibox_transform_loc(p, o, a, clip=False, variances=(1.0, 1.0, 1.0, 1.0))

    found, count = computed(decoded, probabilities, offsets, anchor)
    np.testing.assert_allclose(found, [[[0, 0.8, 1, 0, 5, 4]]], rtol=1e-6)
    assert count.tolist() == [1]
