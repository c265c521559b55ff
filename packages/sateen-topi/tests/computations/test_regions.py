"""Regions by hand; sateen-graph-ir compares them at random with loops in Python."""

import numpy as np
import pytest

from sateen.topi.computations import regions, sampling

RAMP = (np.arange(5, dtype="float32") * 10 + np.arange(4, dtype="float32")[:, None] * 100).reshape(1, 1, 4, 5)
FIRST = np.array([0])


def test_a_crop_of_a_ramp_is_a_ramp(computed):
    box = np.array([[1, 0, 0, 1.25]], "float32")  # upside down, and beyond the right edge
    found = computed(lambda d, b, n: regions.crop_and_resize(d, b, n, (3, 6), "linear", -1.0), RAMP, box, FIRST)
    rows, columns = np.array([[300], [150], [0]]), np.array([0, 10, 20, 30, 40, 0])
    expected = np.where(np.arange(6) < 5, rows + columns, -1)
    np.testing.assert_allclose(found[0, 0], expected, rtol=1e-6)


def test_a_crop_of_one_place_is_its_middle(computed):
    box = np.array([[0, 0, 1, 0.5]], "float32")
    found = computed(lambda d, b, n: regions.crop_and_resize(d, b, n, (1, 1), "linear", 0.0), RAMP, box, FIRST)
    assert found.item() == 160


def test_bins_of_a_region_are_between_its_rounded_corners(computed):
    rois = np.array([[0.5, 1.4, 3.4, 2.6]], "float32")  # columns 1 to 3, rows 1 to 3
    found = computed(lambda d, r, n: regions.roi_pool(d, r, n, (1, 3), 1.0), RAMP, rois, FIRST)
    assert found[0, 0].tolist() == [[310, 320, 330]]


def test_a_region_outside_gives_zeros(computed):
    rois = np.array([[9, 9, 12, 12]], "float32")
    found = computed(lambda d, r, n: regions.roi_pool(d, r, n, (2, 2), 1.0), RAMP, rois, FIRST)
    assert found.tolist() == [[[[0, 0], [0, 0]]]]


def test_corners_half_way_are_rounded_away_from_zero(computed):
    rois = np.array([[-1.5, 0, 1, 0]], "float32")  # columns -2 to 1, of which the first two don't exist
    found = computed(lambda d, r, n: regions.roi_pool(d, r, n, (1, 2), 1.0), RAMP + 1, rois, FIRST)
    assert found[0, 0].tolist() == [[0, 11]]


def test_an_image_that_does_not_exist_is_the_nearest(computed):
    rois = np.array([[0, 0, 4, 3]], "float32")
    found = computed(lambda d, r, n: regions.roi_pool(d, r, n, (1, 1), 1.0), RAMP, rois, np.array([7]))
    assert found.item() == 340


def test_the_last_row_of_a_flipped_crop_is_within_the_data(computed):
    """4 - 3·(4/3) is 0 in float32, but less where product and sum are fused."""
    data, box = np.arange(1, 6, dtype="float32").reshape(1, 1, 5, 1), np.array([[1, 0, 0, 0]], "float32")
    found = computed(lambda d, b, n: regions.crop_and_resize(d, b, n, (4, 1), "nearest", -1.0), data, box, FIRST)
    assert found[0, 0, :, 0].tolist() == [5, 4, 2, 1]


@pytest.mark.parametrize("count", [0, 3])
@pytest.mark.parametrize("pool", ["roi_pool", "ps_roi_pool", "roi_align"])
def test_devices_give_what_processors_give(as_defined, random, pool, count):
    data = random.integers(0, 9, (2, 8, 6, 7)).astype("float32")
    rois, images = random.integers(-2, 8, (count, 4)).astype("float32"), random.integers(-1, 3, count)
    pools = {
        "roi_pool": lambda d, r, n: regions.roi_pool(d, r, n, (2, 3), 0.5),
        "ps_roi_pool": lambda d, r, n: regions.ps_roi_pool(d, r, n, (4, 4), 2, 0.5),
        "roi_align": lambda d, r, n: sampling.roi_align(d, r, n, (2, 2), "avg", 0, 0.5, half_pixel=True),
    }
    as_defined(pools[pool], data, rois, images, rtol=1e-6)
