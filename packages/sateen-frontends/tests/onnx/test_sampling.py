"""Reading between elements, and putting windows back, against the evaluator of the onnx package."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sateen.runtime.errors import FrontendError

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((2, 3, 5, 4)).astype("float32")


@pytest.mark.parametrize("align_corners", [0, 1])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_positions_within_and_beyond_the_data(
    run_node: Callable[..., list[Array]],
    reference: Callable[..., list[Array]],
    mode: str,
    padding_mode: str,
    align_corners: int,
) -> None:
    grid = RANDOM.uniform(-2.5, 2.5, (2, 3, 7, 2)).astype("float32")
    attributes = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
    (found,) = run_node("GridSample", {"x": X, "grid": grid}, opset=20, **attributes)
    (expected,) = reference("GridSample", {"x": X, "grid": grid}, opset=20, **attributes)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_position_that_is_no_number_reads_nothing_beyond_the_data(run_node: Callable[..., list[Array]]) -> None:
    grid = np.array([np.nan, np.inf, -np.inf, 1e30], "float32").reshape(1, 2, 1, 2)
    for mode in ("nearest", "linear", "cubic"):
        for padding_mode in ("zeros", "border", "reflection"):
            run_node("GridSample", {"x": X[:1], "grid": grid}, opset=20, mode=mode, padding_mode=padding_mode)


def test_maxima_of_regions(run_node: Callable[..., list[Array]]) -> None:
    """The evaluator of the onnx package has none; onnxruntime's kernel is Caffe's."""
    rois = np.array([[0, 0, 0, 3, 4], [1, 1, 1, 2, 3], [1, 0, 0, 0, 0]], "float32")
    (found,) = run_node("MaxRoiPool", {"x": X, "rois": rois}, pooled_shape=[1, 2])
    expected = [
        [X[0, :, :, :2].max((1, 2)), X[0, :, :, 2:].max((1, 2))],
        [X[1, :, 1:4, 1].max(1), X[1, :, 1:4, 2].max(1)],
        [X[1, :, 0, 0], X[1, :, 0, 0]],
    ]
    np.testing.assert_array_equal(found, np.array(expected).transpose(0, 2, 1)[:, :, None])


def test_regions_with_as_many_samples_as_they_have_elements(
    run_node: Callable[..., list[Array]], reference: Callable[..., list[Array]]
) -> None:
    rois = np.array([[0, 0, 3, 4], [-2, 1, 9, 9], [1.3, 0.4, 2.2, 3.9]], "float32")
    inputs = {"x": X, "rois": rois, "batch": np.array([0, 1, 1])}
    for samples in (0, 2):
        attributes = {"output_height": 2, "output_width": 3, "sampling_ratio": samples, "spatial_scale": 0.9}
        for mode in ("avg", "max"):
            (found,) = run_node("RoiAlign", inputs, opset=22, mode=mode, **attributes)
            (expected,) = reference("RoiAlign", inputs, opset=22, mode=mode, **attributes)
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_deformable_convolution_in_groups(
    run_node: Callable[..., list[Array]], reference: Callable[..., list[Array]]
) -> None:
    inputs = {
        "x": RANDOM.standard_normal((2, 4, 6, 5)).astype("float32"),
        "w": RANDOM.standard_normal((6, 2, 3, 2)).astype("float32"),
        "offset": RANDOM.uniform(-2, 2, (2, 2 * 2 * 6, 3, 4)).astype("float32"),
        "b": RANDOM.standard_normal(6).astype("float32"),
        "mask": RANDOM.uniform(0, 1, (2, 2 * 6, 3, 4)).astype("float32"),
    }
    attributes = {"group": 2, "offset_group": 2, "strides": [2, 1], "pads": [1, 0, 1, 0]}
    (found,) = run_node("DeformConv", inputs, opset=22, **attributes)
    (expected,) = reference("DeformConv", inputs, opset=22, **attributes)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_blocks_are_added_where_they_overlap(
    run_node: Callable[..., list[Array]], reference: Callable[..., list[Array]]
) -> None:
    inputs = {
        "x": RANDOM.standard_normal((2, 3 * 6, 16)).astype("float32"),
        "image": np.array([7, 6]),
        "block": np.array([2, 3]),
    }
    attributes = {"strides": [2, 1], "pads": [1, 0, 0, 0]}
    (found,) = run_node("Col2Im", inputs, bound=("image", "block"), **attributes)
    (expected,) = reference("Col2Im", inputs, **attributes)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_an_infinite_element_of_a_block_stays_in_its_place(run_node: Callable[..., list[Array]]) -> None:
    x = np.arange(18, dtype="float16").reshape(1, 18, 1)
    x[0, 4] = np.inf
    inputs = {"x": x, "image": np.array([3, 3]), "block": np.array([3, 3])}
    (found,) = run_node("Col2Im", inputs, bound=("image", "block"))
    np.testing.assert_array_equal(found, x.reshape(1, 2, 3, 3))


@pytest.mark.parametrize("storage_order", [0, 1])
def test_maxima_and_where_they_are(run_node: Callable[..., list[Array]], storage_order: int) -> None:
    attributes = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0, 0, 1, 0], "storage_order": storage_order}
    values, places = run_node("MaxPool", {"x": X}, outputs=2, **attributes)
    order = (0, 1, 3, 2) if storage_order else (0, 1, 2, 3)
    np.testing.assert_array_equal(X.transpose(order).reshape(-1)[places], values)
    np.testing.assert_array_equal(values[:, :, :2], X[:, :, :4].reshape(2, 3, 2, 2, 2, 2).max((3, 5)))
    if not storage_order:
        (filled,) = run_node(
            "MaxUnpool", {"y": values, "i": places}, kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 1, 0]
        )
        assert filled.shape == X.shape
        np.testing.assert_array_equal(filled, np.where(np.isin(np.arange(X.size), places).reshape(X.shape), X, 0))


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "text"),
    [
        ("GridSample", {"x": X, "g": X}, {}, "expects grid [2, …, 2] for data float32[2, 3, 5, 4], found float32[2, 3"),
        (
            "GridSample",
            {"x": X, "g": X[..., :2]},
            {"mode": "best"},
            "expected mode nearest, linear or cubic, found 'best'",
        ),
        (
            "RoiAlign",
            {"x": X, "r": X[0, 0, :, :3], "b": np.zeros(5, np.int64)},
            {},
            "roi_align: expects rois [regions, 4], found float32[5, 3]",
        ),
        (
            "RoiAlign",
            {"x": X, "r": X[0, 0, :, :4], "b": np.zeros(5, np.int64)},
            {"coordinate_transformation_mode": "pixel"},
            "expected half_pixel or output_half_pixel, found 'pixel'",
        ),
        (
            "MaxUnpool",
            {"x": X, "i": X.astype("int64")},
            {"kernel_shape": [2]},
            "expected strides and pads of 1 dimensions",
        ),
    ],
)
def test_inputs_that_do_not_fit_are_refused(
    run_node: Callable[..., list[Array]], operator: str, inputs: dict[str, Array], attributes: dict[str, Any], text: str
) -> None:
    with pytest.raises(FrontendError) as caught:
        run_node(operator, inputs, **attributes)
    assert text in str(caught.value)
