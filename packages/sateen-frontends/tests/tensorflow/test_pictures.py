"""Pictures: colours against Python's colorsys, and resizing by weights that are worked out by hand."""

import colorsys

import numpy as np
import pytest

from sateen.frontends import from_tensorflow
from sateen.runtime.dtype import DType
from sateen.runtime.errors import FrontendError

FLOAT = DType.of("float32")
COLOURS = np.array(
    [(0, 0, 0), (0.5, 0.5, 0.5), (1, 0, 0), (0.2, 0.7, 0.1), (0.1, 0.3, 0.9), (0.9, 0.2, 0.6), (0.4, 0.4, 0.1)],
    np.float32,
)


def of_each(function, colours=COLOURS):
    return np.array([function(*map(float, colour)) for colour in colours], np.float32)


def changed(run, make, operator, by=None, colours=COLOURS):
    nodes = [make.placeholder("x", *colours.shape)]
    nodes += [] if by is None else [make.constant("by", np.float32(by))]
    nodes += [make.node("y", operator, *(["x"] if by is None else ["x", "by"]), T=FLOAT)]
    return run(make.graph(*nodes), {"x": colours})["y"]


def test_colours_have_hue_saturation_and_value(make, run):
    hues = of_each(colorsys.rgb_to_hsv)
    np.testing.assert_allclose(changed(run, make, "RGBToHSV"), hues, atol=1e-6)
    np.testing.assert_allclose(changed(run, make, "HSVToRGB", colours=hues), COLOURS, atol=1e-6)


def test_a_hue_turns_around_the_circle(make, run):
    def turned(red, green, blue):
        hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
        return colorsys.hsv_to_rgb((hue + 0.7) % 1, saturation, value)

    np.testing.assert_allclose(changed(run, make, "AdjustHue", 0.7), of_each(turned), atol=1e-6)


def test_saturation_stays_below_1(make, run):
    def saturated(red, green, blue):
        hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
        return colorsys.hsv_to_rgb(hue, min(1, 2 * saturation), value)

    np.testing.assert_allclose(changed(run, make, "AdjustSaturation", 2), of_each(saturated), atol=1e-6)


def test_contrast_keeps_the_mean_of_each_channel(make, run):
    picture = np.array([[[1, 10], [3, 30]], [[1, 10], [3, 50]]], np.float32)
    found = changed(run, make, "AdjustContrastv2", 2, picture)
    assert found.tolist() == [[[0, -5], [4, 35]], [[0, -5], [4, 75]]]


def test_colours_have_three_channels(make):
    graph = make.graph(make.placeholder("x", 2, 4), make.node("y", "RGBToHSV", "x", T=FLOAT))
    with pytest.raises(FrontendError, match=r"expected pictures \[..., 3\], found \[2, 4\]"):
        from_tensorflow(graph.SerializeToString())


def resized(run, make, picture, operator, sizes, *more, **attributes):
    constants = [make.constant("sizes", np.array(sizes, np.int32))]
    constants += [make.constant(f"c{i}", np.array(data, np.float32)) for i, data in enumerate(more)]
    node = make.node("y", operator, "x", "sizes", *(f"c{i}" for i in range(len(more))), T=FLOAT, **attributes)
    graph = make.graph(make.placeholder("x", *picture.shape), *constants, node)
    return run(graph, {"x": picture})["y"][0, :, :, 0]


def test_averages_count_parts_of_elements(make, run):
    picture = np.array([[1, 2, 4], [10, 20, 40]], np.float32).reshape(1, 2, 3, 1)
    found = resized(run, make, picture, "ResizeArea", [3, 2])
    columns = np.array([[4 / 3, 10 / 3], [40 / 3, 100 / 3]])
    np.testing.assert_allclose(found, [columns[0], columns.mean(axis=0), columns[1]], rtol=1e-6)


@pytest.mark.parametrize(
    ("antialias", "expected"),
    [(True, np.array([3 * 1 + 3 * 10 + 100, 10 + 3 * 100 + 3 * 1000]) / 7), (False, np.array([5.5, 550]))],
)
def test_a_kernel_is_stretched_to_reach_all_elements(make, run, antialias, expected):
    picture = np.array([1, 10, 100, 1000], np.float32).reshape(1, 4, 1, 1)
    settings = {"kernel_type": "triangle", "antialias": antialias}
    found = resized(run, make, picture, "ScaleAndTranslate", [2, 1], [0.5, 1], [0, 0], **settings)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-6)


def test_positions_outside_of_a_picture_are_0(make, run):
    picture = np.array([3, 5], np.float32).reshape(1, 2, 1, 1)
    found = resized(run, make, picture, "ScaleAndTranslate", [4, 1], [1, 1], [1, 0], kernel_type="lanczos3")
    np.testing.assert_allclose(found[:, 0], [0, 3, 5, 0], atol=1e-6)


@pytest.mark.parametrize(
    ("more", "settings", "message"),
    [
        (([1, 1], [0, 0]), {"kernel_type": "sinc"}, "a kernel 'sinc' is not supported"),
        (([1, 0], [0, 0]), {}, "expected scales above 0 and translations, found 0.0 and 0.0"),
        (([1], [0, 0]), {}, "expected two scales and two translations, found 1 and 2"),
    ],
)
def test_kernels_of_other_kinds_are_refused(make, run, more, settings, message):
    with pytest.raises(FrontendError) as refusal:
        resized(run, make, np.ones((1, 2, 2, 1), np.float32), "ScaleAndTranslate", [2, 2], *more, **settings)
    assert message in str(refusal.value)
